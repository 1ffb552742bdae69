"""Handles of one and of several processes share a server; the last to leave stops it."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack
from pathlib import Path

import pytest

from olvido.adapters.embedded import start
from olvido.errors import DataDirectoryError
from tests.adapters.embedded.support import Program, query, server_pid

FORKING_PROGRAM = """
import os, sys
from pathlib import Path
from olvido.adapters.embedded import start

server = start(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    server.close()
    sys.exit()  # unlike os._exit, runs what is registered for the end of the program
os.waitpid(child, 0)
print(server.urls.app, flush=True)
sys.stdin.readline()
"""

FORGETFUL_PARENT = """
import os, sys
from pathlib import Path
from olvido.adapters.embedded import start

server = start(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    os.read(0, 1)
    os._exit(0)
server.close()
print("closed", flush=True)
os.waitpid(child, 0)
"""


def test_the_last_handle_of_a_process_stops_the_server(home: Path) -> None:
    """Two handles share one server; it runs until both are closed; closing twice does nothing."""
    first, second = start(home), start(home)
    assert first.urls == second.urls
    first.close()
    first.close()
    assert query(second.urls.app, "SELECT 1") == [(1,)]
    second.close()
    assert server_pid(home) is None
    second.close()


def test_the_last_process_stops_the_server(home: Path) -> None:
    """Two processes share one server; the one that stays longer keeps it, whoever started it."""
    with start(home) as server, Program(home) as other:
        url = other.read()
        assert url == server.urls.app
        pid = server_pid(home)
        server.close()
        assert server_pid(home) == pid
        assert query(url, "SELECT 1") == [(1,)]
        assert other.finish("close") == ["closed"]
    assert server_pid(home) is None


def test_a_handle_left_open_is_closed_at_the_end_of_the_program(home: Path) -> None:
    """A program that ends without closing stops the server when it was the last user."""
    with Program(home) as program:
        program.read()
        assert server_pid(home) is not None
        program.finish("end")
    assert server_pid(home) is None


def test_several_processes_create_one_database(place: Path) -> None:
    """Processes that open a new directory at the same moment wait for each other and share what the first one made."""
    home = place / "home"
    with ExitStack() as stack:
        programs = [stack.enter_context(Program(home)) for _ in range(3)]
        urls = {program.read() for program in programs}
        assert len(urls) == 1
        assert query(urls.pop(), "SELECT 1") == [(1,)]
        for program in programs:
            assert server_pid(home) is not None
            program.finish("close")
    assert server_pid(home) is None


def test_a_forked_child_is_no_user(home: Path) -> None:
    """A child that closes the inherited handle, or ends, does not stop the server of its parent."""
    with Program(home, FORKING_PROGRAM) as program:
        assert query(program.read(), "SELECT 1") == [(1,)]
        program.finish("end")
    assert server_pid(home) is None


def test_a_forked_child_does_not_keep_the_server(home: Path) -> None:
    """A child that lives on does not hold the share of a parent that has closed."""
    with Program(home, FORGETFUL_PARENT) as program:
        assert program.read() == "closed"
        assert server_pid(home) is None
        program.finish("end")


def test_waiting_for_another_opener_ends(home: Path) -> None:
    """A lock that is never released gives an error that names the lock file."""
    with (home / "lock").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DataDirectoryError, match="lock"):
            start(home, wait_seconds=0.05)
    with start(home) as server:
        assert query(server.urls.app, "SELECT 1") == [(1,)]


def test_directories_with_a_common_prefix_do_not_disturb_each_other(own_home: Path) -> None:
    """`home` and `home1` run side by side; opening, closing and creating one leaves the other alone."""
    with start(own_home) as first:
        query(first.urls.superuser, "CREATE TABLE only_here (x int)")
        pid = server_pid(own_home)
        with start(own_home.with_name("home1")) as second:
            assert query(second.urls.superuser, "SELECT to_regclass('only_here')::text") == [(None,)]
            assert second.urls != first.urls
        assert server_pid(own_home) == pid
        assert query(first.urls.superuser, "SELECT to_regclass('only_here')::text") == [("only_here",)]


def test_a_link_leads_to_the_same_server(home: Path, place: Path) -> None:
    """A home directory opened through a symbolic link is the same one."""
    link = place / "link"
    link.symlink_to(home)
    with start(home) as direct, start(link) as linked:
        assert direct.urls == linked.urls


def test_a_moved_directory_opens(own_home: Path) -> None:
    """Nothing in it depends on its name."""
    with start(own_home) as server:
        query(server.urls.superuser, "CREATE TABLE moved (x int)")
    moved = own_home.rename(own_home.with_name("elsewhere"))
    with start(moved) as server:
        assert query(server.urls.superuser, "SELECT to_regclass('moved')::text") == [("moved",)]


def test_a_removed_directory_closes_quietly(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Closing after somebody removed the lock file does not raise: the log says what happened."""
    server = start(home)
    (home / "lock").unlink()
    server.close()
    assert "embedded.close_failed" in [record.__dict__.get("action") for record in caplog.records]
    assert server_pid(home) is not None
    start(home).close()
    assert server_pid(home) is None
