"""The server process: found, started, waited for, stopped. Every function expects the caller to hold the lock."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from olvido.adapters.embedded import cluster as data_directory
from olvido.adapters.embedded import processes
from olvido.adapters.embedded.binaries import environment, last_lines
from olvido.adapters.embedded.cluster import Cluster
from olvido.adapters.embedded.layout import (
    PORT,
    SOCKET_NAME,
    Layout,
    give_to_owner_of_home,
    make_socket_directory,
    remove_socket_directory,
)
from olvido.errors import DataDirectoryError

_POLL_SECONDS: Final = 0.01
_RETRY_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 15.0
_QUIT_SECONDS: Final = 15.0
_LOG_BYTES: Final = 1_000_000
_PASSING: Final = (
    "pre-existing shared memory block",  # children of a killed server are still leaving
    "already exists",  # the lock file of a server that is leaving, or that came first; a stale one is removed next
    "is empty",  # one cut short by a power failure; removed next, once the last process of its server has left
    "bogus data in lock file",  # the same
)
_TO_THE_BACKGROUND: Final = '"$@" >&2 & echo $!'
"""Starts a program that is not our child: it would stay a zombie when it ends before us. Standard error is the log."""

_logger = logging.getLogger(__name__)


class State(Enum):
    """What a data directory says about its server."""

    ABSENT = "absent"
    BUSY = "busy"
    READY = "ready"


@dataclass(frozen=True, kw_only=True, slots=True)
class PidFile:
    """The file `postmaster.pid`. `pid` and `socket_directory` are None while (or because) it is incomplete."""

    pid: int | None
    socket_directory: Path | None
    ready: bool


def ensure_running(cluster: Cluster, socket_directory: Path, *, seconds: float) -> Path:
    """Join the running server or start one, and return the directory of its socket.

    Raises DataDirectoryError with the end of the server's log when it does not start, or not within `seconds`.
    """
    layout = cluster.layout
    deadline = time.monotonic() + seconds
    started: int | None = None
    log_position = 0
    while time.monotonic() < deadline:
        found = read_pid_file(layout.pgdata)
        state = _state(layout.pgdata, found, socket_directory)
        if state is State.READY and found is not None:
            answering = _answering_directory(socket_directory, found)
            if _accepts(answering):
                action = "embedded.server_joined" if started is None else "embedded.server_started"
                _logger.info("the embedded server is ready", extra={"action": action, "pid": found.pid})
                return answering
            time.sleep(_POLL_SECONDS)
            continue
        if state is State.BUSY or (started is not None and processes.is_alive(started)):
            time.sleep(_POLL_SECONDS)
            continue
        if started is not None:
            complaint = _log_since(layout, log_position)
            if not any(text in complaint for text in _PASSING):
                raise DataDirectoryError(
                    f"The embedded database did not start. What its log says ({layout.log_file}):\n{complaint}"
                )
            time.sleep(_RETRY_SECONDS)
        else:
            _prepare(cluster, socket_directory)
        _remove_stale_files(layout.pgdata, socket_directory, found)
        log_position = layout.log_file.stat().st_size if layout.log_file.exists() else 0
        started = _spawn(cluster, socket_directory)
    raise DataDirectoryError(
        f"The embedded database was not ready within {seconds:g} seconds. Open again later; it may still be recovering "
        f"from a crash. What its log says ({layout.log_file}):\n{_log_since(layout, log_position)}"
    )


def stop(layout: Layout) -> None:
    """Stop the server: open transactions are rolled back, everything committed is written, and it is gone on return.

    It logs a warning, and does not raise, when the server cannot be stopped: the data is safe either way.
    """
    found = read_pid_file(layout.pgdata)
    if found is None or found.pid is None or not processes.is_postgres_of(found.pid, layout.pgdata):
        _logger.info("no embedded server to stop", extra={"action": "embedded.server_absent"})
        return
    pid = found.pid
    os.kill(pid, signal.SIGINT)  # "fast" shutdown
    if not _gone(pid, seconds=_STOP_SECONDS):
        # PostgreSQL 18 never ends after a fast shutdown that reaches it while it recovers from the crash of one of its
        # processes. An immediate shutdown is as safe: the next start recovers what was committed from the log.
        if processes.is_postgres_of(pid, layout.pgdata):
            os.kill(pid, signal.SIGQUIT)
        facts = {"action": "embedded.server_not_stopping", "pid": pid}
        _logger.warning("the embedded server does not stop in peace; stopping it at once", extra=facts)
        if not _gone(pid, seconds=_QUIT_SECONDS):
            facts = {"action": "embedded.server_not_stopped", "pid": pid}
            _logger.warning("the embedded server is taking long to stop; it goes on stopping", extra=facts)
            return
    if found.socket_directory is not None:
        remove_socket_directory(layout, found.socket_directory)
    _logger.info("stopped the embedded server", extra={"action": "embedded.server_stopped", "pid": pid})


def _gone(pid: int, *, seconds: float) -> bool:
    return _wait_until(lambda: not processes.is_alive(pid), seconds=seconds)


def read_pid_file(pgdata: Path) -> PidFile | None:
    """Read `postmaster.pid`: process, data directory, start, port, socket directory, TCP address, memory, state."""
    try:
        lines = os.fsdecode((pgdata / "postmaster.pid").read_bytes()).splitlines()
    except FileNotFoundError:
        return None
    lines += [""] * (8 - len(lines))
    pid = int(lines[0]) if lines[0].strip().isdecimal() else None
    socket_directory = Path(lines[4]) if lines[4] else None
    return PidFile(pid=pid, socket_directory=socket_directory, ready=lines[7].strip() == "ready")


def _state(pgdata: Path, found: PidFile | None, socket_directory: Path) -> State:
    if found is None or found.pid is None:
        return State.ABSENT
    # A server in another process namespace (a container that shares the directory) is seen by its socket alone. Only
    # our own socket counts: in a copy of the directory, the file names the socket of the original.
    if not (processes.is_postgres_of(found.pid, pgdata) or _answers(socket_directory)):
        return State.ABSENT
    return State.READY if found.ready else State.BUSY


def _answering_directory(expected: Path, found: PidFile) -> Path:
    """The expected directory, unless the server was started through another path to the same home directory."""
    if found.socket_directory is None or _answers(expected):
        return expected
    return found.socket_directory


def _answers(socket_directory: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(socket_directory / SOCKET_NAME))
        except OSError:
            return False
    return True


def _accepts(socket_directory: Path) -> bool:
    """Whether the server takes connections now.

    While it recovers from the crash of one of its processes it refuses them, and its file still says "ready".
    """
    from psycopg import pq
    from psycopg.conninfo import make_conninfo

    # No password: to be asked for one is to be let in as far as this goes.
    where = make_conninfo(host=str(socket_directory), port=PORT, dbname="postgres", user="postgres", connect_timeout=2)
    return pq.PGconn.ping(os.fsencode(where)) == pq.Ping.OK


def _prepare(cluster: Cluster, socket_directory: Path) -> None:
    data_directory.prepare_start(cluster)
    make_socket_directory(socket_directory, cluster.account)
    log = cluster.layout.log_file
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))


def _remove_stale_files(pgdata: Path, socket_directory: Path, found: PidFile | None) -> None:
    """Remove the lock files of a server that was killed, where PostgreSQL would not.

    It trusts such a file when its process id is alive, though the id may by now belong to an unrelated process, and
    refuses one that was cut short by a power failure. For a dead process it does the right thing by itself.
    """
    if found is None or (found.pid is not None and not processes.is_alive(found.pid)):
        return
    if processes.any_postgres_of(pgdata):
        return
    for file in (
        pgdata / "postmaster.pid",
        socket_directory / SOCKET_NAME,
        socket_directory / f"{SOCKET_NAME}.lock",
    ):
        file.unlink(missing_ok=True)
    _logger.warning("removed the lock files of a killed server", extra={"action": "embedded.stale_files_removed"})


def _spawn(cluster: Cluster, socket_directory: Path) -> int:
    """Start the server in the background and return its process id."""
    # In a list of directories, as this setting is, double quotes protect commas and spaces.
    quoted = str(socket_directory).replace('"', '""')
    command = [str(cluster.binaries.bin / "postgres"), "-D", str(cluster.layout.pgdata)]
    command += ["-c", f'unix_socket_directories="{quoted}"']
    log = os.open(cluster.layout.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        give_to_owner_of_home(cluster.layout, cluster.layout.log_file)
        # A session of its own: Ctrl-C in the terminal of one program must not stop the server of all.
        shell = subprocess.run(  # noqa: S603 - the shell gets a fixed script; the command comes as its arguments
            ["/bin/sh", "-c", _TO_THE_BACKGROUND, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="ascii",
            check=True,
            cwd="/",
            env=environment(),
            start_new_session=True,
            umask=0o077,
            **cluster.account.switch(),
        )
    finally:
        os.close(log)
    return int(shell.stdout)


def _log_since(layout: Layout, position: int) -> str:
    try:
        with layout.log_file.open("rb") as file:
            file.seek(position)
            return last_lines(file.read().decode("utf-8", errors="replace"))
    except FileNotFoundError:
        return "(nothing)"


def _wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(_POLL_SECONDS)
    return False
