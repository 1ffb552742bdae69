"""Ask the embedder, whoever wrote it: a failure of it costs no record, and what it says never reaches a log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from olvido.operations.environment import Environment
from olvido.ports import Vector, Vectors

log = logging.getLogger("olvido.embedder")


async def passage_vectors(environment: Environment, texts: Sequence[str]) -> Vectors | None:
    """Vectors of records, shape (len(texts), dimensions); None if the embedder gave nothing usable."""
    embedder = environment.embedder
    try:
        answered = np.asarray(await embedder.embed_passages(texts), dtype=np.float32)
    except Exception as error:  # noqa: BLE001 - the message of a foreign embedder may quote the text
        _report(environment, type(error).__name__)
        return None
    if not _usable(answered, (len(texts), embedder.dimensions)):
        _report(environment, "shape or values")
        return None
    return answered


async def query_vectors(environment: Environment, text: str) -> tuple[Vector, Vector] | None:
    """Vector of a question and the centre of ordinary text, each of shape (dimensions,); None as above."""
    embedder = environment.embedder
    try:
        vector = np.asarray(await embedder.embed_query(text), dtype=np.float32)
        centre = np.asarray(await embedder.centre(), dtype=np.float32)
    except Exception as error:  # noqa: BLE001 - as above
        _report(environment, type(error).__name__)
        return None
    if not _usable(vector, (embedder.dimensions,)) or centre.shape != vector.shape or not np.isfinite(centre).all():
        _report(environment, "shape or values")
        return None
    return vector, centre


def _usable(vectors: Vectors, shape: tuple[int, ...]) -> bool:
    return vectors.shape == shape and bool(np.isfinite(vectors).all()) and bool(np.any(vectors, axis=-1).all())


def _report(environment: Environment, problem: str) -> None:
    facts = {"action": "embedder_unusable", "embedder": environment.embedder.id, "problem": problem}
    log.warning("the embedder gave nothing usable; text recall goes on", extra=facts)
