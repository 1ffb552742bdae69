"""Dates in a question: alone they ask for what happened then; beside something else they order, and find nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

import olvido
from olvido import ScopedMemory
from olvido.adapters.languages import Languages
from olvido.domain.ranking import Strength
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, person
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder

TOLD = {
    "bicycle": ("bought a blue bicycle", datetime(2025, 3, 3, tzinfo=UTC)),
    "dentist": ("went to the dentist twice", datetime(2025, 3, 17, tzinfo=UTC)),
    "parcel": ("lost her parcel in Lisbon", datetime(2025, 3, 29, tzinfo=UTC)),
    "april": ("planted tomatoes on the balcony", datetime(2025, 4, 2, tzinfo=UTC)),
    "passport": ("renewed a passport", datetime(2025, 9, 9, tzinfo=UTC)),
    "parcel again": ("found her parcel under the stairs", datetime(2025, 10, 1, tzinfo=UTC)),
}
"""What somebody told, and when."""

OF_MARCH = {"bicycle", "dentist", "parcel"}


@pytest.fixture
async def ines(clone: Clone, clock: ManualClock, detector: Languages) -> AsyncIterator[ScopedMemory]:
    """Somebody who told things over a year, none of which has a word for its date."""
    async with olvido.open(clone.app, clock=clock, embedder=WordEmbedder("model/1", 512), detector=detector) as memory:
        who = person(memory)
        for event_id, (text, at) in TOLD.items():
            await who.remember(text, event_id=event_id, origin=CONFIRMED, occurred_at=at)
        yield who


async def shown(who: ScopedMemory, query: str) -> dict[str, Strength]:
    """The events that come back, best first, and how well they match."""
    return {item.record.event_id: item.strength for item in (await who.recall(query)).items}


async def test_a_date_alone_is_answered_with_what_happened_then(ines: ScopedMemory) -> None:
    """In each language, as a month, a day and a year: all of it as matches, and nothing of another time."""
    for query in ("What happened in March?", "¿Qué pasó en marzo de 2025?", "o que aconteceu em março", "march 2025"):
        assert await shown(ines, query) == dict.fromkeys(OF_MARCH, Strength.MATCH), query
    assert await shown(ines, "what happened on 17 March 2025?") == {"dentist": Strength.MATCH}
    assert await shown(ines, "anything on 2025-03-15?") == {"dentist": Strength.WEAK}
    assert set(await shown(ines, "tell me everything from 2025")) == set(TOLD)
    assert await shown(ines, "what happened in July?") == {}


async def test_a_range_is_answered_with_all_that_lies_in_it(ines: ScopedMemory, clock: ManualClock) -> None:
    """Between two dates, since one until now, and before one: nothing within is left out, and nothing else comes."""
    clock.set(datetime(2025, 10, 1, 12, tzinfo=UTC))
    for query, expected in {
        "tell me everything from February to May 2025": {*OF_MARCH, "april"},
        "¿Qué pasó entre febrero y mayo?": {*OF_MARCH, "april"},
        "What happened between 17 March 2025 and 2 April 2025?": {"dentist", "parcel", "april"},
        "everything since 2 April 2025": {"april", "passport", "parcel again"},
        "novidades desde 9 de setembro": {"passport", "parcel again"},
        "anything new since yesterday?": {"parcel again"},
        "everything before April 2025": OF_MARCH,
        "O que aconteceu antes de abril de 2025?": OF_MARCH,
        "tell me everything until 29 March 2025": OF_MARCH,
        "what happened after March 2025?": {"april", "passport", "parcel again"},
    }.items():
        assert await shown(ines, query) == dict.fromkeys(expected, Strength.MATCH), query


async def test_a_topic_beside_a_date_is_no_question_for_the_date(ines: ScopedMemory) -> None:
    """A word for a thing, a farewell or a request to somebody brings back nothing that has to do with neither."""
    for query in (
        "¿Qué pasó con mi cuenta en marzo?",
        "minha nota de março",
        "this event, 17 March 2025",
        "What did you delete, March 2025?",
        "ok, see you 17 March 2025",
    ):
        assert await shown(ines, query) == {}, query


async def test_a_date_makes_no_match_of_what_has_nothing_to_do_with_the_question(ines: ScopedMemory) -> None:
    """Where nothing is about the topic, nothing comes back, whatever happened at that time."""
    for query in ("Which violin lesson did she cancel in March?", "saxophone 2025-03-17", "¿Qué violín vio en marzo?"):
        found = await ines.recall(query)
        assert found.items == (), query
        assert found.omitted == len(TOLD)
        block = await ines.context(query, max_tokens=500)
        assert not any(text in block.text for text, _ in TOLD.values()), query


async def test_a_date_orders_what_matches(ines: ScopedMemory) -> None:
    """Of two records about one thing the one of that time comes first; what else happened then is weak, if it comes."""
    for query, first, second in (
        ("her parcel in March", "parcel", "parcel again"),
        ("her parcel in October", "parcel again", "parcel"),
    ):
        found = await shown(ines, query)
        assert [event for event in found if "parcel" in event] == [first, second] == list(found)[:2], query
        assert all(strength is Strength.WEAK for event, strength in found.items() if "parcel" not in event), query


async def test_a_request_to_forget_a_time_is_proposed(ines: ScopedMemory) -> None:
    """What a person told at a time can be forgotten by naming the time, and nothing else is proposed."""
    proposal = await ines.propose_forget("forget what I told you in March")
    assert {each.record_id for each in proposal.records} == {
        item.record_id for item in (await ines.recall("what happened in March?")).items
    }
