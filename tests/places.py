"""Where the servers of tests live: on a short path, as those of sockets are limited, and in memory if there is room.

A flush costs nothing there, which makes a clone of a database ten times cheaper. No test takes the power away, so what
the tests show stays true.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

import olvido
from olvido.adapters import embedded
from olvido.adapters.embedded import ServerUrls
from olvido.bootstrap import EMBEDDED_LEAVES

MEMORY = Path("/dev/shm")
DISK = Path("/tmp")
ROOM = 4 * 2**30
"""Bytes that must be free in memory: a suite takes about a tenth, and the machine shall not swap for it."""
KEPT = ExitStack()
"""What is made once for all tests of a worker; closed at the end of its session, or of another program."""
atexit.register(KEPT.close)


@contextmanager
def server_directory() -> Iterator[Path]:
    """An empty private directory, removed at the end."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    place = Path(tempfile.mkdtemp(prefix="olvido-test-", dir=MEMORY if roomy else DISK)).resolve()
    try:
        yield place
    finally:
        shutil.rmtree(place)


def put_home(target: Path) -> None:
    """Put a closed home directory there, migrated and empty. Copying one takes a tenth of the time of making one.

    target: does not exist yet; the directory that it lies in does.
    """
    subprocess.run(["cp", "-a", str(_home()), str(target)], check=True)  # noqa: S607 - a program of every system


@cache
def _home() -> Path:
    home = KEPT.enter_context(server_directory()) / "home"
    with embedded.start(home) as server:
        quicken_logins(server.urls)
        olvido.migrate(server.urls.superuser, leaves=EMBEDDED_LEAVES)
    return home


def quicken_logins(urls: ServerUrls) -> None:
    """Let a login prove that it has its password, which stays as it is, in one round instead of 4,096.

    The rounds make guessing slow. Here they took 1 part in 25 of all the time of a run, for thousands of connections.
    """
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("SET scram_iterations = 1")
        for url in (urls.superuser, urls.app, urls.worker, urls.eraser):
            login = psycopg.conninfo.conninfo_to_dict(url)
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                    sql.Identifier(str(login["user"])), sql.Literal(str(login["password"]))
                )
            )
