"""The duties on a real database: bounded pieces, several workers at once, a failing embedder left alone for a while."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

import psycopg
import pytest

import olvido
from olvido import ScopedMemory
from olvido.domain.words import LEXER
from olvido.operations.indexing import made_by
from olvido.storage.queries import statements
from olvido.testing import ManualClock
from olvido.workers.duties import BATCHES_A_PIECE, Did, Duty, DutyName, Embed, Purge, duties
from olvido.workers.loop import Worker
from olvido.workers.waiting import Backoff
from tests.cases.support import CONFIRMED, multiply
from tests.conftest import Clone
from tests.operations.watched_embedders import NEW, Watched, entries, look, noted
from tests.operations.word_embedder import WordEmbedder
from tests.workers.conftest import Open
from tests.workers.test_waiting import Hand

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def person(memory: olvido.Memory, subject: str = "ana", tenant: str = "acme") -> ScopedMemory:
    """A new handle."""
    return memory.scope(tenant=tenant, subject=subject)


async def to_the_end(duty: Duty) -> list[Did]:
    """Pieces, until one says that there is no more."""
    pieces = [await duty.run_once()]
    while pieces[-1].more:
        pieces.append(await duty.run_once())
    return pieces


async def test_the_duties_are_named_once(opening: Open) -> None:
    """Names come from one list, and asking twice for one gives it once."""
    async with opening(WordEmbedder()) as memory:
        assert [duty.name for duty in duties(memory, DutyName)] == [*map(str, DutyName)]
        assert [duty.name for duty in duties(memory, [DutyName.EMBED] * 2)] == ["embed"]


# case 62, case 117
async def test_expired_records_go_in_bounded_pieces_while_reads_go_on(
    opening: Open, clock: ManualClock, clone: Clone
) -> None:
    """2,000 records of one person that expired go a batch at a time; the rest is served all the while, and stays."""
    async with opening(WordEmbedder(), clock) as memory:
        ana, bea = person(memory), person(memory, "bea")
        await ana.remember("soon over", expires_at=clock.now() + DAY)
        multiply(clone, ana, 1_999)
        await ana.set_preference("language", "pt", origin=CONFIRMED)
        await bea.remember("prefers aisle seats")
        clock.advance(DAY)
        stays = await bea.checksums()
        done = asyncio.Event()

        async def purge() -> list[Did]:
            try:
                return await to_the_end(Purge(memory, batch_size=100))
            finally:
                done.set()

        purging = asyncio.create_task(purge())
        reads = 0
        while not done.is_set():
            assert [item.record.fields["text"] for item in (await bea.recall("seats")).items] == ["prefers aisle seats"]
            found = await ana.recall("soon over")
            assert (found.items, len(found.preferences)) == ((), 1)
            reads += 1
        pieces = await purging
        assert len(pieces) >= 20
        # A piece ends with the transaction in which its limit is reached: 100 records, each with an index entry.
        assert {piece.counts["rows"] for piece in pieces if piece.counts} == {200}
        assert not pieces[-1].more
        assert reads > 0
        assert await bea.checksums() == stays
        assert look(clone, "SELECT count(*) FROM olvido.episodes") == [(1,)]
        assert await Purge(memory).run_once() == Did()


async def test_a_piece_of_repair_is_a_few_batches(opening: Open, clone: Clone) -> None:
    """However much waits, a piece ends soon, and the next one goes on in the same life."""
    async with opening(WordEmbedder()) as memory:
        ana = person(memory)
        await ana.remember("prefers aisle seats")
        multiply(clone, ana, 49)
    watched = Watched()
    async with opening(watched) as memory:
        pieces = await to_the_end(Embed(memory, batch_size=10))
        told = [(piece.counts["rows"], piece.counts["waiting"]) for piece in pieces if piece.counts]
        assert told == [(20, 1), (20, 1), (10, 0)]
        assert BATCHES_A_PIECE * 10 == 20
        assert not any(piece.incomplete for piece in pieces)
    assert len(watched.asked) == 50
    assert entries(clone) == {(LEXER, NEW): 50}


async def test_two_workers_share_the_work(opening: Open, clock: ManualClock, clone: Clone) -> None:
    """Side by side they remove what has expired once, embed every record once, and leave nothing waiting."""
    async with opening(WordEmbedder(), clock) as memory:
        for number in range(20):
            who = person(memory, f"person {number}", f"company {number % 2}")
            await who.remember(f"stays with {number}")
            await who.remember(f"goes from {number}", expires_at=clock.now() + DAY)
        clock.advance(DAY)
    one, two = Watched(), Watched()
    async with opening(one, clock) as first, opening(two, clock) as second:
        workers = [
            Worker([Purge(memory, batch_size=2), Embed(memory, batch_size=2)], chance=Random(number))
            for number, memory in enumerate((first, second))
        ]
        assert await asyncio.gather(*(worker.run(once=True) for worker in workers)) == [frozenset(), frozenset()]
    asked = [*one.asked, *two.asked]
    assert sorted(asked) == sorted({f"stays with {number}" for number in range(20)})
    assert one.asked
    assert two.asked
    assert entries(clone) == {(LEXER, NEW): 20}
    assert set(noted(clone)) == {f"{LEXER} {NEW}"}
    purged = look(
        clone, "SELECT count(*), sum((counts->>'episodes')::int) FROM olvido.audit_log WHERE action = 'purge'"
    )
    assert purged == [(20, 20)]


async def test_a_failing_embedder_is_left_alone_and_new_records_are_not(opening: Open, clock: ManualClock) -> None:
    """What failed waits, longer each time; what is written meanwhile is tried at once; success ends it."""
    hand = Hand()
    words = WordEmbedder()
    words.fails = True
    async with opening(words, clock) as memory:
        await person(memory).remember("first")
        embed = Embed(memory, backoff=Backoff(first=60.0, longest=600.0, monotonic=hand))
        first = await embed.run_once()
        assert (first.counts["failed"], first.more, first.incomplete) == (1, False, True)

        clock.advance(SECOND)
        hand.at += 1
        assert await embed.run_once() == Did(incomplete=True)
        await person(memory, "bea").remember("second")
        clock.advance(SECOND)
        second = await embed.run_once()
        assert (second.counts["lives"], second.counts["failed"], second.counts["waiting"]) == (1, 1, 2)

        hand.at += 60
        clock.advance(SECOND)
        assert (await embed.run_once()).counts["failed"] == 2
        hand.at += 59  # the second wait is at least 60 seconds
        clock.advance(SECOND)
        assert await embed.run_once() == Did(incomplete=True)

        words.fails = False
        hand.at += 62
        clock.advance(SECOND)
        repaired = await embed.run_once()
        assert (repaired.counts["rows"], repaired.counts["waiting"], repaired.incomplete) == (2, 0, False)
        words.fails = True
        await person(memory).remember("third")
        clock.advance(SECOND)
        assert (await embed.run_once()).counts["failed"] == 1
        hand.at += 60  # the shortest wait again
        clock.advance(SECOND)
        assert (await embed.run_once()).counts["failed"] == 1


async def test_a_change_of_model_under_a_running_worker(opening: Open, clone: Clone) -> None:
    """A service that still writes with the old model is followed: what it writes is repaired at the next look."""
    async with opening(WordEmbedder()) as service, opening(WordEmbedder(NEW)) as memory:
        embed = Embed(memory)
        await person(service).remember("first")
        assert (await to_the_end(embed))[0].counts["rows"] == 1
        await person(service).remember("second")
        assert (await person(memory).recall("second")).unindexed == 1
        assert (await to_the_end(embed))[0].counts["rows"] == 1
        assert await embed.run_once() == Did()
        assert (await person(memory).recall("second")).unindexed == 0
    assert entries(clone) == {(LEXER, NEW): 2}


async def test_another_worker_with_another_embedder_is_told_of_and_left_alone(
    opening: Open, clock: ManualClock, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    """Two that are unlike come to rest, say so once, and are not done; one that starts anew takes everything over."""
    one, two = Watched("words/1"), Watched("words/2")
    async with opening(one, clock) as first, opening(two, clock) as second:
        for number in range(3):
            await person(second, f"person {number}").remember("prefers aisle seats")
        two.asked.clear()
        before, after = Embed(second), Embed(first)
        for _ in range(4):
            for duty in (before, after):
                clock.advance(SECOND)
                await to_the_end(duty)
        assert (len(one.asked), len(two.asked)) == (3, 0)
        assert await after.run_once() == Did()
        assert await before.run_once() == Did(incomplete=True)
        told = [record for record in caplog.records if getattr(record, "action", "") == "index_contested"]
        assert [getattr(record, "lives", 0) for record in told] == [3]
        clock.advance(SECOND)
        (taken, *_) = await to_the_end(Embed(second))
        assert (taken.counts["rows"], taken.incomplete, len(two.asked)) == (3, False, 3)
    assert entries(clone) == {(LEXER, "words/2"): 3}


def unrepaired(clone: Clone, embedder: str) -> int:
    """How many lives the doctor says wait for a worker with this embedder."""
    with psycopg.connect(clone.worker) as connection:
        parameters = {"made_by": made_by(embedder), "closed": []}
        row = connection.execute(statements("lives")["unrepaired"].text, parameters).fetchone()
    assert row is not None
    (lives,) = row
    return int(lives)


async def test_unlike_workers_settle_a_life_that_is_larger_than_a_piece(
    opening: Open, clock: ManualClock, clone: Clone
) -> None:
    """A life that one of them is half through is left to it by the other, and is counted as unfinished meanwhile."""
    one, two = Watched("words/1"), Watched("words/1 large")
    async with opening(WordEmbedder("words/0"), clock) as service:
        for number in range(5):
            await person(service).remember(f"note {number}")
    async with opening(one, clock) as first, opening(two, clock) as second:
        workers = [Embed(first, batch_size=1), Embed(second, batch_size=1)]
        for _ in range(6):
            for duty in workers:
                clock.advance(SECOND)
                await duty.run_once()
                if len(one.asked) + len(two.asked) < 7:
                    assert (unrepaired(clone, one.id), unrepaired(clone, two.id)) == (1, 1)
    # The first had done a piece when the other was started, which takes the life over as any worker that is started.
    assert (len(one.asked), len(two.asked)) == (2, 5)
    assert entries(clone) == {(LEXER, two.id): 5}
    assert noted(clone) == [f"{LEXER} {two.id}"]
    assert (unrepaired(clone, one.id), unrepaired(clone, two.id)) == (1, 0)


async def test_writes_of_the_same_model_leave_a_life_to_who_began_it(
    opening: Open, clock: ManualClock, clone: Clone
) -> None:
    """A life that grows while a worker is half through it, also without a vector, is not another worker's to take."""
    one, two = Watched("words/1"), Watched("words/2")
    async with opening(one, clock) as first, opening(two, clock) as second:
        other, duty = Embed(second, batch_size=1), Embed(first, batch_size=1)
        assert await other.run_once() == Did()
        async with opening(WordEmbedder("words/0"), clock) as service:
            for number in range(3):
                await person(service).remember(f"note {number}")
        clock.advance(SECOND)
        assert (await duty.run_once()).more
        one.asked.clear()
        for fails in (False, True):
            one.fails = fails
            await person(first).remember("another note")
            await person(first).set_preference("language", "pt", origin=CONFIRMED)
            clock.advance(SECOND)
            assert (await other.run_once()).incomplete
        one.fails = False
        await to_the_end(duty)
    assert two.asked == []
    assert noted(clone) == [f"{LEXER} words/1"]
