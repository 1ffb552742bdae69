"""How long the parts of one recall take: the embedder, the transaction of the database, and the ranking inside it."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from bench.measure import MILLISECONDS, percentile, rounded
from olvido.domain.ranking import Ranked, rank
from olvido.operations import search
from olvido.ports import Embedder, Vector, Vectors
from olvido.storage.database import Database, Transaction

T = TypeVar("T")


class Stages:
    """Milliseconds of each part, one number a recall; recalls are asked one after the other."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)
        self._now: dict[str, float] = {}

    def add(self, part: str, since: int) -> None:
        """Count the time since `since` (nanoseconds of `perf_counter_ns`) to `part` of the recall that runs."""
        self._now[part] = self._now.get(part, 0.0) + (time.perf_counter_ns() - since) * MILLISECONDS

    async def of(self, recall: Awaitable[T]) -> T:
        """Await one recall and keep its times.

        analysis: all the rest, such as the language and the words of the question, as far as the embedder takes no
        longer: they are read meanwhile.
        """
        self._now = {"embedding": 0.0, "database": 0.0, "ranking": 0.0}
        start = time.perf_counter_ns()
        answer = await recall
        total = (time.perf_counter_ns() - start) * MILLISECONDS
        parts = self._now
        parts["database"] -= parts["ranking"]
        for part, elapsed in {**parts, "analysis": total - sum(parts.values()), "total": total}.items():
            self._times[part].append(elapsed)
        return answer

    def document(self) -> dict[str, object]:
        """Median and 95th percentile of each part, in milliseconds; {} if nothing was timed."""
        return {
            part: {"median": rounded(statistics.median(times)), "p95": rounded(percentile(times, 0.95))}
            for part, times in self._times.items()
        }

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the transactions of recalls, and what ranks inside them, until the block ends."""
        snapshot = Database.snapshot

        @asynccontextmanager
        async def timed(database: Database, *arguments: Any, **named: Any) -> AsyncIterator[Transaction]:  # noqa: ANN401 - whatever snapshot takes
            start = time.perf_counter_ns()
            try:
                async with snapshot(database, *arguments, **named) as transaction:
                    yield transaction
            finally:
                self.add("database", start)

        def ranked(*arguments: Any) -> Ranked:  # noqa: ANN401 - whatever rank takes
            start = time.perf_counter_ns()
            try:
                return rank(*arguments)
            finally:
                self.add("ranking", start)

        with patch.object(Database, "snapshot", timed), patch.object(search, "rank", ranked):
            yield


class Watched:
    """An embedder whose queries are timed. A question that was embedded once is not embedded again."""

    def __init__(self, embedder: Embedder, stages: Stages) -> None:
        self._embedder = embedder
        self._stages = stages
        self._vectors: dict[str, Vector] = {}

    @property
    def id(self) -> str:
        """That of the embedder."""
        return self._embedder.id

    @property
    def dimensions(self) -> int:
        """Those of the embedder."""
        return self._embedder.dimensions

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does."""
        return await self._embedder.embed_passages(texts)

    async def embed_query(self, text: str) -> Vector:
        """As the embedder does, once a text."""
        if text not in self._vectors:
            start = time.perf_counter_ns()
            self._vectors[text] = await self._embedder.embed_query(text)
            self._stages.add("embedding", start)
        return self._vectors[text]

    async def centre(self) -> Vector:
        """As the embedder does."""
        return await self._embedder.centre()
