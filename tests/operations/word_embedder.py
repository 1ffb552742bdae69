"""An embedder whose vectors can be computed by hand, and the notes that the tests of recall are about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cache

import numpy as np

from olvido.errors import EmbedderUnavailable
from olvido.ports import Vector, Vectors

DIMENSIONS = 512
"""So many that the directions of two words are nearly orthogonal: texts without a common word are not alike."""

DAY = timedelta(days=1)
NOTES = (
    "prefers aisle seats on long flights",
    "prefere receber a fatura por email no começo do mês",
    "the printer in the office shows error E-77 again",
    "no puede entrar en el curso de matemáticas desde ayer",
    "asked for a vegetarian meal on the flight to Lisbon",
    "o curso de matemática não abre no telemóvel",
    "AB-1234",
    "the course page shows error 503 after login",
    "le gusta que le llamen por la tarde",
    "printer printer printer toner",
)


class WordEmbedder:
    """A small embedder: a text is the sum of one fixed random vector a word, plus what all texts share."""

    def __init__(self, name: str = "words/1", dimensions: int = DIMENSIONS) -> None:
        self.id = name
        self.dimensions = dimensions
        self.fails = False

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        if self.fails:
            raise EmbedderUnavailable("out")
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        """The same as a passage."""
        if self.fails:
            raise EmbedderUnavailable("out")
        return self._vector(text)

    async def centre(self) -> Vector:
        """What all texts share."""
        return self._vector("")

    def _vector(self, text: str) -> Vector:
        words = [_direction(word, self.dimensions) for word in text.lower().split()]
        summed = sum(words, np.full(self.dimensions, 2, dtype=np.float64))
        return np.asarray(summed / np.linalg.norm(summed), dtype=np.float32)


@cache
def _direction(word: str, dimensions: int) -> Vector:
    return np.random.default_rng(hash_of(word)).normal(size=dimensions).astype(np.float32)


def hash_of(word: str) -> int:
    """A number that is the same in every process."""
    return int.from_bytes(word.encode()[:12].ljust(12, b"."), "big")
