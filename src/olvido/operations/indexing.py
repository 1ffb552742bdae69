"""Make a record findable: its words as numbers and its vector, written in the record's own transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from zlib import crc32

from olvido.domain.characters import fold
from olvido.domain.identifier_shapes import MIN_LENGTH
from olvido.domain.policy import Policy
from olvido.domain.question import identifiers, tells_time
from olvido.domain.records import IndexState
from olvido.domain.words import LEXER, Keys, Terms, terms
from olvido.errors import InvalidValue
from olvido.operations.embedding import passage_vectors
from olvido.operations.environment import Environment
from olvido.operations.off_loop import A_PIECE, in_turn, let_others_on
from olvido.ports import Vector, Vectors
from olvido.storage import rows

LANGUAGES = ("en", "es", "pt", "other")

_Reading = tuple[str, Terms, str, bool]
"""Language, terms, identifiers and whether it tells a time, as in Prepared."""

Embed = Callable[[Environment, Sequence[str]], Awaitable[Sequence[Vector | None] | Vectors | None]]
"""Asks for one vector a text, None where there is none; None for all where the embedder gave nothing usable."""

READ_AT_ONCE = 250
"""Texts that are read for their words before others have their turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A text made ready before the transaction, so that none is held open while an embedder works.

    terms, identifiers, timed: what `olvido.domain` reads in the text: its words, what looks like an order number, and
    whether it tells a time. embedding: None when the embedder failed; text recall finds the record all the same.
    lexer: what made the terms (see `lexers`). indexed_by: what made both, as `lives.indexed_by` has it; None if there
    is no vector.
    """

    language: str
    lexer: str
    terms: Terms
    identifiers: str
    timed: bool
    embedder: str | None
    embedding: Vector | None
    indexed_by: str | None

    @property
    def state(self) -> IndexState:
        """Whether recall will find the record by meaning."""
        return IndexState.TEXT_ONLY if self.embedding is None else IndexState.INDEXED

    def columns(self) -> dict[str, object]:
        """What the statements that store one record take for its index entry."""
        return {
            **self.values(),
            "words": self.words(),
            "embedder": self.embedder,
            "embedding": self.embedding,
            "indexed_by": self.indexed_by,
        }

    def values(self) -> dict[str, object]:
        """The part of `columns` that is JSON."""
        return {
            "language": self.language,
            "lexer": self.lexer,
            "word_count": self.terms.length,
            "identifiers": self.identifiers,
            "timed": self.timed,
        }

    def words(self) -> object:
        """How often the text has each word, as a statement parameter."""
        return rows.sparse(self.terms.frequencies)


def made_by(embedder: str) -> str:
    """What `indexed_by` is without its last word for entries of this embedder and of the words of this version."""
    return f"{LEXER} {embedder}"


@lru_cache(maxsize=16)
def lexers(policy: Policy) -> Mapping[str, str]:
    """What makes the terms of each kind of episode: the words of this version, of the fields that are searchable.

    It is kept with each entry, so that a change of `searchable` in the policy shows which ones are of the old fields.
    """
    return {name: f"{LEXER}/{_digest(rule.searchable)}" for name, rule in policy.episodes.items()}


@lru_cache(maxsize=64)
def indexed_by(policy: Policy, embedder: str) -> str:
    """The name under which a whole life counts as indexed by this embedder, these words and this policy's fields."""
    return f"{made_by(embedder)} {_digest(sorted(lexers(policy).items()))}"


def unfinished(name: str) -> dict[str, str]:
    """What `lives.indexed_by` has while a life is on its way to `name` (see `indexed_by`), as statement parameters.

    half: there is more to do at once. tried: not all of it could be done, and it is tried again later.
    """
    return {"half": f"{name} half", "tried": f"{name} tried"}


def _digest(value: object) -> str:
    return f"{crc32(repr(value).encode()):08x}"


async def prepare(
    environment: Environment,
    text: str,
    *,
    language: str | None = None,
    case_id: str | None = None,
    definition: str | None = None,
) -> Prepared:
    """Detect the language if it is not given, and embed. Raises InvalidValue for an unknown language."""
    return (await prepare_many(environment, [text], [language], [case_id], [definition]))[0]


def require_languages(languages: Iterable[str | None]) -> None:
    """Raise InvalidValue for a language that is unknown; None is to be detected."""
    if any(language not in LANGUAGES for language in languages if language is not None):
        raise InvalidValue(f"language must be one of {', '.join(LANGUAGES)}, or None to have it detected.")


async def prepare_many(
    environment: Environment,
    texts: Sequence[str],
    languages: Sequence[str | None],
    case_ids: Sequence[str | None] | None = None,
    definitions: Sequence[str | None] | None = None,
    *,
    embed: Embed = passage_vectors,
    keys: Keys | None = None,
) -> list[Prepared]:
    """`prepare` for each of `texts`, with what has the same place in the other lists; embedded in one call.

    definitions: of episodes; None at the place of a preference. keys: shared with other calls, one after the other.
    """
    require_languages(languages)
    keys = keys or Keys()
    case_ids = case_ids or [None] * len(texts)
    read: list[_Reading] = []
    for start in range(0, len(texts), READ_AT_ONCE):
        part = slice(start, start + READ_AT_ONCE)
        read_part = partial(_read, environment, texts[part], languages[part], case_ids[part], keys)
        if len(texts) > A_PIECE:
            read += await in_turn(read_part)
        elif None in languages:
            # A thread of its own: the first call loads a model, which takes about a second.
            read += await asyncio.to_thread(read_part)
        else:
            read += read_part()
    vectors = await embed(environment, texts)
    embedder, known = environment.embedder.id, lexers(environment.policy)
    name = indexed_by(environment.policy, embedder)
    return [
        Prepared(
            language=language,
            lexer=LEXER if definition is None else known.get(definition, LEXER),
            terms=words,
            identifiers=found,
            timed=timed,
            embedder=None if vector is None else embedder,
            embedding=vector,
            indexed_by=None if vector is None else name,
        )
        for (language, words, found, timed), vector, definition in zip(
            read,
            [None] * len(texts) if vectors is None else vectors,
            definitions or [None] * len(texts),
            strict=True,
        )
    ]


def _read(
    environment: Environment,
    texts: Sequence[str],
    languages: Sequence[str | None],
    case_ids: Sequence[str | None],
    keys: Keys,
) -> list[_Reading]:
    known = [
        environment.detector.detect(text) if language is None else language
        for text, language in zip(texts, languages, strict=True)
    ]
    read: list[_Reading] = []
    for text, language, case_id in zip(texts, known, case_ids, strict=True):
        let_others_on(len(read))
        folded = fold(text)
        # Once for all readers: folding what is ASCII again changes nothing and costs nothing.
        plain = folded if folded.isascii() else text
        words = terms(_with_case(plain, case_id), language, keys)
        read.append((language, words, identifiers(text, case_id), tells_time(plain)))
    return read


def _with_case(text: str, case_id: str | None) -> str:
    """The text with a case id that is too short to be looked for in parts ("at1"), so that it is found whole."""
    return f"{text}\n{case_id}" if case_id is not None and len(case_id) < MIN_LENGTH else text
