"""Which system user runs the server. PostgreSQL refuses to run as root, so root needs another one.

An ordinary user runs the server as itself. Root runs it as the user who owns the data directory (or is about to:
the owner of the home directory), else as the system user `olvido-postgres`, which is created without home,
shell or password. That user must reach the data directory and the programs, so directories above them that are closed
to it get the permission to pass through (`x`), never the one to list them (`r`).
"""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from olvido.errors import DataDirectoryError

SYSTEM_USER: Final = "olvido-postgres"

_logger = logging.getLogger(__name__)


class Switch(TypedDict, total=False):
    """The arguments of `subprocess.run` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The user and group that run the server.

    switched: whether they differ from ours, which only root can do.
    """

    uid: int
    gid: int
    switched: bool

    def switch(self) -> Switch:
        """What makes `subprocess.run` start a program as this account."""
        return Switch(user=self.uid, group=self.gid, extra_groups=[]) if self.switched else Switch()

    def take(self, path: Path) -> None:
        """Make the account the owner of `path`."""
        if self.switched:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(home: Path, pgdata: Path) -> Account:
    """Who runs the server of this home directory. As root this may create the system user."""
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), switched=False)
    if pgdata.is_dir() and pgdata.stat().st_uid != 0:
        status = pgdata.stat()
        return Account(uid=status.st_uid, gid=status.st_gid, switched=True)
    entry = _named_owner(home) or _system_user()
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, switched=True)


def open_the_way(account: Account, path: Path) -> None:
    """Let the account pass through every directory above `path`, and nothing more."""
    if account.switched:
        for directory in path.parents:
            permit(account, directory, stat.S_IXUSR)


def permit(account: Account, path: Path, owner_bits: int) -> None:
    """Add permission bits, given as those of an owner, where the account lacks them in the class it falls in."""
    status = path.stat()
    if status.st_uid == account.uid:
        bits = owner_bits
    elif status.st_gid == account.gid:
        bits = owner_bits >> 3
    else:
        bits = owner_bits >> 6
    if status.st_mode & bits == bits:
        return
    path.chmod(stat.S_IMODE(status.st_mode) | bits)
    facts = {"action": "embedded.permission_added", "path": str(path), "bits": oct(bits), "uid": account.uid}
    _logger.warning("added permissions %s on %s, which the database server must reach", oct(bits), path, extra=facts)


def _named_owner(home: Path) -> pwd.struct_passwd | None:
    """The user who owns the home directory, unless that is root or has no name (initdb needs one)."""
    uid = home.stat().st_uid
    if uid == 0:
        return None
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        pass
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if program is None:
        raise DataDirectoryError(
            "PostgreSQL refuses to run as root, and this system has no useradd. Run Olvido as an ordinary user, or "
            f"create a system user named {SYSTEM_USER} and open again."
        )
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    options += ["--shell", shutil.which("nologin", path="/usr/sbin:/sbin") or "/bin/false"]
    done = subprocess.run(  # noqa: S603 - a fixed command, no shell
        [program, *options, SYSTEM_USER], capture_output=True, text=True, check=False
    )
    try:
        # Also after a failure: another process may have created it at the same moment.
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise DataDirectoryError(
            "PostgreSQL refuses to run as root, and a system user for it could not be created "
            f"({done.stderr.strip()}). Run Olvido as an ordinary user, or create {SYSTEM_USER} and open again."
        ) from None
    facts = {"action": "embedded.account_created", "user": SYSTEM_USER, "uid": entry.pw_uid}
    _logger.warning("created the system user %s, because PostgreSQL refuses to run as root", SYSTEM_USER, extra=facts)
    return entry
