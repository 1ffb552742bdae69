"""What psycopg raises, as Olvido's errors: without its DETAIL, which quotes stored values."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from olvido.errors import (
    Conflict,
    DatabaseUnavailable,
    InvalidValue,
    OlvidoError,
    SubjectForgotten,
    UnsafeDatabase,
)

log = logging.getLogger("olvido.database")

FORGOTTEN = (
    "This subject was forgotten after this handle was first used, so it takes no more writes. "
    "If the person came back and consented again, take a new handle with memory.scope(...)."
)

_ANSWERS: tuple[tuple[tuple[type[psycopg.Error], ...], type[OlvidoError], str], ...] = (
    (
        (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected),
        Conflict,
        "Another writer changed the same records at the same moment. Try again.",
    ),
    (
        (psycopg.errors.UniqueViolation,),
        Conflict,
        "Another writer stored the same id at the same moment. Read again and decide.",
    ),
    (
        (psycopg.errors.InsufficientPrivilege,),
        UnsafeDatabase,
        "The database refused this login. Run `olvido doctor`: it names the role that is missing.",
    ),
    (
        (psycopg.DataError, psycopg.errors.ProgramLimitExceeded),
        InvalidValue,
        "The database cannot hold this value. Nothing was stored; pass a shorter or well-formed one.",
    ),
    (
        (PoolTimeout,),
        DatabaseUnavailable,
        "No connection became free in time. Open with a larger pool_size, or have fewer calls at once.",
    ),
    (
        (PoolClosed,),
        DatabaseUnavailable,
        "This memory is closed. Open it again with olvido.open(...).",
    ),
)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Raise an OlvidoError for whatever psycopg raises inside."""
    try:
        yield
    except psycopg.Error as error:
        raise _answer(error) from None


def _answer(error: psycopg.Error) -> OlvidoError:
    if isinstance(error, psycopg.errors.ForeignKeyViolation):
        if (error.diag.constraint_name or "").endswith("_subject_key_fkey"):
            return SubjectForgotten(FORGOTTEN)
        return Conflict("What this refers to was forgotten at the same moment. Read again and decide.")
    for kinds, answer, message in _ANSWERS:
        if isinstance(error, kinds):
            return answer(message)
    log.warning("database error", extra={"action": "database_error", "sqlstate": error.sqlstate})
    return DatabaseUnavailable(
        f"The database could not finish the call (SQLSTATE {error.sqlstate or 'none, connection lost'}). "
        "Whatever it was doing was rolled back; try again."
    )
