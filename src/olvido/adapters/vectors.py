"""What the embedders share: text that any engine takes, vectors that can be ranked, the centre of ordinary text."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olvido.errors import EmbedderProblem, EmbedderUnavailable
from olvido.ports import Vector, Vectors

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
"""Everyday sentences in three languages: their mean is what all vectors of a model have in common."""


def readable(text: str) -> str:
    """`text` as any engine can take it: a NUL would end it early, and a lone surrogate has no UTF-8."""
    return text.replace("\x00", " ").encode(errors="replace").decode()


def directions(answered: ArrayLike, *, count: int, dimensions: int, remedy: str) -> Vectors:
    """`answered` as float32 rows of unit length, shape (count, dimensions), that nobody can change.

    remedy: what to do about another size, as a sentence. Raises EmbedderUnavailable for another shape, NaN, an
    infinite number or a zero row.
    """
    given = _numbers(answered)
    if given is None or given.shape != (count, dimensions):
        sizes = "rows of different lengths" if given is None else " by ".join(str(size) for size in given.shape)
        raise EmbedderUnavailable(
            f"The embedder answered {sizes} instead of {count} vectors by {dimensions} numbers. {remedy}",
            problem=EmbedderProblem.WRONG_SIZE,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(given, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < TINY).any():
        raise EmbedderUnavailable(
            "The embedder answered a vector that is not a direction: zero, infinite or not a number. Try another text.",
            problem=EmbedderProblem.NO_DIRECTION,
        )
    unit: Vectors = (given / lengths).astype(np.float32)
    unit.flags.writeable = False
    return unit


def _numbers(answered: ArrayLike) -> NDArray[np.float64] | None:
    try:
        return np.asarray(answered, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def mean_of(vectors: Vectors) -> Vector:
    """Mean of vectors, shape (dimensions,), that nobody can change."""
    mean: Vector = vectors.mean(axis=0, dtype=np.float32)
    mean.flags.writeable = False
    return mean
