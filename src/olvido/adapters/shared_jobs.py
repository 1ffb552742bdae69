"""Jobs in the thread of an embedder, and the vectors worth keeping: those of recent queries, and the centre."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

from olvido.errors import EmbedderProblem, EmbedderUnavailable
from olvido.ports import Vector

T = TypeVar("T")

CACHED_QUERIES = 256
CENTRE = b""


def closed() -> EmbedderUnavailable:
    """The error of an embedder that is used after it was closed."""
    return EmbedderUnavailable(
        "This embedder is closed. Open Olvido again, or make another embedder.", problem=EmbedderProblem.CLOSED
    )


async def outcome(job: Future[T]) -> T:
    """Wait for a job of another thread. Who is cancelled while waiting leaves the job to others that wait for it.

    Raises what the job raised, and EmbedderUnavailable if closing dropped it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ended.done():
            ended.set_result(None)

    def tell(_: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop that waited has been closed meanwhile
            loop.call_soon_threadsafe(wake)

    job.add_done_callback(tell)
    await ended
    try:
        return job.result()
    except CancelledError:
        # Passed on as it is, whoever waits would look cancelled itself.
        raise closed() from None


async def own_outcome(job: Future[T]) -> T:
    """The same for a job that nobody else waits for: it ends with who asked for it."""
    try:
        return await outcome(job)
    except asyncio.CancelledError:
        job.cancel()
        raise


class SharedVectors:
    """Vectors of the most recent queries, at most 256, and the centre; each is asked for once, also by callers at once.

    Queries are known by digests under a key that dies with the process; no text is kept. What failed is asked again.
    May be used from any thread and any event loop.
    """

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._guard = threading.Lock()
        self._queries: OrderedDict[bytes, Vector] = OrderedDict()
        self._centre: Vector | None = None
        self._asked: dict[bytes, Future[Vector]] = {}
        self._closed = False

    async def query(self, text: str, ask: Callable[[], Future[Vector]]) -> Vector:
        """The vector of `text`. ask: starts the job that finds it, and does not wait for it."""
        return await self._get(hashlib.blake2b(text.encode(errors="replace"), key=self._key).digest(), ask)

    async def centre(self, ask: Callable[[], Future[Vector]]) -> Vector:
        """The centre of ordinary text."""
        return await self._get(CENTRE, ask)

    def close(self) -> None:
        """Drop all vectors and keep none from now on."""
        with self._guard:
            self._closed = True
            self._queries.clear()
            self._centre = None

    async def _get(self, name: bytes, ask: Callable[[], Future[Vector]]) -> Vector:
        with self._guard:
            known = self._centre if name == CENTRE else self._queries.get(name)
            if known is not None:
                if name != CENTRE:
                    self._queries.move_to_end(name)
                return known
            job = self._asked.get(name)
            is_first = job is None
            if job is None:
                job = self._asked[name] = ask()
        if is_first:
            # Not under the guard: for a job that is done already, the callback runs here and takes it.
            job.add_done_callback(partial(self._keep, name))
        return await outcome(job)

    def _keep(self, name: bytes, job: Future[Vector]) -> None:
        with self._guard:
            del self._asked[name]
            if self._closed or job.cancelled() or job.exception() is not None:
                return
            if name == CENTRE:
                self._centre = job.result()
                return
            self._queries[name] = job.result()
            while len(self._queries) > CACHED_QUERIES:
                self._queries.popitem(last=False)
