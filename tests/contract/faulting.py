"""The Nth statement that is sent fails, in one of the ways in which statements fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import psycopg
import pytest
from psycopg.pq import TransactionStatus

REFUSE = b"DO $$ BEGIN RAISE EXCEPTION 'made by a test' USING ERRCODE = 'query_canceled'; END $$"

Connection = psycopg.AsyncConnection[Any]


class How(StrEnum):
    """What becomes of the statement.

    refused: the server gives it up with an error, as after a timeout. lost: the connection ends before it is sent.
    unanswered: it is carried out, and the connection ends before its answer comes.
    """

    REFUSED = "refused"
    LOST = "lost"
    UNANSWERED = "unanswered"


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


@contextmanager
def failing(at: int, how: How = How.LOST) -> Iterator[Fault]:
    """Let the statement with this number fail, of all that any connection of this process sends in the block."""
    fault = Fault(at=at)
    right_execute: Callable[..., Awaitable[Any]] = psycopg.AsyncCursor.execute
    right_commit: Callable[[Connection], Awaitable[None]] = psycopg.AsyncConnection.commit

    async def execute(cursor: psycopg.AsyncCursor[Any], *given: object, **options: object) -> object:
        async def right() -> object:
            return await right_execute(cursor, *given, **options)

        if fault.hits():
            await fail(cursor.connection, right)
        return await right()

    async def commit(connection: Connection) -> None:
        async def right() -> None:
            await right_commit(connection)

        # With no transaction there is nothing to send.
        if connection.info.transaction_status is not TransactionStatus.IDLE and fault.hits():
            await fail(connection, right)
        await right()

    async def fail(connection: Connection, right: Callable[[], Awaitable[object]]) -> NoReturn:
        if how is How.REFUSED:
            await right_execute(connection.cursor(), REFUSE)
        if how is How.UNANSWERED:
            await right()
        connection.pgconn.finish()
        raise psycopg.OperationalError("made by a test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.AsyncCursor, "execute", execute)
        patch.setattr(psycopg.AsyncConnection, "commit", commit)
        yield fault
