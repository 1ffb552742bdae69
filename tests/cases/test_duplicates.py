"""Duplicates: a retry is one memory, repetition is no evidence, and nothing is merged for looking alike."""

from __future__ import annotations

import asyncio

import pytest

from olvido import Memory, Origin
from olvido.errors import EventConflict
from olvido.testing import ManualClock
from tests.cases.support import DAY, START, dump, pages, person, record_case
from tests.conftest import Clone


# case 57
async def test_a_retry_is_the_same_memory(memory: Memory, clone: Clone, clock: ManualClock) -> None:
    """The same event three times more is one episode with one id, unchanged by the repetition."""
    ines = person(memory)
    first = await record_case(ines, "ev1")
    note = await ines.remember("prefers aisle seats", event_id="request-1")
    stored = dump(clone.superuser)
    clock.advance(DAY)
    for _ in range(3):
        again = await record_case(person(memory), "ev1")
        assert (again.changed, again.record) == (False, first.record)
        again = await person(memory).remember("prefers aisle seats", event_id="request-1")
        assert (again.changed, again.record) == (False, note.record)
    assert dump(clone.superuser) == stored


# case 57
async def test_retries_at_the_same_moment_are_one_memory(memory: Memory) -> None:
    """Twelve callers that record one event at once get one record; exactly one of them made it."""
    written = await asyncio.gather(*(record_case(person(memory), "ev1") for _ in range(12)))
    assert len({answer.record.record_id for answer in written}) == 1
    assert [answer.changed for answer in written].count(True) == 1
    assert len(await pages(person(memory))) == 1


# case 57
async def test_one_key_with_another_body_is_a_conflict(memory: Memory, clone: Clone) -> None:
    """Another summary, status, case or time under the same event id is refused, and the first body stays."""
    ines = person(memory)
    await record_case(ines, "ev1")
    stored = dump(clone.superuser)
    for change in ({"summary": "another"}, {"status": "open"}, {"status": None}, {"case_id": "at2"}, {"case_id": None}):
        with pytest.raises(EventConflict):
            await record_case(ines, "ev1", **change)
    with pytest.raises(EventConflict):
        await record_case(ines, "ev1", occurred_at=START - DAY)
    assert dump(clone.superuser) == stored


# case 57
async def test_keys_die_with_the_person(memory: Memory) -> None:
    """After a forget the same event id is free, with any body, and belongs to each kind and person on its own."""
    ines = person(memory)
    first = await record_case(ines, "ev1")
    assert (await ines.remember("a note", event_id="ev1")).changed
    assert (await record_case(person(memory, "tomas"), "ev1", summary="another")).changed
    await ines.forget_all()
    second = await record_case(person(memory), "ev1", summary="another body")
    assert second.changed
    assert second.record.record_id != first.record.record_id


# case 61
async def test_what_looks_alike_is_kept_apart(memory: Memory) -> None:
    """Two people of one name, two times of one flight, and a like beside a dislike are six notes, not three."""
    ines = person(memory)
    notes = [
        "Ana Reis is my manager",
        "Ana Reis is my sister",
        "flight at 9:15",
        "flight at 9:45",
        "likes window seats",
        "does not like window seats",
    ]
    for text in notes:
        assert (await ines.remember(text)).changed
    assert sorted(str(episode.fields["text"]) for episode in await pages(ines)) == sorted(notes)
    for pair in (notes[0:2], notes[2:4], notes[4:6]):
        found = [item.record.fields["text"] for item in (await ines.recall(pair[0], limit=20)).items]
        assert set(pair) <= set(found)


# case 61
async def test_repetition_changes_no_conclusion(memory: Memory) -> None:
    """Nine reports of a failed lookup and one of an open case: the last reported status is the newest's."""
    ines = person(memory)
    for number in range(9):
        await record_case(
            ines, f"ev{number}", occurred_at=START - DAY, origin=Origin.observed("crm.lookup", ref="row-1")
        )
    await record_case(ines, "newest", status="open")
    (summary,) = await ines.consolidate()
    assert (len(summary.entries), summary.last_reported_status) == (10, "open")
    assert await ines.preferences() == ()
