"""Ask the embedder, whoever wrote it: a failure of it costs no record, and what it says never reaches a log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from olvido.errors import EmbedderProblem, EmbedderUnavailable
from olvido.operations.environment import Environment
from olvido.ports import Vector, Vectors

log = logging.getLogger("olvido.embedder")

HARMLESS = "Does this embedder answer?"


async def passage_vectors(environment: Environment, texts: Sequence[str]) -> Vectors | None:
    """Vectors of records, shape (len(texts), dimensions); None if the embedder gave nothing usable."""
    embedder = environment.embedder
    try:
        answered = np.asarray(await embedder.embed_passages(texts), dtype=np.float32)
    except Exception as error:  # noqa: BLE001 - the message of a foreign embedder may quote the text
        _report(environment, _problem(error))
        return None
    vectors = _directions(answered, (len(texts), embedder.dimensions))
    if vectors is None:
        _report(environment, "shape or values")
    return vectors


async def vectors_apart(environment: Environment, texts: Sequence[str]) -> list[Vector | None] | None:
    """The same for texts that have nothing to do with each other: one that the embedder refuses costs no other one.

    It is looked for by halves; its place has None. None for all if the embedder does not take a harmless text either.
    """
    vectors = await passage_vectors(environment, texts)
    if vectors is not None:
        return list(vectors)
    if await passage_vectors(environment, [HARMLESS]) is None:
        return None
    return await _halves(environment, texts)


async def _halves(environment: Environment, texts: Sequence[str]) -> list[Vector | None]:
    """Of texts that failed together."""
    if len(texts) == 1:
        return [None]
    found: list[Vector | None] = []
    for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
        vectors = await passage_vectors(environment, half)
        found += await _halves(environment, half) if vectors is None else list(vectors)
    return found


async def query_vectors(environment: Environment, text: str) -> tuple[Vector, Vector] | None:
    """Vector of a question and the centre of ordinary text, each of shape (dimensions,); None as above."""
    embedder = environment.embedder
    try:
        vector = np.asarray(await embedder.embed_query(text), dtype=np.float32)
        centre = np.asarray(await embedder.centre(), dtype=np.float32)
    except Exception as error:  # noqa: BLE001 - as above
        _report(environment, _problem(error))
        return None
    direction = _directions(vector, (embedder.dimensions,))
    if direction is None or centre.shape != vector.shape or not np.isfinite(centre).all():
        _report(environment, "shape or values")
        return None
    return direction, centre


def _directions(vectors: Vectors, shape: tuple[int, ...]) -> Vectors | None:
    """The vectors at length 1, on which ranking counts, whatever the embedder took care of.

    None for another shape, and where one has no direction: a number that is not finite, nothing but zeros, or a
    length that float32 cannot hold.
    """
    if vectors.shape != shape:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.vecdot(vectors, vectors))
    if not all(0 < length < np.inf for length in lengths.flat):  # of a single one, half of the time of numpy's all()
        return None
    unit: Vectors = vectors / lengths[..., np.newaxis]
    return unit


def _problem(error: Exception) -> str:
    """A word of our own, or the name of the class: neither can repeat a text."""
    if isinstance(error, EmbedderUnavailable) and isinstance(error.problem, EmbedderProblem):
        return error.problem
    return type(error).__name__


def _report(environment: Environment, problem: str) -> None:
    facts = {"action": "embedder_unusable", "embedder": environment.embedder.id, "problem": problem}
    log.warning("the embedder gave nothing usable; text recall goes on", extra=facts)
