"""An embedder of the host's own may fail in any way: no record is lost, and nothing it says gets out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import pytest

import olvido
import olvido.sync
from olvido import IndexState
from olvido.adapters.languages import Languages
from olvido.errors import EmbedderProblem, EmbedderUnavailable, InvalidInput
from olvido.ports import MAX_DIMENSIONS, Vector, Vectors
from olvido.testing import ManualClock
from tests.conftest import Clone

CANARY = "canary-7f3a prefers aisle seats"


def raising(texts: Sequence[str]) -> NoReturn:
    """An embedder that quotes its input."""
    raise RuntimeError(f"HTTP 500 for input: {texts}")


ANSWERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "raises": raising,
    "too few": lambda _: np.zeros((0, 8)),
    "wrong size": lambda texts: np.ones((len(texts), 7)),
    "not numbers": lambda texts: np.full((len(texts), 8), np.nan),
    "no direction": lambda texts: np.zeros((len(texts), 8)),
    "a list of words": lambda texts: [["a"] * 8 for _ in texts],
    "nothing": lambda _: None,
}


class Foreign:
    """An embedder of 8 dimensions that answers what a test says."""

    id = "foreign/1"
    dimensions = 8

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        self._answer = answer

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Whatever the test says."""
        return cast("Vectors", self._answer(texts))

    async def embed_query(self, text: str) -> Vector:
        """The same, for one text."""
        return cast("Vector", self._answer([text])[0])

    async def centre(self) -> Vector:
        """The origin."""
        return np.zeros(8, dtype=np.float32)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_bad_answer_costs_no_record(
    clone: Clone,
    clock: ManualClock,
    detector: Languages,
    answer: Callable[[Sequence[str]], Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The note is stored and found by its words, the gap is visible, and no log repeats the text."""
    with caplog.at_level(logging.DEBUG):
        async with olvido.open(clone.app, clock=clock, embedder=Foreign(answer), detector=detector) as memory:
            ines = memory.scope(tenant="altavela", subject="ines")
            written = await ines.remember(CANARY)
            recalled = await ines.recall("canary-7f3a aisle seats")
    assert written.index_state is IndexState.TEXT_ONLY
    assert [item.record.fields["text"] for item in recalled.items] == [CANARY]
    assert recalled.text_only
    assert "canary-7f3a" not in caplog.text


async def test_lists_of_numbers_are_vectors(clone: Clone, clock: ManualClock, detector: Languages) -> None:
    """An embedder may answer plain lists."""
    embedder = Foreign(lambda texts: [[1.0, *[0.0] * 7] for _ in texts])
    async with olvido.open(clone.app, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = memory.scope(tenant="altavela", subject="ines")
        assert (await ines.remember(CANARY)).index_state is IndexState.INDEXED
        assert (await ines.recall("seats")).text_only is False


class Sized:
    """An embedder of any size, whose vectors are all the same."""

    def __init__(self, dimensions: int) -> None:
        self.id = f"{'sized' * 30}/{dimensions}"
        self.dimensions = dimensions

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of unit length."""
        return np.full((len(texts), self.dimensions), self.dimensions**-0.5, dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        """The same."""
        vector: Vector = (await self.embed_passages([text]))[0]
        return vector

    async def centre(self) -> Vector:
        """The origin."""
        return np.zeros(self.dimensions, dtype=np.float32)


async def test_the_longest_vector_fits_beside_the_longest_words(clone: Clone, detector: Languages) -> None:
    """A record with every identifier as long as may be is stored with a vector of the most dimensions."""
    words = " ".join(f"{number:05d}word" for number in range(90))
    async with olvido.open(clone.app, embedder=Sized(MAX_DIMENSIONS), detector=detector) as memory:
        long = memory.scope(tenant="t" * 200, subject="s" * 200)
        written = await long.record_episode(
            "support-case",
            event_id="e" * 200,
            case_id="c" * 200,
            status="open",
            occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
            origin=olvido.Origin.observed("crm", ref="r" * 200),
            fields={"summary": words, "product": "p" * 100},
        )
        assert written.index_state is IndexState.INDEXED
        assert (await long.recall("00007word")).items[0].record.record_id == written.record.record_id


@pytest.mark.parametrize("dimensions", [0, MAX_DIMENSIONS + 1])
def test_a_vector_that_cannot_be_stored_is_refused_at_once(dimensions: int, tmp_path: Path) -> None:
    """Opening says how long vectors may be, before it makes anything."""
    with pytest.raises(InvalidInput, match=str(MAX_DIMENSIONS)):
        olvido.sync.open(tmp_path / "home", embedder=Sized(dimensions))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error, problem",
    [
        (EmbedderUnavailable("no", problem=EmbedderProblem.BUSY), "busy"),
        (EmbedderUnavailable(CANARY, problem=cast("EmbedderProblem", CANARY)), "EmbedderUnavailable"),
        (RuntimeError(CANARY), "RuntimeError"),
    ],
)
async def test_the_log_says_why_in_a_word_of_ours(
    clone: Clone, detector: Languages, error: Exception, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A typed problem is named; what a foreign embedder puts in its place is not repeated."""

    def fail(_: Sequence[str]) -> NoReturn:
        raise error

    async with olvido.open(clone.app, embedder=Foreign(fail), detector=detector) as memory:
        await memory.scope(tenant="altavela", subject="ines").remember("a note")
    (logged,) = [record for record in caplog.records if record.name == "olvido.embedder"]
    assert vars(logged)["problem"] == problem
    assert "canary" not in repr(vars(logged))
