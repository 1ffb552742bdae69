"""What the storage tests share: administrators' connections, throw-away logins and a small world of two companies."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

import olvido
from olvido.storage.data_map import DATA_MAP, SUBJECT_RELATIONS
from olvido.storage.row_policies import APP
from tests.conftest import LEAVES, Clone

PASSWORD = "of-a-throw-away-login"
START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIRMED = olvido.Origin.declared("user-confirmation", ref="turn-1")
LOOKED_UP = olvido.Origin.observed("crm.lookup", ref="call-1")

SUBJECT = frozenset(relation.name for relation in SUBJECT_RELATIONS)
"""Names of the relations that hold personal records."""

_numbers = itertools.count()


def administer(clone: Clone) -> psycopg.Connection[tuple[Any, ...]]:
    """A superuser's connection to the clone, each statement committed at once. Use it in a `with` block."""
    return psycopg.connect(clone.superuser, autocommit=True)


def rows(
    connection: psycopg.Connection[tuple[Any, ...]], query: LiteralString, parameters: Sequence[object] = ()
) -> list[tuple[Any, ...]]:
    """All rows of one query."""
    return connection.execute(query, parameters).fetchall()


@contextmanager
def login(clone: Clone, *, options: LiteralString = "", member_of: Sequence[str] = ()) -> Iterator[str]:
    """The URL of a new login to the clone, which is dropped at the end with what it owns.

    options: role attributes, such as "SUPERUSER". member_of: roles that are granted to it.
    """
    name = f"login_{os.getpid()}_{next(_numbers)}"
    role = sql.Identifier(name)
    with administer(clone) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} {}").format(role, sql.Literal(PASSWORD), sql.SQL(options))
        )
        for group in member_of:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), role))
    try:
        address = urlsplit(clone.superuser)
        yield address._replace(netloc=f"{name}:{PASSWORD}@").geturl()
    finally:
        with administer(clone) as connection:
            connection.execute(sql.SQL("REASSIGN OWNED BY {} TO postgres").format(role))
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


@asynccontextmanager
async def changed(clone: Clone, change: str, *, role: str = APP) -> AsyncIterator[psycopg.AsyncConnection[DictRow]]:
    """A connection that has logged in as `role`, so far as the server can tell, after `change`, which is taken back.

    change: statements that a superuser could run by hand. One database serves many changes in this way.
    """
    async with await psycopg.AsyncConnection.connect(clone.superuser, row_factory=dict_row) as connection:
        await connection.execute(change.encode())
        await connection.execute(sql.SQL("SET LOCAL SESSION AUTHORIZATION {}").format(sql.Identifier(role)))
        yield connection
        await connection.rollback()


def leaf(connection: psycopg.Connection[tuple[Any, ...]], tenant: str) -> int:
    """Which remainder the partitions of a tenant have, the same in each partitioned relation."""
    for remainder in range(LEAVES):
        found = rows(
            connection,
            "SELECT satisfies_hash_partition('olvido.episodes'::regclass, %s, %s, %s::text COLLATE \"C\")",
            [LEAVES, remainder, tenant],
        )
        if found == [(True,)]:
            return remainder
    raise AssertionError(tenant)


def name_of(url: str) -> sql.Identifier:
    """The role that a URL logs in as."""
    return sql.Identifier(urlsplit(url).username or "")


async def populate(memory: olvido.Memory, tenant: str, subject: str, *, words: str = "") -> None:
    """Put at least one row of every kind into a scope, through the public API. words: put into every text."""
    person = memory.scope(tenant=tenant, subject=subject)
    session = person.session("s1")
    await session.open(goal=f"ask {words}", pending=[f"pending {words}"], constraints=[f"constraint {words}"])
    await session.extend([("user", f"hello {words}"), ("assistant", f"good morning {words}")], group=f"g {words}")
    await session.add_fact(f"fact {words}", origin=CONFIRMED, messages=[0])
    await session.add_fact(f"fact {words}", origin=CONFIRMED, messages=[0])
    await person.set_preference("language", "pt", origin=CONFIRMED)
    await person.correct_preference("language", "en", origin=CONFIRMED)
    await person.set_preference("display_name", f"Ana {words}".strip(), origin=CONFIRMED)
    await person.remember(f"prefers aisle seats {words}")
    for number in (1, 2):
        await person.record_episode(
            "support-case",
            event_id=f"ev{number}",
            case_id="at1",
            status="lookup-failed",
            occurred_at=START - timedelta(hours=number),
            fields={"title": f"cannot reach the course {words}", "reference": f"order {words}"},
            origin=LOOKED_UP,
        )
    await person.consolidate()


def relations(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, str]:
    """Every relation of the schema, leaves included: its name, and that of the relation whose rules it follows."""
    return dict(
        rows(
            connection,
            """SELECT c.relname::text, coalesce(p.relname, c.relname)::text
                 FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
                 LEFT JOIN pg_class p ON p.oid = i.inhparent
                WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
                ORDER BY 1""",
        )
    )


def undeclared(connection: psycopg.Connection[tuple[Any, ...]]) -> list[str]:
    """How the data map and the catalogue differ: relations and columns that only one of them has, sorted."""
    present = relations(connection)
    columns = {
        f"{relation}.{column}"
        for relation, column in rows(
            connection,
            """SELECT c.relname::text, a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
                  AND a.attnum > 0 AND NOT a.attisdropped""",
        )
    }
    known = {name: parent for name, parent in present.items() if parent in DATA_MAP}
    declared = {f"{name}.{column}" for name, parent in known.items() for column in DATA_MAP[parent].columns}
    unknown = present.keys() - known.keys()
    found = {column for column in columns if column.partition(".")[0] not in unknown}
    return sorted({*unknown, *(DATA_MAP.keys() - present.keys()), *(found ^ declared)})


async def forget_something_held(memory: olvido.Memory, tenant: str, subject: str) -> None:
    """Leave a row of everything that a forget leaves behind: a request with its steps, a hold, and what it kept."""
    scope = memory.scope(tenant=tenant, subject=subject)
    note = (await scope.remember("disputed")).record
    await memory.place_hold(
        tenant, subject=subject, record_id=note.record_id, basis="court order 7", review_at=START + timedelta(days=90)
    )
    await scope.forget(note.record_id)
