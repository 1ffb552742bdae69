"""Time: the order of what was said, and when it happened as opposed to when it was stored."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from olvido import Memory, Origin
from olvido.errors import InvalidTime
from olvido.testing import ManualClock
from tests.cases.support import START, dump, pages, person, record_case
from tests.conftest import Clone


# case 70
async def test_messages_of_one_instant_keep_their_order(memory: Memory) -> None:
    """Fifty messages in one batch, all of the same instant, are numbered and read back as they were given."""
    session = person(memory).session("s1")
    stored = await session.extend([("user", f"message {number}") for number in range(50)])
    assert [(message.sequence, message.content) for message in stored] == [(n, f"message {n}") for n in range(50)]
    assert len({message.recorded_at for message in stored}) == 1
    assert await session.messages() == stored
    assert await session.messages(first=47) == stored[47:]
    assert await session.messages(first=10, limit=5) == stored[10:15]
    assert (await session.read()).message_count == 50


# case 70
async def test_concurrent_messages_have_no_gap_and_one_order(memory: Memory) -> None:
    """Fifty calls at once, some through one handle, get the numbers 0 to 49, and every reading gives the same order."""
    shared = person(memory).session("s1")
    handles = [shared if number % 2 else person(memory).session("s1") for number in range(50)]
    written = await asyncio.gather(*(handle.append("user", f"message {n}") for n, handle in enumerate(handles)))
    assert sorted(message.sequence for message in written) == list(range(50))
    read = await shared.messages()
    assert [message.sequence for message in read] == list(range(50))
    assert {message.sequence: message.content for message in written} == {m.sequence: m.content for m in read}
    assert await shared.messages() == read


# case 71
async def test_event_time_is_not_import_time(memory: Memory, clock: ManualClock) -> None:
    """A message of 2023 that is imported today happened in 2023; when it was stored is kept as well."""
    ines = person(memory)
    said = datetime(2023, 5, 8, 9, 30, tzinfo=UTC)
    chat = Origin.declared("chat-export", at=said)
    moved = await ines.remember("last month I moved", origin=chat)
    case = await record_case(ines, "ev1", occurred_at=said, origin=Origin.observed("crm.export", at=said))
    preference = await ines.set_preference("language", "pt", origin=chat)
    for written in (moved, case):
        assert (written.record.occurred_at, written.record.recorded_at) == (said, START)
    assert (preference.record.said_at, preference.record.recorded_at) == (said, START)
    (item,) = (await ines.recall("moved last month", definition="note")).items
    assert item.record.occurred_at == said
    assert "2023-05-08" in item.label
    assert clock.now() == START


# case 71
async def test_nothing_happens_in_the_future(memory: Memory, clone: Clone) -> None:
    """An event or a statement from a time to come, beyond the skew of clocks, is refused and nothing is stored."""
    ines = person(memory)
    stored = dump(clone.superuser)
    future = START + timedelta(minutes=6)
    with pytest.raises(InvalidTime):
        await record_case(ines, "ev1", occurred_at=future)
    with pytest.raises(InvalidTime):
        await ines.remember("will move", origin=Origin.declared("chat", at=future))
    with pytest.raises(InvalidTime):
        await ines.set_preference("language", "pt", origin=Origin.declared("chat", at=future))
    with pytest.raises(InvalidTime):
        await record_case(ines, "ev1", occurred_at=datetime(2026, 1, 1))  # noqa: DTZ001 - what the test is about
    assert dump(clone.superuser) == stored
    assert (await record_case(ines, "ev1", occurred_at=START + timedelta(minutes=5))).changed


# case 71
async def test_a_clock_that_runs_ahead_makes_nothing_older(memory: Memory, clock: ManualClock) -> None:
    """What is said next is newer than what a fast clock dated some minutes later than it was said (rule 12)."""
    ines = person(memory)
    ahead = Origin.declared("app", at=clock.now() + timedelta(minutes=4))
    first = await ines.set_preference("language", "pt", origin=ahead)
    assert (first.record.said_at, first.record.origin.at) == (clock.now(), ahead.at)
    clock.advance(timedelta(seconds=1))
    assert (await ines.set_preference("language", "es", origin=Origin.declared("form"))).record.value == "es"


async def test_history_is_listed_by_when_it_happened(memory: Memory, clock: ManualClock) -> None:
    """An older case that is imported last comes last in a list that has the newest first."""
    ines = person(memory)
    for number, event_id in enumerate(("newest", "oldest", "middle")):
        clock.advance(timedelta(minutes=1))
        days = {"newest": 1, "middle": 2, "oldest": 3}[event_id]
        await record_case(
            ines, event_id, occurred_at=START - timedelta(days=days), status=["open", "closed", "reported"][number]
        )
    assert [episode.event_id for episode in await pages(ines)] == ["newest", "middle", "oldest"]
    (summary,) = await ines.consolidate()
    assert [entry.event_id for entry in summary.entries] == ["oldest", "middle", "newest"]
    assert summary.last_reported_status == "open"
