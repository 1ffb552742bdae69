"""The one thread for work on many records, in the order of asking, new in a forked process; and what is made ahead."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

import pytest

from olvido.operations.off_loop import ahead, in_turn

FORKED = """
import asyncio, os
from olvido.operations.off_loop import in_turn
assert asyncio.run(in_turn(lambda: 1)) == 1
child = os.fork()
if child == 0:
    os._exit(asyncio.run(asyncio.wait_for(in_turn(lambda: 7), 10)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


async def test_one_piece_after_the_other_beside_the_event_loop() -> None:
    """Pieces never overlap, whoever asks for them, and the event loop goes on meanwhile."""
    inside = threading.Lock()
    order: list[int] = []

    def piece(number: int) -> int:
        with inside:
            assert threading.current_thread() is not threading.main_thread()
            time.sleep(0)
            order.append(number)
        return number

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while len(order) < 20:
            ticks += 1
            await asyncio.sleep(0)

    found = await asyncio.gather(*(in_turn(partial(piece, number)) for number in range(20)), tick())
    assert found[:-1] == order == list(range(20))
    assert ticks > 0


def test_a_forked_process_has_a_thread_of_its_own() -> None:
    """A server that forks its workers after it wrote something: theirs is done as well."""
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout, ran.stderr) == ("7\n", "")


async def test_the_next_is_made_while_the_caller_is_at_one() -> None:
    """All come in their order; of those that nobody asked for yet, at most two were begun."""
    begun: list[int] = []

    async def numbers() -> AsyncGenerator[int]:
        for number in range(6):
            begun.append(number)
            await asyncio.sleep(0)
            yield number

    seen: list[int] = []
    async with aclosing(ahead(numbers())) as made:
        async for number in made:
            for _ in range(10):
                await asyncio.sleep(0)
            assert begun[-1] == min(number + 2, 5)
            seen.append(number)
    assert seen == list(range(6))


@pytest.mark.parametrize("kind", [ValueError, asyncio.CancelledError])
async def test_what_making_raises_comes_in_its_place(kind: type[BaseException]) -> None:
    """What was made before is given first; also what looks like being cancelled ends the waiting."""

    async def numbers() -> AsyncGenerator[int]:
        yield 1
        raise kind

    async with asyncio.timeout(10), aclosing(ahead(numbers())) as made:
        assert await anext(made) == 1
        with pytest.raises(kind):
            await anext(made)


@pytest.mark.parametrize("seconds", [0, 3600])
async def test_making_ends_with_the_caller(seconds: int) -> None:
    """Nothing goes on for a caller who has left, whether something is being made or there is room for no more."""
    ended: list[bool] = []

    async def numbers() -> AsyncGenerator[int]:
        try:
            for number in range(9):
                yield number
                await asyncio.sleep(seconds)
        finally:
            ended.append(True)

    async with aclosing(ahead(numbers())) as made:
        assert await anext(made) == 0
        await asyncio.sleep(0.01)
    assert ended == [True]
    assert asyncio.all_tasks() == {asyncio.current_task()}
