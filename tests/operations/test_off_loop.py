"""The one thread for work on many records: in the order of asking, and new in a forked process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from functools import partial

from olvido.operations.off_loop import in_turn

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
