"""Connections: a pool of them, and a transaction on one that begins by entering a scope."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from olvido.errors import DatabaseUnavailable
from olvido.storage.arrays import Elements, ElementsDumper
from olvido.storage.queries import statements
from olvido.storage.translation import translated, translation

NOTHING = "The database answered nothing where one row is certain. Try again."

ONE_INSTANT = psycopg.IsolationLevel.REPEATABLE_READ
"""Lets all statements of a transaction that only reads see the same instant of the database."""

RECONNECT_SECONDS = 5.0
"""For so long a connection is tried, with growing pauses, before whoever asks next has another one tried. The pauses
of the default grow to minutes, which would be waited for after a long outage when the server is back."""

_SQL = statements("scope")


class Connection(psycopg.AsyncConnection[DictRow]):
    """One of a pool. unchecked: what has to be found in order before it is used first; None if it was."""

    unchecked: Check | None = None


Cursor = psycopg.AsyncCursor[DictRow]
Pool = AsyncConnectionPool[Connection]
Check = Callable[[Connection], Awaitable[None]]
"""Looks at the server behind a new connection, and raises Unavailable if it is not to be used."""


async def open_pool(
    url: str, *, size: int, wait_seconds: float, name: str, idle: int = 1, check: Check | None = None
) -> Pool:
    """A pool of connections that know pgvector's types. Entering a scope checks them.

    size: most connections at once. idle: how many are kept open when nobody asks. wait_seconds: how long to wait for
    one. check: of each new connection, before it is used first; what it raises is raised to whoever borrows it.
    Raises DatabaseUnavailable.
    """

    async def configure(connection: Connection) -> None:
        # A database without the extension is let in here: start-up then says what is missing, at once.
        with suppress(psycopg.ProgrammingError):
            await register_vector_async(connection)
        connection.adapters.register_dumper(Elements, ElementsDumper)
        await connection.execute(_SQL["settle"].text)
        await connection.commit()
        connection.unchecked = check

    pool: Pool = AsyncConnectionPool(
        url,
        connection_class=Connection,
        kwargs={"row_factory": dict_row, "client_encoding": "utf8"},
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
    # Only now: to open it waits as long as it was told to.
    pool.reconnect_timeout = RECONNECT_SECONDS
    return pool


@asynccontextmanager
async def borrow(
    pool: Pool,
    enter: Callable[[Cursor], Awaitable[DictRow]],
    *,
    within: Callable[[Connection], AbstractAsyncContextManager[None]] | None = None,
    isolation: psycopg.IsolationLevel | None = None,
) -> AsyncIterator[tuple[Cursor, DictRow]]:
    """A cursor of a connection in a transaction that has entered its scope, and what entering answered.

    within: `one_statement`, which sets what the transaction is. isolation: ONE_INSTANT, or None for that of the server.

    Entering is the check of the connection as well: it is the first thing sent and it changes nothing, so where the
    connection turns out to have died in the pool, another one takes its place and nothing is done twice.

    Raises an OlvidoError for whatever psycopg raises inside.
    """
    try:
        for others in reversed(range(pool.max_size + 1)):
            async with pool.connection() as connection, nullcontext() if within is None else within(connection):
                try:
                    # Everyone says it, so nothing is put back: mostly it is what it was for the one before.
                    if connection.isolation_level is not isolation:
                        await connection.set_isolation_level(isolation)
                    if connection.unchecked is not None:
                        await connection.unchecked(connection)
                        await connection.commit()
                        connection.unchecked = None
                    cursor = connection.cursor()
                    entered = await enter(cursor)
                except psycopg.OperationalError:
                    if connection.closed and others:
                        continue
                    raise
                yield cursor, entered
                return
    except psycopg.Error as error:
        raise translation(error) from None


@asynccontextmanager
async def one_statement(connection: Connection) -> AsyncIterator[None]:
    """Let entering be the whole transaction: two messages fewer, for who wants to know its answer only."""
    await connection.set_autocommit(True)
    try:
        yield
    finally:
        # In any other state, as when it was lost in the middle, the pool gives it to nobody.
        if connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE:
            await connection.set_autocommit(False)


async def first(cursor: Cursor) -> DictRow:
    """The one row that is certain. Raises DatabaseUnavailable if it is not there."""
    row = await cursor.fetchone()
    if row is None:
        raise DatabaseUnavailable(NOTHING)
    return row
