"""Connections, and the one way into a scope.

A transaction enters its scope first; row security then shows that scope only, and every statement says it as well.
Nothing about a tenant lives on a connection: the setting ends with the transaction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from olvido.domain.scope import Scope
from olvido.errors import DatabaseUnavailable, SubjectForgotten, TenantClosed, UnsafeDatabase
from olvido.ports import Clock
from olvido.storage.queries import Statement, statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.translation import FORGOTTEN, translated

_Connection = psycopg.AsyncConnection[DictRow]
_Pool = AsyncConnectionPool[_Connection]

_SQL = statements("scope")

NO_WORKER = (
    "Purging, and forgetting a tenant, take a login that is a member of olvido_worker, and this one is not. "
    "Pass such a login as worker_url."
)
CLOSED = "This tenant was closed in order to be forgotten. Nothing is read or written for it any more."


@dataclass(kw_only=True, slots=True)
class Life:
    """One life of a subject, as seen by one handle. `key` is pinned at the first use and never changes."""

    scope: Scope
    key: UUID | None = None


@dataclass(kw_only=True, slots=True)
class Transaction:
    """An open transaction inside one scope.

    now: the instant of this transaction (UTC), passed to every statement as `%(now)s`.
    key: the life that was entered; None when nothing of this subject is stored (or no more).
    over: the life that the handle knew is over.
    inserting: plans may be generic, so what reads a partitioned relation is planned anew by not being prepared.
    ended: it committed or rolled back, and whatever still uses it is refused.
    """

    connection: _Connection
    tenant: str
    key: UUID | None
    now: datetime
    over: bool = False
    inserting: bool = False
    ended: bool = False
    _scope: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self._scope = {"tenant": self.tenant, "subject": self.key, "now": self.now}

    async def all(self, statement: Statement, **parameters: object) -> list[DictRow]:
        """All rows of `statement` in this scope."""
        cursor = await self._execute(statement, parameters)
        return await cursor.fetchall()

    async def one(self, statement: Statement, **parameters: object) -> DictRow | None:
        """The first row of `statement`, or None."""
        cursor = await self._execute(statement, parameters)
        return await cursor.fetchone()

    async def run(self, statement: Statement, **parameters: object) -> int:
        """Run `statement` and return how many rows it changed."""
        cursor = await self._execute(statement, parameters)
        return cursor.rowcount

    async def reorganise(self) -> None:
        """Be the only one that rewrites derived records of this life, before touching rows that others may hold.

        Consolidation and removal reach summaries and episodes from opposite ends; one after the other they cannot
        deadlock.
        """
        await self.one(_SQL["reorganise"])

    async def _execute(self, statement: Statement, parameters: Mapping[str, object]) -> psycopg.AsyncCursor[DictRow]:
        if self.ended:
            raise DatabaseUnavailable("This transaction has ended. Begin another one.")
        prepare = False if self.inserting and statement.reads_leaves else None
        return await self.connection.execute(statement.text, {**parameters, **self._scope}, prepare=prepare)

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
    """Two pools, requests and workers, and the transactions that operations run in.

    workers: None if no login for duties is known; they raise UnsafeDatabase then.
    clock: overrides the database's clock, for tests only.
    """

    def __init__(
        self,
        requests: _Pool,
        workers: _Pool | None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._requests = requests
        self._workers = workers
        self._clock = clock

    async def close(self) -> None:
        """Close both pools; running transactions end first."""
        await self._requests.close()
        if self._workers is not None:
            await self._workers.close()

    @asynccontextmanager
    async def read(self, life: Life) -> AsyncIterator[Transaction]:
        """A transaction that reads one scope. A life that is over reads as empty. Raises TenantClosed."""
        async with translated(), self._entering(life) as (connection, entered):
            with _lent(self._transaction(connection, life, entered)) as transaction:
                yield transaction

    async def pin(self, life: Life) -> None:
        """Tie a fresh handle to the life that stands now, before anything slow is done for a write.

        A forget in the meantime then refuses that write, instead of being followed by it. Raises TenantClosed.
        """
        if life.key is None:
            async with self.read(life):
                pass

    @asynccontextmanager
    async def snapshot(self, life: Life) -> AsyncIterator[Transaction]:
        """Like `read`, with all statements seeing the same instant of the database."""
        async with translated(), self._entering(life, snapshot=True) as (connection, entered):
            with _lent(self._transaction(connection, life, entered)) as transaction:
                yield transaction

    @asynccontextmanager
    async def write(self, life: Life, *, inserting: bool = False) -> AsyncIterator[Transaction]:
        """A transaction that writes one scope, beginning a life if there is none.

        inserting: inserts are most of it, and nothing is deleted from `subjects` or `sessions`, nor inserted into
        `summary_sources`: those make the database look in partitioned relations, with plans of its own.
        The life is held until the end, so that a forget waits for this transaction and removes what it wrote.
        Raises SubjectForgotten if the life of this handle is over, and TenantClosed.
        """
        async with translated():
            async with self._entering(life, lock=True, inserting=inserting) as (connection, seen):
                entered = seen
                if entered["over"]:
                    raise SubjectForgotten(FORGOTTEN)
                begins = entered["subject_key"] is None
                if begins:
                    await connection.execute(
                        _SQL["begin"].text,
                        {
                            "tenant": life.scope.tenant,
                            "external": life.scope.subject,
                            "minted": new_record_id(),
                            "now": self._now(entered),
                        },
                    )
                    entered = await self._enter(connection, life, lock=True, inserting=inserting)
                    if entered["subject_key"] is None:
                        # Another caller began this life and a forget ended it, both since the line above.
                        raise SubjectForgotten(FORGOTTEN)
                with _lent(self._transaction(connection, life, entered, pin=not begins)) as transaction:
                    transaction.inserting = inserting
                    yield transaction
            # A life that begins here exists from the commit on: pinned earlier, a refused first write would leave a
            # handle of a life that never was, and other calls through this handle would take it for one that is over.
            _pin(life, entered)

    @asynccontextmanager
    async def existing(self, life: Life, *, lock: bool = False) -> AsyncIterator[Transaction]:
        """A transaction that never begins a life: `key` is None when there is nothing. For forget and repair."""
        async with translated(), self._entering(life, lock=lock) as (connection, entered):
            with _lent(self._transaction(connection, life, entered)) as transaction:
                yield transaction

    @asynccontextmanager
    async def work(self, tenant: str, key: UUID, *, lock: bool = True) -> AsyncIterator[Transaction]:
        """A worker's transaction inside one life, entered by key. `key` of the transaction is None if it is over."""
        async with translated(), _entering_life(self._worker_pool(), tenant, key, lock=lock) as (connection, entered):
            with _lent(self._by_key(connection, tenant, entered["subject_key"], entered)) as transaction:
                yield transaction

    @asynccontextmanager
    async def remains(
        self, tenant: str, key: UUID | None, *, external: str | None = None, worker: bool = False
    ) -> AsyncIterator[Transaction]:
        """A transaction that looks at what is left of a life that is over, to read a forget back.

        external: the id of the subject; without it a request sees no row of `subjects`, left over or not.
        """
        pool = self._worker_pool() if worker else self._requests
        async with translated(), _entering_life(pool, tenant, key, external=external) as (connection, entered):
            with _lent(self._by_key(connection, tenant, key, entered)) as transaction:
                yield transaction

    @asynccontextmanager
    async def administer(self, tenant: str = "") -> AsyncIterator[Transaction]:
        """A worker's transaction in one tenant and in no life: it sees system relations and that tenant's keys."""
        async with translated(), _entering_life(self._worker_pool(), tenant, None) as (connection, entered):
            with _lent(self._by_key(connection, tenant, None, entered)) as transaction:
                yield transaction

    def _worker_pool(self) -> _Pool:
        if self._workers is None:
            raise UnsafeDatabase(NO_WORKER)
        return self._workers

    def _entering(
        self, life: Life, *, lock: bool = False, inserting: bool = False, snapshot: bool = False
    ) -> AbstractAsyncContextManager[tuple[_Connection, DictRow]]:
        async def enter(connection: _Connection) -> DictRow:
            return await self._enter(connection, life, lock=lock, inserting=inserting)

        return _entered(self._requests, enter, snapshot=snapshot)

    def _by_key(self, connection: _Connection, tenant: str, key: UUID | None, entered: DictRow) -> Transaction:
        return Transaction(connection=connection, tenant=tenant, key=key, now=self._now(entered))

    async def _enter(self, connection: _Connection, life: Life, *, lock: bool, inserting: bool = False) -> DictRow:
        cursor = await connection.execute(
            _SQL["enter_to_insert" if inserting else "enter"].text,
            {"tenant": life.scope.tenant, "external": life.scope.subject, "pinned": life.key, "lock": lock},
        )
        entered = await _first(cursor)
        if entered["closed"]:
            raise TenantClosed(CLOSED)
        return entered

    def _transaction(self, connection: _Connection, life: Life, entered: DictRow, *, pin: bool = True) -> Transaction:
        if pin:
            _pin(life, entered)
        return Transaction(
            connection=connection,
            tenant=life.scope.tenant,
            key=entered["subject_key"],
            now=self._now(entered),
            over=entered["over"],
        )

    def _now(self, entered: DictRow) -> datetime:
        now: datetime = self._clock.now() if self._clock is not None else entered["entered_at"]
        return now


