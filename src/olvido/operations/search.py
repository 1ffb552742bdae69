"""Search one scope: read the question before any transaction, then score every eligible record in one (rule 16)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from olvido.domain.eligibility import Eligibility
from olvido.domain.live_state import LiveTopic, match_topics
from olvido.domain.question import Analysis, analyse, dates, require_query, stop_language
from olvido.domain.ranking import (
    CENTRE_SAMPLE,
    CENTRE_WEIGHT,
    Asked,
    Candidates,
    Ranked,
    prioritised,
    products,
    rank,
)
from olvido.domain.words import LEXER
from olvido.errors import InvalidInput
from olvido.operations.embedding import query_vectors
from olvido.operations.environment import Environment
from olvido.ports import Vector
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_SQL = statements("recall")

_TYPES = {
    "record_id": "V16",
    "case": ">i8",
    "occurred_at": ">i8",
    "length": ">i4",
    "hits": ">i8",
    "sem": ">f8",
    "flags": ">i4",
}
"""Of the arrays that the statement `scan` answers, as they are sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A checked question, read and embedded before any transaction.

    read: what the domain reads in its text. vector, centre: None when the embedder failed; only words count then.
    """

    text: str
    read: Analysis
    choice: Eligibility
    limit: int
    topics: tuple[LiveTopic, ...]
    vector: Vector | None
    centre: Vector | None


async def ask(environment: Environment, query: str, choice: Eligibility, *, limit: int | None = None) -> Question:
    """Check the question, then embed it. Raises InvalidValue, InvalidInput."""
    policy = environment.policy
    text = require_query(query, policy.limits.query_length)
    size = policy.limits.recall_items if limit is None else limit
    if type(size) is not int or not 1 <= size <= policy.limits.recall_items_max:
        raise InvalidInput(f"limit must be a whole number between 1 and {policy.limits.recall_items_max}.")
    read = await _read(environment, text)
    vector, centre = await query_vectors(environment, text) or (None, None)
    return Question(
        text=text,
        read=read,
        choice=choice,
        limit=size,
        topics=match_topics(policy, text),
        vector=vector,
        centre=centre,
    )


async def scored(environment: Environment, transaction: Transaction, question: Question) -> tuple[Candidates, Ranked]:
    """Every eligible record, and how it ranks."""
    policy = environment.policy
    columns = await transaction.arrays(_SQL["scan"], _TYPES, **scan_parameters(environment, question))
    candidates = Candidates(**columns)
    asked = Asked(
        words=len(question.read.words),
        when=question.read.when,
        dates=dates(question.text, rows.utc(transaction.now)),
        now=transaction.now,
        is_wordless=question.read.is_wordless,
    )
    return candidates, rank(candidates, asked, policy)


def scan_parameters(environment: Environment, question: Question) -> dict[str, object]:
    """What the statement `scan` takes beside the scope."""
    read = question.read
    return {
        "lexer": LEXER,
        "asked": len(read.words),
        **{f"words_{place}": rows.sparse(product) for place, product in enumerate(products(read.words))},
        # Texts with a line for each, which neither has in it: psycopg takes long to send a list.
        "fragments": "\n".join(pattern for fragment in read.fragments for pattern in _patterns(fragment)),
        "names": "\n".join(read.names),
        "definitions": prioritised(environment.policy),
        "embedder": None if question.vector is None else environment.embedder.id,
        "dimensions": environment.embedder.dimensions,
        "vector": question.vector,
        "centre": None if question.centre is None else question.centre * CENTRE_WEIGHT,
        "centre_weight": CENTRE_WEIGHT,
        "centre_sample": CENTRE_SAMPLE,
        **question.choice.parameters(),
    }


def _patterns(fragment: str) -> tuple[str, ...]:
    """Where it may stand in `identifiers`: anywhere, but a word of letters alone ("late") only where one begins."""
    text = rows.like(fragment)
    return (f"{text}%", f"% {text}%") if fragment.isalpha() else (f"%{text}%",)


_LOADED: set[int] = set()
"""Detectors that were asked before: the first question makes one load its model, which takes half a second."""


async def _read(environment: Environment, text: str) -> Analysis:
    language = stop_language(text)
    if language is not None:
        return analyse(text, language)
    detector = environment.detector
    if id(detector) in _LOADED:
        return analyse(text, detector.detect(text))
    read = await asyncio.to_thread(lambda: analyse(text, detector.detect(text)))
    _LOADED.add(id(detector))
    return read
