"""Look at a database without serving from it: what breaks the contract, what is late, and what else keeps copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from olvido.domain.identifiers import required_identifier
from olvido.errors import InvalidInput, SchemaMismatch
from olvido.operations.diagnose_outside import anchor_findings, ledger_findings
from olvido.operations.indexing import made_by
from olvido.ports import Anchors, Ledger
from olvido.storage.catalogue_checks import (
    ROLES,
    role_findings,
    snapshot_findings,
    statistics_findings,
    stranger_findings,
)
from olvido.storage.findings import Finding, Severity
from olvido.storage.grants import grant_findings
from olvido.storage.guard import inspect
from olvido.storage.inspection import Looking, all_rows, first_row, look
from olvido.storage.memberships import membership_findings
from olvido.storage.objects import object_findings
from olvido.storage.queries import statements
from olvido.storage.rows import json_value, utc_or_none
from olvido.storage.server_copies import SETTINGS, SLOT_LIMIT, replica_findings, setting_findings
from olvido.storage.survey import Survey, survey

CONNECT_SECONDS = 10
PURGE_GRACE = timedelta(days=1)
"""How long something expired may stay stored before it is a finding: purges are expected to run at least daily."""
LIVES = 1_000
MAX_LIVES = 1_000_000

_SQL = statements("doctor")
_LIVES = statements("lives")
_SCHEMA = statements("schema")
_WORST_FIRST = list(Severity)
_BLIND = frozenset({"login_without_role", "unreadable_schema", "row_security_off"})
"""Findings with which a login may not read the relations of the schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationSize:
    """Space of one relation on disk, indexes and leaves included. The rows are estimates of the server's statistics.

    dead_rows: removed, and still in the files until a vacuum; None where the statistics are of before the relation was
    last written anew, and say nothing of it.
    """

    relation: str
    bytes: int
    live_rows: int
    dead_rows: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedEmbedder:
    """The embedder that recall would use. problem: what it says when it is asked for a vector; None if it gives one."""

    id: str
    problem: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What a look found.

    findings: the worst first, each with its remedy. not_looked_at: what this look could not see, and what it takes.
    server_version, pgvector_version, schema_version, leaves: None where the schema is missing or another one.
    overdue_lives: subjects that hold something expired at this moment, waiting for a purge; overdue_since: since when
    the oldest does (UTC). survey: what recall can find. unrepaired_lives: subjects whose index a worker has to look at,
    None also if no embedder was tried. These are None if no worker login was looked at.
    oldest_snapshot_at: since when a transaction of this database has seen the same state (UTC); None if there is none.
    embedder: the id of the embedder that recall would use, None if none was tried. sizes: the largest first.
    """

    findings: tuple[Finding, ...]
    not_looked_at: tuple[str, ...] = ()
    server_version: str | None = None
    pgvector_version: str | None = None
    schema_version: int | None = None
    leaves: int | None = None
    overdue_lives: int | None = None
    overdue_since: datetime | None = None
    oldest_snapshot_at: datetime | None = None
    embedder: str | None = None
    survey: Survey | None = None
    unrepaired_lives: int | None = None
    sizes: tuple[RelationSize, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether the contract does not hold."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(kw_only=True, slots=True)
class _Seen:
    """What was found until now, before it becomes a Diagnosis. facts: its other fields.

    rewritten: when each relation was last written anew, as ISO 8601; None if no worker looked.
    """

    findings: list[Finding] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    rewritten: dict[str, str] | None = None

    @property
    def may_read(self) -> bool:
        """Whether the login may read the relations of the schema."""
        return not _BLIND & {finding.code for finding in self.findings}

    def add(self, found: list[Finding]) -> None:
        self.findings += [finding for finding in found if finding not in self.findings]

    def diagnosis(self) -> Diagnosis:
        ordered = sorted(self.findings, key=lambda finding: _WORST_FIRST.index(finding.severity))
        return Diagnosis(findings=tuple(ordered), not_looked_at=tuple(self.missed), **self.facts)


async def diagnose(
    request_url: str,
    worker_url: str | None = None,
    *,
    server_url: str | None = None,
    embedder: TriedEmbedder | None = None,
    ledger: Ledger | None = None,
    anchors: Anchors | None = None,
    tenant: str | None = None,
    lives: int = LIVES,
) -> Diagnosis:
    """Look at the database as a request would see it, and as a worker.

    Reads only, and serves nothing. A schema that is missing, older or newer is a finding.
    worker_url: None takes the login of a request, if it is a worker as well. server_url: a login that sees sessions of
    others; None takes one of these. embedder: the embedder that recall would use; None: not compared.
    ledger, anchors: those that `open` would use; None: not compared. tenant: look for index gaps at this company only.
    lives: at how many lives, and at the audit of how many companies, at most, 1 to 1,000,000.
    Raises DatabaseUnavailable if there is no connection, InvalidInput, InvalidScope.
    """
    if not 1 <= lives <= MAX_LIVES:
        raise InvalidInput(f"lives must be between 1 and {MAX_LIVES}.")
    if tenant is not None:
        required_identifier(tenant, "tenant")
    seen = _Seen()
    try:
        async with look(request_url, seconds=CONNECT_SECONDS) as connection:
            seen.add(await inspect(connection, role="olvido_app"))
            if seen.may_read:
                seen.facts |= await first_row(connection, _SQL["facts"])
            as_worker = [] if worker_url or seen.findings else await inspect(connection, role="olvido_worker")
    except SchemaMismatch as mismatch:
        problem, _, remedy = str(mismatch).partition(". ")
        return Diagnosis(findings=(Finding(code=mismatch.code, problem=f"{problem}.", remedy=remedy),))
    if worker_url is None and not seen.findings and not as_worker:
        worker_url = request_url
    if worker_url is not None:
        embedder_id = None if embedder is None else embedder.id
        await _as_worker(seen, worker_url, embedder=embedder_id, anchors=anchors, tenant=tenant, lives=lives)
    else:
        seen.missed.append("Overdue purges and index gaps: that takes the login of a worker (--worker-url).")
    await _ledger(seen, worker_url, request_url, ledger)
    if embedder is not None:
        seen.facts["embedder"] = embedder.id
        seen.add(_embedder_findings(embedder))
    async with look(server_url or worker_url or request_url, seconds=CONNECT_SECONDS) as connection:
        await _catalogue(seen, connection)
        await _server(seen, connection)
    return seen.diagnosis()


async def _ledger(seen: _Seen, worker_url: str | None, request_url: str, ledger: Ledger | None) -> None:
    if ledger is None:
        seen.missed.append("Whether an older copy was put back: name the erasure ledger (OLVIDO_LEDGER or --ledger).")
    elif seen.may_read:
        # A worker that was not looked at any further may not be one.
        url = request_url if worker_url is None or seen.rewritten is None else worker_url
        async with look(url, seconds=CONNECT_SECONDS) as connection:
            seen.add(await ledger_findings(ledger, connection, worker=url == worker_url))


async def _as_worker(
    seen: _Seen, url: str, *, embedder: str | None, anchors: Anchors | None, tenant: str | None, lives: int
) -> None:
    async with look(url, seconds=CONNECT_SECONDS) as connection:
        found = await inspect(connection, role="olvido_worker")
        seen.add(found)
        if found:
            seen.missed.append("Overdue purges and index gaps: the errors above stand in the way.")
            return
        due = await first_row(connection, _SQL["overdue"], grace=PURGE_GRACE)
        counted = await survey(connection, tenant=tenant, limit=lives)
        erasing = await first_row(connection, _SQL["erasures_waiting"], grace=PURGE_GRACE)
        if embedder is not None:
            waiting = await first_row(
                connection, _LIVES["unrepaired"], made_by=made_by(embedder), closed=list(counted.closed)
            )
            seen.facts["unrepaired_lives"] = waiting["lives"]
        rewrites = await all_rows(connection, _SQL["rewrites"])
        seen.rewritten = {row["relation"]: row["begun_at"].isoformat() for row in rewrites}
        await _anchors(seen, connection, anchors, lives)
    seen.facts |= {
        "overdue_lives": due["lives"],
        "overdue_since": utc_or_none(due["oldest"]),
        "survey": counted,
    }
    if due["late"]:
        seen.add(
            [
                Finding(
                    code="overdue_purge",
                    severity=Severity.WARNING,
                    problem=f"{due['lives']} subjects hold records that have expired, the oldest more than a day ago. "
                    "They are served nowhere and still stored.",
                    remedy="Run `olvido purge`, and have it run every day.",
                )
            ]
        )
    seen.add(_erasure_findings(erasing))
    seen.add(_survey_findings(counted, embedder))
    if not counted.complete:
        seen.missed.append(f"Index gaps beyond the first {counted.lives} lives: raise --lives, or name a --tenant.")


async def _anchors(seen: _Seen, connection: Looking, anchors: Anchors | None, limit: int) -> None:
    if anchors is None:
        named = "name the directory of the keys (OLVIDO_KEYS or --keys)"
        seen.missed.append(f"Whether the audit is as it was anchored: {named}.")
        return
    await connection.commit()
    found, complete = await anchor_findings(anchors, connection, limit=limit)
    seen.add(found)
    if not complete:
        seen.missed.append(f"The audit of more than {limit} companies: raise --lives, or run `olvido audit verify`.")


def _erasure_findings(erasing: Mapping[str, Any]) -> list[Finding]:
    """Requests to forget that do not get on."""
    found = (
        (
            "erasure_needs_attention",
            erasing["attention"],
            "steps of requests to forget were tried in vain so often that somebody should look at them.",
            "`olvido erasure list` names the requests of a company, and `olvido erasure show` what is in the way.",
        ),
        (
            "overdue_erasure",
            erasing["late"],
            "steps of requests to forget have been due for more than a day, and no worker came to them.",
            "Have `olvido worker` run, or `olvido erasure run`.",
        ),
    )
    return [
        Finding(code=code, severity=Severity.WARNING, problem=f"{count} {meaning}", remedy=remedy)
        for code, count, meaning, remedy in found
        if count
    ]


def _embedder_findings(embedder: TriedEmbedder) -> list[Finding]:
    if embedder.problem is None:
        return []
    problem, _, remedy = embedder.problem.partition(". ")
    return [
        Finding(
            code="embedder_unusable",
            severity=Severity.WARNING,
            problem=f"{problem}. What is written meanwhile has no vector, and recall finds records by words only.",
            remedy=remedy,
        )
    ]


def _survey_findings(counted: Survey, embedder: str | None) -> list[Finding]:
    others = {name: count for name, count in counted.embedders.items() if embedder is not None and name != embedder}
    gaps = (
        (
            "no_index_entry",
            counted.without_entry,
            "have no index entry: they are listed and exported, and recall does not find them.",
            "Find out what removed the entries. `olvido worker --once --recheck` makes them again; no record is lost.",
        ),
        (
            "no_vector",
            counted.without_vector,
            "have no vector, because the embedder failed: recall finds them by their words only.",
            "Check the embedder. `olvido worker` gives these a vector as soon as it answers; nothing of them is lost.",
        ),
        (
            "other_embedder",
            sum(others.values()),
            f"have a vector of {', '.join(others)}, not of {embedder}: with that, recall finds them by words only.",
            f"To go on with {embedder}, run `olvido worker`. If your service uses the other one, open Olvido so.",
        ),
    )
    return [
        *(
            Finding(code=code, severity=Severity.WARNING, problem=f"{count} live records {meaning}", remedy=remedy)
            for code, count, meaning, remedy in gaps
            if count
        ),
        *(
            Finding(
                code="closed_tenant_lives",
                severity=Severity.WARNING,
                problem=f"The company {name} was closed to be forgotten, and {left} subjects of it are still stored.",
                remedy="Run `olvido forget --tenant` with its name again; it goes on where it ended.",
            )
            for name, left in counted.closed.items()
        ),
    ]


async def _catalogue(seen: _Seen, connection: Looking) -> None:
    await all_rows(connection, _SCHEMA["qualify"])
    seen.add(role_findings(await all_rows(connection, _SQL["roles"], roles=list(ROLES))))
    seen.add(membership_findings(await all_rows(connection, _SQL["memberships"], roles=list(ROLES))))
    seen.add(object_findings(await all_rows(connection, _SCHEMA["objects"])))
    seen.add(grant_findings(await all_rows(connection, _SQL["grants"])))
    seen.add(stranger_findings(await all_rows(connection, _SQL["strangers"])))
    relations = await all_rows(connection, _SCHEMA["relations"])
    parents = {row["relation"]: row["parent"] or row["relation"] for row in relations}
    seen.add(statistics_findings(await all_rows(connection, _SCHEMA["columns"]), parents))
    sizes = await all_rows(
        connection, _SQL["sizes"], rewritten=None if seen.rewritten is None else json_value(seen.rewritten)
    )
    seen.facts["sizes"] = tuple(RelationSize(**row) for row in sizes)


async def _server(seen: _Seen, connection: Looking) -> None:
    read = await all_rows(connection, _SQL["settings"], names=[*SETTINGS, SLOT_LIMIT])
    settings = {row["name"]: row["setting"] for row in read}
    seen.add(setting_findings(settings))
    slots = await all_rows(connection, _SQL["slots"])
    standbys = (await first_row(connection, _SQL["standbys"]))["standbys"]
    seen.add(replica_findings(slots, standbys, settings.get(SLOT_LIMIT, "-1")))
    snapshots = await first_row(connection, _SQL["snapshots"])
    seen.add(snapshot_findings(snapshots))
    seen.facts["oldest_snapshot_at"] = utc_or_none(snapshots["since"])
    if not snapshots["sees_all"]:
        seen.missed.append("Snapshots of other logins: GRANT pg_read_all_stats to this one, and look again.")
