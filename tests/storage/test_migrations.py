"""Migrations: whole or not at all, once, in any company, and never edited after they landed."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

import olvido
from olvido.adapters.embedded import ServerUrls
from olvido.errors import DatabaseUnavailable, InvalidInput, SchemaMismatch, UnsafeDatabase
from olvido.storage import guard, migrations
from olvido.storage.findings import Finding
from olvido.storage.migrations import MigrationReport, known_migrations, pending
from tests.conftest import Clone, named
from tests.storage.support import administer, login, name_of, rows, undeclared
from tools.dump_schema import OBJECTS, SCHEMA, dump, objects

PINS = Path(__file__).parent / "migrations.sha256"
NAMES = tuple(migration.name for migration in known_migrations())
GATE = 4711
"""An advisory lock that stands in the way of a migration until the test has killed it."""

_numbers = itertools.count()


@contextmanager
def _fresh(cluster: ServerUrls) -> Iterator[Clone]:
    name = f"fresh{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield Clone(
            name=name,
            superuser=named(cluster.superuser, name),
            app=named(cluster.app, name),
            worker=named(cluster.worker, name),
            eraser=named(cluster.eraser, name),
        )
    finally:
        with psycopg.connect(cluster.superuser, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def fresh(cluster: ServerUrls) -> Iterator[Clone]:
    """An empty database: no schema, no extension."""
    with _fresh(cluster) as database:
        yield database


async def _findings(database: Clone) -> list[Finding]:
    async with await psycopg.AsyncConnection.connect(database.app, row_factory=dict_row) as connection:
        return await guard.inspect(connection, role="olvido_app")


def _at_once(urls: Sequence[str]) -> list[MigrationReport]:
    together = threading.Barrier(len(urls))

    def run(url: str) -> MigrationReport:
        together.wait(timeout=30)
        return olvido.migrate(url, leaves=2)

    with ThreadPoolExecutor(len(urls)) as pool:
        return list(pool.map(run, urls))


async def test_a_fresh_database_gets_everything(fresh: Clone) -> None:
    """All migrations run, the leaves are made, and start-up has nothing to complain about."""
    report = olvido.migrate(fresh.superuser, leaves=3)
    assert report == MigrationReport(applied=NAMES, version=len(NAMES), leaves=3)
    assert await _findings(fresh) == []
    with administer(fresh) as connection:
        assert undeclared(connection) == []
        assert rows(connection, "SELECT version, name, checksum FROM olvido.schema_version ORDER BY 1") == [
            (migration.version, migration.name, migration.checksum) for migration in known_migrations()
        ]


async def test_a_second_run_changes_nothing(fresh: Clone) -> None:
    """Running again applies nothing, keeps the number of leaves, and leaves the schema as it was."""
    olvido.migrate(fresh.superuser, leaves=2)
    before = dump(fresh.superuser)
    assert olvido.migrate(fresh.superuser, leaves=16) == MigrationReport(applied=(), version=len(NAMES), leaves=2)
    assert dump(fresh.superuser) == before
    assert await _findings(fresh) == []


def _killed_at_the_gate(database: Clone, run: Future[MigrationReport]) -> None:
    """Wait until the migration waits for the gate, and kill its session there."""
    with administer(database) as connection:
        while not run.done():
            victims = rows(
                connection,
                """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'""",
            )
            if victims:
                return


@pytest.mark.parametrize("step", [*NAMES, "leaves"])
async def test_an_interrupted_run_goes_on_where_it_stood(
    fresh: Clone, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Each migration is atomic: a session killed inside one leaves those before it, and the next run does the rest."""
    gate = f"SELECT pg_advisory_xact_lock({GATE});".encode()
    known = known_migrations()
    blocked = tuple(
        replace(migration, text=migration.text + b"\n" + gate) if migration.name == step else migration
        for migration in known
    )
    with monkeypatch.context() as patch, administer(fresh) as holder, ThreadPoolExecutor(1) as pool:
        patch.setattr(migrations, "known_migrations", lambda: blocked)
        if step == "leaves":
            statement = migrations._SQL["create_leaves"]
            text = statement.text.replace(b" AS made", f" AS made, pg_advisory_xact_lock({GATE})".encode())
            assert text != statement.text
            patch.setitem(migrations._SQL, "create_leaves", replace(statement, text=text))
        holder.execute("SELECT pg_advisory_lock(%s)", [GATE])
        run = pool.submit(olvido.migrate, fresh.superuser, leaves=2)
        _killed_at_the_gate(fresh, run)
        with pytest.raises(DatabaseUnavailable, match="run `olvido migrate` again"):
            run.result(timeout=30)
    done = NAMES if step == "leaves" else NAMES[: NAMES.index(step)]
    with administer(fresh) as connection:
        assert rows(connection, "SELECT name FROM olvido.schema_version ORDER BY version") == [(n,) for n in done]
        assert rows(connection, "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent "
                                "WHERE c.relkind = 'p'") == [(0,)]  # fmt: skip
    with pytest.raises((SchemaMismatch, UnsafeDatabase), match="olvido migrate"):
        async with olvido.open(fresh.app):
            pass
    assert olvido.migrate(fresh.superuser, leaves=2).applied == NAMES[len(done) :]
    assert await _findings(fresh) == []


def test_a_broken_migration_leaves_no_trace(fresh: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that fails takes the whole migration back, its version row included."""
    known = known_migrations()
    broken = (known[0], replace(known[1], text=known[1].text + b"\nSELECT 1 / 0;"), *known[2:])
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "known_migrations", lambda: broken)
        with pytest.raises(psycopg.errors.DivisionByZero):
            olvido.migrate(fresh.superuser, leaves=2)
    with administer(fresh) as connection:
        assert rows(connection, "SELECT max(version), to_regclass('olvido.episodes') FROM olvido.schema_version") == [
            (1, None)
        ]


