"""Connections, and the one way into a scope.

A transaction enters its scope first; row security then shows that scope only, and every statement says it as well.
Nothing about a tenant lives on a connection: the setting ends with the transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, cast
from uuid import UUID

import psycopg
from numpy.typing import NDArray
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from olvido.domain.report import HeldRecord
from olvido.domain.scope import Scope
from olvido.errors import DatabaseUnavailable, SubjectForgotten, TenantClosed, UnsafeDatabase
from olvido.ports import Clock
from olvido.storage.arrays import array
from olvido.storage.connections import NOTHING, ONE_INSTANT, Connection, Cursor, Pool, borrow, first, one_statement
from olvido.storage.queries import Statement, statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.translation import FORGOTTEN

_SQL = statements("scope")

NO_WORKER = (
    "What works for a whole company or for everyone takes a login that is a member of olvido_worker, and this one is "
    "not: purging, repairing the index, following up erasures, forgetting a company, legal holds, and asking what was "
    "forgotten before an import. Pass such a login as worker_url."
)
CLOSED = "This tenant was closed in order to be forgotten. Nothing is read or written for it any more."


@dataclass(kw_only=True, slots=True)
class Life:
    """One life of a subject, as seen by one handle. `key` is pinned at the first use and never changes."""

    scope: Scope
    key: UUID | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entering:
    """A statement that enters a scope to write as `scope.enter_to_insert` does, and reads more in the same answer.

    parameters: what it takes beside those of that one, `tenant`, `external` and `subject` (the pinned life or NULL).
    """

    statement: Statement
    parameters: Mapping[str, object] = field(default_factory=dict)


_AS_USUAL = Entering(statement=_SQL["enter"])
_TO_INSERT = Entering(statement=_SQL["enter_to_insert"])


@dataclass(kw_only=True, slots=True)
class Transaction:
    """An open transaction inside one scope, usable until its block ends.

    cursor: of its connection, for all statements.
    now: the instant of this transaction (UTC), passed to every statement as `%(now)s`.
    key: the life that was entered; None when nothing of this subject is stored (or no more).
    over: the life that the handle knew is over.
    entered: what the statement that entered the scope answered.
    inserting: plans may be generic, so what reads a partitioned relation is planned anew by not being prepared.
    ended: it committed or rolled back, and whatever still uses it is refused.
    clock: where `now` is from; None is the database's clock.
    held: what a legal hold kept of what this transaction removed, or would keep; kept: how many rows of each relation.
    holds: those of this life, once somebody asked.
    """

    cursor: Cursor
    tenant: str
    key: UUID | None
    now: datetime
    entered: DictRow
    over: bool = False
    inserting: bool = False
    ended: bool = False
    clock: Clock | None = None
    held: list[HeldRecord] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    holds: Mapping[UUID, DictRow] | None = None
    _scope: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self._scope = {"tenant": self.tenant, "subject": self.key, "now": self.now}

    @property
    def connection(self) -> Connection:
        """That of the cursor, for what is no statement of a scope."""
        return cast("Connection", self.cursor.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True  # its connection is the next caller's then

    async def all(self, statement: Statement, **parameters: object) -> list[DictRow]:
        """All rows of `statement` in this scope."""
        cursor = await self._execute(statement, parameters)
        return await cursor.fetchall()

    async def one(self, statement: Statement, **parameters: object) -> DictRow | None:
        """The first row of `statement`, or None."""
        cursor = await self._execute(statement, parameters)
        return await cursor.fetchone()

    async def arrays(
        self, statement: Statement, types: Mapping[str, str], **parameters: object
    ) -> dict[str, NDArray[Any]]:
        """The one row of `statement`, whose columns are arrays, by column. types: numpy types of their elements."""
        cursor = await self._execute(statement, parameters, binary=True)
        answered = cursor.pgresult
        if answered is None or answered.ntuples != 1:
            raise DatabaseUnavailable(NOTHING)
        names = [answered.fname(place) for place in range(answered.nfields)]
        return {name: array(answered.get_value(0, names.index(name.encode())), types[name]) for name in types}

    async def run(self, statement: Statement, **parameters: object) -> int:
        """Run `statement` and return how many rows it changed."""
        cursor = await self._execute(statement, parameters)
        return cursor.rowcount

    async def queue(self, statement: Statement) -> None:
        """Wait for a turn, and be at the instant at which it came: whatever was waited for is earlier.

        statement: answers when that was, by the database's clock, as `at`.
        """
        row = await self.one(statement)
        if row is not None:
            self.now = row["at"] if self.clock is None else self.clock.now()
            self._scope["now"] = self.now

    async def reorganise(self) -> None:
        """Be the only one that rewrites derived records of this life, before touching rows that others may hold.

        Consolidation and removal reach summaries and episodes from opposite ends; one after the other they cannot
        deadlock.
        """
        await self.one(_SQL["reorganise"])

    async def _execute(self, statement: Statement, parameters: Mapping[str, object], *, binary: bool = False) -> Cursor:
        if self.ended:
            raise DatabaseUnavailable("This transaction has ended. Begin another one.")
        prepare = False if self.inserting and statement.reads_leaves else None
        return await self.cursor.execute(statement.text, {**parameters, **self._scope}, prepare=prepare, binary=binary)

    async def touch_due(self, due_at: datetime | None) -> None:
        """Note that something of this life expires at `due_at` (None: never)."""
        if due_at is not None:
            await self.run(_SQL["touch_due"], due_at=due_at)

    async def audit(
        self,
        action: str,
        kind: str,
        *,
        policy_version: str,
        record_id: UUID | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Append an audit row, which commits with the effect. Never holds content."""
        await self.run(
            _SQL["audit"],
            audit_id=new_record_id(),
            action=action,
            kind=kind,
            record_id=record_id,
            counts=Jsonb(dict(counts or {})),
            policy_version=policy_version,
        )


