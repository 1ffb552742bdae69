"""Memories for many callers at once, and the administrator's view of their database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

import olvido
from olvido.adapters.languages import Languages
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import CALLERS, Outside, PlainEmbedder


@pytest.fixture
def outside(clone: Clone) -> Iterator[Outside]:
    """The administrator's view of the database of this test."""
    with Outside(clone.superuser) as opened:
        yield opened


@asynccontextmanager
async def _shared(
    clone: Clone, outside: Outside, detector: Languages, clock: ManualClock | None
) -> AsyncIterator[olvido.Memory]:
    opening = olvido.open(
        clone.app, worker_url=clone.worker, embedder=PlainEmbedder(), detector=detector, clock=clock, pool_size=CALLERS
    )
    async with opening as memory:
        yield memory
    # The server counts what a connection did when that connection has ended.
    deadline = time.monotonic() + 30
    while outside.connections():
        assert time.monotonic() < deadline, "the connections of a closed memory end"
        await asyncio.to_thread(outside.connections)
    assert outside.deadlocks() == 0
    assert outside.problems() == {}


@pytest.fixture
async def busy(clone: Clone, outside: Outside, detector: Languages) -> AsyncIterator[olvido.Memory]:
    """A memory with a connection for each of many callers, on the database's own clock.

    Its vectors cost nothing, so that callers meet in the database and not in the embedder. At the end no transaction
    may have been given up for a deadlock, and what is stored must be consistent.
    """
    async with _shared(clone, outside, detector, None) as memory:
        yield memory


@pytest.fixture
async def timed(
    clone: Clone, outside: Outside, detector: Languages, clock: ManualClock
) -> AsyncIterator[olvido.Memory]:
    """The same on the manual clock."""
    async with _shared(clone, outside, detector, clock) as memory:
        yield memory
