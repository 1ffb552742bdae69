"""Bring a database to this release's schema: numbered SQL files, immutable once landed, one transaction each."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import psycopg
from psycopg.rows import dict_row

from olvido.errors import DatabaseUnavailable, InvalidInput, SchemaMismatch
from olvido.storage.inspection import HIDDEN, MAKE_UTF8, SHOW, UNREADABLE_URL
from olvido.storage.queries import statements
from olvido.storage.translation import READ_ONLY

log = logging.getLogger("olvido.migrate")

MAX_LEAVES = 1024
_FILE = re.compile(r"^(\d{4})_([a-z_]+)\.sql$")
_BODY = re.compile(r"FUNCTION olvido\.(\w+)\((?:(?!FUNCTION olvido).)*?\bAS \$\$(.*?)\$\$", re.DOTALL)
_DROPPED = re.compile(r"^DROP FUNCTION ([^;]+);", re.MULTILINE)
_FUNCTION = re.compile(r"olvido\.(\w+)")
_SQL = statements("schema")


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """One numbered file. checksum: SHA-256 of its bytes, hexadecimal."""

    version: int
    name: str
    checksum: str
    text: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class MigrationReport:
    """What a run did. applied: names of the migrations that ran now. leaves: partitions of each large relation."""

    applied: tuple[str, ...]
    version: int
    leaves: int


@cache
def known_migrations() -> tuple[Migration, ...]:
    """The migrations of this release, oldest first."""
    found = []
    for entry in (files("olvido.storage") / "migrations").iterdir():
        match = _FILE.match(entry.name)
        if match:
            text = entry.read_bytes()
            checksum = hashlib.sha256(text).hexdigest()
            found.append(Migration(version=int(match[1]), name=match[2], checksum=checksum, text=text))
    return tuple(sorted(found, key=lambda migration: migration.version))


@cache
def function_bodies(known: tuple[Migration, ...]) -> Mapping[str, str]:
    """The body of each function that `known` writes between `$$` and does not drop, by name, as the last one says."""
    bodies: dict[str, str] = {}
    for migration in known:
        text = migration.text.decode()
        for dropped in _DROPPED.findall(text):
            for name in _FUNCTION.findall(dropped):
                bodies.pop(name, None)
        bodies.update(_BODY.findall(text))
    return bodies


def pending(applied: dict[int, str], known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """Those of `known` that are not in `applied` (version to checksum).

    Raises SchemaMismatch if the database has a migration that this release does not know, or knows differently.
    """
    checksums = {migration.version: migration.checksum for migration in known}
    for version, checksum in applied.items():
        if version not in checksums:
            raise SchemaMismatch(
                f"The database has schema version {version}; this release knows up to {max(checksums)}. "
                "Use the release of Olvido that migrated it, or a newer one."
            )
        if checksums[version] != checksum:
            raise SchemaMismatch(
                f"Migration {version:04d} differs from the one that this database ran. "
                "Use an unmodified release of Olvido; a landed migration is never edited."
            )
    return tuple(migration for migration in known if migration.version not in applied)


def migrate(url: str, *, leaves: int = 64) -> MigrationReport:
    """Prepare the database at `url`, whose login may create roles and extensions. Blocking; safe to run twice.

    leaves: into how many partitions the large relations are split, 1 to 1,024; fixed by the first run.
    Raises InvalidInput, SchemaMismatch, DatabaseUnavailable.
    """
    if not 1 <= leaves <= MAX_LEAVES:
        raise InvalidInput(f"leaves must be between 1 and {MAX_LEAVES}.")
    known = known_migrations()
    try:
        with psycopg.connect(url, autocommit=True, row_factory=dict_row, client_encoding="utf8") as connection:
            try:
                return _run(connection, known, leaves)
            except psycopg.errors.InsufficientPrivilege:
                _refuse_another_owner(connection)
                raise
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"The database could not be reached or gave up during the migration ({type(error).__name__}, "
            f"{error.sqlstate or 'no connection'}). Check the URL and run `olvido migrate` again; it continues."
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise SchemaMismatch(
            f"The login may not prepare the database: {error.diag.message_primary}. Use a login that may create "
            "roles and the extensions vector and unaccent, or have an administrator create those first."
        ) from None
    except psycopg.errors.InvalidSchemaName:
        raise SchemaMismatch(
            "The search path of the login names no schema for the extensions to be in. ALTER ROLE the login SET "
            "search_path with one, such as public, and run `olvido migrate` again."
        ) from None
    except psycopg.errors.FeatureNotSupported:
        raise SchemaMismatch(
            "The server lacks an extension: vector (pgvector 0.8.4 or newer) or unaccent (of PostgreSQL's contrib). "
            "Install them on the server and run `olvido migrate` again; it continues."
        ) from None
    except psycopg.errors.ReadOnlySqlTransaction:
        raise DatabaseUnavailable(READ_ONLY) from None
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None:  # from reading the URL, before there was a server to answer
            raise InvalidInput(UNREADABLE_URL) from None
        raise


def _refuse_another_owner(connection: psycopg.Connection[dict[str, object]]) -> None:
    """Raise SchemaMismatch if the schema, or something in it, belongs to another role than olvido_owner."""
    other = connection.execute(_SQL["other_owner"].text).fetchone()
    if other is not None:
        raise SchemaMismatch(
            f"The schema olvido of this database, or something in it, belongs to {other['role']} and not to "
            "olvido_owner, as `pg_restore --no-owner` leaves it. Restore into a new database without that option, with "
            "a login that may act as olvido_owner."
        )


def _run(
    connection: psycopg.Connection[dict[str, object]], known: tuple[Migration, ...], leaves: int
) -> MigrationReport:
    server = connection.execute(_SQL["server"].text).fetchone()
    if server is not None and server["encoding"] != "UTF8":
        raise SchemaMismatch(
            f"The encoding of this database is {server['encoding']}, which cannot hold every text. {MAKE_UTF8}"
        )
    connection.execute(_SQL["lock"].text)
    connection.execute((files("olvido.storage") / "migrations" / "roles.sql").read_bytes())
    served = connection.execute(_SQL["served"].text).fetchone()
    if served is not None and not served["sees_vectors"]:
        raise SchemaMismatch(f"{HIDDEN} {SHOW} Run `olvido migrate` again then; it continues.")
    connection.execute(_SQL["see_rows"].text)
    connection.execute(_SQL["become_owner"].text)
    connection.execute(_SQL["create_version_table"].text)
    applied = {
        int(str(row["version"])): str(row["checksum"]) for row in connection.execute(_SQL["applied"].text).fetchall()
    }
    names = []
    for migration in pending(applied, known):
        with connection.transaction():
            connection.execute(migration.text)
            connection.execute(
                _SQL["record"].text,
                {"version": migration.version, "name": migration.name, "checksum": migration.checksum},
            )
        names.append(migration.name)
        log.info("migrated", extra={"action": "migrate", "version": migration.version})
    with connection.transaction():
        connection.execute(_SQL["create_leaves"].text, {"leaves": leaves})
    row = connection.execute(_SQL["leaves"].text).fetchone()
    return MigrationReport(
        applied=tuple(names), version=known[-1].version, leaves=int(str(row["leaves"])) if row else 0
    )
