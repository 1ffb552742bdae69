"""The directory of the ledger: private, and of somebody who may be trusted with it.

What we create belongs to the owner of the directory, also when root creates it, so that a user is not locked out by one
`sudo`. A directory that we create belongs to the owner of what it is for, or else to the owner of the one above it.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from olvido.adapters.files import give, sync_directory
from olvido.errors import LedgerUnavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a ledger is. directory: absolute. beside: the data directory that it is for, whose owner is to own it."""

    directory: Path
    beside: Path | None = None

    @property
    def file(self) -> Path:
        """The file of the entries."""
        return self.directory / "entries.jsonl"


def prepare(place: Place) -> None:
    """Create what is missing of the directory. Raises LedgerUnavailable for one that others could write in."""
    if not place.directory.is_dir():
        above = place.directory.parent
        above.mkdir(parents=True, exist_ok=True)
        place.directory.mkdir(mode=0o700, exist_ok=True)
        give(place.directory, above if place.beside is None else place.beside)
        sync_directory(above)
    check(place)
    # A ledger inside a repository must not be committed.
    ignored = place.directory / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
        ignored.chmod(0o600)
        give(ignored, place.directory)


def check(place: Place) -> None:
    """Refuse a directory in which another user could exchange the file."""
    status = place.directory.stat()
    if os.geteuid() != 0 and status.st_uid not in (os.geteuid(), 0):
        raise LedgerUnavailable(
            f"The directory of the erasure ledger, {place.directory}, belongs to another user (id {status.st_uid}). "
            "Run as that user, or name another one with OLVIDO_LEDGER."
        )
    if status.st_mode & stat.S_IWOTH:
        raise LedgerUnavailable(
            f"Every user may write in the directory of the erasure ledger, {place.directory}. Close it (chmod o-w), or "
            "name a directory of your own with OLVIDO_LEDGER."
        )


def create(place: Place) -> None:
    """Create the file, empty, unless it exists."""
    fd = os.open(place.file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.close(fd)
    give(place.file, place.directory)
