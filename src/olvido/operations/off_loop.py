"""Work on many records, off the event loop: one thread reads words and makes rows of them, one piece after the other.

Python runs one thread at a time. Where several have work, they take it from each other, and from the event loop at
each statement that it sends: with one thread a file of 16 people is imported faster than with one for each of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from time import sleep
from typing import TypeVar

A_PIECE = 8
"""Records after which the event loop gets its turn; as many of them are not worth a thread."""

_T = TypeVar("_T")


class _Thread:
    """The one thread, begun at the first work. A forked child has none: what it asked of the parent's, nobody did."""

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Begin anew, without whatever was to be done."""
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="olvido-records")


_THREAD = _Thread()


async def in_turn(work: Callable[[], _T]) -> _T:
    """What `work` gives, done in the thread once what was asked for before is done. Give it some hundred records."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD.executor, work)


async def ahead(source: AsyncGenerator[_T]) -> AsyncGenerator[_T]:
    """What `source` gives, in its order: while the caller is at one, the next two are made.

    What it raises is raised where it would have given something. Close it (`contextlib.aclosing`): whatever is being
    made then is given up, and `source` is closed.
    """
    made: asyncio.Queue[_T | _Ended] = asyncio.Queue()
    room = asyncio.Semaphore(1)

    async def make() -> None:
        try:
            async with aclosing(source):
                async for one in source:
                    made.put_nowait(one)
                    await room.acquire()
            made.put_nowait(_Ended())
        except BaseException as error:  # noqa: BLE001 - raised to whoever waits for the next one
            made.put_nowait(_Ended(error))

    making = asyncio.create_task(make())
    try:
        while not isinstance(one := await made.get(), _Ended):
            room.release()
            yield one
        if one.error is not None:
            raise one.error
    finally:
        making.cancel()
        await asyncio.wait([making])


class _Ended:
    """That there is no more, and what was raised if there should have been."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def let_others_on(done: int) -> None:
    """Let the event loop go on, now and then, from a loop in a thread that has done so many.

    Python by itself lets a busy thread have 5 ms at a time.
    """
    if done and done % A_PIECE == 0:
        sleep(0)
