"""The embedded server: who may enter, what it logs, how it is set."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psutil
import psycopg
import pytest

from olvido.adapters.embedded import EmbeddedServer, start
from tests.adapters.embedded.support import query, server_pid


def home_of(server: EmbeddedServer) -> Path:
    """The home directory, from the socket in the URL."""
    return Path(parse_qs(urlsplit(server.urls.app).query)["host"][0]).parent


def with_login(url: str, role: str, password: str) -> str:
    """The same server with another login."""
    parts = urlsplit(url)
    return f"postgresql://{role}:{password}@{parts.path}?{parts.query}"


def test_each_url_logs_in_as_its_role(server: EmbeddedServer) -> None:
    """The three URLs lead to the database `olvido` as superuser, application and worker."""
    urls = (server.urls.superuser, server.urls.app, server.urls.worker)
    entered = [query(url, "SELECT session_user::text, current_database()::text") for url in urls]
    assert entered == [[("postgres", "olvido")], [("olvido_app", "olvido")], [("olvido_worker", "olvido")]]


@pytest.mark.parametrize("role", ["postgres", "olvido_app", "olvido_worker", "olvido_owner", "olvido_eraser"])
@pytest.mark.parametrize("password", ["wrong", ""])
def test_nobody_enters_without_the_password(server: EmbeddedServer, role: str, password: str) -> None:
    """A wrong or empty password is refused for every role, also for the user who runs the server."""
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(with_login(server.urls.app, role, password), connect_timeout=10)


def test_the_app_password_opens_no_other_role(server: EmbeddedServer) -> None:
    """Every role has a password of its own."""
    passwords = {urlsplit(url).password for url in (server.urls.superuser, server.urls.app, server.urls.worker)}
    assert len(passwords) == 3
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(with_login(server.urls.app, "postgres", urlsplit(server.urls.app).password or ""))


def test_the_server_does_not_listen_on_the_network(server: EmbeddedServer) -> None:
    """No process of the server has a TCP socket."""
    pid = server_pid(home_of(server))
    assert pid is not None
    postmaster = psutil.Process(pid)
    assert [process.net_connections("inet") for process in (postmaster, *postmaster.children())] == [
        [] for _ in (postmaster, *postmaster.children())
    ]


def test_roles_hold_no_power(server: EmbeddedServer) -> None:
    """No role but postgres is privileged, and nobody logs in as the owner of the relations."""
    rows = query(
        server.urls.superuser,
        """SELECT rolname::text, rolcanlogin, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication
           FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname""",
    )
    assert rows == [
        ("olvido_app", True, False),
        ("olvido_eraser", True, False),
        ("olvido_owner", False, False),
        ("olvido_worker", True, False),
        ("postgres", True, True),
    ]
    assert query(server.urls.superuser, "SELECT * FROM pg_auth_members WHERE member > 16000") == []


@pytest.mark.parametrize("database", ["postgres", "template1"])
def test_runtime_roles_enter_no_other_database(server: EmbeddedServer, database: str) -> None:
    """Application, worker and eraser connect to `olvido` alone."""
    for url in (server.urls.app, server.urls.worker, server.urls.eraser):
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(url.replace("/olvido?", f"/{database}?"))


def test_runtime_roles_create_nothing(server: EmbeddedServer) -> None:
    """Neither a temporary table nor one in the public schema."""
    for url in (server.urls.app, server.urls.worker, server.urls.eraser):
        for statement in ("CREATE TEMP TABLE t (x int)", "CREATE TABLE public.t (x int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                query(url, statement)


def test_a_directory_of_an_earlier_release_gets_a_login_for_the_eraser(own_home: Path) -> None:
    """There the role had no login, and no file with a password; the other passwords stay as they are."""
    with start(own_home) as server:
        before = server.urls
        query(server.urls.superuser, "ALTER ROLE olvido_eraser NOLOGIN PASSWORD NULL")
        query(server.urls.superuser, "REVOKE CONNECT ON DATABASE olvido FROM olvido_eraser")
    (own_home / "secrets" / "olvido_eraser").unlink()
    with start(own_home) as server:
        assert query(server.urls.eraser, "SELECT session_user::text") == [("olvido_eraser",)]
        assert (server.urls.app, server.urls.worker) == (before.app, before.worker)
        assert server.urls.eraser != before.eraser


def test_files_are_closed_to_other_users(server: EmbeddedServer) -> None:
    """Nothing in the home directory can be read or written by group or others, the socket included."""
    home = home_of(server)
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in home.rglob("*")}
    assert {path for path, mode in modes.items() if mode & 0o077} == set()
    assert stat.S_IMODE(home.stat().st_mode) & 0o066 == 0
    assert {path.name: modes[path] for path in (home / "secrets").iterdir()} == {
        "postgres": 0o600,
        "olvido_app": 0o600,
        "olvido_worker": 0o600,
        "olvido_eraser": 0o600,
    }
    assert stat.S_ISSOCK((home / "run" / ".s.PGSQL.5432").lstat().st_mode)


def test_the_home_directory_is_not_committed(server: EmbeddedServer) -> None:
    """Git ignores everything in it, wherever it is."""
    assert (home_of(server) / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_settings_are_hardened(server: EmbeddedServer) -> None:
    """What is forgotten leaves no copy in WAL or log, and a commit that was answered is on disk."""
    expected = {
        "allow_alter_system": "off",
        "data_checksums": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "jit": "off",
        "listen_addresses": "",
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "log_min_messages": "log",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_statement": "none",
        "max_parallel_workers_per_gather": "0",
        "max_wal_size": "64",
        "password_encryption": "scram-sha-256",
        "server_encoding": "UTF8",
        "synchronous_commit": "on",
        "TimeZone": "UTC",
        "unix_socket_permissions": "0700",
        "wal_keep_size": "0",
        "wal_recycle": "off",
    }
    rows = query(server.urls.superuser, "SELECT name::text, setting FROM pg_settings")
    assert {name: setting for name, setting in rows if name in expected} == expected


def test_an_edit_of_the_settings_does_not_outlive_a_start(home: Path) -> None:
    """The hardened settings are written anew and read last at each start."""
    (home / "pg" / "olvido.conf").write_text("log_statement = all\n", encoding="utf-8")
    with (home / "pg" / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("log_statement = all\nlisten_addresses = 'localhost'\n")
    with (home / "pg" / "pg_hba.conf").open("a", encoding="utf-8") as file:
        file.write("local all all trust\n")
    with start(home) as server:
        assert query(server.urls.superuser, "SHOW log_statement") == [("none",)]
        assert query(server.urls.superuser, "SHOW listen_addresses") == [("",)]
        assert query(server.urls.superuser, "SELECT auth_method FROM pg_hba_file_rules") == [("scram-sha-256",)]


def test_the_log_holds_no_value(server: EmbeddedServer) -> None:
    """Statements, parameters and messages of failed statements stay out of the log of the server."""
    canary = "canary-7f3a"
    with psycopg.connect(server.urls.app, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("SELECT %s::text::integer", [canary])
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute(f"SELEC '{canary}'".encode())
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute(f"DO $$ BEGIN RAISE WARNING '{canary}'; RAISE EXCEPTION '{canary}'; END $$".encode())
    log = (home_of(server) / "log" / "server.log").read_text(encoding="utf-8")
    assert "ready to accept connections" in log
    assert canary not in log


def test_passwords_stay_out_of_sight(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No password in a representation, a log record, the server's log or the command line of any process."""
    caplog.set_level(logging.DEBUG)
    with start(home) as server:
        passwords = [
            unquote(urlsplit(url).password or "")
            for url in (server.urls.superuser, server.urls.app, server.urls.worker, server.urls.eraser)
        ]
        pid = server_pid(home)
        assert pid is not None
        seen = [repr(server.urls), str(server.urls), repr(server)]
        seen += [" ".join(psutil.Process(pid).cmdline()), *(str(record.__dict__) for record in caplog.records)]
        seen += [" ".join(psutil.Process(pid).environ().values()) if os.geteuid() == 0 else ""]
    seen.append((home / "log" / "server.log").read_text(encoding="utf-8"))
    assert [text for text in seen if any(password in text for password in passwords)] == []
    assert {record.__dict__["action"] for record in caplog.records if "embedded" in record.name} >= {
        "embedded.server_started",
        "embedded.server_stopped",
    }


def test_text_search_folds_case_of_every_alphabet(server: EmbeddedServer) -> None:
    """Portuguese capitals with diacritics match their small letters, as they would not under a plain C locale."""
    assert query(
        server.urls.app,
        """SELECT to_tsvector('portuguese', 'INFORMAÇÕES') @@ to_tsquery('portuguese', 'informações'), lower('ÇÃÉ')""",
    ) == [(True, "çãé")]


def test_pgvector_is_recent_enough(server: EmbeddedServer) -> None:
    """The package brings pgvector 0.8.4 or newer."""
    ((version,),) = query(
        server.urls.superuser, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    )
    assert tuple(int(part) for part in str(version).split(".")) >= (0, 8, 4)