def _pin(life: Life, entered: DictRow) -> None:
    if life.key is None:
        life.key = entered["subject_key"]


@contextmanager
def _lent(transaction: Transaction) -> Iterator[Transaction]:
    """The transaction, usable until the block ends: its connection is the next caller's then."""
    try:
        yield transaction
    finally:
        transaction.ended = True


def _entering_life(
    pool: _Pool, tenant: str, key: UUID | None, *, external: str | None = None, lock: bool = False
) -> AbstractAsyncContextManager[tuple[_Connection, DictRow]]:
    async def enter(connection: _Connection) -> DictRow:
        cursor = await connection.execute(
            _SQL["enter_life"].text, {"tenant": tenant, "external": external, "pinned": key, "lock": lock}
        )
        return await _first(cursor)

    return _entered(pool, enter)


@asynccontextmanager
async def _entered(
    pool: _Pool, enter: Callable[[_Connection], Awaitable[DictRow]], *, snapshot: bool = False
) -> AsyncIterator[tuple[_Connection, DictRow]]:
    """A connection in a transaction that has entered its scope, and what entering answered.

    Entering is the check of the connection as well: it is the first thing sent and it changes nothing, so where the
    connection turns out to have died in the pool, another one takes its place and nothing is done twice.
    """
    for others in reversed(range(pool.max_size + 1)):
        async with pool.connection() as connection, _one_instant(connection) if snapshot else nullcontext():
            try:
                entered = await enter(connection)
            except psycopg.OperationalError:
                if connection.closed and others:
                    continue
                raise
            yield connection, entered
            return


