"""Order numbers, case ids and addresses: found exactly, and by a part of four characters or more; no wildcards."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import olvido
from olvido import Memory, ScopedMemory
from olvido.adapters.languages import Languages
from olvido.domain.ranking import Strength
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, START, person, record_case
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder

TEXTS = {
    "order": "asked about AKIAN-2231 yesterday",
    "other": "asked about AKIAN-2239 as well",
    "mail": "write to maria.santos@mail.example from now on",
    "underscore": "uses the ticket name case_17 for it",
    "percent": "the coupon 50%-OFF-9x was refused",
    "plain": "asked about the seat map, the meal and nothing else",
    "groups": "the parcel is ZT 7741 0932 and it is late",
    "hyphens": "the parcel is ZT-7741-5500 and it is late",
}


@pytest.fixture
async def ines(clone: Clone, clock: ManualClock, detector: Languages) -> AsyncIterator[ScopedMemory]:
    """Somebody with notes that name things, and reports of cases whose ids look alike."""
    words = WordEmbedder("model/1", 64)
    async with olvido.open(clone.app, clock=clock, embedder=words, detector=detector) as memory:
        who = person(memory)
        for number, (event_id, text) in enumerate(TEXTS.items()):
            await who.remember(text, event_id=event_id, origin=CONFIRMED, occurred_at=START - number * DAY)
        for case_id in ("CASE-9041", "CASE-9042", "50%_off\\x"):
            await record_case(who, f"ev-{case_id}", case_id=case_id, summary=f"a report ({case_id[-1]})")
        yield who


async def named(who: ScopedMemory, query: str) -> list[str]:
    """The events of which a part of the question is a part of an identifier, best first."""
    items = (await who.recall(query, limit=50, explain=True)).items
    hit = [item for item in items if item.parts is not None and item.parts.identifier > 0]
    assert all(item.strength is Strength.MATCH for item in hit)
    assert items[: len(hit)] == tuple(hit)
    return [item.record.event_id for item in hit]


WHOLE = {
    "AKIAN-2231": "order",
    "what happened to akian2231?": "order",
    "AKIAN 2231": "order",
    "maria.santos@mail.example": "mail",
    "what does maria.santos@mail.example want": "mail",
    "case_17": "underscore",
    "is there news about CASE-9042?": "ev-CASE-9042",
    "case 9041": "ev-CASE-9041",
    "50%-OFF-9x": "percent",
    "ZT77410932": "groups",
    "where is zt-7741-0932?": "groups",
    "ZT 7741 5500": "hyphens",
    "ZT77415500": "hyphens",
    "7741 0932": "groups",
}
"""Questions that name one thing, and the record of it."""

PARTS: dict[str, set[str]] = {
    "2231": {"order"},
    "akia": {"order", "other"},
    "AKIAN-223": {"order", "other"},
    "KIAN-2": {"order", "other"},
    "santos@mail": {"mail"},
    "9041": {"ev-CASE-9041"},
    "case-904": {"ev-CASE-9041", "ev-CASE-9042"},
    "se_1": {"underscore"},
    "f_17": set(),
    "7741": {"groups", "hyphens"},
    "ZT 7741": {"groups", "hyphens"},
    "T77415": {"hyphens"},
}
"""Parts, and every record of which an identifier has that part."""


async def test_an_identifier_is_found_exactly(ines: ScopedMemory) -> None:
    """The record that has the very identifier comes first, however its parts are joined and cased."""
    for query, first in WHOLE.items():
        assert (await named(ines, query))[:1] == [first], query


async def test_a_part_of_four_characters_finds_it(ines: ScopedMemory) -> None:
    """A part finds every identifier that has it, and no other record has that part of its score."""
    for query, expected in PARTS.items():
        assert set(await named(ines, query)) == expected, query


async def test_less_than_four_characters_are_no_part(ines: ScopedMemory) -> None:
    """A shorter part names nothing: too much would have it."""
    for query in ("aki", "223", "904", "17", "x", "ma", "@ma", "5-0"):
        assert await named(ines, query) == [], query


async def test_nothing_is_a_wildcard(ines: ScopedMemory) -> None:
    """Percent, underscore and backslash stand for themselves in a question; as a pattern each of these would match."""
    for query in (
        "%%%%",
        "____",
        "\\\\\\\\",
        "%",
        "A%1%",
        "AK__N",
        "AK_AN-2231",
        "ca_e_17",
        "C_SE-904",
        "mar__.santos@mail",
    ):
        assert await named(ines, query) == [], query


async def test_a_case_is_asked_for_by_its_very_id(ines: ScopedMemory) -> None:
    """As a filter, too, a case id is equal or not: no pattern, no beginning, no other case of letters."""
    for case_id in ("50%_off\\x", "CASE-9041"):
        found = await ines.recall("a report", case_id=case_id)
        assert [item.record.case_id for item in found.items] == [case_id]
    for case_id in ("50%", "50%_off_x", "50%%off\\x", "%", "_________", "CASE-904", "case-9041", "CASE-9041 "):
        assert (await ines.recall("a report", case_id=case_id)).items == ()


async def test_the_whole_identifier_stands_before_a_part_of_it(memory: Memory) -> None:
    """Of two orders of which one is the beginning of the other, the one that was asked for comes first."""
    ines = person(memory)
    for text in ("order AKIAN-22310 came", "order AKIAN-2231 came", "order AKIAN-2231-B came"):
        await ines.remember(text, origin=CONFIRMED, occurred_at=START)
    found = (await ines.recall("AKIAN-2231", explain=True)).items
    assert found[0].text == "order AKIAN-2231 came"
    assert all(item.parts is not None and item.parts.identifier > 0 for item in found)
