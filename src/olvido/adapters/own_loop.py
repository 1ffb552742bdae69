"""An event loop in a thread of its own: what is kept there serves callers of any thread and any other loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from olvido.adapters.shared_jobs import closed

R = TypeVar("R")
T = TypeVar("T")


class OwnLoop(Generic[R]):
    """Runs jobs with something that belongs to one event loop, such as a client with open connections.

    Thread and thing are made at the first job, and again in a forked process, which has neither.
    """

    def __init__(self, *, name: str, make: Callable[[], R], dispose: Callable[[R], Awaitable[None]]) -> None:
        """make, dispose: run in the thread; `dispose` runs when all jobs have ended."""
        self._name = name
        self._make = make
        self._dispose = dispose
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._thing: R | None = None
        self._closed = False

    def submit(self, work: Callable[[R], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start `work` and return at once. Cancelling the future cancels it. Raises EmbedderUnavailable if closed."""
        with self._guard:
            if self._closed:
                raise closed()
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop, self._thing = asyncio.new_event_loop(), None
                self._thread = threading.Thread(target=self._run, args=[self._loop], name=self._name, daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(self._do(work), self._loop)

    def close(self) -> None:
        """Cancel what runs, dispose of the thing and end the thread. Closing twice is harmless."""
        with self._guard:
            is_first, self._closed = not self._closed, True
        if is_first and self._loop is not None and self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    async def _do(self, work: Callable[[R], Coroutine[Any, Any, T]]) -> T:
        if self._thing is None:
            self._thing = self._make()
        return await work(self._thing)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.run_forever()
        loop.run_until_complete(self._leave())
        # What looks up host names in threads of the loop is not waited for.
        loop.close()

    async def _leave(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._thing is not None:
            await self._dispose(self._thing)
