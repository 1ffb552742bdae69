"""Make a record findable: its words by language and its vector, written in the record's own transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from olvido.domain.records import IndexState
from olvido.errors import InvalidValue
from olvido.operations.embedding import passage_vectors
from olvido.operations.environment import Environment
from olvido.ports import Vector

LANGUAGES = ("en", "es", "pt", "other")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A text made ready before the transaction, so that none is held open while an embedder works.

    embedding: None when the embedder failed; the record is stored all the same and text recall finds it.
    """

    text: str
    language: str
    embedder: str | None
    embedding: Vector | None

    @property
    def state(self) -> IndexState:
        """Whether recall will find the record by meaning."""
        return IndexState.TEXT_ONLY if self.embedding is None else IndexState.INDEXED

    def columns(self) -> dict[str, object]:
        """What the statements that store a record take for its index entry."""
        return {
            "content": self.text,
            "language": self.language,
            "embedder": self.embedder,
            "embedding": self.embedding,
        }


async def prepare(environment: Environment, text: str, *, language: str | None = None) -> Prepared:
    """Detect the language if it is not given, and embed. Raises InvalidValue for an unknown language."""
    return (await prepare_many(environment, [text], [language]))[0]


async def prepare_many(
    environment: Environment, texts: Sequence[str], languages: Sequence[str | None]
) -> list[Prepared]:
    """`prepare` for each of `texts`, with the language of the same place in `languages`; embedded in one call."""
    if any(language not in LANGUAGES for language in languages if language is not None):
        raise InvalidValue(f"language must be one of {', '.join(LANGUAGES)}, or None to have it detected.")
    known = languages
    if None in languages:
        # Off the event loop: the first call loads a model, which takes about a second.
        known = await asyncio.to_thread(_detect, environment, texts, languages)
    vectors = await passage_vectors(environment, texts)
    if vectors is None:
        return [_worded(text, str(language)) for text, language in zip(texts, known, strict=True)]
    return [
        Prepared(text=text, language=str(language), embedder=environment.embedder.id, embedding=vector)
        for text, language, vector in zip(texts, known, vectors, strict=True)
    ]


def _worded(text: str, language: str) -> Prepared:
    return Prepared(text=text, language=language, embedder=None, embedding=None)


def _detect(environment: Environment, texts: Sequence[str], languages: Sequence[str | None]) -> list[str]:
    return [
        environment.detector.detect(text) if language is None else language
        for text, language in zip(texts, languages, strict=True)
    ]
