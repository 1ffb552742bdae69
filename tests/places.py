"""Where the servers of tests live: on a short path, as those of sockets are limited, and in memory if there is room.

A flush costs nothing there, which makes a clone of a database ten times cheaper. No test takes the power away, so what
the tests show stays true.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
DISK = Path("/tmp")
ROOM = 4 * 2**30
"""Bytes that must be free in memory: a suite takes about a tenth, and the machine shall not swap for it."""


@contextmanager
def server_directory() -> Iterator[Path]:
    """An empty private directory, removed at the end."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    place = Path(tempfile.mkdtemp(prefix="olvido-test-", dir=MEMORY if roomy else DISK)).resolve()
    try:
        yield place
    finally:
        shutil.rmtree(place)
