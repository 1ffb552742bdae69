"""A worker killed in the middle of a repair: what it wrote counts, and another one does the rest, once."""

from __future__ import annotations

import asyncio
from datetime import UTC

import pytest

import olvido
from olvido.domain.words import LEXER
from olvido.operations.reindex import ALONE
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import Outside
from tests.operations.watched_embedders import NEW, Watched, entries, noted
from tests.operations.word_embedder import WordEmbedder
from tests.warm import program
from tests.workers import repair_client
from tests.workers.conftest import Open
from tests.workers.repair_client import BATCH

NOTES = 10
MANY = 99


def run_and_kill(clone: Clone, calls: int, asked: int) -> None:
    """Let the program repair until its embedder was asked so often, and kill it. calls: how many it answers."""
    with program(repair_client.main, clone.app, clone.worker, str(calls)) as worker:
        assert [worker.output.readline() for _ in range(asked)] == ["asked\n"] * asked
        worker.kill()


async def fill(memory: olvido.Memory, people: int) -> None:
    """Notes of several people."""
    for subject in range(people):
        who = memory.scope(tenant="acme", subject=f"person {subject}")
        for number in range(NOTES):
            await who.remember(f"note {number} of {subject}")


async def finish(opening: Open, clone: Clone, people: int) -> None:
    """Assert that a later repair does what is left, each record once, and that text recall answers before it."""
    done = entries(clone).get((LEXER, NEW), 0)
    with Outside(clone.superuser) as outside:
        watched = Watched()
        async with opening(watched, ManualClock(outside.now().astimezone(UTC) + 2 * ALONE)) as memory:
            found = await memory.scope(tenant="acme", subject="person 0").recall("note 3")
            assert found.items[0].record.fields["text"] == "note 3 of 0"
            report = await memory.repair_index(batch_size=BATCH)
        assert (report.waiting, report.repaired) == (0, people * NOTES - done)
        assert len(watched.asked) == people * NOTES - done
        assert outside.problems() == {}
    assert entries(clone) == {(LEXER, NEW): people * NOTES}
    assert set(noted(clone)) == {f"{LEXER} {NEW}"}


@pytest.mark.parametrize("calls", range(3))
async def test_what_a_killed_worker_left_is_finished(opening: Open, clone: Clone, calls: int) -> None:
    """Killed while it waits for its embedder, what it wrote before stays and is not embedded again."""
    async with opening(WordEmbedder()) as memory:
        await fill(memory, 1)
    await asyncio.to_thread(run_and_kill, clone, calls, calls + 1)
    assert entries(clone).get((LEXER, NEW), 0) == calls * BATCH
    assert noted(clone) == [None]
    await finish(opening, clone, 1)


@pytest.mark.parametrize("asked", [1, 3, 6, 8])
async def test_a_worker_may_be_killed_at_any_moment(opening: Open, clone: Clone, asked: int) -> None:
    """Killed at work on several lives, whatever it was at is whole or not begun."""
    async with opening(WordEmbedder()) as memory:
        await fill(memory, 3)
    await asyncio.to_thread(run_and_kill, clone, MANY, asked)
    assert set(entries(clone)) <= {(LEXER, NEW), (LEXER, "words/1")}
    await finish(opening, clone, 3)
