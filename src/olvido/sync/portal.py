"""One event loop in a thread of its own, on which the async core runs for callers that have none."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from olvido.errors import InvalidInput

T = TypeVar("T")


class Portal:
    """Runs coroutines for any thread, notebooks with a running loop of their own included."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = False
        # A call is taken or refused, never given to a loop that is about to stop.
        self._taking = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="olvido-sync", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def is_open(self) -> bool:
        """Whether calls are still taken."""
        return not self._closing

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the loop and wait for its result; what it raises is raised here.

        Raises InvalidInput after `close` and if it comes meanwhile, and when called from the loop's own thread, which
        would wait for itself for ever: that is a callback, such as `progress` or `count_tokens`, that calls back into
        the memory.
        """
        with self._taking:
            problem = self._problem()
            future = None if problem is not None else asyncio.run_coroutine_threadsafe(work, self._loop)
        if future is None:
            work.close()
            raise InvalidInput(problem)
        try:
            return future.result()
        except CancelledError:
            raise InvalidInput(
                "This memory was closed by another thread during the call, which was given up. What it wrote may stand "
                "or not: read it again from a memory that is open."
            ) from None
        except BaseException:
            # KeyboardInterrupt while waiting: the call is given up, and its transaction rolled back.
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread; calls of other threads that are running are given up. Twice is harmless."""
        with self._taking:
            if self._closing:
                return
            self._closing = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        atexit.unregister(self.close)

    def _problem(self) -> str | None:
        if threading.current_thread() is self._thread:
            return (
                "This call comes from inside another call of the same memory, which it would wait for. "
                "Return from the callback first."
            )
        return "This memory is closed. Open it again with olvido.sync.open(...)." if self._closing else None

    def _run(self) -> None:
        """The thread: the loop ends where it ran, since the thread that closes may be running a loop of its own."""
        self._loop.run_forever()
        self._loop.run_until_complete(_give_up_calls())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


async def _give_up_calls() -> None:
    """End what still runs, so that nobody waits for it for ever; what was cancelled already tidies up to its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if not task.cancelling():
            task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
