"""Who uses the server, and when it stops.

Every handle holds a share of one file lock. Whoever closes looks whether anybody else holds one; if not, it stops the
server. The kernel takes the share of a killed process away, so a crash never keeps the server running for good: it
runs until the next handle closes.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from olvido.adapters.embedded import binaries, cluster, locks, postmaster, stray_files
from olvido.adapters.embedded.account import open_the_way, server_account
from olvido.adapters.embedded.layout import PORT, Layout, prepare, socket_directory
from olvido.errors import DataDirectoryError

WAIT_SECONDS: Final = 60.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerUrls:
    """How to connect: postgresql:// URLs over the private socket, passwords included. Do not log them.

    superuser: role `postgres`, for migrations only.
    app: role `olvido_app`, for requests.
    worker: role `olvido_worker`, for duties.
    eraser: role `olvido_eraser`, which rewrites files after a forget and reads none of them.
    """

    superuser: str = field(repr=False)
    app: str = field(repr=False)
    worker: str = field(repr=False)
    eraser: str = field(repr=False)


class EmbeddedServer:
    """One user of the embedded server. Get it from `start`; close it, or use it in a `with` block.

    urls: how to connect.
    """

    __slots__ = ("_layout", "urls")

    def __init__(self, *, urls: ServerUrls, layout: Layout, share: int) -> None:
        self.urls = urls
        self._layout = layout
        _open_handles[self] = share

    def close(self) -> None:
        """Leave. The last to leave, of all processes, stops the server. Closing again does nothing.

        Close your connections first: stopping the server ends what is left of them.
        """
        share = _open_handles.pop(self, None)
        if share is None:
            return
        try:
            # Before taking the lock: whatever happens next, we are no longer counted.
            locks.unlock(share)
            with locks.exclusive(self._layout.lock, seconds=WAIT_SECONDS):
                _stop_if_unused(self._layout)
        except (DataDirectoryError, OSError) as error:
            # Not raised: the caller is done, and may be here because of an error of its own.
            facts = {"action": "embedded.close_failed", "error": type(error).__name__}
            _logger.warning("the embedded server may still run; the next handle to close stops it", extra=facts)

    def remove_files(self, files: Sequence[str]) -> None:
        """Remove files that belong to no relation, paths below the data directory. Raises DataDirectoryError.

        Only after a checkpoint: the server has nothing to write to them then.
        """
        stray_files.remove(self._layout.pgdata, files)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start(home: Path, *, wait_seconds: float = WAIT_SECONDS) -> EmbeddedServer:
    """Create, start or join the server of a home directory. It blocks: about 1 s to create, 0.1 s to start.

    home: a directory for everything of this database; created, with its parents, when missing. It must be on a local
        disk. Programs share the server by using the same directory.
    wait_seconds: how long to wait for another program that is opening or closing, and then for the server.

    Raises DataDirectoryError, which says what to do.
    """
    programs = binaries.locate()
    try:
        layout = prepare(home)
        with locks.exclusive(layout.lock, seconds=wait_seconds) as lock_fd:
            return _start_locked(layout, programs, lock_fd, wait_seconds)
    except OSError as error:
        place = error.filename if error.filename is not None else home
        raise DataDirectoryError(
            f"The data directory {home} cannot be used: {error.strerror or type(error).__name__} ({place}). Let the "
            "user who runs this program own the directory, or choose another one with OLVIDO_HOME."
        ) from error


def _start_locked(layout: Layout, programs: binaries.Binaries, lock_fd: int, seconds: float) -> EmbeddedServer:
    account = server_account(layout.home, layout.pgdata)
    open_the_way(account, layout.pgdata)
    binaries.make_runnable(programs, account)
    place = cluster.Cluster(layout=layout, account=account, binaries=programs, lock_fd=lock_fd)
    share = locks.shared(layout.handles)
    try:
        passwords = cluster.ensure(place)
        sockets = socket_directory(layout, passwords[cluster.SUPERUSER])
        answering = postmaster.ensure_running(place, sockets, seconds=seconds)
        return EmbeddedServer(urls=_urls(passwords, answering), layout=layout, share=share)
    except BaseException:
        locks.unlock(share)
        _stop_if_unused(layout)
        raise


def _stop_if_unused(layout: Layout) -> None:
    """Stop the server unless somebody holds a share. The caller holds the lock, so nobody can be about to take one."""
    if locks.is_free(layout.handles):
        postmaster.stop(layout)


def _urls(passwords: Mapping[str, str], sockets: Path) -> ServerUrls:
    superuser, app, worker, eraser = (
        f"postgresql://{role}:{passwords[role]}@/{cluster.DATABASE}?host={quote(str(sockets), safe='')}&port={PORT}"
        for role in cluster.ROLES
    )
    return ServerUrls(superuser=superuser, app=app, worker=worker, eraser=eraser)


_open_handles: Final[dict[EmbeddedServer, int]] = {}
"""Handles not yet closed, with the file descriptor of their share."""


def _close_all() -> None:
    for handle in list(_open_handles):
        handle.close()


def _forget_inherited() -> None:
    """In a forked child: the handles are the parent's. Closing without unlocking leaves the parent its share."""
    for share in _open_handles.values():
        os.close(share)
    _open_handles.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_inherited)
