"""One event loop in a thread of its own, on which the async core runs for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from olvido.errors import InvalidInput

T = TypeVar("T")


class Portal:
    """Runs coroutines for any thread, notebooks with a running loop of their own included."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="olvido-sync", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether calls are still taken."""
        return not self._closing

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the loop and wait for its result; what it raises is raised here.

        Raises InvalidInput after `close`, and when called from the loop's own thread, which would wait for itself for
        ever: that is a callback, such as `progress` or `count_tokens`, that calls back into the memory.
        """
        problem = None
        if threading.current_thread() is self._thread:
            problem = (
                "This call comes from inside another call of the same memory, which it would wait for. "
                "Return from the callback first."
            )
        elif self._closing:
            problem = "This memory is closed. Open it again with olvido.sync.open(...)."
        if problem is not None:
            work.close()
            raise InvalidInput(problem)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # KeyboardInterrupt while waiting: the call is given up, and its transaction rolled back.
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread. Closing twice is harmless."""
        if self._closing:
            return
        self._closing = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        """The thread: the loop ends where it ran, since the thread that closes may be running a loop of its own."""
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
