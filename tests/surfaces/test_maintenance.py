"""`migrate` and `doctor`: prepare a database, and look at one without serving from it."""

from __future__ import annotations

import os

import psycopg
import pytest

from olvido.adapters import embedded
from tests.conftest import LEAVES, Clone, named
from tests.surfaces.conftest import SCOPE, Run


def test_a_database_is_served_once_it_is_migrated(olvido_command: Run, cluster: embedded.ServerUrls) -> None:
    """Before it, nothing is served; the first run names what it ran, the second finds it up to date."""
    name = f"empty{os.getpid()}"
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = named(cluster.superuser, name)
    try:
        looked = olvido_command("doctor", "--database-url", named(cluster.app, name), "--json")
        assert looked.code == 6
        assert [finding["code"] for finding in looked.document["findings"]] == ["schema_mismatch"]
        refused = olvido_command("recall", "x", *SCOPE, "--database-url", named(cluster.app, name), "--json")
        assert (refused.code, refused.document["error"]["code"]) == (6, "schema_mismatch")
        assert "olvido migrate" in refused.document["error"]["message"]
        first = olvido_command("migrate", "--database-url", url, "--leaves", "2", "--json").document
        assert first["applied"]
        assert first["leaves"] == 2
        again = olvido_command("migrate", "--database-url", url, "--json").document
        assert (again["applied"], again["leaves"]) == ([], 2)
        assert "up to date" in olvido_command("migrate", "--database-url", url).out
    finally:
        with psycopg.connect(cluster.superuser, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_a_sound_database_has_no_findings(cli: Run) -> None:
    """The doctor tells versions and leaves, and exits with 0."""
    looked = cli("doctor", "--json")
    assert looked.code == 0
    assert looked.document["findings"] == []
    assert (looked.document["leaves"], looked.document["overdue_lives"]) == (LEAVES, 0)
    assert "No findings." in cli("doctor").out


def test_a_login_that_could_bypass_row_security_is_found(olvido_command: Run, clone: Clone) -> None:
    """A superuser is not served; the finding says what to do, and the exit code is 6."""
    looked = olvido_command("doctor", "--database-url", clone.superuser, "--json")
    assert looked.code == 6
    assert "login_superuser" in {finding["code"] for finding in looked.document["findings"]}
    shown = olvido_command("doctor", "--database-url", clone.superuser)
    assert "only a member of olvido_app" in shown.out
    assert "--worker-url" in shown.out


def test_an_overdue_purge_is_found(cli: Run, clone: Clone) -> None:
    """Something that expired more than a day ago and is still stored is a finding."""
    cli("remember", "prefers aisle seats", *SCOPE)
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("UPDATE olvido.due SET next_due_at = clock_timestamp() - interval '1 hour'")
        recent = cli("doctor", "--json")
        connection.execute("UPDATE olvido.due SET next_due_at = clock_timestamp() - interval '2 days'")
        late = cli("doctor", "--json")
    assert (recent.code, recent.document["overdue_lives"]) == (0, 1)
    assert [finding["code"] for finding in late.document["findings"]] == ["overdue_purge"]
    assert "waiting for a purge" in cli("doctor").out


@pytest.mark.parametrize("command", [("doctor",), ("migrate",), ("recall", "x", *SCOPE)], ids=lambda words: words[0])
def test_a_url_that_cannot_be_read_is_told_without_its_password(olvido_command: Run, command: tuple[str, ...]) -> None:
    """The message says how to write it."""
    answered = olvido_command(*command, "--database-url", "postgresql://me:zq-canary-41%@db/none", "--json")
    assert (answered.code, answered.document["error"]["code"]) == (2, "invalid_input")
    assert "zq-canary-41" not in answered.out


def test_a_server_that_does_not_answer_is_told_without_its_password(olvido_command: Run) -> None:
    """The message says what to check and does not repeat the URL."""
    answered = olvido_command("doctor", "--database-url", "postgresql://me:zq-canary-41@127.0.0.1:1/none", "--json")
    assert answered.code == 6
    assert answered.document["error"]["code"] == "database_unavailable"
    assert "zq-canary-41" not in answered.out