class Database:
    """Pools of connections, and the transactions that operations run in.

    workers: None if no login for duties is known; they raise UnsafeDatabase then. questions: of the same login, for
    whoever holds a life: what waits for that life may have taken every connection of `workers`.
    clock: overrides the database's clock, for tests only.
    """

    def __init__(
        self,
        requests: Pool,
        workers: Pool | None,
        *,
        questions: Pool | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._requests = requests
        self._workers = workers
        self._questions = questions
        self._clock = clock

    @property
    def has_worker(self) -> bool:
        """Whether a login for duties is known."""
        return self._workers is not None

    async def close(self) -> None:
        """Close all pools; running transactions end first."""
        for pool in (self._requests, self._workers, self._questions):
            if pool is not None:
                await pool.close()

    @asynccontextmanager
    async def read(self, life: Life) -> AsyncIterator[Transaction]:
        """A transaction that reads one scope. A life that is over reads as empty. Raises TenantClosed."""
        async with self._entering(life) as (cursor, entered):
            with self._transaction(cursor, life, entered) as transaction:
                yield transaction

    async def pin(self, life: Life) -> None:
        """Tie a fresh handle to the life that stands now, if one does, before anything slow is done for a write.

        A forget in the meantime then refuses that write, instead of being followed by it. A life is not begun for that:
        a write that is refused or fails afterwards would leave the external id behind. Raises TenantClosed.
        """
        if life.key is None:
            async with self._entering(life, within=one_statement) as (_, entered):
                _pin(life, entered)

    @asynccontextmanager
    async def snapshot(self, life: Life) -> AsyncIterator[Transaction]:
        """Like `read`, with all statements seeing the same instant of the database."""
        async with self._entering(life, isolation=ONE_INSTANT) as (cursor, entered):
            with self._transaction(cursor, life, entered) as transaction:
                yield transaction

    @asynccontextmanager
    async def write(
        self, life: Life, *, inserting: bool = False, entering: Entering | None = None
    ) -> AsyncIterator[Transaction]:
        """A transaction that writes one scope, beginning a life if there is none.

        entering: what it enters with, for inserts then; its answer is `entered` of the transaction.
        inserting: inserts are most of it, and nothing is deleted from `subjects` or `sessions`, nor inserted into
        `summary_sources`: those make the database look in partitioned relations, with plans of its own.
        The life is held until the end, so that a forget waits for this transaction and removes what it wrote.
        Raises SubjectForgotten if the life of this handle is over, and TenantClosed.
        """
        if entering is None and inserting:
            entering = _TO_INSERT
        async with self._entering(life, lock=True, entering=entering) as (cursor, seen):
            entered = seen
            if entered["over"]:
                raise SubjectForgotten(FORGOTTEN)
            begins = entered["subject_key"] is None
            if begins:
                await cursor.execute(
                    _SQL["begin"].text,
                    {
                        "tenant": life.scope.tenant,
                        "external": life.scope.subject,
                        "minted": new_record_id(),
                        "now": self._now(entered),
                    },
                )
                entered = await self._enter(cursor, life, lock=True, entering=entering)
                if entered["subject_key"] is None:
                    # Another caller began this life and a forget ended it, both since the line above.
                    raise SubjectForgotten(FORGOTTEN)
            with self._transaction(cursor, life, entered, pin=not begins) as transaction:
                transaction.inserting = entering is not None
                yield transaction
        # A life that begins here exists from the commit on: pinned earlier, a refused first write would leave a
        # handle of a life that never was, and other calls through this handle would take it for one that is over.
        _pin(life, entered)

    @asynccontextmanager
    async def existing(self, life: Life, *, lock: bool = False) -> AsyncIterator[Transaction]:
        """A transaction that never begins a life: `key` is None when there is nothing. For forget and repair."""
        async with self._entering(life, lock=lock) as (cursor, entered):
            with self._transaction(cursor, life, entered) as transaction:
                yield transaction

    @asynccontextmanager
    async def work(self, tenant: str, key: UUID, *, lock: bool = True) -> AsyncIterator[Transaction]:
        """A worker's transaction inside one life, entered by key. `key` of the transaction is None if it is over."""
        async with _entering_life(self._worker_pool(), tenant, key, lock=lock) as (cursor, entered):
            with self._by_key(cursor, tenant, entered["subject_key"], entered) as transaction:
                yield transaction

    @asynccontextmanager
    async def remains(
        self, tenant: str, key: UUID | None, *, external: str | None = None, worker: bool = False
    ) -> AsyncIterator[Transaction]:
        """A transaction that looks at what is left of a life that is over, to read a forget back.

        external: the id of the subject; without it a request sees no row of `subjects`, left over or not.
        """
        pool = self._worker_pool() if worker else self._requests
        async with _entering_life(pool, tenant, key, external=external) as (cursor, entered):
            with self._by_key(cursor, tenant, key, entered) as transaction:
                yield transaction

    @asynccontextmanager
    async def administer(self, tenant: str = "", *, asking: bool = False) -> AsyncIterator[Transaction]:
        """A worker's transaction in one tenant and in no life: it sees system relations and that tenant's keys.

        asking: of whoever may hold a life; nothing is waited for in it.
        """
        pool = (asking and self._questions) or self._worker_pool()
        async with _entering_life(pool, tenant, None) as (cursor, entered):
            with self._by_key(cursor, tenant, None, entered) as transaction:
                yield transaction

    def _worker_pool(self) -> Pool:
        if self._workers is None:
            raise UnsafeDatabase(NO_WORKER)
        return self._workers

    def _entering(
        self,
        life: Life,
        *,
        lock: bool = False,
        entering: Entering | None = None,
        within: Callable[[Connection], AbstractAsyncContextManager[None]] | None = None,
        isolation: psycopg.IsolationLevel | None = None,
    ) -> AbstractAsyncContextManager[tuple[Cursor, DictRow]]:
        async def enter(cursor: Cursor) -> DictRow:
            return await self._enter(cursor, life, lock=lock, entering=entering)

        return borrow(self._requests, enter, within=within, isolation=isolation)

    def _by_key(self, cursor: Cursor, tenant: str, key: UUID | None, entered: DictRow) -> Transaction:
        return Transaction(
            cursor=cursor,
            tenant=tenant,
            key=key,
            now=self._now(entered),
            entered=entered,
            clock=self._clock,
        )

    async def _enter(self, cursor: Cursor, life: Life, *, lock: bool, entering: Entering | None = None) -> DictRow:
        entering = entering or _AS_USUAL
        await cursor.execute(
            entering.statement.text,
            {
                **entering.parameters,
                "tenant": life.scope.tenant,
                "external": life.scope.subject,
                "subject": life.key,
                "lock": lock,
            },
        )
        entered = await first(cursor)
        if entered["closed"]:
            raise TenantClosed(CLOSED)
        return entered

    def _transaction(self, cursor: Cursor, life: Life, entered: DictRow, *, pin: bool = True) -> Transaction:
        if pin:
            _pin(life, entered)
        return Transaction(
            cursor=cursor,
            tenant=life.scope.tenant,
            key=entered["subject_key"],
            now=self._now(entered),
            entered=entered,
            over=entered["over"],
            clock=self._clock,
        )

    def _now(self, entered: DictRow) -> datetime:
        now: datetime = self._clock.now() if self._clock is not None else entered["entered_at"]
        return now


def _pin(life: Life, entered: DictRow) -> None:
    if life.key is None:
        life.key = entered["subject_key"]


def _entering_life(
    pool: Pool, tenant: str, key: UUID | None, *, external: str | None = None, lock: bool = False
) -> AbstractAsyncContextManager[tuple[Cursor, DictRow]]:
    async def enter(cursor: Cursor) -> DictRow:
        await cursor.execute(
            _SQL["enter_life"].text, {"tenant": tenant, "external": external, "pinned": key, "lock": lock}
        )
        return await first(cursor)

    return borrow(pool, enter)