@asynccontextmanager
async def _one_instant(connection: _Connection) -> AsyncIterator[None]:
    """Let all statements of a transaction that only reads see the same instant of the database."""
    await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
    try:
        yield
        if not connection.closed:
            # Not rolled back: psycopg would forget what it has prepared on this connection.
            await connection.commit()
    except BaseException:
        if not connection.closed:
            await connection.rollback()
        raise
    finally:
        if not connection.closed:
            await connection.set_isolation_level(None)


async def _first(cursor: psycopg.AsyncCursor[DictRow]) -> DictRow:
    row = await cursor.fetchone()
    if row is None:
        raise DatabaseUnavailable("The database answered nothing where one row is certain. Try again.")
    return row


async def open_pool(url: str, *, size: int, wait_seconds: float, name: str, idle: int = 1) -> _Pool:
    """A pool of connections that know pgvector's types. Entering a scope checks them.

    size: most connections at once. idle: how many are kept open when nobody asks. wait_seconds: how long to wait for
    one. Raises DatabaseUnavailable.
    """

    async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
        # A database without the extension is let in here: start-up then says what is missing, at once.
        with suppress(psycopg.ProgrammingError):
            await register_vector_async(connection)
        await connection.execute(_SQL["settle"].text)
        await connection.commit()

    pool: _Pool = AsyncConnectionPool(
        url,
        connection_class=psycopg.AsyncConnection[DictRow],
        kwargs={"row_factory": dict_row},
        min_size=idle,
        max_size=size,
        timeout=wait_seconds,
        max_lifetime=1800,
        configure=configure,
        name=name,
        open=False,
    )
    async with translated():
        try:
            await pool.open(wait=True, timeout=wait_seconds)
        except PoolTimeout:
            await pool.close()
            raise DatabaseUnavailable(
                f"No connection to the database within {wait_seconds:g} s. Check that the server runs, and the host, "
                "database, login and password in the URL."
            ) from None
        except BaseException:
            await pool.close()
            raise
    return pool
