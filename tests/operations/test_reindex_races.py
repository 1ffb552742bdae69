"""Repair of the index while others read, write, correct, forget and repair: nothing waits and nothing comes back."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql

import olvido
from olvido import IndexReport, IndexState, OlvidoError, ScopedMemory
from olvido.domain.origin import Origin
from olvido.domain.words import LEXER
from olvido.errors import Conflict, NotFound, SubjectForgotten
from olvido.operations.reindex import ALONE
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PATIENCE, Outside, together, until_waiting
from tests.operations.conftest import OpenWith
from tests.operations.watched_embedders import NEW, Paused, Watched, entries, look, noted
from tests.operations.word_embedder import NOTES, WordEmbedder

CONFIRMED = Origin.declared("user-confirmation")
SECOND = timedelta(seconds=1)
ROUNDS = 15


def person(memory: olvido.Memory, subject: str = "ana", tenant: str = "acme") -> ScopedMemory:
    """A new handle."""
    return memory.scope(tenant=tenant, subject=subject)


async def test_recall_answers_by_words_while_a_repair_runs(ana: ScopedMemory, open_with: OpenWith) -> None:
    """Reads and writes wait for nothing that an embedder is asked for, and no connection is held meanwhile."""
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index(batch_size=4))
        await paused.started.wait()
        with_others = await asyncio.gather(*(ana.recall("vegetarian meal") for _ in range(20)))
        assert {found.items[0].record.fields["text"] for found in with_others} == {NOTES[4]}
        assert (await person(memory).recall("vegetarian meal")).items[0].record.fields["text"] == NOTES[4]
        await ana.correct_preference("language", "es", origin=CONFIRMED)
        paused.go.set()
        assert (await repair).waiting == 1  # the correction has a vector of the other model
        assert (await memory.repair_index()).failed == 0


# case 33, case 89
async def test_what_was_forgotten_while_it_was_embedded_does_not_come_back(
    ana: ScopedMemory, open_with: OpenWith, clone: Clone
) -> None:
    """A record that goes between read and write gets no entry; the others of its batch do."""
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index())
        await paused.started.wait()
        gone = next(one for one in (await ana.episodes()).items if one.fields["text"] == NOTES[0])
        await ana.forget(gone.record_id)
        (language,) = await ana.preferences()
        await ana.forget(language.record_id)
        paused.go.set()
        report = await repair
        assert (report.repaired, report.settled) == (len(NOTES) - 1, 1)
        assert not (await person(memory).recall("aisle seats")).items
    assert look(clone, "SELECT count(*) FROM olvido.index_entries") == [(len(NOTES) - 1,)]


# case 33
async def test_nothing_of_a_life_that_was_forgotten_while_it_was_embedded_comes_back(
    ana: ScopedMemory, open_with: OpenWith, clone: Clone
) -> None:
    """The repair finds the life over; a new life of the same person is not touched by it."""
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index())
        await paused.started.wait()
        assert (await ana.forget_all()).status is olvido.Status.ROWS_ABSENT
        assert look(clone, "SELECT count(*) FROM olvido.index_entries") == [(0,)]
        back = WordEmbedder("words/1")
        async with open_with(back, None) as other:
            await person(other).remember("came back")
        paused.go.set()
        report = await repair
        assert (report.lives, report.repaired) == (2, 1)
    assert look(clone, "SELECT count(*) FROM olvido.index_entries") == [(1,)]


async def test_what_expired_while_it_was_embedded_gets_no_entry(
    word_memory: olvido.Memory, open_with: OpenWith, clock: ManualClock, clone: Clone
) -> None:
    """The instant at which the entry would be written counts; a purge finds the old entry and nothing else."""
    await person(word_memory).remember("soon over", expires_at=clock.now() + SECOND)
    await person(word_memory).set_preference("language", "pt", origin=CONFIRMED, expires_at=clock.now() + SECOND)
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index())
        await paused.started.wait()
        clock.advance(SECOND)
        paused.go.set()
        assert (await repair).repaired == 0
        assert entries(clone) == {(LEXER, "words/1"): 2}
        assert (await memory.purge_expired()).removed["index_entries"] == 2


async def test_a_correction_while_the_old_value_is_embedded_keeps_its_own_entry(
    ana: ScopedMemory, open_with: OpenWith, words: WordEmbedder, clock: ManualClock, clone: Clone
) -> None:
    """The late vector of the old text is not written over the new one, whichever model wrote that."""
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index())
        await paused.started.wait()
        await ana.correct_preference("language", "es", origin=CONFIRMED)
        entry = "SELECT t::text FROM olvido.index_entries AS t WHERE kind = 'preference'"
        (corrected,) = look(clone, entry)
        assert words.id in corrected[0]
        paused.go.set()
        assert (await repair).waiting == 1
        assert look(clone, entry) == [corrected]
        clock.advance(SECOND)
        assert (await memory.repair_index()).repaired == 1
        assert paused.asked[-1] == "language: es"


async def test_a_write_of_another_model_at_the_last_moment_keeps_the_life_waiting(
    ana: ScopedMemory, open_with: OpenWith, words: WordEmbedder, clone: Clone
) -> None:
    """A record without a vector that was written after the last read is seen before the life is called whole."""
    paused = Paused()
    async with open_with(paused, None) as memory:
        repair = asyncio.create_task(memory.repair_index())
        await paused.started.wait()
        words.fails = True
        assert (await ana.remember("written meanwhile")).index_state is IndexState.TEXT_ONLY
        paused.go.set()
        report = await repair
        assert (report.repaired, report.settled, report.waiting) == (len(NOTES) + 1, 0, 1)
    assert look(clone, "SELECT indexed_by LIKE '% tried' FROM olvido.lives") == [(True,)]


async def test_a_writer_that_is_not_done_is_waited_for(
    ana: ScopedMemory, word_memory: olvido.Memory, clone: Clone
) -> None:
    """A life is not called whole while somebody who entered it may still store a record without a vector."""
    with Outside(clone.superuser) as outside, psycopg.connect(clone.app) as writer:
        writer.execute("SELECT olvido.enter_scope('acme', 'ana', NULL, true)")
        writer.execute("UPDATE olvido.index_entries SET embedder = NULL, embedding = NULL WHERE kind = 'preference'")
        repair = asyncio.create_task(word_memory.repair_index())
        await until_waiting(outside, 1)
        writer.commit()
        report = await repair
    assert (report.settled, report.waiting) == (0, 1)
    assert (await ana.recall("seats")).unindexed == 1


# case 33
async def test_a_forget_that_is_not_done_is_passed_over(ana: ScopedMemory, open_with: OpenWith, clone: Clone) -> None:
    """The record that it holds gets no entry, neither while it waits to commit nor afterwards."""
    (gone, *_) = (await ana.episodes()).items
    with Outside(clone.superuser) as outside, psycopg.connect(clone.app) as forgetting:
        forgetting.execute("SELECT olvido.enter_scope('acme', 'ana', NULL, true)")
        for relation in ("index_entries", "episodes"):
            query = sql.SQL("DELETE FROM olvido.{} WHERE record_id = %s").format(sql.Identifier(relation))
            forgetting.execute(query, [gone.record_id])
        async with open_with(WordEmbedder(NEW), None) as memory:
            repair = asyncio.create_task(memory.repair_index(batch_size=2))
            await until_waiting(outside, 1)  # with its last record, to hold the life alone
            assert entries(clone)[LEXER, NEW] == len(NOTES) - 1
            forgetting.commit()
            report = await repair
            assert (report.repaired, report.waiting) == (len(NOTES), 0)
        assert outside.problems() == {}
    assert entries(clone) == {(LEXER, NEW): len(NOTES)}


async def test_several_at_once_share_the_lives(open_with: OpenWith, words: WordEmbedder, clone: Clone) -> None:
    """Four repairs in two memories embed every record once, and leave every life settled."""
    async with open_with(words, None) as memory:
        for number in range(24):
            who = person(memory, f"person {number}", f"company {number % 3}")
            for note in range(3):
                await who.remember(f"note {note} of {number}")
    one, two = Watched(), Watched()
    async with open_with(one, None) as first, open_with(two, None) as second:
        reports = await asyncio.gather(*(memory.repair_index(batch_size=2) for memory in (first, second) * 2))
    assert sum(report.repaired for report in reports) == 72
    assert sum(report.settled for report in reports) == sum(report.lives for report in reports) == 24
    assert len([*one.asked, *two.asked]) == len({*one.asked, *two.asked}) == 72
    assert set(noted(clone)) == {f"{LEXER} {NEW}"}


@pytest.mark.usefixtures("ana")
async def test_a_life_belongs_to_who_took_it_until_its_time_is_over(open_with: OpenWith, clock: ManualClock) -> None:
    """Another worker passes it over; when the first is silent for too long, it takes the life and does the work."""
    silent = Paused()
    async with open_with(silent, None) as first, open_with(WordEmbedder(NEW), None) as second:
        repair = asyncio.create_task(first.repair_index())
        await silent.started.wait()
        clock.advance(ALONE)
        report = await second.repair_index()
        assert (report.lives, report.waiting) == (0, 1)
        clock.advance(SECOND)
        report = await second.repair_index()
        assert (report.repaired, report.settled, report.waiting) == (len(NOTES) + 1, 1, 0)
        silent.go.set()
        assert (await repair).repaired == 0  # it was late, and nothing differed any more


# case 33, case 89
async def test_repairs_against_everything_that_writes(open_with: OpenWith, clock: ManualClock, clone: Clone) -> None:
    """In many rounds of writes, corrections, forgets and repairs by another model at once, no entry is wrong for long.

    Nothing is given up for a deadlock, no entry is left of what was forgotten, and a last repair settles every life.
    """
    chance = random.Random(33)
    with Outside(clone.superuser) as outside:
        async with open_with(WordEmbedder("words/1"), None) as service, open_with(WordEmbedder(NEW), None) as memory:
            for number in range(ROUNDS):
                ana = person(service, f"ana {number}")
                first = await ana.remember("prefers aisle seats")
                language = await ana.set_preference("language", "pt", origin=CONFIRMED)
                calls = [
                    *(ana.remember(f"note {note}") for note in range(4)),
                    *(ana.correct_preference("language", value, origin=CONFIRMED) for value in ("es", "en", "pt")),
                    ana.forget(chance.choice([first.record.record_id, language.record.record_id])),
                    *(memory.repair_index(batch_size=chance.randrange(1, 4)) for _ in range(3)),
                    service.purge_expired(),
                    *([ana.forget_all()] if number % 3 == 0 else []),
                ]
                chance.shuffle(calls)
                answers = await together(calls)
                refused = [answer for answer in answers if isinstance(answer, OlvidoError)]
                assert all(isinstance(one, (SubjectForgotten, Conflict, NotFound)) for one in refused), refused
                assert len([answer for answer in answers if isinstance(answer, IndexReport)]) == 3
                assert outside.problems() == {}
            clock.advance(SECOND)
            assert (await memory.repair_index()).waiting == 0
            assert entries(clone).keys() == {(LEXER, NEW)}
            assert outside.problems() == {}
            rows = [await person(memory, f"ana {number}").stored_rows() for number in range(0, ROUNDS, 3)]
            assert all(row["index_entries"] == row["episodes"] + row["preferences"] for row in rows)
        deadline = time.monotonic() + PATIENCE
        while outside.connections():
            assert time.monotonic() < deadline
            await asyncio.to_thread(outside.connections)
        assert outside.deadlocks() == 0
