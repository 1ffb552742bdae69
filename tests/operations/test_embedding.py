"""An embedder of the host's own may fail in any way: no record is lost, and nothing it says gets out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np
import pytest

import olvido
from olvido import IndexState
from olvido.adapters.languages import Languages
from olvido.ports import Vector, Vectors
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
