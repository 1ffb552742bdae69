"""Requests are followed up step by step: shared, done once, gone on with after a crash, and told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

import olvido
from olvido import Memory
from olvido.bootstrap import Opening
from olvido.domain.erasure import Level, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.errors import DatabaseUnavailable, InvalidCursor, InvalidInput, NotFound, UnsafeDatabase
from olvido.operations import erase_files
from olvido.operations.erase import LEASE
from olvido.storage.rewriting import EraserTurn, NotRewritten, Rewritten
from olvido.testing import ManualClock
from olvido.workers.duties import Erase
from tests.cases.support import CONFIRMED, fill, person
from tests.conftest import Clone
from tests.contract.support import PlainDetector
from tests.erasure.following import HOUR, LOCAL, WHOLE, administer, forget, steps
from tests.operations.word_embedder import WordEmbedder


async def test_a_person_is_followed_up_to_the_end(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """Files and log are verified in one call, with what was measured; copies outside stay open until their time."""
    ines = person(erasing)
    await fill(ines, "blue")
    report = await ines.forget_all()
    told: list[int] = []
    erased = await erasing.erase_pending(progress=told.append)
    assert (erased.worked, erased.settled, told) == (2, LOCAL, [1, 2])
    assert (erased.attention, erased.limit_reached, erased.left_to_other) == (0, False, False)
    assert erased.waiting == {Level.E4: 2, Level.E5: 1}
    found = await erasing.erasure("altavela", str(report.erasure_id))
    assert found.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
    assert found.levels == {Level.E1: True, Level.E2: True, Level.E3: True, Level.E4: False, Level.E5: False}
    assert {step.step for step in found.remains} == {
        "copy:database-backups",
        "copy:application-logs",
        "copy:support-desk",
    }
    assert (found.target, found.held, found.identifier_kept) == ("subject", 0, False)
    assert {name: count for name, count in found.removed.items() if count} == report.removed
    done = {step.step: step for step in found.steps}
    files = done["files"].evidence["relations"]
    assert isinstance(files, list)
    assert len(files) == WHOLE
    for one in files:
        assert one["file_before"] != one["file_after"]
        assert (one["kept"], one["rewritten_at"][-1]) == (0, "Z")
        assert one["locked_ms"] >= 0
        assert one["waited_ms"] >= 0
    assert (done["log"].evidence["files_left"], done["log"].evidence["replicas"]) == (0, [])
    assert erase_files.place(str(done["log"].evidence["lsn"])) > 0
    with psycopg.connect(clone.superuser) as connection:
        said = connection.execute(
            "SELECT kind, record_id FROM olvido.audit_log WHERE action = 'erased' ORDER BY kind"
        ).fetchall()
    assert said == [("files", report.erasure_id), ("log", report.erasure_id)]
    clock.advance(timedelta(days=36))
    assert (await erasing.erase_pending()).settled == {Level.E4: 1, Level.E5: 1}


async def test_many_requests_share_one_rewrite(erasing: Memory, rewritten: list[str]) -> None:
    """Thirty people of two companies: each relation is rewritten once, and the log turned over once."""
    ids = [await forget(erasing, f"person {number}", f"company {number % 2}") for number in range(30)]
    await person(erasing).remember("prefers aisle seats")
    erased = await erasing.erase_pending()
    assert erased.settled == {Level.E2: 30, Level.E3: 30}
    assert len(rewritten) == len(set(rewritten))
    assert len(rewritten) in {WHOLE, WHOLE + 3}  # both companies may be in the same leaves
    found = [await steps(erasing, erasure_id, f"company {number % 2}") for number, erasure_id in enumerate(ids)]
    assert len({str(one["log"].evidence["lsn"]) for one in found}) <= 2
    rewritten.clear()
    assert (await erasing.erase_pending()).worked == 0
    assert rewritten == []


@pytest.mark.parametrize(
    "kind, relations",
    [
        ("preference", {"preferences", "preference_versions", "index_entries"}),
        ("episode", {"episodes", "index_entries", "summaries", "summary_sources"}),
        ("session", {"sessions", "session_items", "session_facts", "messages"}),
        ("fact", {"session_facts"}),
    ],
)
async def test_a_record_needs_its_own_relations_only(
    erasing: Memory, rewritten: list[str], kind: str, relations: set[str]
) -> None:
    """What is rewritten for one record is where it, what it was before, and what derives from it stand."""
    ines = person(erasing)
    episode = await fill(ines, "blue")
    session = await ines.session("session-blue").read()
    preference = await ines.get_preference("display_name")
    assert preference is not None
    record = {
        "preference": preference.record_id,
        "episode": episode,
        "session": session.record_id,
        "fact": session.facts[0].record_id,
    }[kind]
    await ines.forget(record)
    assert (await erasing.erase_pending()).settled == LOCAL
    assert {name.rstrip("_01") for name in rewritten} == relations


async def test_a_worker_that_died_is_followed_by_one_that_does_the_rest(
    erasing: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was rewritten before the crash is not rewritten again; nobody takes the steps until their lease is over."""
    erasure_id = await forget(erasing, "ines")
    real, done = EraserTurn.rewrite, list[str]()

    async def dying(turn: EraserTurn, relation: str) -> Rewritten | NotRewritten:
        if len(done) == 4:
            raise DatabaseUnavailable("The connection was lost.")
        done.append(relation)
        return await real(turn, relation)

    with monkeypatch.context() as patch:
        patch.setattr(EraserTurn, "rewrite", dying)
        with pytest.raises(DatabaseUnavailable):
            await erasing.erase_pending()
    assert (await erasing.erase_pending()).worked == 0
    clock.advance(LEASE)
    later: list[str] = []

    async def watched(turn: EraserTurn, relation: str) -> Rewritten | NotRewritten:
        later.append(relation)
        return await real(turn, relation)

    monkeypatch.setattr(EraserTurn, "rewrite", watched)
    assert (await erasing.erase_pending()).settled == LOCAL
    assert len(later) == WHOLE - 4
    assert set(later).isdisjoint(done)
    assert (await steps(erasing, erasure_id))["files"].attempts == 2


