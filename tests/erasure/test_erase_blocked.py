"""What stands in the way of an erasure is named, nothing is claimed meanwhile, and it is done once that has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from olvido import Memory
from olvido.bootstrap import Opening
from olvido.domain.erasure import Level, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.operations import erase_files
from olvido.operations.erase import NO_ERASER, RARELY, TRIES
from olvido.storage import rewriting
from olvido.storage.holds import standing_in_the_way
from olvido.storage.rewriting import EraserTurn, NotRewritten
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, person, record_case
from tests.conftest import Clone
from tests.erasure.following import HOUR, LOCAL, administer, forget, steps
from tests.storage.support import leaf


async def test_rows_that_are_there_again_are_said(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """What the read-back finds is named and tried again, files are left alone, and the request has failed."""
    ines = person(erasing)
    written = await record_case(ines, "event 1")
    report = await ines.forget(written.record.record_id)
    await record_case(ines, "event 2")
    administer(clone, "UPDATE olvido.episodes SET record_id = %s", written.record.record_id)
    administer(clone, "UPDATE olvido.erasure_steps SET status = 'open', settled_at = NULL WHERE step = 'rows'")
    assert (await erasing.erase_pending()).settled == {}
    found = await erasing.erasure("altavela", str(report.erasure_id))
    assert found.status is ErasureStatus.FAILED
    rows = next(step for step in found.steps if step.step == "rows")
    assert rows.blocker == "rows of it are in episodes; run `olvido doctor`, then forget it again"
    administer(clone, "UPDATE olvido.episodes SET record_id = %s", uuid4())
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == {Level.E1: 1, **LOCAL}


async def test_without_its_login_files_stay_open_with_the_reason(
    opening_eraser: Callable[..., Opening], clock: ManualClock
) -> None:
    """Nothing is claimed; after some tries somebody should look, and it is still tried, and done once it can be."""
    async with opening_eraser(eraser_url=None) as memory:
        erasure_id = await forget(memory, "ines")
        for attempt in range(1, TRIES + 1):
            erased = await memory.erase_pending()
            assert (erased.worked, erased.settled, erased.attention) == (1, {}, int(attempt == TRIES))
            done = await steps(memory, erasure_id)
            assert (done["files"].blocker, done["files"].attempts) == (NO_ERASER, attempt)
            assert clock.now() < done["files"].due_at <= clock.now() + (RARELY if attempt == TRIES else HOUR)
            assert done["log"].due_at == done["files"].due_at
            assert (await memory.erase_pending()).worked == 0
            clock.advance(HOUR)
        found = await memory.erasure("altavela", erasure_id)
        assert found.status is ErasureStatus.INCOMPLETE
        assert [step.step for step in found.steps if step.status is StepStatus.NEEDS_ATTENTION] == ["files"]
    clock.advance(RARELY)
    async with opening_eraser() as memory:
        assert (await memory.erase_pending()).settled == LOCAL
        found = await memory.erasure("altavela", erasure_id)
        assert found.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
        assert [step.blocker for step in found.steps if step.step in {"files", "log"}] == [None, None]


async def test_without_its_login_files_are_left_to_whoever_is_at_them(opening_eraser: Callable[..., Opening]) -> None:
    """However long that takes, as turning the log over may: nothing is said of their steps in between."""
    async with opening_eraser() as able, opening_eraser(eraser_url=None) as unable:
        erasure_id = await forget(able, "ines")
        eraser = able._environment.eraser
        assert eraser is not None
        async with eraser.turn() as turn:
            assert turn is not None
            erased = await unable.erase_pending()
        assert (erased.worked, erased.hindered, erased.left_to_other) == (0, 0, True)
        files = (await steps(able, erasure_id))["files"]
        assert (files.attempts, files.blocker) == (0, None)


async def test_waits_grow_and_differ(erasing: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that cannot be done is left alone for half a minute at most, then longer; no two for the same time."""
    ids = [await forget(erasing, f"person {number}") for number in range(8)]

    async def busy(_: EraserTurn, relation: str) -> NotRewritten:
        return NotRewritten(relation=relation, reason=f"{relation} was in use", passing=True)

    monkeypatch.setattr(EraserTurn, "rewrite", busy)
    for longest in (30, 60, 120):
        await erasing.erase_pending()
        waits = {((await steps(erasing, each))["files"].due_at - clock.now()).total_seconds() for each in ids}
        assert len(waits) == len(ids)
        assert longest / 2 <= min(waits) <= max(waits) <= longest
        clock.advance(timedelta(seconds=longest))


