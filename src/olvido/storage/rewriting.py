"""Files without what was removed from them: relations and their indexes, written anew.

A deleted row stands in its file and in the keys of indexes until these are gone. The login here is a member of
olvido_eraser, which may rewrite every relation and read none. What was not measured is not answered: a rewrite says how
many removed rows somebody could still see.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

import psycopg
from psycopg.rows import DictRow

from olvido.domain.plain import instant
from olvido.errors import UnsafeDatabase
from olvido.storage.catalogue_checks import statistics_findings, stranger_findings
from olvido.storage.guard import refuse_unsafe
from olvido.storage.inspection import Looking, all_rows, connect, first_row
from olvido.storage.queries import Statement, is_leaf, statements
from olvido.storage.row_policies import ERASER
from olvido.storage.rows import utc, utc_or_none
from olvido.storage.stray_files import RemoveFiles
from olvido.storage.translation import translated

LOCK_SECONDS = 1.5
"""How long a rewrite waits for its lock. Whoever comes later waits behind it, so it gives up soon and tries again; but
not before an automatic vacuum has made way, which takes the server's deadlock_timeout, a second by default."""
LONGEST_STATEMENT = 600.0
"""For how many seconds any other statement, such as a checkpoint, may go on."""
LONGEST_LOCK = 60.0
"""For how many seconds one relation may be locked, if the caller allows no other time."""
CONNECT_SECONDS = 10

_SQL = statements("rewriting")
_SCHEMA = statements("schema")
_DOCTOR = statements("doctor")
_NUMBER = re.compile(r"\d+")
_COPIES = frozenset({"statistics", "materialized view"})

