"""A look at a database that may not be fit to serve: one plain connection, without pool or pgvector's types."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from olvido.errors import DatabaseUnavailable, InvalidInput
from olvido.storage.queries import Statement
from olvido.storage.translation import translated

Looking = psycopg.AsyncConnection[DictRow]
"""A connection that only looks."""

# Without what psycopg says about it: that may quote the password.
MAKE_UTF8 = "Make a database for Olvido: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0."
HIDDEN = "The search path of the login does not name the schema that the types of pgvector are in."
SHOW = "ALTER ROLE the login SET search_path with that schema, or ALTER EXTENSION vector SET SCHEMA."
UNREADABLE_URL = (
    "The database URL cannot be read. Write it as postgresql://login@host:5432/database, with special characters of "
    "the password percent-encoded."
)


async def connect(url: str, *, seconds: int, autocommit: bool = False) -> Looking:
    """A connection that answers rows as dicts, for the caller to close. Raises DatabaseUnavailable, InvalidInput."""
    try:
        return await psycopg.AsyncConnection.connect(
            url, row_factory=dict_row, connect_timeout=max(2, seconds), autocommit=autocommit, client_encoding="utf8"
        )
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"The database could not be reached (SQLSTATE {error.sqlstate or 'none, no connection'}). "
            "Check that the server runs, and the host, database, login and password of the URL."
        ) from None
    except psycopg.ProgrammingError:
        raise InvalidInput(UNREADABLE_URL) from None


@asynccontextmanager
async def look(url: str, *, seconds: int) -> AsyncIterator[Looking]:
    """A connection that answers rows as dicts and changes nothing. seconds: how long to try.

    Raises DatabaseUnavailable, InvalidInput for a URL that cannot be read, and whatever `translated` makes of a
    failing statement.
    """
    connection = await connect(url, seconds=seconds)
    await connection.set_read_only(True)
    async with translated(), connection:
        yield connection


async def all_rows(connection: Looking, statement: Statement, **parameters: object) -> list[DictRow]:
    """All rows of `statement`."""
    return await (await connection.execute(statement.text, parameters)).fetchall()


async def first_row(connection: Looking, statement: Statement, **parameters: object) -> dict[str, Any]:
    """The one row that `statement` is certain to answer. Raises DatabaseUnavailable if it does not."""
    row = await (await connection.execute(statement.text, parameters)).fetchone()
    if row is None:
        raise DatabaseUnavailable("The database answered nothing where one row is certain. Try again.")
    return row
