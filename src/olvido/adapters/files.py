"""What every directory of ours needs of the file system: names that last, and owners that are not locked out."""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Make durable which files a directory has."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def give(path: Path, owner: Path) -> None:
    """Hand `path` to the owner of another one, which only root needs to do: one `sudo` locks no user out."""
    if os.geteuid() == 0:
        status = owner.stat()
        os.chown(path, status.st_uid, status.st_gid, follow_symlinks=False)
