"""How records are ranked against a question (rules 16 and 17).

The database reads every eligible record once and answers with keys and numbers (`recall.sql`, statement `scan`); the
arithmetic is here:

    lex   = sum over question words of idf * tf / (tf + K)  /  sum of idf over all question words       in [0, 1)
            tf and |d| of the record and the one before it in its case, tf at most 3
            K = k1 * (1 - b + b * |d| / mean |d|);  idf = ln(1 + (N - df + 0.5) / (df + 0.5))
    sem   = (q - m) . (d - m) / (|q - m| * c), from 0 to 1
            m = (sum of the n newest vectors + 50 * centre) / (n + 50);  c^2 = mean of |d - m|^2 over these n
    base  = text * lex + meaning * sem + identifier * (a part of the question is a part of an identifier of the record)
    score = base + session * (best base of its case) + date * (it happened when the question says)
          + when * (the question asks when, and it tells a time) + speaker * (the question names who said it)
          + recency * 0.5 ** (age / half life) + priority * (of its kind) + reliability * trust / 3

lex is BM25 (Robertson and Zaragoza, 2009) divided by the most that any record could reach, so that it has an absolute
scale; N, df and |d| are those of the eligible records of this one person, so nobody else's words move a score, and
records that say the same count once in them, and in m. A question word that no record has counts in the divisor.
sem is the cosine of centred vectors, with the typical length of d - m for that of each: as good, as measured, and one
inner product a record. What has no vector of this embedder takes its lex for sem, and what has no words of this lexer
its sem for lex; a question of nothing but marks ("?!") has neither. `docs/recall.md` shows what each part is worth.

Two floors stand on that scale. If no base of an episode reaches `omit_below`, nothing is relevant and nothing is
shown, whenever it happened; otherwise an episode is shown if its base and what its case and its date add reach it,
where a date counts at most three times the base. A base under `weak_below` is a weak match. A question that asks for
nothing but a date ("what happened in March?") is answered with what happened then, whatever its base; beside that,
`weak_below` is the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from math import isnan

import numpy as np
from numpy.typing import NDArray

from olvido.domain.origin import OriginClass
from olvido.domain.policy import Policy
from olvido.domain.policy_document import Ranking
from olvido.domain.question import Steps
from olvido.domain.ranking_times import Numbers, Whole, dated_by, most, recency
from olvido.domain.words import MAX_FREQUENCY, MAX_WORDS

K1 = 0.9
B = 0.5
"""Saturation and length normalisation of BM25, measured best on the development part of LoCoMo."""

DATE_HELPS = 3
"""A date adds at most so many times the base to what the floor looks at. A quarter of the floor is enough then: on the
development part of LoCoMo 78 of 82 records that answer a dated question have that, and a quarter of all others."""

NAMED = 0.5
"""From here on a day is near enough to a date that is all a question asks for: some days after it, the month itself."""

CENTRE_WEIGHT = 50
"""As many records as the embedder's own centre counts for, so that a scope of three has a steady mean."""

CENTRE_SAMPLE = 256
"""As many of the newest records are averaged: the mean of more differs by nothing that ranking can show."""

WORD_BITS = 4
WORDS_A_PRODUCT = 6
PRODUCTS = 3
"""Hits are four bits a word (`words.MAX_KEYS` says why that is enough), and one inner product holds six of them, as a
float4 is exact to 24 bits."""


class Strength(StrEnum):
    """How well an item matches. weak: show it as a guess; what is weaker still is not returned."""

    MATCH = "match"
    WEAK = "weak"


