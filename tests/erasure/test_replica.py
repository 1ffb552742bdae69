"""A replica is another copy: nothing is verified before it has replayed the removal, and then it has no byte of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from olvido import Memory
from olvido.domain.erasure import Level, Step, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.policy import Policy
from olvido.domain.policy_document import CopyKind, OutsideCopy
from olvido.operations.erase_files import place as place_of
from olvido.testing import ManualClock
from tests.adapters.embedded.support import eventually
from tests.erasure.canaries import hits, marker, pieces
from tests.erasure.conftest import new_place
from tests.erasure.following import HOUR, steps
from tests.erasure.place import Place, remember_everything, without_copies
from tests.erasure.standby import NAME, Standby
from tests.places import server_directory

FILES_ONLY = {Level.E2: 1}
LOG_ONLY = {Level.E3: 1}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """The primary server."""
    with new_place() as made:
        yield made


@pytest.fixture(scope="module")
def made(place: Place) -> Iterator[Standby]:
    """Its standby, which runs."""
    with server_directory() as directory:
        standby = Standby(place=place, directory=directory)
        try:
            standby.make()
            standby.start()
            yield standby
        finally:
            standby.stop()


@pytest.fixture
def standby(made: Standby) -> Standby:
    """The standby, running, without delay, and up to date."""
    made.configure(recovery_min_apply_delay="0", hot_standby_feedback="off")
    made.catch_up()
    return made


@pytest.fixture
async def memory(place: Place, clock: ManualClock) -> AsyncIterator[Memory]:
    """An open memory of the primary server, with no copy outside declared."""
    async with place.opening(clock, without_copies()) as opened:
        yield opened


def declaring_the_replica() -> Policy:
    """The default policy, with the standby as its only copy outside."""
    copy = {"name": NAME, "kind": CopyKind.REPLICA, "holder": "platform team", "retention": "unlimited"}
    return replace(without_copies(), copies=(OutsideCopy.model_validate(copy),))


async def forget(memory: Memory, word: str) -> UUID:
    """Forget one person."""
    report = await memory.scope(tenant="acme", subject=word).forget_all()
    assert report.erasure_id is not None
    return report.erasure_id


async def log_step(memory: Memory, erasure_id: UUID) -> Step:
    """The step of the log."""
    return (await steps(memory, erasure_id, "acme"))["log"]


async def test_nothing_is_verified_before_the_replica_has_replayed_it(
    place: Place, standby: Standby, memory: Memory, clock: ManualClock
) -> None:
    """A standby that applies with a delay serves the rows still; once it has replayed all, it has no byte of them."""
    word = marker("delayed")
    needles = pieces(word)
    await remember_everything(memory, "acme", word, word)
    place.run("CHECKPOINT")
    standby.catch_up()
    standby.run("CHECKPOINT")
    standby.configure(recovery_min_apply_delay="1h")
    erasure_id = await forget(memory, word)
    for _ in range(3):
        erased = await memory.erase_pending()
        assert Level.E3 not in erased.settled
        clock.advance(HOUR)
    log = await log_step(memory, erasure_id)
    assert f"{NAME} has replayed the log up to" in str(log.blocker)
    assert str(log.blocker).endswith(f"not yet to {log.evidence['lsn']}")
    assert log.evidence["files_left"] == 0
    assert place.found(word=needles) == {"word": set()}
    assert standby.rows("SELECT external_id FROM olvido.subjects") == [(word,)]
    assert hits(standby.directory, word=needles)["word"].keys() >= {"relation", "pg_wal"}

    standby.configure(recovery_min_apply_delay="0")
    standby.replay(str(log.evidence["lsn"]))
    assert (await memory.erase_pending()).settled == LOG_ONLY
    assert (await memory.erasure("acme", erasure_id)).status is ErasureStatus.LOCAL_VERIFIED
    replicas = (await log_step(memory, erasure_id)).evidence["replicas"]
    assert isinstance(replicas, list)
    assert [replica["name"] for replica in replicas] == [NAME]
    assert place_of(replicas[0]["replayed"]) >= place_of(str(log.evidence["lsn"]))
    assert standby.rows("SELECT external_id FROM olvido.subjects") == []
    standby.drop_old_log()
    assert hits(standby.directory, word=needles) == {"word": {}}


async def test_a_declared_replica_that_is_away_is_waited_for(
    place: Place, standby: Standby, clock: ManualClock
) -> None:
    """What is not connected is not said to have replayed anything, nor is the log taken from it; back, it is a copy."""
    word = marker("away")
    async with place.opening(clock, declaring_the_replica()) as memory:
        await remember_everything(memory, "acme", word, word)
        standby.catch_up()
        standby.stop()
        erasure_id = await forget(memory, word)
        assert (await memory.erase_pending()).settled == FILES_ONLY
        assert (await log_step(memory, erasure_id)).blocker == f"the declared replica {NAME} is not connected"
        standby.start()
        standby.catch_up()
        clock.advance(HOUR)
        assert (await memory.erase_pending()).settled == {Level.E3: 1, Level.E4: 1}
        copy = (await steps(memory, erasure_id, "acme"))[f"copy:{NAME}"]
        assert (copy.status, copy.level) == (StepStatus.VERIFIED, Level.E4)
        assert copy.evidence["replicas"]
        assert (await memory.erasure("acme", erasure_id)).status is ErasureStatus.LOCAL_VERIFIED
    standby.drop_old_log()
    assert hits(standby.directory, word=pieces(word)) == {"word": {}}
    # A copy that was declared is remembered; the other tests declare none.
    place.run("DELETE FROM olvido.copies")


async def test_a_slot_keeps_the_log_for_a_standby_that_is_away(
    place: Place, standby: Standby, memory: Memory, clock: ManualClock
) -> None:
    """Its slot is named while it keeps the log; when the standby is back and past it, all is verified."""
    word = marker("slot")
    place.run("SELECT pg_create_physical_replication_slot('lisbon_slot', true)")
    standby.stop()
    standby.configure(primary_slot_name="lisbon_slot")
    standby.start()
    try:
        await remember_everything(memory, "acme", word, word)
        standby.catch_up()
        standby.stop()
        erasure_id = await forget(memory, word)
        assert (await memory.erase_pending()).settled == FILES_ONLY
        assert "replication slot lisbon_slot keeps the log from" in str((await log_step(memory, erasure_id)).blocker)
        assert "pg_wal" in place.found(word=pieces(word))["word"]
        standby.start()
        standby.catch_up()
        clock.advance(HOUR)
        assert (await memory.erase_pending()).settled == LOG_ONLY
        assert place.found(word=pieces(word)) == {"word": set()}
        standby.drop_old_log()
        assert hits(standby.directory, word=pieces(word)) == {"word": {}}
    finally:
        standby.stop()
        standby.configure(primary_slot_name="")
        standby.start()
        place.run("SELECT pg_drop_replication_slot('lisbon_slot')")


async def test_a_reader_of_a_standby_with_feedback_keeps_the_rows(
    place: Place, standby: Standby, memory: Memory, clock: ManualClock
) -> None:
    """With hot_standby_feedback, an old snapshot there holds removed rows here; the standby is named until it ends."""
    word = marker("feedback")
    await remember_everything(memory, "acme", word, word)
    standby.configure(hot_standby_feedback="on")
    standby.catch_up()
    with psycopg.connect(standby.url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM olvido.subjects")
        held = "SELECT count(*) FROM pg_stat_replication WHERE backend_xmin IS NOT NULL"
        assert eventually(lambda: place.rows(held) == [(1,)])
        erasure_id = await forget(memory, word)
        assert (await memory.erase_pending()).settled == {}
        files = (await steps(memory, erasure_id, "acme"))["files"]
        assert f"standby {NAME}" in str(files.blocker)
        assert "relation" in place.found(word=pieces(word))["word"]
    standby.configure(hot_standby_feedback="off")
    assert eventually(lambda: place.rows(held) == [(0,)])
    clock.advance(HOUR)
    await memory.erase_pending()
    standby.catch_up()
    clock.advance(HOUR)
    await memory.erase_pending()
    assert (await memory.erasure("acme", erasure_id)).status is ErasureStatus.LOCAL_VERIFIED
    assert place.found(word=pieces(word)) == {"word": set()}


async def test_what_the_eraser_is_not_shown_is_not_verified(
    place: Place, standby: Standby, memory: Memory, clock: ManualClock
) -> None:
    """Without the right to see how far standbys are, the level stays open, with the right that is missing."""
    word = marker("not shown")
    await memory.scope(tenant="acme", subject=word).remember(word)
    standby.catch_up()
    erasure_id = await forget(memory, word)
    place.run("REVOKE pg_read_all_stats FROM olvido_eraser")
    try:
        assert (await memory.erase_pending()).settled == FILES_ONLY
        assert NAME in str((await log_step(memory, erasure_id)).blocker)
    finally:
        place.run("GRANT pg_read_all_stats TO olvido_eraser")
    standby.catch_up()
    clock.advance(HOUR)
    assert (await memory.erase_pending()).settled == LOG_ONLY
