"""A program that repairs an index until it is killed.

It is told APP_URL WORKER_URL CALLS. It says "asked" on a line when its embedder is asked. After CALLS calls the next
one never answers.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import olvido
from olvido.ports import Vectors
from olvido.workers.duties import Embed
from olvido.workers.loop import Worker
from tests.contract.support import PlainDetector
from tests.operations.watched_embedders import NEW
from tests.operations.word_embedder import WordEmbedder

BATCH = 4


class Stuck(WordEmbedder):
    """Answers so many calls, and then no more."""

    def __init__(self, calls: int) -> None:
        super().__init__(NEW)
        self._calls = calls

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        sys.stdout.write("asked\n")
        sys.stdout.flush()
        if self._calls == 0:
            await asyncio.Event().wait()
        self._calls -= 1
        return await super().embed_passages(texts)


async def main(app_url: str, worker_url: str, calls: str) -> None:
    """Repair, as a worker does."""
    opening = olvido.open(app_url, worker_url=worker_url, embedder=Stuck(int(calls)), detector=PlainDetector())
    async with opening as memory:
        await Worker([Embed(memory, batch_size=BATCH)]).run()
