"""Whatever was killed, and whenever: the directory opens again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from olvido.adapters.embedded import start
from olvido.errors import DataDirectoryError
from tests.adapters.embedded.conftest import copy
from tests.adapters.embedded.support import Program, eventually, kill_server, query, server_pid


def test_a_killed_program_leaves_an_openable_directory(home: Path) -> None:
    """The server outlives a killed program, the next one joins it, and its close stops it."""
    with Program(home) as program:
        program.read()
        pid = server_pid(home)
        program.kill()
    assert server_pid(home) == pid
    with start(home) as server:
        assert server_pid(home) == pid
        assert query(server.urls.app, "SELECT 1") == [(1,)]
    assert server_pid(home) is None


def test_a_killed_program_is_not_counted(home: Path) -> None:
    """A program that was killed while others use the server does not keep it running."""
    with start(home), Program(home) as program:
        program.read()
        program.kill()
    assert server_pid(home) is None


def test_a_killed_server_opens_again(home: Path) -> None:
    """What was committed is there after a crash, also when a handle from before is still open."""
    with start(home) as before:
        query(before.urls.superuser, "CREATE TABLE kept AS SELECT 1 AS x")
        killed = kill_server(home)
        with start(home) as after:
            assert server_pid(home) != killed
            assert query(after.urls.superuser, "SELECT x FROM kept") == [(1,)]
        assert query(before.urls.superuser, "SELECT x FROM kept") == [(1,)]
    assert server_pid(home) is None


def test_closing_after_the_server_was_killed(home: Path) -> None:
    """A handle whose server is gone closes without complaint."""
    with start(home):
        kill_server(home)
    assert server_pid(home) is None


def test_a_reused_process_id_does_not_block(home: Path) -> None:
    """Lock files of a killed server that name an unrelated living process are recognised as stale."""
    with start(home):
        kill_server(home)
        pid_file, socket_lock = home / "pg" / "postmaster.pid", home / "run" / ".s.PGSQL.5432.lock"
        owner = pid_file.stat()
        # PostgreSQL believes a process of its own user.
        with subprocess.Popen(["sleep", "600"], user=owner.st_uid, cwd="/") as unrelated:  # noqa: S607
            try:
                for file in (pid_file, socket_lock):
                    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
                    file.write_text("".join([f"{unrelated.pid}\n", *lines[1:]]), encoding="utf-8")
                with start(home) as server:
                    assert query(server.urls.app, "SELECT 1") == [(1,)]
                assert unrelated.poll() is None
            finally:
                unrelated.kill()


@pytest.mark.parametrize("content", ["", "4", "not a number\n"])
def test_a_pid_file_cut_short_does_not_block(home: Path, content: str) -> None:
    """A power failure can leave `postmaster.pid` empty or in part."""
    path = home / "pg" / "postmaster.pid"
    path.write_text(content, encoding="utf-8")
    owner = (home / "pg").stat()
    os.chown(path, owner.st_uid, owner.st_gid)
    with start(home) as server:
        assert query(server.urls.app, "SELECT 1") == [(1,)]


def test_a_copy_of_a_running_directory_opens_beside_it(own_home: Path) -> None:
    """The lock files in the copy name the server of the original, which is neither joined nor disturbed."""
    with start(own_home) as original:
        query(original.urls.superuser, "CREATE TABLE t AS SELECT 1 AS x")
        query(original.urls.superuser, "CHECKPOINT")
        with start(copy(own_home, own_home.with_name("copy"))) as copied:
            query(copied.urls.superuser, "UPDATE t SET x = 2")
            assert query(original.urls.superuser, "SELECT x FROM t") == [(1,)]
        assert query(original.urls.superuser, "SELECT x FROM t") == [(1,)]


@pytest.mark.parametrize("reached", ["PG_VERSION", "base/1", "olvido.conf"])
def test_an_interrupted_creation_starts_again(place: Path, reached: str) -> None:
    """A program killed at any point of the creation leaves nothing that the next one takes for a database."""
    home = place / "home"
    with Program(home) as program:
        assert eventually((home / "pg.new" / reached).exists)
        program.kill()
    assert not (home / "pg").exists()
    with start(home) as server:
        assert query(server.urls.app, "SELECT 1") == [(1,)]
    assert not (home / "pg.new").exists()


def test_lost_passwords_are_replaced(home: Path) -> None:
    """Without its password files the directory opens, with new passwords, unless the server runs."""
    with start(home) as server:
        old = server.urls
        (home / "secrets" / "olvido_app").unlink()
        with pytest.raises(DataDirectoryError, match="Close every program"):
            start(home)
        assert query(old.app, "SELECT 1") == [(1,)]
    with start(home) as server:
        assert (server.urls.app != old.app, server.urls.worker) == (True, old.worker)
        assert query(server.urls.app, "SELECT session_user::text") == [("olvido_app",)]
        assert query(server.urls.worker, "SELECT session_user::text") == [("olvido_worker",)]


def test_a_damaged_password_file_is_not_used(own_home: Path) -> None:
    """The error names the file, says what to do, and does not show its content."""
    (own_home / "secrets" / "postgres").write_text("x'; DROP ROLE olvido_app; --", encoding="utf-8")
    with pytest.raises(DataDirectoryError, match="secrets/postgres") as caught:
        start(own_home)
    assert "DROP" not in str(caught.value)


def test_a_directory_of_another_version_is_not_touched(own_home: Path) -> None:
    """The error names both major versions."""
    (own_home / "pg" / "PG_VERSION").write_text("17\n", encoding="utf-8")
    with pytest.raises(DataDirectoryError, match="made by PostgreSQL 17 and the installed one is 18"):
        start(own_home)


def test_a_directory_that_is_no_database_is_not_touched(place: Path) -> None:
    """Files of somebody else in `pg` are neither used nor removed."""
    foreign = place / "home" / "pg" / "thesis.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine", encoding="utf-8")
    with pytest.raises(DataDirectoryError, match="not a PostgreSQL data directory"):
        start(place / "home")
    assert foreign.read_text(encoding="utf-8") == "mine"


def test_a_server_that_does_not_start_says_why(own_home: Path) -> None:
    """The error carries the end of the server's log, at once rather than after the time to wait."""
    (own_home / "pg" / "global" / "pg_control").unlink()
    with pytest.raises(DataDirectoryError, match="pg_control"):
        start(own_home, wait_seconds=600)
