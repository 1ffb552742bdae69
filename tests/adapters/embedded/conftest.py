"""Home directories for the tests of the embedded database."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from olvido.adapters.embedded import EmbeddedServer, start
from tests.adapters.embedded.support import server_pid
from tests.places import server_directory


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty private directory with a short path.

    Not `tmp_path`: it is too long for a socket, and every pytest that root starts closes its parent to other users,
    whereas the server of root runs as another user.
    """
    with server_directory() as path:
        yield path
        for pid_file in path.rglob("pg/postmaster.pid"):
            stop(pid_file.parent.parent)


@pytest.fixture(scope="session")
def created() -> Iterator[Path]:
    """A home directory that was created and closed. Copy it; do not open it."""
    with server_directory() as path:
        start(path / "home").close()
        yield path / "home"


@pytest.fixture
def own_home(created: Path, place: Path) -> Path:
    """A closed home directory for one test, to move or to damage."""
    return copy(created, place / "home")


@pytest.fixture(scope="module")
def module_home(created: Path) -> Iterator[Path]:
    """A home directory for the tests of one module: a copy takes longer than most of them."""
    with server_directory() as path:
        yield copy(created, path / "home")


@pytest.fixture
def home(module_home: Path) -> Iterator[Path]:
    """A closed home directory that other tests have used before."""
    yield module_home
    stop(module_home)


@pytest.fixture(scope="module")
def server(created: Path) -> Iterator[EmbeddedServer]:
    """A running server for the tests of one module that only look at it."""
    with server_directory() as path, start(copy(created, path / "home")) as handle:
        yield handle


def copy(source: Path, target: Path) -> Path:
    """Copy a home directory with its owners and permissions."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)  # noqa: S607 - a program of every system
    return target


def stop(home: Path) -> None:
    """Stop what a failed test, or one about a killed program, has left running."""
    if server_pid(home) is not None:
        start(home).close()
    assert server_pid(home) is None
