"""Compare what one scope is served, through every read there is, and what is reported, with what the model says."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from uuid import UUID

import pytest

from olvido import Episode, ForgetReport, ScopedMemory, Status
from olvido.errors import NotFound
from tests.contract import model_records as model
from tests.contract.support import all_of

PAGE = 3
LAST = 3


async def check_served(memory: ScopedMemory, expected: model.Life, now: datetime, question: str, gaps: int) -> None:
    """Assert that every read of this scope answers what is live in `expected`; its records get the ids answered.

    gaps: how many of its live records have no vector.
    """
    await all_of(
        _check_rows(memory, expected),
        _check_preferences(memory, expected, now),
        _check_episodes(memory, expected, now, question, gaps),
        _check_sessions(memory, expected, now),
        _check_summaries(memory, expected, now),
    )


def identify(expected: model.Record, record_id: UUID) -> None:
    """Give a record of the model the id that was answered for it, which is the same for ever."""
    assert expected.record_id in {None, record_id}, "the id of a record never changes"
    expected.record_id = record_id


async def _check_rows(memory: ScopedMemory, expected: model.Life) -> None:
    stored = await memory.stored_rows()
    assert {name: rows for name, rows in stored.items() if rows and name not in {"due", "lives", "subjects"}} == {
        name: rows for name, rows in expected.rows().items() if name != "subjects"
    }, "stored rows"


async def _check_preferences(memory: ScopedMemory, expected: model.Life, now: datetime) -> None:
    listed = {found.key: found for found in await memory.preferences()}
    live = {key: chain for key, chain in expected.preferences.items() if chain.expires_at > now}
    assert {key: (found.value, found.version) for key, found in listed.items()} == {
        key: (chain.head.value, chain.head.number) for key, chain in live.items()
    }, "current preferences"
    for key, preference in listed.items():
        identify(live[key], preference.record_id)
    keys = ("contact_channel", "display_name", "language")
    histories = await all_of(*map(memory.history, keys))
    for key, found, history in zip(keys, await all_of(*map(memory.get_preference, keys)), histories, strict=True):
        assert found == listed.get(key)
        if found is None:
            assert history == ()
            continue
        chain = live[key]
        assert (found.value, found.version, str(found.origin.origin_class), found.said_at) == (
            chain.head.value,
            chain.head.number,
            chain.head.origin,
            chain.head.said_at,
        )
        assert (found.expires_at, found.created_at) == (chain.expires_at, chain.created_at)
        kept = [each for each in chain.versions if each.retain_until is None or each.retain_until > now]
        assert [(each.version, each.value, str(each.change), str(each.origin.origin_class)) for each in history] == [
            (each.number, each.value, each.change, each.origin) for each in kept
        ], "history"
        assert [each.valid_to is None for each in history] == [each is chain.head for each in kept]


async def _check_episodes(memory: ScopedMemory, expected: model.Life, now: datetime, question: str, gaps: int) -> None:
    found: dict[UUID, Episode] = {}
    cursor = None
    while True:
        page = await memory.episodes(limit=PAGE, cursor=cursor)
        found |= {episode.record_id: episode for episode in page.items}
        cursor = page.next_cursor
        if cursor is None:
            break
    order = [(episode.occurred_at, episode.record_id) for episode in found.values()]
    assert order == sorted(order, reverse=True), "newest first"
    served = {(episode.definition, episode.event_id): episode for episode in found.values()}
    assert len(served) == len(found)
    assert {key: _body(episode) for key, episode in served.items()} == {
        key: (each.case_id, each.status, each.fields, each.origin, each.occurred_at, each.expires_at)
        for key, each in expected.episodes.items()
        if each.expires_at > now
    }, "live episodes"
    for key, episode in served.items():
        identify(expected.episodes[key], episode.record_id)
    for record_id in list(found)[:2]:
        assert await memory.get_episode(record_id) == found[record_id]
    await _check_recall(memory, expected, now, question, found, gaps=gaps)


def _body(episode: Episode) -> tuple[object, ...]:
    origin = str(episode.origin.origin_class)
    fields = dict(episode.fields)
    return (episode.case_id, episode.status, fields, origin, episode.occurred_at, episode.expires_at)


async def _check_sessions(memory: ScopedMemory, expected: model.Life, now: datetime) -> None:
    for session_id in ("s1", "s2"):
        each = expected.sessions.get(session_id)
        session = memory.session(session_id)
        if each is None or each.expires_at <= now:
            with pytest.raises(NotFound):
                await session.read()
            with pytest.raises(NotFound):
                await session.messages()
            continue
        found = await session.read()
        assert (found.goal, found.expires_at, found.closed_at is not None) == (each.goal, each.expires_at, each.closed)
        assert {"decisions": list(found.decisions), "constraints": list(found.constraints)} == {
            name: each.items.get(name, []) for name in ("decisions", "constraints")
        }
        assert list(found.pending) == each.items.get("pending", [])
        messages = await session.messages()
        assert [(message.sequence, str(message.role), message.content, message.group) for message in messages] == [
            (number, *message) for number, message in enumerate(each.messages)
        ], "messages, folded ones too"
        assert (found.message_count, found.folded) == (len(each.messages), each.folded)
        assert [(fact.content, str(fact.origin.origin_class), list(fact.messages)) for fact in found.facts] == [
            (fact.content, fact.origin, fact.messages) for fact in each.facts
        ], "facts"
        for fact, right in zip(found.facts, each.facts, strict=True):
            identify(right, fact.record_id)
        view = await session.view(last=LAST)
        assert view.session == found
        assert [message.sequence for message in view.messages] == each.view(LAST), "what is not folded, groups whole"
        identify(each, found.record_id)


async def _check_summaries(memory: ScopedMemory, expected: model.Life, now: datetime) -> None:
    found = {(summary.definition, summary.case_id): summary for summary in await memory.summaries()}
    live = {case: each for case, each in expected.summaries.items() if each.expires_at > now}
    assert set(found) == set(live), "live summaries"
    for case, each in live.items():
        summary = found[case]
        entries = {(case[0], entry.event_id): (entry.status, entry.occurred_at) for entry in summary.entries}
        sources = {key: expected.episodes[key] for key in each.sources}
        assert entries == {key: (source.status, source.occurred_at) for key, source in sources.items()}
        assert [summary.first_at, summary.last_at] == [f(at for _, at in entries.values()) for f in (min, max)]
        reported = [(at, status) for status, at in entries.values() if status is not None]
        newest = max((at for at, _ in reported), default=None)
        assert summary.last_reported_status in (
            {status for at, status in reported if at == newest} if reported else {None}
        )
        assert (summary.expires_at, str(summary.origin_class)) == (each.expires_at, each.origin)
        identify(each, summary.record_id)


async def _check_recall(
    memory: ScopedMemory, expected: model.Life, now: datetime, question: str, live: dict[UUID, Episode], *, gaps: int
) -> None:
    recalled = await memory.recall(question, limit=50)
    assert recalled.now == now
    assert {item.record.key: item.record.value for item in recalled.preferences} == {
        key: chain.head.value for key, chain in expected.preferences.items() if chain.expires_at > now
    }, "recalled preferences"
    assert all(live[item.record_id] == item.record for item in recalled.items), "recalled episodes are live ones"
    assert all(item.label.startswith("history: ") for item in recalled.items)
    told = [record_id for item in recalled.items for record_id in item.record_ids]
    assert len(told) == len(set(told)), "each record is told once"
    assert len(told) + recalled.omitted == len(live)
    assert (recalled.text_only, recalled.unindexed) == (False, gaps)
    asked_for = {record_id for record_id, episode in live.items() if question in episode.fields.values()}
    assert asked_for <= set(told), "its own text finds a record"


def check_report(report: ForgetReport, removed: Counter[str], *, dry_run: bool = False) -> None:
    """The report counts what the model removes, each copy was read back, and the outside stays open."""
    planned = {copy.copy: copy.planned for copy in report.copies if copy.planned and copy.copy not in {"due", "lives"}}
    assert planned == removed
    assert report.found == bool(removed)
    assert report.status is (Status.PLANNED if dry_run else Status.ROWS_ABSENT)
    assert {name: rows for name, rows in report.removed.items() if name not in {"due", "lives"}} == (
        {} if dry_run else removed
    )
    assert all(copy.remaining == (None if dry_run else 0) for copy in report.copies)
    assert {copy.status for copy in report.outside} == {Status.OPEN}
