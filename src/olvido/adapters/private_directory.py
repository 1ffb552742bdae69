"""A directory of files that only their owner reads, written whole or not at all, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olvido.adapters.files import give, sync_directory

_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.02
_OTHERS = stat.S_IRWXO | stat.S_IWGRP
"""What nobody else may: anything for other users, writing for the group. A mounted secret is often readable by one."""


class PrivateDirectory:
    """One such directory, made when it is first written to.

    like: what is created as root belongs to whoever owns this path, so that one `sudo` locks no user out.
    Each method raises OSError where the file system says no, and PermissionError where others could read or write.
    """

    def __init__(self, path: Path, *, like: Path | None = None) -> None:
        self.path = path
        self._like = like

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who writes, of all processes, for a block. Raises TimeoutError after half a minute."""
        self._make()
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self._give(self.path / "lock")
            deadline = time.monotonic() + _WAIT_SECONDS
            while not _locked(fd):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"another process has held the lock in {self.path} for {_WAIT_SECONDS:g} s")
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(fd)

    def read(self, name: str, *, secret: bool = False) -> str | None:
        """The text of a file, or None if it is not there. secret: refuse one that others may read.

        What is no UTF-8 is read as U+FFFD, which stands in no file that was written whole.
        """
        try:
            with (self.path / name).open(encoding="utf-8", errors="replace") as file:
                if secret:
                    refuse_open_to_others(os.fstat(file.fileno()), name)
                return file.read()
        except FileNotFoundError:
            return None

    def replace(self, name: str, text: str, *, mode: int = 0o600) -> None:
        """Write a file, durably, whole or not at all. Call it while `alone`."""
        temporary = self.path / f"{name}.new"
        temporary.unlink(missing_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            self._give(temporary)
            os.fsync(fd)
        temporary.replace(self.path / name)
        sync_directory(self.path)

    def append_line(self, name: str, line: str) -> None:
        """Add a line to a file, durably. Call it while `alone`.

        A last line without an end was being written when its process died; nobody was told that it is there.
        """
        path = self.path / name
        fresh = not path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(fd, 1, size - 1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line.encode() + b"\n")
            file.flush()
            self._give(path)
            os.fsync(fd)
        if fresh:
            sync_directory(self.path)

    def _make(self) -> None:
        if not self.path.is_dir():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._give(self.path)
            sync_directory(self.path.parent)
        status = self.path.stat()
        refuse_open_to_others(status, str(self.path), mask=stat.S_IWOTH | stat.S_IWGRP)
        if os.geteuid() != 0 and status.st_uid not in {os.geteuid(), 0}:
            raise PermissionError(f"it belongs to another user (id {status.st_uid})")
        ignore = self.path / ".gitignore"
        if not ignore.exists():
            # Beside a repository's own files, which is where the default is, it must not be committed.
            ignore.write_text("*\n", encoding="utf-8")
            self._give(ignore)

    def _give(self, made: Path) -> None:
        if self._like is not None and self._like.exists():
            give(made, self._like)


def refuse_open_to_others(status: os.stat_result, name: str, *, mask: int = _OTHERS) -> None:
    """Raise PermissionError if other users than the owner have a right that the mask holds."""
    if status.st_mode & mask:
        raise PermissionError(f"other users have rights on {name}: take them away with chmod go-rwx")


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
