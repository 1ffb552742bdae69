"""What is passed in: the clock, the embedder and the language detector. Nothing else is abstract."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), one unit-length row a text."""

Vector = NDArray[np.float32]
"""Shape (dimensions,), unit length."""


MAX_DIMENSIONS = 3_584
"""The longest vector that is stored: it stands in its row, and a row of PostgreSQL is at most 8 kB."""


class Clock(Protocol):
    """Time for tests. In production there is no clock here: the database's `clock_timestamp()` counts."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""


class Embedder(Protocol):
    """Turns text into unit vectors whose inner product is a similarity.

    `id` names model and version: vectors with different ids are never ranked together. It may be used from several
    event loops. Whoever made an embedder closes it.
    """

    @property
    def id(self) -> str:
        """Model and version, such as "multilingual-e5-small-q4/0.3.0"."""

    @property
    def dimensions(self) -> int:
        """Length of each vector, 1 to 3,584."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of records, shape (len(texts), dimensions). Raises EmbedderUnavailable."""

    async def embed_query(self, text: str) -> Vector:
        """Vector of a question, shape (dimensions,). Raises EmbedderUnavailable."""

    async def centre(self) -> Vector:
        """Mean vector of ordinary text, shape (dimensions,), not unit length: what all vectors have in common."""


class LanguageDetector(Protocol):
    """Tells the language of a text, as a property of the text, never of the person."""

    def detect(self, text: str) -> str:
        """One of "en", "es", "pt" or "other"."""
