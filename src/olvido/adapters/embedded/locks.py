"""Advisory locks on files (flock): they belong to an open file, so the kernel releases those of a killed process."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from olvido.errors import DataDirectoryError

_POLL_SECONDS: Final = 0.02
_BUSY: Final = (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR)


@contextmanager
def exclusive(path: Path, *, seconds: float) -> Iterator[int]:
    """Hold `path` alone for a block, and yield the file descriptor that holds it.

    A child process that inherits the descriptor keeps the lock if we are killed.

    Raises DataDirectoryError when the lock is not free within `seconds`.
    """
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + seconds
        while not _try_lock(fd, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise DataDirectoryError(
                    f"Another process has been opening or closing this database for {seconds:g} seconds. "
                    f"Find what holds {path} (for example with lsof), end it and open again."
                )
            time.sleep(_POLL_SECONDS)
        yield fd
    finally:
        unlock(fd)


def shared(path: Path) -> int:
    """Take a share of `path` and return the file descriptor that holds it, for `unlock`.

    Call it while holding the lock that every holder of `path` takes first: nobody else then holds it alone.
    """
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    if not _try_lock(fd, fcntl.LOCK_SH):
        os.close(fd)
        raise DataDirectoryError(f"{path} is locked by a program other than Olvido. End it and open again.")
    return fd


def unlock(fd: int) -> None:
    """Release the lock and close its descriptor.

    The explicit release matters: closing alone would leave the lock with a forked child that has a copy.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


def is_free(path: Path) -> bool:
    """Whether nobody, in any process, holds a share of `path`."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return _try_lock(fd, fcntl.LOCK_EX)
    finally:
        unlock(fd)


def _try_lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP):
            raise DataDirectoryError(
                "The file system of the data directory has no file locks. Choose a local disk with OLVIDO_HOME."
            ) from error
        raise
    return True