class Flag:
    """Bits of `Candidates.flags`: the class of the origin takes two of them, the kind's place in a list the rest."""

    PREFERENCE = 1
    UNINDEXED = 2
    IDENTIFIER = 4
    TIMED = 8
    SPEAKER = 16
    TRUST_SHIFT = 5
    KIND_SHIFT = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """The eligible records of one scope, n of them in any order, as arrays of shape (n,).

    record_id: 16 bytes each. case: a hash of the case id, 0 for none. occurred_at: microseconds since 2000 (UTC).
    length: words of the record. hits: how often it has each word of the question, four bits a word; -1 where its words
    are not to be compared. sem: NaN where its vector is not. flags: see Flag.
    """

    record_id: NDArray[np.void]
    case: Whole
    occurred_at: Whole
    length: Whole
    hits: Whole
    sem: Numbers
    flags: Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What ranking takes of the question. words: how many it has. now: when it is asked (UTC).

    is_wordless: it has nothing but marks ("?!"), so that no record is like it in meaning.
    """

    words: int
    when: bool
    dates: Steps | None
    now: datetime
    is_wordless: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreParts:
    """What a score is made of (module docstring): `score` is `base` and the parts after it, each with its weight.

    lex, sem: from 0 to 1, before their weights; None where there are no words, or no vector, to compare.
    """

    lex: float | None
    sem: float | None
    identifier: float
    base: float
    session: float
    date: float
    when: float
    speaker: float
    recency: float
    priority: float
    reliability: float
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """All candidates scored. episodes: places of those that may be shown, best first; preferences: of all of these.

    named: how far each lies in the time that a question for nothing else names, from 0 to 1, which is within it.
    """

    parts: dict[str, Numbers]
    named: Numbers
    episodes: Whole
    preferences: Whole
    unindexed: int
    total: int

    def base(self, place: int) -> float:
        """How well one candidate matches; what the floors look at."""
        return float(self.parts["base"][place])

    def score(self, place: int) -> float:
        """What one candidate is ordered by."""
        return float(self.parts["score"][place])

    def strength(self, place: int, ranking: Ranking) -> Strength:
        """How well one candidate matches, in a word: all that is asked for, or by its base."""
        return Strength.MATCH if self.named[place] == 1 else strength_of(self.base(place), ranking)

    def parts_of(self, place: int) -> ScoreParts:
        """What the score of one candidate is made of."""
        values = {name: float(values[place]) for name, values in self.parts.items()}
        lex, sem = values.pop("lex"), values.pop("sem")
        return ScoreParts(lex=None if isnan(lex) else lex, sem=None if isnan(sem) else sem, **values)


def prioritised(policy: Policy) -> list[str]:
    """The kinds of episode that have a priority, in the order in which `scan` numbers them from 1."""
    return [definition for definition, rule in policy.episodes.items() if rule.priority]


def strength_of(base: float, ranking: Ranking) -> Strength:
    """Whether the match is one: `base` alone decides, so that a record is not a match for being new."""
    return Strength.WEAK if base < ranking.weak_below else Strength.MATCH


def products(words: Sequence[frozenset[int]]) -> tuple[dict[int, float], ...]:
    """The question as three sparse vectors, whose inner products with a record tell how often it has each word.

    words: at most 15, each as the keys under which a record may hold it.
    """
    return tuple(
        {
            key: float(1 << (WORD_BITS * place))
            for place, keys in enumerate(words[first : first + WORDS_A_PRODUCT])
            for key in keys
        }
        for first in range(0, PRODUCTS * WORDS_A_PRODUCT, WORDS_A_PRODUCT)
    )


def rank(candidates: Candidates, asked: Asked, policy: Policy) -> Ranked:
    """Score every candidate; the order is the same whatever order they come in."""
    ranking = policy.ranking
    flags = candidates.flags
    turns = _Turns.of(candidates)
    hits, length = turns.with_previous(_capped(candidates.hits), candidates.length)
    lex = _bm25(hits, length, asked.words, _shares(candidates))
    sem = np.full(flags.shape, np.nan) if asked.is_wordless else np.minimum(np.maximum(candidates.sem, 0), 1)
    identifier, when, speaker, priority, reliability = _told_by_flags(policy).take(flags, axis=1)
    matching = ranking.text * _either(lex, sem) + ranking.meaning * _either(sem, lex) + identifier
    # Nine digits: sums of the same numbers in another order would decide between equals.
    base = matching.round(9)
    dated = dated_by(candidates.occurred_at, asked.dates)
    parts = {
        "session": ranking.session * turns.best(base),
        "date": ranking.date * dated,
        "when": when if asked.when else np.zeros(flags.shape),
        "speaker": speaker,
        "recency": ranking.recency * recency(candidates.occurred_at, asked.now, ranking.recency_half_life),
        "priority": priority,
        "reliability": reliability,
    }
    score = (base + sum(parts.values())).round(9)
    is_preference = (flags & Flag.PREFERENCE) > 0
    # What is told in the case of a good match, or when the question says, is shown although its own words are few, but
    # not where there is no match: a month would make an answer of whatever happened in it.
    is_relevant = np.where(is_preference, 0, base).max(initial=0) >= ranking.omit_below
    enough = base + np.minimum(parts["date"], DATE_HELPS * base) + parts["session"]
    named = dated / most(asked.dates)
    if asked.dates is not None and asked.dates.alone:
        # Beside what happened then, it finds matches only: a weak likeness says nothing of a date.
        is_shown = (is_relevant & (enough >= ranking.weak_below)) | (named >= NAMED)
    else:
        is_shown = is_relevant & (enough >= ranking.omit_below)
    preferences = is_preference.nonzero()[0]
    return Ranked(
        named=named,
        parts={"lex": lex, "sem": sem, "identifier": identifier, "base": base, **parts, "score": score},
        episodes=_sorted(
            -score, -candidates.occurred_at, candidates.record_id, (is_shown & ~is_preference).nonzero()[0]
        ),
        preferences=preferences,
        unindexed=int(np.count_nonzero(flags & Flag.UNINDEXED)),
        total=flags.size - preferences.size,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Turns:
    """The candidates by case, each case in the order of its events.

    order: places, without those that have no case. starts: where in `order` a case begins. follows: where in `order`
    the one before is the previous event of the same case. numbers: of the cases, from 0, as `order`.
    """

    order: Whole
    starts: Whole
    follows: Whole
    numbers: Whole

    @classmethod
    def of(cls, candidates: Candidates) -> _Turns:
        case = candidates.case
        order = _sorted(case, candidates.occurred_at, candidates.record_id, case.nonzero()[0])
        sorted_case = case[order]
        begins = np.ones(order.size, dtype=bool)
        np.not_equal(sorted_case[1:], sorted_case[:-1], out=begins[1:])
        numbers = begins.cumsum() - 1
        return cls(order=order, starts=begins.nonzero()[0], follows=(~begins).nonzero()[0], numbers=numbers)

    def with_previous(self, hits: Whole, length: Whole) -> tuple[Whole, Whole]:
        """Hits and length of each candidate and the event before it, as one text."""
        both, size = hits.copy(), length.copy()
        after, before = self.order[self.follows], self.order[self.follows - 1]
        own = hits[after]
        both[after] = own + np.where(own >= 0, np.maximum(hits[before], 0), 0)
        size[after] += length[before]
        return both, size

    def best(self, base: Numbers) -> Numbers:
        """The best of `base` in the case of each candidate; 0 for those without a case."""
        best = np.zeros(base.shape)
        if self.starts.size:
            best[self.order] = np.maximum.reduceat(base[self.order], self.starts)[self.numbers]
        return best


def _capped(hits: Whole) -> Whole:
    """The same with no word more than MAX_FREQUENCY (3) times, so that two of them add up within their bits."""
    # Of each four bits: one of the upper two makes it more than three, which are the lower two.
    more = (hits >> 2 | hits >> 3) & _EACH_WORD
    if not more.any():
        return hits
    return np.where(hits < 0, hits, (hits & 3 * _EACH_WORD) | 3 * more)


_EACH_WORD = np.int64(sum(1 << (WORD_BITS * place) for place in range(MAX_WORDS)))


def _shares(candidates: Candidates) -> Numbers:
    """How much of one record each candidate counts for: those that say the same count once, all together (rule 13).

    The same text has the same vector, and so the same likeness, hits and length; without a vector nothing is known.
    """
    told = candidates.sem.view(np.int64) + candidates.hits * _PRIME + candidates.length * _PRIME**2
    order = told.argsort()
    in_order = told[order]
    differs = in_order[1:] != in_order[:-1]
    if differs.all():
        return np.ones(told.shape)
    times = np.diff(np.flatnonzero(differs), prepend=-1, append=differs.size)
    shares = np.empty(told.shape)
    shares[order] = np.repeat(1.0 / times, times)
    return np.where(np.isnan(candidates.sem), 1.0, shares)


_PRIME = np.int64(1_000_000_007)
"""Spreads hits and length over the bits of one number; it wraps around, as wanted."""


def _bm25(hits: Whole, length: Whole, words: int, shares: Numbers) -> Numbers:
    """The lex of each candidate; NaN where there is nothing to compare. shares: see `_shares`."""
    readable = hits >= 0
    if not words or not readable.any():
        return np.full(hits.shape, np.nan)
    share = np.where(readable, shares, 0)
    total = share.sum()
    # Sums rather than products of matrices: those would start threads that wait in a loop, and there is a database.
    k = K1 * (1 - B + B * length / ((length * share).sum() / total or 1))
    # How often each word is hit that any record has, of shape (words, candidates).
    every = int(np.bitwise_or.reduce(hits[readable]))
    met = [place for place in range(words) if every >> WORD_BITS * place & (2**WORD_BITS - 1)]
    times = ((hits >> _SHIFTS[met]) & (2**WORD_BITS - 1)).astype(np.float64)
    having = np.zeros(words)
    having[met] = (np.minimum(times, 1) * share).sum(axis=1)
    idf = np.log1p((total - having + 0.5) / (having + 0.5))
    np.minimum(times, MAX_FREQUENCY, out=times)
    np.divide(times, times + k, out=times)
    times *= (idf / idf.sum())[met, np.newaxis]
    return np.where(readable, times.sum(axis=0), np.nan)


_SHIFTS = WORD_BITS * np.arange(MAX_WORDS)[:, np.newaxis]


def _either(first: Numbers, second: Numbers) -> Numbers:
    unknown = np.isnan(first)
    if not unknown.any():
        return first
    known = np.where(unknown, second, first)
    return np.where(np.isnan(known), 0, known)


@lru_cache(maxsize=16)
def _told_by_flags(policy: Policy) -> Numbers:
    """Identifier, when, speaker, priority and reliability, with their weights, for each value of `Candidates.flags`."""
    ranking = policy.ranking
    priorities = np.array([0.0, *(policy.episodes[definition].priority for definition in prioritised(policy))])
    flags = np.arange(priorities.size << Flag.KIND_SHIFT)
    return np.array(
        [
            np.where(flags & Flag.IDENTIFIER, ranking.identifier, 0.0),
            np.where(flags & Flag.TIMED, ranking.when, 0.0),
            np.where(flags & Flag.SPEAKER, ranking.speaker, 0.0),
            ranking.priority * priorities[flags >> Flag.KIND_SHIFT],
            ranking.reliability * _TRUST[(flags >> Flag.TRUST_SHIFT) & 3],
        ]
    )


_TRUST = np.array([0.0, *sorted(each.trust for each in OriginClass)]) / OriginClass.DECLARED.trust
"""By what `scan` writes for an origin class: 1 inferred, 2 observed, 3 declared."""


def _sorted(first: Numbers | Whole, second: Whole, record_id: NDArray[np.void], places: Whole) -> Whole:
    """`places` by `first`, then `second`, then id, ascending."""
    one, other = first[places], second[places]
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    same = one[1:] == one[:-1]
    if same.any() and (same & (other[1:] == other[:-1])).any():
        # Ids decide between equals, which are rare: they are looked at in this case only.
        halves = record_id[places].view(">u8").reshape(-1, 2)
        order = np.lexsort((halves[:, 1], halves[:, 0], second[places], first[places]))
    return places[order]
