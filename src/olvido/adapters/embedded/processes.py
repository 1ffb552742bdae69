"""What the process table says about PostgreSQL. psutil comes with the extra `olvido[local]`, so it is imported late."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import psutil


def is_alive(pid: int) -> bool:
    """Whether the process runs. A zombie does not: only its exit status is left of it."""
    import psutil

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_postgres_of(pid: int, pgdata: Path) -> bool:
    """Whether `pid` is a PostgreSQL process that works in `pgdata`: every one of them does, from its first moments."""
    import psutil

    try:
        return _works_in(psutil.Process(pid), pgdata)
    except psutil.NoSuchProcess:
        return False


def any_postgres_of(pgdata: Path) -> bool:
    """Whether any PostgreSQL process works in `pgdata`."""
    import psutil

    return any(_works_in(process, pgdata) for process in psutil.process_iter())


def _works_in(process: psutil.Process, pgdata: Path) -> bool:
    """Compare directories, not paths: a path can be a prefix of another, an alias, or moved."""
    import psutil

    try:
        return process.name() == "postgres" and pgdata.samefile(process.cwd())
    except (psutil.Error, OSError):
        # Gone, a zombie, or another user's. PostgreSQL refuses a directory that is not its own user's, so
        # a process whose directory we may not see cannot be serving ours.
        return False
