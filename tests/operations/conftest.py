"""A memory whose embedder can be computed by hand, and somebody with ten notes in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

import olvido
from olvido.adapters.languages import Languages
from olvido.bootstrap import Opening
from olvido.domain.origin import Origin
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.word_embedder import DAY, NOTES, WordEmbedder

OpenWith = Callable[[WordEmbedder, olvido.Policy | None], Opening]


@pytest.fixture
def words() -> WordEmbedder:
    """The embedder; set `fails` to take it away."""
    return WordEmbedder()


@pytest.fixture
def open_with(clone: Clone, clock: ManualClock, detector: Languages) -> OpenWith:
    """Opens the database of this test with another embedder or policy."""

    def opening(embedder: WordEmbedder, policy: olvido.Policy | None = None) -> Opening:
        return olvido.open(
            clone.app, worker_url=clone.worker, clock=clock, embedder=embedder, detector=detector, policy=policy
        )

    return opening


@pytest.fixture
async def word_memory(open_with: OpenWith, words: WordEmbedder) -> AsyncIterator[olvido.Memory]:
    """An open memory with that embedder."""
    async with open_with(words, None) as opened:
        yield opened


@pytest.fixture
async def ana(word_memory: olvido.Memory, clock: ManualClock) -> olvido.ScopedMemory:
    """Somebody with ten notes, a day apart, and a language."""
    scoped = word_memory.scope(tenant="acme", subject="ana")
    for number, text in enumerate(NOTES):
        await scoped.remember(text, event_id=f"e{number}", occurred_at=clock.now() - number * DAY)
    await scoped.set_preference("language", "pt", origin=Origin.declared("user-confirmation"))
    return scoped
