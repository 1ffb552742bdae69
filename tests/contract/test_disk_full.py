"""A full disk: a clean error that says so, and a store that is intact once there is space again.

The disk is a small tmpfs, which root mounts. An ordinary user may not: for them the server gets a limit on the size of
its files, which stops a write in the same place, though PostgreSQL has no code of its own for it.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

import olvido
from olvido.adapters import embedded
from olvido.errors import DatabaseUnavailable
from olvido.storage.translation import translated
from tests.adapters.embedded.support import server_pid
from tests.contract.support import Outside, PlainDetector, PlainEmbedder
from tests.places import server_directory

MEGABYTE = 1_000_000
DISK = 100 * MEGABYTE
"""A new directory takes 50 MB, and the server needs 16 MB for the next segment of its log."""
SEGMENT = 16 * 1024 * 1024
MESSAGE = 7000
BATCH = 25
MOST = 20_000
"""Messages after which a disk should long have been full."""


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A disk of its own at `place`."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)], check=True)  # noqa: S607 - as found on PATH
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S607 - the same


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory with a short path."""
    with server_directory() as path:
        yield path


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[olvido.ScopedMemory]:
    """One person's memory, without a model and without patience."""
    async with olvido.open(home, embedder=PlainEmbedder(), detector=PlainDetector(), timeout=2) as memory:
        yield memory.scope(tenant="altavela", subject="ana")


async def write_until_refused(ana: olvido.ScopedMemory) -> tuple[list[str], DatabaseUnavailable]:
    """Append messages that do not compress until some are refused: those acknowledged, and the refusal."""
    chance = random.Random(5)
    session = ana.session("s")
    stored: list[str] = []
    while len(stored) < MOST:
        contents = [chance.randbytes(MESSAGE // 2).hex() for _ in range(BATCH)]
        try:
            await session.extend([("user", content) for content in contents])
        except DatabaseUnavailable as error:
            return stored, error
        stored += contents
    raise AssertionError("the disk never filled up")


async def check_intact(home: Path, ana: olvido.ScopedMemory, stored: list[str]) -> None:
    """Everything acknowledged is there, at most the refused batch too, nothing is in part, writing goes on."""
    messages: list[olvido.Message] = []
    while page := await ana.session("s").messages(first=len(messages)):
        messages += page
    assert [message.content for message in messages[: len(stored)]] == stored
    assert len(messages) in {len(stored), len(stored) + BATCH}
    await ana.session("s").append("user", "there is space again")
    with embedded.start(home) as server, Outside(server.urls.superuser) as outside:
        assert outside.problems() == {}


def fill_but(place: Path, left: int) -> Path:
    """Something else that takes all of the disk but `left` bytes."""
    ballast = place / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(place).free - left)
    return ballast


@pytest.mark.parametrize("left", [MEGABYTE, 14 * MEGABYTE])
async def test_a_full_disk_is_a_clean_error_and_the_store_stays_intact(place: Path, left: int) -> None:
    """Records find no room, or (with more left than they need) the server's log does and the server stops.

    Both end in a typed error that names the disk. When there is space again, everything acknowledged is there.
    """
    if os.geteuid() != 0:
        await limited_files(place, SEGMENT)
        return
    with small_disk(place):
        home = place / "home"
        async with opened(home) as ana:
            ballast = fill_but(place, left)
            stored, refusal = await write_until_refused(ana)
            assert "disk of the database is full" in str(refusal)
            assert refusal.__cause__ is None
            ballast.unlink()
            if server_pid(home) is None:
                assert "The server stopped: open again" in str(refusal)
                embedded.start(home).close()
            # The same handle goes on.
            await check_intact(home, ana, stored)
        async with opened(home) as ana:
            assert (await ana.session("s").read()).message_count >= len(stored) + 1
    assert stored


async def test_a_file_that_may_not_grow_is_a_clean_error_and_the_store_stays_intact(place: Path) -> None:
    """A limit on the size of files, as that of a quota, stops a write in the middle and nothing else."""
    await limited_files(place, SEGMENT)


async def limited_files(place: Path, limit: int) -> None:
    """Write through a server whose files may not be larger than `limit` bytes, and then through one without a limit."""
    home = place / "home"
    async with opened(home):
        pass
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        server = embedded.start(home)  # which inherits the limit
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    async with opened(home) as ana:
        stored, refusal = await write_until_refused(ana)
    assert refusal.__cause__ is None
    server.close()
    async with opened(home) as ana:
        await check_intact(home, ana, stored)


async def test_a_refusal_of_the_disk_promises_no_more_than_is_known() -> None:
    """An error of one statement stored nothing; where the connection ended, that is not known, and is said."""
    with pytest.raises(DatabaseUnavailable, match=r"open again\. It is not known whether the call was carried out"):
        async with translated():
            raise psycopg.errors.DiskFull
    with pytest.raises(DatabaseUnavailable, match=r"connection to the database was lost .*not known"):
        async with translated():
            raise psycopg.OperationalError("server closed the connection unexpectedly")
