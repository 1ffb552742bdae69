"""The score of recall once more, from its documented formula: plain loops, record by record, without arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from olvido.domain.origin import OriginClass
from olvido.domain.policy_document import Ranking

K1 = 0.9
B = 0.5
MOST = 3
"""A word counts at most so often."""

NAMED = 0.5
"""So near is within the time that is all the question asks for."""

UNITS = 10**9
"""Scores that are equal to nine decimal places are a tie."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the formula takes of one record.

    frequencies: how often it has each word of the question; None if its words are not to be compared. sem: from 0 to 1
    after clipping; None if its vector is not to be compared. is_named: a part of the question is a part of one of its
    identifiers. is_spoken: the question names who said it.
    """

    record_id: UUID
    occurred_at: datetime
    frequencies: tuple[int, ...] | None
    sem: float | None
    length: int = 1
    case: str | None = None
    origin: OriginClass = OriginClass.DECLARED
    priority: float = 0
    is_preference: bool = False
    is_named: bool = False
    tells_time: bool = False
    is_spoken: bool = False


@dataclass(frozen=True, kw_only=True)
class Query:
    """What the formula takes of the question. date_weight: from 0 to 1, of an instant.

    named: how far an instant lies in the time that is all the question asks for; None if it asks for something else.
    """

    words: int
    now: datetime
    asks_when: bool = False
    date_weight: Callable[[datetime], float] = lambda _: 0
    named: Callable[[datetime], float] | None = None


Parts = dict[str, float | None]


def reckon(known: Sequence[Known], query: Query, ranking: Ranking) -> dict[UUID, Parts]:
    """Every part of the score of every record, under the names of `ScoreParts`."""
    lex = _lex(known, query.words)
    sem = {each.record_id: None if each.sem is None else min(max(each.sem, 0.0), 1.0) for each in known}
    base = {}
    for each in known:
        one, other = lex[each.record_id], sem[each.record_id]
        text = one if one is not None else other or 0.0
        meaning = other if other is not None else one or 0.0
        matching = ranking.text * text + ranking.meaning * meaning + (ranking.identifier if each.is_named else 0)
        base[each.record_id] = _rounded(matching)
    scores = {}
    for each in known:
        alike = [base[one.record_id] for one in known if one.case == each.case is not None]
        half_lives = max(query.now - each.occurred_at, timedelta()) / ranking.recency_half_life
        parts = {
            "session": ranking.session * max(alike, default=0),
            "date": ranking.date * query.date_weight(each.occurred_at),
            "when": ranking.when if query.asks_when and each.tells_time else 0.0,
            "speaker": ranking.speaker if each.is_spoken else 0.0,
            "recency": ranking.recency * 0.5**half_lives,
            "priority": ranking.priority * each.priority,
            "reliability": ranking.reliability * each.origin.trust / 3,
        }
        scores[each.record_id] = {
            "lex": lex[each.record_id],
            "sem": sem[each.record_id],
            "identifier": ranking.identifier if each.is_named else 0.0,
            "base": base[each.record_id],
            **parts,
            "score": _rounded(base[each.record_id] + sum(parts.values())),
        }
    return scores


def in_order(known: Sequence[Known], query: Query, scores: Mapping[UUID, Parts], ranking: Ranking) -> list[UUID]:
    """The episodes that may be shown: by score, then the newest first, then by id."""
    told = [one for one in known if not one.is_preference]
    relevant = any(_number(scores, one, "base") >= ranking.omit_below for one in told)
    floor = ranking.omit_below if query.named is None else ranking.weak_below
    shown = [
        one
        for one in told
        if (relevant and _enough(scores, one) >= floor)
        or (query.named is not None and query.named(one.occurred_at) >= NAMED)
    ]
    shown.sort(key=lambda one: one.record_id)
    shown.sort(key=lambda one: one.occurred_at, reverse=True)
    shown.sort(key=lambda one: _number(scores, one, "score"), reverse=True)
    return [one.record_id for one in shown]


def _enough(scores: Mapping[UUID, Parts], one: Known) -> float:
    """What the floor is compared with: a date counts at most three times as much as what else matches."""
    base = _number(scores, one, "base")
    return base + min(_number(scores, one, "date"), 3 * base) + _number(scores, one, "session")


def _rounded(score: float) -> float:
    return round(score * UNITS) / UNITS


def _number(scores: Mapping[UUID, Parts], record: Known, name: str) -> float:
    value = scores[record.record_id][name]
    assert value is not None
    return value


def _lex(known: Sequence[Known], words: int) -> dict[UUID, float | None]:
    """BM25 over each record and the one before it in its case, as a share of the most that any record could have."""
    texts: dict[UUID, tuple[list[int], int]] = {}
    for each in known:
        if each.frequencies is not None:
            before = _previous(known, each)
            said = (before and before.frequencies) or (0,) * words
            counted = [min(one + other, MOST) for one, other in zip(each.frequencies, said, strict=True)]
            texts[each.record_id] = counted, each.length + (before.length if before else 0)
    if not texts or not words:
        return dict.fromkeys((each.record_id for each in known), None)
    # What is said several times counts once: each of n records that say the same is the n-th part of one.
    share = {each.record_id: 1 / sum(_same(each, one) for one in known) for each in known if each.record_id in texts}
    number = sum(share.values())
    mean = sum(share[one] * length for one, (_, length) in texts.items()) / number or 1
    having = [sum(share[one] for one, (counted, _) in texts.items() if counted[word]) for word in range(words)]
    idf = [math.log(1 + (number - count + 0.5) / (count + 0.5)) for count in having]
    lex: dict[UUID, float | None] = {}
    for each in known:
        if each.record_id not in texts:
            lex[each.record_id] = None
            continue
        counted, length = texts[each.record_id]
        k = K1 * (1 - B + B * length / mean)
        lex[each.record_id] = sum(idf[word] * tf / (tf + k) for word, tf in enumerate(counted) if tf) / sum(idf)
    return lex


def _same(one: Known, other: Known) -> bool:
    """Whether two records say the same, as far as numbers tell; without a vector each is one of its own."""
    if one.sem is None or other.sem is None:
        return one is other
    return (one.sem, one.frequencies, one.length) == (other.sem, other.frequencies, other.length)


def _previous(known: Sequence[Known], record: Known) -> Known | None:
    """The event before `record` in its case; of one instant, the one with the smaller id."""
    if record.case is None:
        return None
    moment = record.occurred_at, record.record_id
    earlier = [one for one in known if one.case == record.case and (one.occurred_at, one.record_id) < moment]
    return max(earlier, key=lambda one: (one.occurred_at, one.record_id), default=None)
