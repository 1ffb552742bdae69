"""What lies where in the home directory, and with which permissions.

    pg/            data directory of PostgreSQL; `pg.new/` while it is being made
    secrets/       one file a role: its password
    run/           the socket (elsewhere when this path cannot hold one)
    log/           the log of the server
    lock           held while somebody opens or closes
    handles.lock   shared by every open handle

Everything is closed to other users. What we create belongs to the owner of the home directory, also when root
creates it, so that a user is not locked out by one `sudo`; `pg/` and the socket directory belong to the server.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olvido.adapters.embedded.account import Account
from olvido.adapters.files import give
from olvido.errors import DataDirectoryError

PORT: Final = 5432
"""Of the name of the socket; said wherever the server is named, or PGPORT of the environment would be taken."""

SOCKET_NAME: Final = f".s.PGSQL.{PORT}"
_SOCKET_PATH_BYTES: Final = 100
"""Longest path of a socket. The kernel's limit is 107 bytes on Linux and 103 on macOS."""
_SHORT_PARENT: Final = Path("/tmp")  # noqa: S108 - the directory made in it is private and checked
"""Where a short socket directory goes. Not TMPDIR or XDG_RUNTIME_DIR: they differ between the processes of one
user, are closed to the server's account under root, and vanish at logout while the server still runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The paths in one home directory. `home` is absolute, with symbolic links resolved."""

    home: Path

    @property
    def pgdata(self) -> Path:
        """The data directory. It exists whole or not at all."""
        return self.home / "pg"

    @property
    def pgdata_in_the_making(self) -> Path:
        """The data directory until it is whole; what an interrupted creation leaves here is thrown away."""
        return self.home / "pg.new"

    @property
    def secrets(self) -> Path:
        """The directory of the passwords."""
        return self.home / "secrets"

    @property
    def run(self) -> Path:
        """The usual socket directory."""
        return self.home / "run"

    @property
    def log_file(self) -> Path:
        """What the server prints. It holds no stored values: see olvido.conf."""
        return self.home / "log" / "server.log"

    @property
    def lock(self) -> Path:
        """Held exclusively while somebody opens or closes."""
        return self.home / "lock"

    @property
    def handles(self) -> Path:
        """Held shared by every open handle."""
        return self.home / "handles.lock"


def prepare(home: Path) -> Layout:
    """Create what is missing of the home directory, except the data and socket directories."""
    # Root's server runs as another user, who has to pass through; what lies inside is closed on its own.
    home.mkdir(mode=0o701 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    layout = Layout(home=home.resolve())
    _check_owner(layout.home)
    for directory in (layout.secrets, layout.log_file.parent):
        if not directory.is_dir():
            directory.mkdir(mode=0o700, exist_ok=True)
            give_to_owner_of_home(layout, directory)
    for file in (layout.lock, layout.handles):
        write_once(layout, file, "")
    # A home directory inside a repository must not be committed.
    write_once(layout, layout.home / ".gitignore", "*\n")
    return layout


def _check_owner(home: Path) -> None:
    """Refuse a directory in which another user could exchange our files."""
    status = home.stat()
    if os.geteuid() != 0 and status.st_uid not in (os.geteuid(), 0):
        raise DataDirectoryError(
            f"The data directory {home} belongs to another user (id {status.st_uid}). Run as that user, or choose "
            "another one with OLVIDO_HOME."
        )
    if status.st_mode & stat.S_IWOTH:
        raise DataDirectoryError(
            f"Every user may write in the data directory {home}. Close it (chmod o-w), or choose a directory of your "
            "own with OLVIDO_HOME."
        )


def write_once(layout: Layout, path: Path, text: str) -> None:
    """Write a private file unless it exists. It is never replaced, because a lock belongs to the file, not its name."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
    give_to_owner_of_home(layout, path)


def replace(path: Path, text: str, account: Account) -> None:
    """Write a private file of the server, whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)
    account.take(temporary)
    temporary.replace(path)


def give_to_owner_of_home(layout: Layout, path: Path) -> None:
    """Hand `path` to the owner of the home directory, which only root needs to do."""
    give(path, layout.home)


def socket_directory(layout: Layout, key: str) -> Path:
    """Where the socket is: `run/`, or a short directory whose name nobody can guess and every opener computes alike.

    key: a secret of this home directory. A known name could be taken beforehand by another user.
    """
    usual = os.fsencode(layout.run / SOCKET_NAME)
    # The PostgreSQL client takes a comma in a host for the end of one host and the start of another.
    if len(usual) <= _SOCKET_PATH_BYTES and b"," not in usual:
        return layout.run
    # The inode tells a copy of the home directory, which has the same secrets, from the original.
    place = layout.home.stat()
    name = hashlib.blake2b(f"{place.st_dev}:{place.st_ino}".encode(), key=key.encode()[:64], digest_size=12).hexdigest()
    return _SHORT_PARENT / f"olvido-{name}"


def make_socket_directory(path: Path, account: Account) -> None:
    """Create the socket directory, or check that the one found is a real directory, private, and the server's own."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (account.uid, os.geteuid()):
            raise DataDirectoryError(
                f"{path} is not a directory of the user who runs the database. Remove it and open again."
            ) from None
    path.chmod(0o700)
    account.take(path)


def remove_socket_directory(layout: Layout, path: Path) -> None:
    """Leave nothing behind outside the home directory."""
    if path != layout.run:
        try:
            path.rmdir()
        except OSError:
            return
