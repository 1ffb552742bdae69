"""What each role can see of a marker: every relation and view of every schema, read as that role, from a scope or none.

The catalogue says what there is and what may be read, so that a new relation is looked through without being named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from tests.erasure.canaries import derived, pieces
from tests.erasure.place import Place

_READABLE = """
SELECT n.nspname, c.relname, array_agg(a.attname ORDER BY a.attnum)
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 't', 'S') AND has_schema_privilege(n.oid, 'USAGE')
   AND has_column_privilege(c.oid, a.attnum, 'SELECT')
   AND n.nspname <> 'information_schema' AND c.relname <> 'pg_shmem_allocations_numa'
   AND (%(all)s OR n.nspname NOT IN ('pg_catalog', 'pg_toast'))
 GROUP BY n.nspname, c.relname ORDER BY n.nspname, c.relname
"""
"""With the columns that may be read. Values out of line are relations too, for whoever may read those.

Left out are the views of information_schema, which show what is read in pg_catalog, and one that counts pages of
shared memory and fails where the machine has no NUMA.
"""
_ENTER = """
SELECT set_config('olvido.tenant', %(tenant)s, false), set_config('olvido.subject', %(key)s, false),
       set_config('olvido.external', %(subject)s, false)
"""
_DERIVED = """
SELECT i.embedding::text, i.words::text
  FROM olvido.index_entries i JOIN olvido.subjects s USING (tenant_id, subject_key)
 WHERE s.tenant_id = %s AND s.external_id = %s
"""
_KEY = "SELECT subject_key::text FROM olvido.subjects WHERE tenant_id = %s AND external_id = %s"

SUPERUSER = "superuser"
ROLES = ("app", "worker", "eraser", "owner", SUPERUSER)
NOWHERE = "nowhere"
"""The scope of a connection that entered none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Where somebody looks from. name: for the answer."""

    name: str
    tenant: str
    key: str
    subject: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Needles:
    """What is looked for in rows as text. shown: as it is. hidden: in bytes, which are shown as hexadecimal digits."""

    shown: frozenset[str]
    hidden: frozenset[str]

    def are_in(self, row: str) -> bool:
        """Whether one of them is in a row."""
        return any(one in row for one in self.shown) or ("\\x" in row and any(one in row for one in self.hidden))


def words(*markers: str) -> Needles:
    """Words, plain or as bytes, which may be compressed."""
    return Needles(
        shown=frozenset(markers), hidden=frozenset(piece.hex() for marker in markers for piece in pieces(marker))
    )


def vectors(superuser: str, tenant: str, subject: str) -> Needles:
    """The vectors and the numbers of words of one person, as they are shown and as they are kept."""
    with psycopg.connect(superuser) as connection:
        shown = {text for row in connection.execute(_DERIVED, [tenant, subject]) for text in row}
    return Needles(
        shown=frozenset(shown), hidden=frozenset(piece.hex() for piece in derived(superuser, tenant, subject))
    )


def scope(place: Place, tenant: str, subject: str) -> Scope:
    """The scope of a person who is remembered."""
    ((key,),) = place.rows(_KEY, [tenant, subject])
    return Scope(name=subject, tenant=tenant, key=str(key), subject=subject)


def seen(place: Place, scopes: Sequence[Scope], **needles: Needles) -> dict[tuple[str, str, str], set[str]]:
    """By role, scope and group of needles, the relations in which one of them is seen; what sees nothing is left out.

    Each role looks from no scope and from each of `scopes`, but for the superuser, who sees everything from anywhere.
    What the system itself keeps is the same from everywhere, and read once.
    """
    found: dict[tuple[str, str, str], set[str]] = {}
    nowhere = Scope(name=NOWHERE, tenant="", key="", subject="")
    for role in ROLES:
        with _logged_in(place, role) as connection:
            for number, where in enumerate((nowhere, *(() if role == SUPERUSER else scopes))):
                connection.execute(_ENTER, {"tenant": where.tenant, "key": where.key, "subject": where.subject})
                for relation, row in _rows(connection, everything=number == 0):
                    for group in _groups(row, needles):
                        found.setdefault((role, where.name, group), set()).add(relation)
    return found


def looked_through(place: Place, role: str) -> set[str]:
    """The names of the relations that this role may read, with their schemas."""
    with _logged_in(place, role) as connection:
        return {f"{schema}.{name}" for schema, name, _ in connection.execute(_READABLE, {"all": True})}


def _logged_in(place: Place, role: str) -> psycopg.Connection[tuple[Any, ...]]:
    urls = {"app": place.urls.app, "worker": place.urls.worker, "eraser": place.urls.eraser}
    connection = psycopg.connect(urls.get(role, place.urls.superuser), autocommit=True)
    if role == "owner":
        connection.execute("SET ROLE olvido_owner")
    return connection


def _rows(connection: psycopg.Connection[tuple[Any, ...]], *, everything: bool) -> Iterator[tuple[str, str]]:
    """Every row that this connection can read, with the name of its relation."""
    for schema, name, columns in connection.execute(_READABLE, {"all": everything}).fetchall():
        query = sql.SQL("SELECT ROW({})::text FROM {}").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(schema, name)
        )
        try:
            rows = connection.execute(query).fetchall()
        except psycopg.errors.InsufficientPrivilege:
            # A view of something that this role may not look at.
            continue
        shown = name if schema == "olvido" else f"{schema}.{name}"
        yield from ((shown, row) for (row,) in rows)


def _groups(row: str, needles: Mapping[str, Needles]) -> Iterator[str]:
    return (name for name, group in needles.items() if group.are_in(row))
