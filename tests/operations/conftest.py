"""A memory whose embedder can be computed by hand, and somebody with ten notes in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import olvido
from olvido.adapters.languages import Languages
from olvido.bootstrap import Opening
from olvido.domain.origin import Origin
from olvido.ports import Embedder
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.word_embedder import DAY, NOTES, WordEmbedder

OpenWith = Callable[[Embedder, olvido.Policy | None], Opening]
Person = Callable[..., olvido.ScopedMemory]
Document = dict[str, Any]

START = datetime(2025, 11, 1, tzinfo=UTC)
SAID = Origin.declared("user-confirmation", ref="turn-17", actor="agent-7", at=START)
SEEN = Origin.observed("crm.lookup", ref="call-3", at=START + DAY)


@pytest.fixture
def words() -> WordEmbedder:
    """The embedder; set `fails` to take it away."""
    return WordEmbedder()


@pytest.fixture
def open_with(clone: Clone, clock: ManualClock, detector: Languages) -> OpenWith:
    """Opens the database of this test with another embedder or policy."""

    def opening(embedder: Embedder, policy: olvido.Policy | None = None) -> Opening:
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


@pytest.fixture
def person(word_memory: olvido.Memory) -> Person:
    """Anybody, by a fresh handle."""

    def scoped(subject: str = "ana", tenant: str = "acme", **options: Any) -> olvido.ScopedMemory:  # noqa: ANN401
        return word_memory.scope(tenant=tenant, subject=subject, **options)

    return scoped


@pytest.fixture
async def exported(person: Person, clock: ManualClock) -> Document:
    """The export of somebody with a corrected language, a name, two episodes of a case and a note."""
    ana = person()
    await ana.set_preference("language", "es", origin=SAID)
    clock.advance(DAY)
    await ana.correct_preference("language", "pt", origin=Origin.declared("user-confirmation", ref="turn-19"))
    await ana.set_preference("display_name", "Ana", origin=SEEN)
    for number, status in enumerate(("reported", "lookup-failed")):
        await ana.record_episode(
            "support-case",
            event_id=f"ev{number}",
            case_id="at1",
            status=status,
            occurred_at=START + number * DAY,
            fields={"title": "cannot reach the course"},
            origin=SEEN,
        )
    await ana.remember("prefers aisle seats", event_id="n1", occurred_at=START)
    await ana.consolidate()
    await ana.session("s1").open(goal="help")
    clock.advance(timedelta(hours=1))
    document: Document = (await ana.export()).document
    return document
