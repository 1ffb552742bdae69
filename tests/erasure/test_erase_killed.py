"""A worker or the server killed at any moment of following up: the next one does the rest, and no byte is left."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from olvido.adapters import embedded
from olvido.domain.erasure_status import ErasureStatus
from olvido.operations.erase import LEASE
from olvido.testing import ManualClock
from tests.adapters.embedded.support import kill_server
from tests.erasure.canaries import marker, pieces
from tests.erasure.conftest import new_place
from tests.erasure.following import WHOLE, steps
from tests.erasure.place import Place, remember_everything

EVENTS = (1, 6, WHOLE, WHOLE + 1, WHOLE + 2)
"""After the first relation, in the middle, after the last, after the step of files, after that of the log."""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A place of the tests of this module."""
    with new_place() as made:
        yield made


def run_and_kill(place: Place, events: int) -> list[str]:
    """Let the program work until it has said so many words, and kill it."""
    arguments = [str(place.directory / name) for name in ("home", "ledger", "keys")]
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.erasure.erase_client", *arguments, str(events)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    said = [program.stdout.readline().strip() for _ in range(events)]
    program.send_signal(signal.SIGKILL)
    program.communicate()
    return said


def later(place: Place) -> ManualClock:
    """A clock that stands where the lease of whoever died is over."""
    ((now,),) = place.rows("SELECT clock_timestamp()")
    assert isinstance(now, datetime)
    return ManualClock(now.astimezone(UTC) + LEASE)


@pytest.mark.parametrize("events", EVENTS)
async def test_a_worker_may_be_killed_after_each_relation_and_step(place: Place, events: int) -> None:
    """Whatever it had done counts, nothing is said that is not so, another one ends it, and neighbours stay."""
    word = marker(f"killed after {events}")
    async with place.opening() as memory:
        who = await remember_everything(memory, "acme", word, word)
        neighbour = memory.scope(tenant="norbrook", subject="leo")
        await neighbour.remember("prefers aisle seats")
        untouched = await neighbour.checksums()
        erasure_id = (await who.forget_all()).erasure_id
        assert erasure_id is not None
    said = await asyncio.to_thread(run_and_kill, place, events)
    assert said == [*["relation"] * min(events, WHOLE), *["steps"] * (events - WHOLE)][:events]
    async with place.opening(later(place)) as memory:
        before = await memory.erasure("acme", erasure_id)
        done = {step.step: step.settled_at is not None for step in before.steps}
        assert (done["files"], done["log"]) == (events > WHOLE, events > WHOLE + 1)
        await memory.erase_pending()
        after = await memory.erasure("acme", erasure_id)
        assert after.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
        assert await memory.scope(tenant="norbrook", subject="leo").checksums() == untouched
    assert place.found(word=pieces(word)) == {"word": set()}


@pytest.mark.parametrize("events", [6, WHOLE + 1])
async def test_the_server_may_be_killed_while_files_are_rewritten(events: int) -> None:
    """It recovers what was committed; the request goes on where it was, and no byte comes back with the recovery."""
    word = marker(f"server killed after {events}")
    with new_place() as place:
        async with place.opening() as memory:
            who = await remember_everything(memory, "acme", word, word)
            erasure_id = (await who.forget_all()).erasure_id
            assert erasure_id is not None
        await asyncio.to_thread(run_and_kill, place, events)
        await asyncio.to_thread(kill_server, place.directory / "home")
        with await asyncio.to_thread(embedded.start, place.directory / "home"):
            async with place.opening(later(place)) as memory:
                assert (await steps(memory, erasure_id, "acme"))["rows"].settled_at is not None
                await memory.erase_pending()
                found = await memory.erasure("acme", erasure_id)
                assert found.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
            assert place.found(word=pieces(word)) == {"word": set()}
