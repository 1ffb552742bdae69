"""The Nth statement that is sent fails, in one of the ways in which statements fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, NoReturn, cast

import psycopg
import psycopg.conninfo
import pytest
from psycopg.pq import TransactionStatus

from tests.adapters.embedded.support import eventually

REFUSE = b"DO $$ BEGIN RAISE EXCEPTION 'made by a test' USING ERRCODE = 'query_canceled'; END $$"

Connection = psycopg.AsyncConnection[Any]


class How(StrEnum):
    """What becomes of the statement.

    refused: the server gives it up with an error, as after a timeout. lost: the connection ends before it is sent.
    unanswered: it is carried out, and the connection ends before its answer comes. crashed: it is carried out, and the
    server crashes before that is committed; it has recovered when the error is raised.
    """

    REFUSED = "refused"
    LOST = "lost"
    UNANSWERED = "unanswered"
    CRASHED = "crashed"


_EXECUTE: Callable[..., Awaitable[Any]] = psycopg.AsyncCursor.execute


@dataclass(kw_only=True, slots=True)
class Fault:
    """The statement that fails, counted from 1, and how many were sent. Each COMMIT is one as well."""

    at: int
    sent: int = 0

    @property
    def reached(self) -> bool:
        """Whether it came to that."""
        return self.sent >= self.at

    def hits(self) -> bool:
        """Count one more; whether it is the one."""
        self.sent += 1
        return self.sent == self.at


def crash(connection: psycopg.Connection[Any] | Connection) -> None:
    """Kill the process that serves a connection, so that the whole server crashes, and wait until it has recovered."""
    info = connection.info
    login = {"host": info.host, "dbname": info.dbname, "user": info.user, "password": info.password}
    url = psycopg.conninfo.make_conninfo("", **login)
    before = _counted_since(url)
    os.kill(info.backend_pid, signal.SIGKILL)
    assert eventually(lambda: _counted_since(url) not in {None, before})


def _counted_since(url: str) -> object:
    """Since when the server counts, which it does anew after a crash; None while it does not answer."""
    try:
        with psycopg.connect(url) as connection:
            ((since,),) = connection.execute("SELECT stats_reset FROM pg_stat_wal").fetchall()
    except psycopg.OperationalError:
        return None
    return cast("object", since)


@contextmanager
def failing(at: int, how: How = How.LOST) -> Iterator[Fault]:
    """Let the statement with this number fail, of all that any connection of this process sends in the block."""
    fault = Fault(at=at)
    right_commit: Callable[[Connection], Awaitable[None]] = psycopg.AsyncConnection.commit

    async def execute(cursor: psycopg.AsyncCursor[Any], *given: object, **options: object) -> object:
        async def right() -> object:
            return await _EXECUTE(cursor, *given, **options)

        if fault.hits():
            await _fail(cursor.connection, how, right)
        return await right()

    async def commit(connection: Connection) -> None:
        # With no transaction there is nothing to send.
        if connection.info.transaction_status is not TransactionStatus.IDLE and fault.hits():
            await _fail(connection, how, partial(right_commit, connection), ends=True)
        await right_commit(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.AsyncCursor, "execute", execute)
        patch.setattr(psycopg.AsyncConnection, "commit", commit)
        yield fault


async def _fail(
    connection: Connection, how: How, right: Callable[[], Awaitable[object]], *, ends: bool = False
) -> NoReturn:
    """Let `right` fail. ends: it would commit."""
    match how:
        case How.REFUSED:
            await _EXECUTE(connection.cursor(), REFUSE)
        case How.UNANSWERED:
            await right()
        case How.CRASHED:
            if connection.info.transaction_status is TransactionStatus.IDLE:
                await _EXECUTE(connection.cursor(), b"BEGIN")
            # Some statements, such as CHECKPOINT, are refused in a transaction: then the crash comes just before them.
            if not ends:
                with suppress(psycopg.Error):
                    await right()
            crash(connection)
        case How.LOST:
            pass
    connection.pgconn.finish()
    raise psycopg.OperationalError("made by a test")