async def test_a_round_that_lasts_ends_and_the_next_one_goes_on(
    erasing: Memory, rewritten: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that is over its time after one relation leaves the rest to later ones, and nothing is done twice."""
    monkeypatch.setattr(erase_files, "ROUND_SECONDS", 0.0)
    await forget(erasing, "ines")
    erased = await erasing.erase_pending()
    assert (erased.settled, erased.hindered, erased.in_the_way) == (LOCAL, 0, {})
    assert erased.worked == WHOLE + 1  # a round for each relation, and the log
    assert len(rewritten) == len(set(rewritten)) == WHOLE


async def test_two_workers_do_everything_once(
    opening_eraser: Callable[..., Opening], clone: Clone, rewritten: list[str]
) -> None:
    """Side by side they settle each step once; the one that comes second leaves files to the first."""
    async with opening_eraser() as one, opening_eraser() as two:
        for number in range(12):
            await forget(one, f"person {number}")
        first, second = await asyncio.gather(one.erase_pending(), two.erase_pending())
        assert first.left_to_other or second.left_to_other
        assert (await one.erase_pending()).waiting.keys().isdisjoint({Level.E1, Level.E2, Level.E3})
    assert len(rewritten) == len(set(rewritten)) == WHOLE
    with psycopg.connect(clone.superuser) as connection:
        said = connection.execute(
            "SELECT kind, count(*), count(DISTINCT record_id) FROM olvido.audit_log WHERE action = 'erased' GROUP BY 1"
        ).fetchall()
    assert sorted(said) == [("files", 12, 12), ("log", 12, 12)]


async def test_files_wait_until_the_rows_are_read_back(erasing: Memory, clone: Clone) -> None:
    """A call that died before its read-back leaves that to the worker, which does it first."""
    erasure_id = await forget(erasing, "ines")
    administer(clone, "UPDATE olvido.erasure_steps SET status = 'open', settled_at = NULL WHERE step = 'rows'")
    assert (await erasing.erasure("altavela", erasure_id)).status is ErasureStatus.INCOMPLETE
    assert (await erasing.erase_pending()).settled == {Level.E1: 1, **LOCAL}
    rows = (await steps(erasing, erasure_id))["rows"]
    assert rows.status is StepStatus.ROWS_ABSENT
    assert set(rows.evidence["remaining"].values()) == {0}  # type: ignore[attr-defined]


async def test_the_worker_reads_back_records_and_versions(erasing: Memory, clone: Clone) -> None:
    """Also of a request about single records, about one version, and about what a hold kept."""
    ines = person(erasing)
    episode = await fill(ines, "blue")
    preference = await ines.get_preference("display_name")
    assert preference is not None
    await ines.forget(episode)
    await ines.forget(preference.record_id, reopen_previous=True)
    placed = await erasing.place_hold("altavela", subject="ines", basis="file 7", review_at=preference.said_at + HOUR)
    note = (await ines.remember("prefers window seats")).record.record_id
    await ines.forget(note)
    await erasing.release_hold("altavela", placed.hold_id)
    administer(clone, "UPDATE olvido.erasure_steps SET status = 'open', settled_at = NULL WHERE step = 'rows'")
    erased = await erasing.erase_pending()
    assert erased.settled[Level.E1] == 4
    assert all(one.status is not ErasureStatus.FAILED for one in (await erasing.erasures("altavela")).items)


async def test_work_comes_in_pieces(erasing: Memory, rewritten: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may be stopped after a few relations; what they were is not done again in the next piece."""
    monkeypatch.setattr(erase_files, "RELATIONS_AT_ONCE", 4)
    await forget(erasing, "ines")
    pieces = [await erasing.erase_pending(limit=1)]
    while pieces[-1].limit_reached:
        pieces.append(await erasing.erase_pending(limit=1))
    assert [len(piece.settled) for piece in pieces] == [0, 0, 1, 1, 0]
    assert len(rewritten) == len(set(rewritten)) == WHOLE


async def test_requests_are_looked_at_by_company(erasing: Memory, clock: ManualClock) -> None:
    """The newest first, page by page; another company's id is a missing id."""
    ids = [await forget(erasing, f"person {number}") for number in range(5)]
    await forget(erasing, "leo", "norbrook")
    first = await erasing.erasures("altavela", limit=3)
    rest = await erasing.erasures("altavela", limit=3, cursor=first.next_cursor)
    assert [one.erasure_id for one in (*first.items, *rest.items)] == ids[::-1]
    assert rest.next_cursor is None
    assert {one.requested_at for one in first.items} == {clock.now()}
    with pytest.raises(NotFound):
        await erasing.erasure("norbrook", ids[0])
    with pytest.raises(InvalidCursor):
        await erasing.erasures("altavela", cursor="mine")
    with pytest.raises(InvalidInput):
        await erasing.erasures("altavela", limit=0)


async def test_what_cannot_be_is_refused(erasing: Memory) -> None:
    """No piece of nothing, and no lock of no time."""
    for wrong in (0, True, 1.5):
        with pytest.raises(InvalidInput):
            await erasing.erase_pending(limit=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await erasing.erase_pending(longest_lock=0)


async def test_only_a_worker_follows_up(clone: Clone, clock: ManualClock) -> None:
    """The login of requests alone neither sees nor works on requests to forget."""
    opening = olvido.open(clone.app, clock=clock, embedder=WordEmbedder(), detector=PlainDetector())
    async with opening as memory:
        for call in (memory.erase_pending(), memory.erasures("altavela"), memory.erasure("altavela", uuid4())):
            with pytest.raises(UnsafeDatabase):
                await call


async def test_nothing_that_was_remembered_is_told(
    erasing: Memory, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the steps and their evidence nor the log has a word of it, nor the name of the person."""
    caplog.set_level("DEBUG")
    ines = person(erasing, "ines-canary9c")
    await fill(ines, "canary9c")
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    caplog.clear()
    await ines.forget_all()
    await erasing.erase_pending()
    with psycopg.connect(clone.superuser) as connection:
        for relation in (b"erasures", b"erasure_steps", b"rewrites", b"audit_log"):
            rows = connection.execute(b"SELECT t::text FROM olvido." + relation + b" AS t").fetchall()
            assert rows
            assert not any("canary9c" in row for (row,) in rows)
    assert not any("canary9c" in str(vars(record)) for record in caplog.records)


async def test_the_duty_does_a_piece_at_a_time(erasing: Memory, clone: Clone) -> None:
    """A piece is bounded, says that there is more, and tells numbers only; what is hindered makes it incomplete."""
    for number in range(3):
        await forget(erasing, f"person {number}")
    duty = Erase(erasing, limit=2)
    pieces = [await duty.run_once()]
    while pieces[-1].more:
        pieces.append(await duty.run_once())
    assert [(piece.counts["steps"], piece.counts["settled"]) for piece in pieces if piece.counts] == [(2, 2)] * 3
    assert not any(piece.incomplete for piece in pieces)
    await forget(erasing, "ines")
    administer(clone, "REVOKE MAINTAIN ON olvido.sessions FROM olvido_eraser")
    hindered = await duty.run_once()
    assert (hindered.incomplete, hindered.counts["hindered"]) == (True, 1)
