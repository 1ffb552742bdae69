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

NO_CONNECTION = (
    "No connection became free in time. If the server runs, open with a larger pool_size or have fewer calls at once. "
    "If it stopped, as on a full disk, mend that and open again."
)
DISK_FULL = "The disk of the database is full. What was stored before is intact. Free space or give it a larger disk. "
UNKNOWN = (
    "It is not known whether the call was carried out. Read before you repeat it; what has an event id, or states the "
    "value that stands, may be repeated freely."
)

READ_ONLY = "This server or login is read-only, as a standby is. Name the primary, and a login that may write."

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
        (psycopg.errors.ReadOnlySqlTransaction,),
        DatabaseUnavailable,
        READ_ONLY,
    ),
    (
        (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement),
        UnsafeDatabase,
        "A pooler shares sessions of the server out. Let it pool by session, or name the server itself in the URL.",
    ),
    (
        (psycopg.DataError, psycopg.errors.ProgramLimitExceeded),
        InvalidValue,
        "The database cannot hold this value. Nothing was stored; pass a shorter or well-formed one.",
    ),
    (
        (PoolTimeout,),
        DatabaseUnavailable,
        NO_CONNECTION,
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
        raise translation(error) from None


def translation(error: psycopg.Error) -> OlvidoError:
    """What to raise instead of `error`, from None: its DETAIL quotes stored values."""
    if isinstance(error, psycopg.errors.ForeignKeyViolation):
        if (error.diag.constraint_name or "").endswith("_subject_key_fkey"):
            return SubjectForgotten(FORGOTTEN)
        return Conflict("What this refers to was forgotten at the same moment. Read again and decide.")
    for kinds, answer, message in _ANSWERS:
        if isinstance(error, kinds):
            return answer(message)
    log.warning("database error", extra={"action": "database_error", "sqlstate": error.sqlstate})
    return _unavailable(error)


def _unavailable(error: psycopg.Error) -> DatabaseUnavailable:
    """The server failed. What it calls an ERROR was rolled back; if a connection ended, a commit may have gone in."""
    over = error.diag.severity_nonlocalized in {None, "FATAL", "PANIC"}
    if isinstance(error, psycopg.errors.DiskFull):
        if over:
            return DatabaseUnavailable(f"{DISK_FULL}The server stopped: open again. {UNKNOWN}")
        return DatabaseUnavailable(f"{DISK_FULL}Nothing of this call was stored; try again then.")
    if over and isinstance(error, psycopg.OperationalError):
        return DatabaseUnavailable(
            f"The connection to the database was lost (SQLSTATE {error.sqlstate or 'none'}). {UNKNOWN}"
        )
    return DatabaseUnavailable(
        f"The database could not finish the call (SQLSTATE {error.sqlstate or 'none'}). "
        "Whatever it was doing was rolled back; try again."
    )