async def test_two_runs_at_once_share_the_work(fresh: Clone) -> None:
    """Two processes that migrate one database at the same moment both succeed; each migration ran once."""
    reports = _at_once([fresh.superuser] * 3)
    assert sorted(len(report.applied) for report in reports) == [0, 0, len(NAMES)]
    assert {report.leaves for report in reports} == {2}
    assert await _findings(fresh) == []


async def test_two_databases_of_one_server_at_once(cluster: ServerUrls) -> None:
    """Roles belong to the whole server, and migrating several databases at the same moment does not trip over them."""
    with ExitStack() as stack:
        databases = [stack.enter_context(_fresh(cluster)) for _ in range(2)]
        reports = _at_once([database.superuser for database in databases])
        assert [report.applied for report in reports] == [NAMES] * 2
        for database in databases:
            assert await _findings(database) == []


async def test_a_database_owner_without_superuser_can_migrate(fresh: Clone) -> None:
    """The owner of a database who is a member of olvido_owner, once an administrator made what only they can make."""
    with login(fresh, member_of=["olvido_owner"]) as url:
        with administer(fresh) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(
                sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(fresh.name), name_of(url))
            )
        assert olvido.migrate(url, leaves=2).applied == NAMES
        assert await _findings(fresh) == []
        with administer(fresh) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO postgres").format(sql.Identifier(fresh.name)))


def test_a_login_without_the_rights_is_told_so(fresh: Clone, clone: Clone) -> None:
    """A runtime login cannot prepare a database, empty or migrated, and the message says which login can."""
    for url in (fresh.app, clone.app, clone.worker):
        with pytest.raises(SchemaMismatch, match="Use a login that may create"):
            olvido.migrate(url, leaves=2)


def test_a_newer_or_edited_database_is_left_alone(clone: Clone) -> None:
    """A version this release does not know, or another checksum, stops the run before anything is changed."""
    with administer(clone) as connection:
        connection.execute("INSERT INTO olvido.schema_version VALUES (9999, 'from_the_future', 'x')")
        with pytest.raises(SchemaMismatch, match="9999"):
            olvido.migrate(clone.superuser, leaves=2)
        connection.execute("DELETE FROM olvido.schema_version WHERE version = 9999")
        connection.execute("UPDATE olvido.schema_version SET checksum = 'edited' WHERE version = 1")
        with pytest.raises(SchemaMismatch, match="never edited"):
            olvido.migrate(clone.superuser, leaves=2)


def test_a_server_that_is_not_there_is_a_typed_error() -> None:
    """The message names neither the password nor the URL."""
    with pytest.raises(DatabaseUnavailable) as refused:
        olvido.migrate("postgresql://a:hidden@/none?host=/nonexistent")
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("leaves", [0, -1, 1025])
def test_the_number_of_leaves_is_bounded(leaves: int) -> None:
    """From 1 to 1,024, judged before the database is reached."""
    with pytest.raises(InvalidInput):
        olvido.migrate("postgresql:///never-reached", leaves=leaves)


def test_pending_is_what_is_missing() -> None:
    """Only what did not run is pending, in order, also when there is a gap."""
    known = known_migrations()
    assert [migration.version for migration in known] == list(range(1, len(known) + 1))
    assert pending({}, known) == known
    assert pending({migration.version: migration.checksum for migration in known}, known) == ()
    assert pending({1: known[0].checksum, 3: known[2].checksum}, known) == (known[1], *known[3:])


def test_landed_migrations_are_not_edited() -> None:
    """Every migration has the bytes it landed with: change the schema by adding a file, and its line to the pins."""
    lines = [line.split() for line in PINS.read_text(encoding="utf-8").splitlines()]
    pinned = {name: checksum for checksum, name in lines}
    directory = SCHEMA.parent / "migrations"
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.iterdir()
        if re.match(r"\d{4}_", path.name)
    }
    assert found == pinned


def test_the_written_schema_is_what_the_migrations_make(clone: Clone) -> None:
    """src/olvido/storage/schema.sql and .json equal what a migrated database has; `make schema` writes them anew."""
    assert dump(clone.superuser) == SCHEMA.read_text(encoding="utf-8")
    assert objects(clone.superuser) == OBJECTS.read_text(encoding="utf-8")


def test_the_written_schema_names_no_machine(clone: Clone) -> None:
    """The dump has no host, path, login, version or leaf in it."""
    text = SCHEMA.read_text(encoding="utf-8")
    address: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(clone.superuser)
    for word in (str(address["host"]), str(address["password"]), clone.name, "postgres", "episodes_0", "restrict "):
        assert word not in text