async def test_a_relation_in_use_is_tried_later(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """A reader keeps one relation; the others are done, the one is named, and done once it is free."""
    erasure_id = await forget(erasing, "ines")
    with psycopg.connect(clone.superuser) as reader:
        reader.execute("SELECT count(*) FROM olvido.preferences")
        assert (await erasing.erase_pending()).settled == {}
    files = (await steps(erasing, erasure_id))["files"]
    assert files.blocker == "preferences was in use for 1.5 s and more"
    assert files.evidence["missing"] == ["preferences"]
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL


async def test_another_company_is_read_while_a_leaf_waits_for_its_lock(
    erasing: Memory, clone: Clone, clock: ManualClock
) -> None:
    """Whoever reads one company's leaf keeps its rewriting waiting; a company in another leaf is read at once."""
    with psycopg.connect(clone.superuser) as reader:
        mine = leaf(reader, "altavela")
        other = next(name for name in ("norbrook", "acme", "umbra", "lindner") if leaf(reader, name) != mine)
        who = erasing.scope(tenant=other, subject="leo")
        await who.remember("prefers aisle seats")
        erasure_id = await forget(erasing, "ines")
        reader.execute("SELECT count(*) FROM olvido.episodes_0, olvido.episodes_1")
        erasing_now = asyncio.create_task(erasing.erase_pending())
        reads = 0
        while not erasing_now.done():
            async with asyncio.timeout(5):
                found = await who.recall("seats")
            assert len(found.items) == 1
            reads += 1
        assert reads > 1
    files = (await steps(erasing, erasure_id))["files"]
    assert "episodes" in str(files.blocker)
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL


async def test_a_lock_that_would_be_too_long_is_given_back(
    erasing: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewrite that takes longer than it may is given up, and says how to allow more; then it is done."""
    erasure_id = await forget(erasing, "ines")
    monkeypatch.setattr(rewriting, "LOCK_SECONDS", 0.001)
    await erasing.erase_pending(longest_lock=0.001)
    files = (await steps(erasing, erasure_id))["files"]
    assert "--longest-lock" in str(files.blocker)
    monkeypatch.undo()
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL


async def test_relations_rest_between_long_locks(
    erasing: Memory, clock: ManualClock, rewritten: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was locked for long is left alone for fifty times as long; that is no failure, and done afterwards."""
    monkeypatch.setattr(erase_files, "SHORT", 0.0)
    await forget(erasing, "ines")
    assert (await erasing.erase_pending()).settled == LOCAL
    rewritten.clear()
    erasure_id = await forget(erasing, "leo")
    assert (await erasing.erase_pending()).settled == {}
    files = (await steps(erasing, erasure_id))["files"]
    assert (files.blocker, files.attempts, rewritten) == (None, 0, [])
    assert clock.now() < files.due_at
    clock.advance(files.due_at - clock.now())
    assert (await erasing.erase_pending()).settled == LOCAL


async def test_statistics_stand_in_the_way(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """Where ANALYZE would keep values of rows, files are not said to be clean before that is mended."""
    erasure_id = await forget(erasing, "ines")
    administer(clone, "ALTER TABLE olvido.episodes_0 ALTER COLUMN fields SET STATISTICS 100")
    await erasing.erase_pending()
    assert "ANALYZE keeps values of episodes_0.fields" in str((await steps(erasing, erasure_id))["files"].blocker)
    administer(clone, "ALTER TABLE olvido.episodes_0 ALTER COLUMN fields SET STATISTICS 0")
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL


async def test_a_hold_stands_in_the_way_until_it_is_released(erasing: Memory, clock: ManualClock) -> None:
    """What a legal hold keeps is in the files; it is named with its date, and files are done once it is released."""
    ines = person(erasing)
    await ines.remember("prefers aisle seats")
    placed = await erasing.place_hold("altavela", subject="ines", basis="file 7", review_at=clock.now() + 9 * HOUR)
    report = await ines.forget_all()
    erased = await erasing.erase_pending()
    files = (await steps(erasing, report.erasure_id or uuid4()))["files"]
    assert files.blocker == "a legal hold keeps part of it, to be reviewed by 2026-01-01T09:00:00Z"
    # It is named, and nothing went wrong.
    assert (erased.settled, erased.hindered, erased.in_the_way) == ({}, 0, {f"files: {files.blocker}": 1})
    assert files.attempts == 0
    await erasing.release_hold("altavela", placed.hold_id)
    # Nothing waits for the day on which it would have been looked at again, or says that a hold is in the way.
    then = await steps(erasing, report.erasure_id or uuid4())
    assert [(then[name].blocker, then[name].due_at) for name in ("files", "log")] == [(None, clock.now())] * 2
    assert (await erasing.erase_pending()).settled == {Level.E2: 2, Level.E3: 2}
    relations = (await steps(erasing, report.erasure_id or uuid4()))["files"].evidence["relations"]
    assert "held_records" in {one["relation"] for one in relations}  # type: ignore[attr-defined]


async def test_a_hold_stands_in_the_way_of_a_life_it_kept_something_of_before(
    erasing: Memory, clone: Clone, clock: ManualClock
) -> None:
    """What was purged under a hold is still kept when the person is forgotten, so files are not verified before."""
    ines = person(erasing)
    await ines.remember("prefers aisle seats")
    placed = await erasing.place_hold("altavela", subject="ines", basis="file 7", review_at=clock.now() + 9 * HOUR)
    administer(clone, "UPDATE olvido.episodes SET expires_at = '2001-01-01Z'")
    administer(clone, "UPDATE olvido.due SET next_due_at = '2001-01-01Z'")
    assert (await erasing.purge_expired()).held == 1
    report = await ines.forget_all()
    assert (report.held, dict(report.kept)) == ((), {"subjects": 1})
    assert (await erasing.erase_pending()).settled == {}
    files = (await steps(erasing, report.erasure_id or uuid4()))["files"]
    assert files.blocker == "a legal hold keeps part of it, to be reviewed by 2026-01-01T09:00:00Z"
    await erasing.release_hold("altavela", placed.hold_id)
    assert (await erasing.erase_pending()).settled == {Level.E2: 2, Level.E3: 2}


async def test_a_release_makes_due_what_a_worker_is_looking_at(
    erasing: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that saw the hold stand, just before it ended, does not put the request off for a day."""
    ines = person(erasing)
    await ines.remember("prefers aisle seats")
    placed = await erasing.place_hold("altavela", subject="ines", basis="file 7", review_at=clock.now() + 9 * HOUR)
    await ines.forget_all()
    looked: list[Any] = []

    async def watched(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as it is called
        found = await standing_in_the_way(*arguments, **options)
        if not looked:
            looked.append(found)
            await erasing.release_hold("altavela", placed.hold_id)
        return found

    monkeypatch.setattr("olvido.operations.erase_files.standing_in_the_way", watched)
    await erasing.erase_pending()
    assert looked != [[]]
    assert {(await is_local(erasing, one.erasure_id)) for one in (await erasing.erasures("altavela")).items} == {True}


async def is_local(memory: Memory, erasure_id: UUID) -> bool:
    """Whether files and log of a request are verified."""
    found = await steps(memory, erasure_id)
    return all(found[name].status is StepStatus.VERIFIED for name in ("files", "log"))


async def test_a_held_fact_of_a_forgotten_session_stands_in_the_way(erasing: Memory, clock: ManualClock) -> None:
    """The request names the session alone, and its fact is held under an id of its own: the files have it still."""
    ines = person(erasing)
    session = ines.session("s1")
    opened = await session.open(goal="where is the key")
    fact = await session.add_fact("it is in the harbour", origin=CONFIRMED)
    review = clock.now() + 9 * HOUR
    placed = await erasing.place_hold(
        "altavela", subject="ines", basis="file 7", review_at=review, record_id=fact.record_id
    )
    report = await ines.forget(opened.record_id)
    assert report.erasure_id is not None
    await erasing.erase_pending()
    waiting = await erasing.erasure("altavela", report.erasure_id)
    assert str(waiting.status) == "rows_absent"
    assert "hold" in str(next(step for step in waiting.steps if step.step == "files").blocker)
    await erasing.release_hold("altavela", placed.hold_id)
    await erasing.erase_pending()
    assert str((await erasing.erasure("altavela", report.erasure_id)).status) == "local_verified_external_open"
