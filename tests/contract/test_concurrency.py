"""Many callers at once: nothing is lost, forked or left behind, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import olvido
from olvido import Memory, OlvidoError, ScopedMemory
from olvido.errors import NotFound, VersionConflict
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.rival import CALLS, compete
from tests.contract.support import CALLERS, CONFIRMED, LOOKED_UP, Outside, together

HAPPENED = datetime(2025, 12, 1, tzinfo=UTC)
ROUNDS = 5


def person(memory: Memory, subject: str = "ana") -> ScopedMemory:
    """A new handle, as each request takes one."""
    return memory.scope(tenant="norte", subject=subject)


async def record(memory: ScopedMemory, event: str, case: str = "at1") -> olvido.Written[olvido.Episode]:
    """Record one support case."""
    return await memory.record_episode(
        "support-case", event_id=event, case_id=case, status="open", occurred_at=HAPPENED, origin=LOOKED_UP
    )


async def test_corrections_without_an_expected_version_are_all_kept(busy: Memory) -> None:
    """Sixteen writers make versions 2 to 17 of one preference, and its history has each of their values once."""
    await person(busy).set_preference("display_name", "first", origin=CONFIRMED)
    names = [f"writer {number}" for number in range(CALLERS)]
    written = await asyncio.gather(
        *(person(busy).correct_preference("display_name", name, origin=CONFIRMED) for name in names)
    )
    assert sorted(each.record.version for each in written) == list(range(2, CALLERS + 2))
    history = await person(busy).history("display_name")
    assert [each.version for each in history] == list(range(1, CALLERS + 2))
    assert {each.version: each.value for each in history[1:]} == {
        each.record.version: each.record.value for each in written
    }
    assert [each.valid_to for each in history] == [*(each.valid_from for each in history[1:]), None]


async def test_one_expected_version_has_one_winner(busy: Memory, clone: Clone) -> None:
    """Two processes, each with fifty calls at once: one correction a version is kept, the other 99 are conflicts."""
    ana = person(busy)
    await ana.set_preference("display_name", "first", origin=CONFIRMED)
    rival = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.contract.rival", clone.app, "norte", "ana"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert rival.stdin is not None
    assert rival.stdout is not None
    try:
        assert await rival.stdout.readline() == b"ready\n"
        for version in range(1, ROUNDS + 1):
            rival.stdin.write(f"{version}\n".encode())
            ours = await compete(ana, version, "we")
            answers = ours + Counter(json.loads(await rival.stdout.readline()))
            assert answers == {f"version {version + 1}": 1, VersionConflict.code: 2 * CALLS - 1}
    finally:
        rival.kill()
        await rival.communicate()
    assert [each.version for each in await ana.history("display_name")] == list(range(1, ROUNDS + 2))


async def test_first_messages_of_a_new_session(busy: Memory) -> None:
    """Forty callers that each append the first message of a new session get the numbers 0 to 39."""
    await person(busy).remember("somebody who is known")
    said = [f"message {number}" for number in range(40)]
    appended = await asyncio.gather(*(person(busy).session("s").append("user", text) for text in said))
    assert sorted(message.sequence for message in appended) == list(range(40))
    stored = await person(busy).session("s").messages()
    assert [message.sequence for message in stored] == list(range(40))
    assert sorted(message.content for message in stored) == sorted(said)
    assert (await person(busy).session("s").read()).message_count == 40


async def test_first_writes_of_a_new_person(busy: Memory, outside: Outside) -> None:
    """Forty callers that each write first for somebody new begin one life between them, and all are kept."""
    calls = [person(busy).remember(f"note {number}", event_id=str(number)) for number in range(20)]
    more = [person(busy).session("s").append("user", f"message {number}") for number in range(20)]
    assert not [answer for answer in await together([*calls, *more]) if isinstance(answer, OlvidoError)]
    assert len(outside.keys("norte")) == 1
    stored = outside.census()["norte", "ana"].rows
    assert (stored["subjects"], stored["episodes"], stored["messages"], stored["sessions"]) == (1, 20, 20, 1)


async def test_one_event_recorded_by_many(busy: Memory) -> None:
    """Twenty callers that record the same event store it once: one of them changed something."""
    written = await asyncio.gather(*(record(person(busy), "e1") for _ in range(20)))
    assert Counter(each.changed for each in written) == {True: 1, False: 19}
    assert len({each.record.record_id for each in written}) == 1
    assert [episode.event_id for episode in (await person(busy).episodes()).items] == ["e1"]


async def test_a_consolidation_does_not_erase_what_is_added(busy: Memory) -> None:
    """Episodes recorded while cases are summarised are all there, and the next consolidation refers to all."""
    ana = person(busy)
    await record(ana, "e0")
    await together([call for number in range(1, 12) for call in (record(ana, f"e{number}"), ana.consolidate())])
    (summary,) = await ana.consolidate()
    assert {entry.event_id for entry in summary.entries} == {f"e{number}" for number in range(12)}


async def test_forgetting_episodes_while_summaries_are_made(busy: Memory) -> None:
    """Each episode is forgotten as planned, and the summaries are those of the episodes that remain."""
    for subject in map(str, range(6)):
        ana = person(busy, subject)
        written = [await record(ana, f"e{number}", case=f"at{number % 3}") for number in range(9)]
        gone = [each.record.record_id for each in written[:6]]
        answers = await together([*map(ana.forget, gone), *(ana.consolidate() for _ in range(4))])
        assert not [answer for answer in answers if isinstance(answer, OlvidoError)]
        for report in answers[: len(gone)]:
            assert isinstance(report, olvido.ForgetReport)
            assert all(copy.planned == copy.removed and copy.remaining == 0 for copy in report.copies)
        summaries = await ana.summaries()
        assert [[entry.event_id for entry in summary.entries] for summary in summaries] == [["e6"], ["e7"], ["e8"]]


async def test_forgetting_a_preference_while_it_is_corrected(busy: Memory) -> None:
    """Corrections before the forget go with the chain, those after it find nothing, and the report counts exactly."""
    for subject in map(str, range(8)):
        ana = person(busy, subject)
        chain = (await ana.set_preference("display_name", "first", origin=CONFIRMED)).record.record_id
        correct = [ana.correct_preference("display_name", f"name {number}", origin=CONFIRMED) for number in range(10)]
        forget = ana.forget(chain)
        answers = await together([*correct[:5], forget, *correct[5:]])
        kept = [answer for answer in answers if isinstance(answer, olvido.Written)]
        report = answers[5]
        assert isinstance(report, olvido.ForgetReport)
        assert {type(answer) for answer in answers} <= {olvido.Written, olvido.ForgetReport, NotFound}
        assert report.removed == {"preferences": 1, "preference_versions": 1 + len(kept), "index_entries": 1}
        assert all(copy.planned == copy.removed for copy in report.copies)
        assert await ana.preferences() == ()


async def test_purges_and_writers_at_once(timed: Memory, clock: ManualClock) -> None:
    """Two purges and writers of the same events: nothing expired is left, nothing new is lost, each row counts once."""
    clock.set(HAPPENED)
    ana = person(timed)
    expires = HAPPENED + timedelta(hours=1)
    for number in range(20):
        await ana.remember("old", event_id=f"n{number}", expires_at=expires)
    await ana.set_preference("language", "pt", origin=CONFIRMED, expires_at=expires)
    clock.set(expires)
    again = [ana.remember("new", event_id=f"n{number}") for number in range(10)]
    first, second, *written = await together([timed.purge_expired(batch_size=3), timed.purge_expired(), *again])
    assert isinstance(first, olvido.PurgeReport)
    assert isinstance(second, olvido.PurgeReport)
    assert all(isinstance(answer, olvido.Written) and answer.changed for answer in written)
    purged = Counter(first.removed) + Counter(second.removed)
    # The first ten were taken either by a purge or by the writer of the same event.
    assert 10 <= purged["episodes"] <= 20
    assert purged["index_entries"] == purged["episodes"] + 1
    assert (purged["preferences"], purged["preference_versions"]) == (1, 1)
    assert (first.left_locked, second.left_locked) == (False, False)
    page = await ana.episodes()
    assert [episode.fields["text"] for episode in page.items] == ["new"] * 10
    assert (await ana.stored_rows())["episodes"] == 10
    assert (await timed.purge_expired()).removed == {}


async def test_a_busy_person_is_purged(busy: Memory) -> None:
    """Writers that never pause do not keep a purge from what has expired."""
    ana = person(busy)
    expires = datetime.now(UTC) + timedelta(seconds=1)
    await ana.remember("old", expires_at=expires)
    purged = asyncio.Event()

    async def write(writer: int) -> None:
        number = 0
        while not purged.is_set():
            number += 1
            await ana.remember("new", event_id=f"{writer}-{number}")

    writers = [asyncio.create_task(write(writer)) for writer in range(8)]
    try:
        async with asyncio.timeout(20):
            while not (await busy.purge_expired()).removed:
                assert not purged.is_set()
    finally:
        purged.set()
        await asyncio.gather(*writers)
    assert datetime.now(UTC) > expires
    assert "old" not in {episode.fields["text"] for episode in (await ana.episodes(limit=200)).items}


async def test_a_correction_at_the_instant_of_expiry(timed: Memory, clock: ManualClock) -> None:
    """At that instant there is nothing to correct, purged or not; a new statement begins at version 1 and stays."""
    clock.set(HAPPENED)
    for subject in map(str, range(8)):
        ana = person(timed, subject)
        clock.set(HAPPENED)
        old = await ana.set_preference("language", "pt", origin=CONFIRMED, expires_at=HAPPENED + timedelta(hours=1))
        clock.set(HAPPENED + timedelta(hours=1))
        correct = [ana.correct_preference("language", value, origin=CONFIRMED) for value in ("en", "es")]
        new = ana.set_preference("language", "pt", origin=CONFIRMED, expected_version=0)
        answers = await together([*correct, timed.purge_expired(), new, timed.purge_expired()])
        written = answers[3]
        assert isinstance(written, olvido.Written)
        assert (written.record.version, written.record.created_at) == (1, clock.now())
        assert written.record.record_id != old.record.record_id
        # A correction that comes after the new statement corrects that one.
        versions = 1 + sum(isinstance(answer, olvido.Written) for answer in answers[:2])
        assert {type(answer) for answer in answers[:2]} <= {NotFound, olvido.Written}
        assert [each.version for each in await ana.history("language")] == list(range(1, versions + 1))
        assert (await ana.stored_rows())["preference_versions"] == versions
