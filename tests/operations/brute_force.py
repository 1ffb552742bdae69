"""Recall by brute force: from the texts as they were recorded, the vectors as they are stored, and plain loops.

What a single text says (its words, identifiers, dates and names) is read by `olvido.domain`, which has its own tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray

import olvido
from olvido import Episode, Kind, Preference
from olvido.adapters.languages import Languages
from olvido.domain.question import Analysis, analyse, dates, identifiers, speaker, stop_language, tells_time
from olvido.domain.words import terms
from tests.conftest import Clone
from tests.domain.reckoning import Known, Parts, Query, in_order, reckon
from tests.operations.word_embedder import WordEmbedder

CENTRE_WEIGHT = 50
CENTRE_SAMPLE = 256


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Everything that is stored of one person.

    vectors: of the embedder that is asked; what has another one is missing. unread: records of another lexer.
    """

    episodes: tuple[Episode, ...]
    preferences: tuple[Preference, ...]
    vectors: Mapping[UUID, NDArray[np.float64]]
    unread: frozenset[UUID] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Who asks what. filters: as `recall` takes them."""

    query: str
    policy: olvido.Policy
    now: datetime
    embedder: WordEmbedder
    detector: Languages
    filters: Mapping[str, Any] = field(default_factory=dict)


def shelve(
    clone: Clone,
    embedder: WordEmbedder,
    episodes: tuple[Episode, ...],
    preferences: tuple[Preference, ...] = (),
    unread: frozenset[UUID] = frozenset(),
) -> Shelf:
    """These records with their vectors, past all row security."""
    with psycopg.connect(clone.superuser) as connection:
        rows = connection.execute(
            "SELECT record_id, embedding::vector::real[] FROM olvido.index_entries"
            " WHERE embedder = %s AND record_id = ANY(%s)",
            [embedder.id, [*(each.record_id for each in episodes), *(each.record_id for each in preferences)]],
        ).fetchall()
    return Shelf(
        episodes=episodes,
        preferences=preferences,
        vectors={record_id: np.array(vector, dtype=np.float64) for record_id, vector in rows},
        unread=unread,
    )


async def expected(shelf: Shelf, asking: Asking) -> tuple[list[UUID], dict[UUID, Parts]]:
    """The episodes in their order, and the parts of the score of every eligible record."""
    language = stop_language(asking.query) or asking.detector.detect(asking.query)
    read = analyse(asking.query, language)
    known = [*_episodes(shelf, asking, read), *_preferences(shelf, asking, read)]
    sem = await _meanings(shelf, asking, [each.record_id for each in known])
    known = [Known(**{**vars(each), "sem": sem.get(each.record_id)}) for each in known]
    spans = dates(asking.query, asking.now)

    def date_weight(at: datetime) -> float:
        return 0 if spans is None else spans.weights[sum(bound <= at for bound in spans.bounds)]

    most = max(spans.weights) if spans is not None and spans.alone else 0
    query = Query(
        words=len(read.words),
        now=asking.now,
        asks_when=read.when,
        date_weight=date_weight,
        named=(lambda at: date_weight(at) / most) if most else None,
    )
    scores = reckon(known, query, asking.policy.ranking)
    return in_order(known, query, scores, asking.policy.ranking), scores


def eligible(shelf: Shelf, asking: Asking) -> list[Episode]:
    """The episodes that may answer at all, each condition by itself."""
    asked = asking.filters
    purpose = asked.get("purpose") or asking.policy.default_purpose
    if Kind.EPISODE not in asked.get("kinds", list(Kind)):
        return []
    return [
        each
        for each in shelf.episodes
        if (each.expires_at is None or each.expires_at > asking.now)
        and each.purpose == purpose
        and ("definition" not in asked or each.definition == asked["definition"])
        and ("case_id" not in asked or each.case_id == asked["case_id"])
        and ("product" not in asked or each.fields.get("product") == asked["product"])
        and ("status" not in asked or each.status == asked["status"])
        and ("origin_class" not in asked or each.origin.origin_class == asked["origin_class"])
        and ("since" not in asked or each.occurred_at >= asked["since"])
        and ("until" not in asked or each.occurred_at < asked["until"])
    ]


def text_of(policy: olvido.Policy, episode: Episode) -> str:
    """What is searched in: the searchable fields and the status, one a line."""
    found: dict[str, object] = {**episode.fields, "status": (episode.status or "").replace("-", " ")}
    return "\n".join(str(found[name]) for name in policy.episodes[episode.definition].searchable if found.get(name))


def _episodes(shelf: Shelf, asking: Asking, read: Analysis) -> list[Known]:
    known = []
    for each in eligible(shelf, asking):
        text = text_of(asking.policy, each)
        known.append(
            Known(
                record_id=each.record_id,
                occurred_at=each.occurred_at,
                case=None if each.case_id is None else f"{each.definition} {each.case_id}",
                origin=each.origin.origin_class,
                priority=asking.policy.episodes[each.definition].priority,
                is_spoken=speaker(each.origin.actor) in read.names,
                sem=None,
                **_said(text, each.language, each.case_id, read),
            )
        )
        if each.record_id in shelf.unread:
            known[-1] = Known(**{**vars(known[-1]), "frequencies": None})
    return known


def _preferences(shelf: Shelf, asking: Asking, read: Analysis) -> list[Known]:
    purpose = asking.filters.get("purpose") or asking.policy.default_purpose
    return [
        Known(
            record_id=each.record_id,
            occurred_at=each.said_at,
            origin=each.origin.origin_class,
            is_preference=True,
            sem=None,
            **_said(f"{each.key}: {each.value}", "other", None, read),
        )
        for each in shelf.preferences
        if Kind.PREFERENCE in asking.filters.get("kinds", list(Kind))
        and (each.expires_at is None or each.expires_at > asking.now)
        and each.purpose == purpose
    ]


SHORTEST_PART = 4
"""A shorter case id is found whole, as a word."""


def _said(text: str, language: str, case_id: str | None, read: Analysis) -> dict[str, Any]:
    """What the formula takes of a text."""
    short = case_id is not None and len(case_id) < SHORTEST_PART
    words = terms(f"{text} {case_id}" if short else text, language)
    held = identifiers(text, case_id)
    return {
        "frequencies": tuple(sum(words.frequencies.get(key, 0) for key in keys) for keys in read.words)
        if read.words
        else None,
        "length": words.length,
        # A part of letters alone stands where an identifier begins.
        "is_named": any(f" {part}" in f" {held}" if part.isalpha() else part in held for part in read.fragments),
        "tells_time": tells_time(text),
    }


async def _meanings(shelf: Shelf, asking: Asking, record_ids: list[UUID]) -> dict[UUID, float]:
    """The centred similarity of each record that has a vector; none where there is nothing to compare."""
    vectors = {each: shelf.vectors[each] for each in record_ids if each in shelf.vectors}
    # Of those that are the same, one.
    newest = [
        *{vectors[each].tobytes(): vectors[each] for each in sorted(vectors, reverse=True)[:CENTRE_SAMPLE]}.values()
    ]
    if not newest or asking.embedder.fails:
        return {}
    # In the precision of the database, so that the question is rounded to half precision in the same way: its numbers
    # meet the records in the type that these are stored in.
    share = np.float32(1 / (len(newest) + CENTRE_WEIGHT))
    mean = (np.sum(newest, axis=0, dtype=np.float32) + CENTRE_WEIGHT * await asking.embedder.centre()) * share
    direction = await asking.embedder.embed_query(asking.query) - mean
    assert direction.dtype == np.float32
    halved = direction.astype(np.float16).astype(np.float64)
    middle = mean.astype(np.float64)
    # Every vector is of length 1, whatever is lost by storing it in half precision.
    around = [1 - 2 * vector @ middle + middle @ middle for vector in newest]
    typical = (sum(around) / len(around)) ** 0.5 * np.linalg.norm(direction.astype(np.float64))
    return {each: float((vector @ halved - middle @ direction) / typical) for each, vector in vectors.items()}
