"""Look at a database without serving from it: what would break the contract, and what is overdue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from olvido.errors import SchemaMismatch
from olvido.storage.guard import Finding, inspect
from olvido.storage.inspection import first_row, look
from olvido.storage.queries import statements
from olvido.storage.rows import utc_or_none

CONNECT_SECONDS = 10
PURGE_GRACE = timedelta(days=1)
"""How long something expired may stay stored before it is a finding: purges are expected to run at least daily."""

_SQL = statements("doctor")


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What a look found.

    findings: what is wrong, each with its remedy; empty for a database that is fit to serve.
    server_version, pgvector_version, schema_version, leaves: None where the schema is missing or another one.
    overdue_lives: subjects that hold something expired at this moment, waiting for a purge; overdue_since: since when
    the oldest does (UTC). None if no worker login was looked at.
    """

    findings: tuple[Finding, ...]
    server_version: str | None = None
    pgvector_version: str | None = None
    schema_version: int | None = None
    leaves: int | None = None
    overdue_lives: int | None = None
    overdue_since: datetime | None = None


async def diagnose(request_url: str, worker_url: str | None = None) -> Diagnosis:
    """Look at the database as a request would see it, and as a worker where its login is given.

    Reads only, and serves nothing. A schema that is missing, older or newer is a finding.
    Raises DatabaseUnavailable if there is no connection.
    """
    try:
        async with look(request_url, seconds=CONNECT_SECONDS) as connection:
            findings = await inspect(connection, role="olvido_app")
            facts = await first_row(connection, _SQL["facts"])
    except SchemaMismatch as mismatch:
        problem, _, remedy = str(mismatch).partition(". ")
        return Diagnosis(findings=(Finding(code=mismatch.code, problem=f"{problem}.", remedy=remedy),))
    if worker_url is None:
        return Diagnosis(findings=tuple(findings), **facts)
    async with look(worker_url, seconds=CONNECT_SECONDS) as connection:
        found = await inspect(connection, role="olvido_worker")
        findings += [finding for finding in found if finding not in findings]
        due: dict[str, Any] = {"lives": None, "oldest": None, "late": False}
        if not any(finding.code == "login_without_role" for finding in found):
            due = await first_row(connection, _SQL["overdue"], grace=PURGE_GRACE)
    if due["late"]:
        findings.append(
            Finding(
                code="overdue_purge",
                problem=f"{due['lives']} subjects hold records that expired more than a day ago.",
                remedy="Run `olvido purge`, and have it run every day.",
            )
        )
    return Diagnosis(
        findings=tuple(findings),
        **facts,
        overdue_lives=due["lives"],
        overdue_since=utc_or_none(due["oldest"]),
    )
