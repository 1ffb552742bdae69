"""Word embedders that tell what they were asked for, wait, or fail, and looks at what is stored."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import psycopg

from olvido.errors import EmbedderUnavailable
from olvido.ports import Vector, Vectors
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder

NEW = "words/2"


class Watched(WordEmbedder):
    """A word embedder that keeps what it was asked for. refuses: it takes no batch with such a text."""

    def __init__(self, name: str = NEW, *, refuses: str = "\0") -> None:
        super().__init__(name)
        self.asked: list[str] = []
        self.calls = 0
        self._refuses = refuses

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        self.calls += 1
        self.asked += texts
        if any(self._refuses in text for text in texts):
            raise EmbedderUnavailable("not this one")
        return await super().embed_passages(texts)


class Paused(Watched):
    """The same, waiting before it answers: `started` is set when texts came in, and `go` lets it continue."""

    def __init__(self, name: str = NEW) -> None:
        super().__init__(name)
        self.started = asyncio.Event()
        self.go = asyncio.Event()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, after the pause."""
        self.started.set()
        await self.go.wait()
        return await super().embed_passages(texts)


class Flaky(WordEmbedder):
    """A word embedder that fails in three calls of ten."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name)
        self._chance = random.Random(seed)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, or not."""
        if self._chance.random() < 0.3:
            raise EmbedderUnavailable("busy")
        return await super().embed_passages(texts)

    async def embed_query(self, text: str) -> Vector:
        """A question is never lost here."""
        return self._vector(text)


def look(clone: Clone, query: str) -> list[tuple[Any, ...]]:
    """What is stored, past all row security."""
    with psycopg.connect(clone.superuser) as connection:
        return connection.execute(query.encode()).fetchall()


def entries(clone: Clone) -> dict[tuple[str | None, str | None], int]:
    """How many index entries there are of each lexer, whatever fields it read, and embedder."""
    found = look(clone, "SELECT split_part(lexer, '/', 1), embedder, count(*) FROM olvido.index_entries GROUP BY 1, 2")
    return {(lexer, embedder): count for lexer, embedder, count in found}


def noted(clone: Clone) -> list[str | None]:
    """The lexer and the embedder that the lives are noted to be indexed by, whatever fields the policy has."""
    found = look(clone, "SELECT indexed_by FROM olvido.lives ORDER BY indexed_by")
    return [None if name is None else name.rpartition(" ")[0] for (name,) in found]