_OR_SWAP = ", or have an administrator run `olvido erasure swap {}`"
ON_A_STANDBY = "The eraser's login leads to a standby. Give it the address of the primary server."


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Somebody who may still see removed rows. sees_from: those that this transaction or a later one removed.

    kind: session, prepared transaction, replication slot, standby, or transaction where nobody could be found.
    name: a process id, or what it is called. since: when it began (UTC), where the server says so.
    """

    kind: str
    name: str
    since: datetime | None
    sees_from: int

    def __str__(self) -> str:
        since = "" if self.since is None else f", since {instant(self.since.replace(microsecond=0))}"
        return f"{self.kind} {self.name}{since}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """What nobody can see any more: rows removed by transactions before `gone_before`."""

    gone_before: int
    holders: tuple[Holder, ...]

    def in_the_way(self, needed: int) -> tuple[Holder, ...]:
        """Who keeps rows that a transaction before `needed` removed; the oldest first."""
        return tuple(holder for holder in self.holders if holder.sees_from < needed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """One relation that was written anew.

    gone_before: rows removed by earlier transactions are not in its files. kept: removed rows that somebody could still
    see, which are in them again. before, after: the number of its file. waited, locked: seconds until everyone was kept
    out, and for how long. lsn: position of the log, once it was done.
    """

    relation: str
    gone_before: int
    begun_at: datetime
    kept: int | None
    before: int
    after: int
    waited: float
    locked: float
    lsn: str

    def evidence(self) -> dict[str, Any]:
        """What was measured, as it is noted and shown."""
        return {
            "rewritten_at": instant(self.begun_at),
            "file_before": self.before,
            "file_after": self.after,
            "kept": self.kept,
            "waited_ms": round(self.waited * 1000),
            "locked_ms": round(self.locked * 1000),
            "lsn": self.lsn,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRewritten:
    """Why a relation was left as it is. passing: it was in use a moment ago, and may be free in the next."""

    relation: str
    reason: str
    passing: bool = False


class Eraser:
    """How to log in as olvido_eraser.

    url: postgresql://, with no pooler between that would share out its sessions. remove: removes stray files, where the
    data directory is ours.
    """

    def __init__(self, url: str, *, remove: RemoveFiles | None = None) -> None:
        self._url = url
        self._remove = remove

    @asynccontextmanager
    async def turn(self, *, longest_lock: float = LONGEST_LOCK) -> AsyncIterator[EraserTurn | None]:
        """A session that is the only one to rewrite this database, or None if another one is at it.

        Raises UnsafeDatabase if the login may do more or less than it should, SchemaMismatch, DatabaseUnavailable.
        """
        connection = await connect(self._url, seconds=CONNECT_SECONDS, autocommit=True)
        async with translated(), connection:
            await refuse_unsafe(connection, role=ERASER)
            turn = EraserTurn(connection, longest_lock, remove=self._remove)
            await turn.limit(LONGEST_STATEMENT)
            taken = await first_row(connection, _SQL["take_turn"])
            if taken["standby"]:
                raise UnsafeDatabase(ON_A_STANDBY)
            yield turn if taken["taken"] else None


class EraserTurn:
    """A session of olvido_eraser that is alone at it.

    connection: for what `storage.rewriting_log` and `storage.stray_files` do in its turn. remove: see `Eraser`.
    """

    def __init__(self, connection: Looking, longest_lock: float, *, remove: RemoveFiles | None = None) -> None:
        self.connection = connection
        self.remove = remove
        self._longest_lock = longest_lock

    async def limit(self, seconds: float) -> None:
        """Give up a statement after that many seconds, and sooner where it waits for a lock."""
        await self.connection.execute(
            _SQL["settle"].text,
            {
                "lock_timeout": str(ceil(LOCK_SECONDS * 1000)),
                "statement_timeout": str(ceil(seconds * 1000)),
            },
        )

    async def horizon(self) -> Horizon:
        """What nobody can see any more at this moment, and who keeps it from being all that was removed."""
        found = await self._all(_SQL["holders"])
        holders = sorted(
            (
                Holder(kind=row["kind"], name=row["name"], since=utc_or_none(row["since"]), sees_from=row["sees_from"])
                for row in found
                if row["kind"] is not None
            ),
            key=lambda holder: holder.sees_from,
        )
        running = int(found[0]["running"])
        gone_before = min([running, *(holder.sees_from for holder in holders)])
        if running < int(found[0]["next"]) and not any(holder.sees_from <= running for holder in holders):
            holders.insert(0, Holder(kind="transaction", name=str(running), since=None, sees_from=running))
        return Horizon(gone_before=gone_before, holders=tuple(holders))

    async def files(self, tenants: Sequence[str], relations: Sequence[str]) -> dict[tuple[str, str], str]:
        """By tenant and relation of the data map, the relation whose files hold the rows: itself, or a leaf of it."""
        found = await self._all(_SQL["files"], tenants=list(tenants), relations=list(relations))
        files = {(row["tenant"], row["relation"]): row["file"] for row in found}
        missing = sorted({relation for (_, relation), file in files.items() if file is None})
        if missing or len(files) < len(set(tenants)) * len(set(relations)):
            raise UnsafeDatabase("Some relations of the schema, or leaves of them, are missing. Run `olvido doctor`.")
        return files

    async def copies_of_values(self) -> tuple[str, ...]:
        """What keeps values of rows beside the rows, statistics and materialised views: problems with their remedy."""
        relations = await self._all(_SCHEMA["relations"])
        parents = {row["relation"]: row["parent"] or row["relation"] for row in relations}
        strangers = await self._all(_DOCTOR["strangers"])
        findings = [
            *statistics_findings(await self._all(_SCHEMA["columns"]), parents),
            *stranger_findings(row for row in strangers if row["kind"] in _COPIES),
        ]
        return tuple(f"{finding.problem} {finding.remedy}" for finding in findings)

    async def rewrite(self, relation: str) -> Rewritten | NotRewritten:
        """Write one relation, or leaf, and its indexes anew. Nobody reads it meanwhile; others are read as ever."""
        seen_before = (await self.horizon()).gone_before
        began = time.monotonic()
        await self.limit(LOCK_SECONDS + self._longest_lock)
        try:
            with self._kept() as kept:
                row = await first_row(self.connection, _SQL["rewrite"], relation=relation)
        except psycopg.errors.LockNotAvailable:
            return NotRewritten(
                relation=relation, reason=f"{relation} was in use for {LOCK_SECONDS:g} s and more", passing=True
            )
        except psycopg.errors.QueryCanceled:
            return NotRewritten(
                relation=relation,
                reason=f"{relation} takes longer to rewrite than it may be locked; allow more with `olvido erasure run "
                f"--longest-lock SECONDS` at a quiet hour{_OR_SWAP.format(relation) if is_leaf(relation) else ''}",
            )
        except psycopg.errors.InsufficientPrivilege:
            return NotRewritten(
                relation=relation,
                reason=f"olvido_eraser may not rewrite {relation}; as the owner, GRANT MAINTAIN on it TO olvido_eraser",
            )
        finally:
            await self.limit(LONGEST_STATEMENT)
        lasted = time.monotonic() - began
        still = kept[-1] if kept else None
        # With no removed row kept, none that was removed by then is in the file, whoever sees what. Otherwise what
        # counts is what nobody could see, before and after: between the two, only a standby that has just come could
        # move it back.
        seen_after = (await self.horizon()).gone_before
        return Rewritten(
            relation=relation,
            gone_before=row["ended"] if still == 0 else min(seen_before, seen_after),
            begun_at=utc(row["begun_at"]),
            kept=still,
            before=row["before"],
            after=row["after"],
            waited=row["waited"],
            locked=max(0.0, lasted - row["waited"]),
            lsn=await self.position(),
        )

    async def position(self) -> str:
        """Where the log is now, as PostgreSQL writes it."""
        return str((await first_row(self.connection, _SQL["position"]))["lsn"])

    async def _all(self, statement: Statement, **parameters: object) -> list[DictRow]:
        return await all_rows(self.connection, statement, **parameters)

    @contextmanager
    def _kept(self) -> Iterator[list[int]]:
        """Collect what the server says of removed rows that it could not leave out: the only number of a DETAIL."""
        kept: list[int] = []

        def noticed(diagnostic: psycopg.errors.Diagnostic) -> None:
            first = (diagnostic.message_detail or "").partition("\n")[0]
            if found := _NUMBER.search(first):
                kept.append(int(found[0]))

        self.connection.add_notice_handler(noticed)
        try:
            yield kept
        finally:
            self.connection.remove_notice_handler(noticed)
