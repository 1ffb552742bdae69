"""Measures of a ranking against what should have been found. All are from 0 to 1, higher is better."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """What one question was answered with, best first, and what it should have been answered with (at least one)."""

    evidence: frozenset[str]
    found: tuple[str, ...]


def recall_at(ranking: Ranking, k: int) -> float:
    """The share of the evidence that is among the first `k`."""
    return len(ranking.evidence.intersection(ranking.found[:k])) / len(ranking.evidence)


def hit_at(ranking: Ranking, k: int) -> float:
    """1 if any evidence is among the first `k`."""
    return float(not ranking.evidence.isdisjoint(ranking.found[:k]))


def reciprocal_rank(ranking: Ranking) -> float:
    """One by the place of the first evidence, counted from 1; 0 if none was found."""
    places = (place for place, one in enumerate(ranking.found, start=1) if one in ranking.evidence)
    return 1 / next(places, math.inf)


def ndcg_at(ranking: Ranking, k: int) -> float:
    """Discounted gain of evidence among the first `k`, by the most it could be (Järvelin and Kekäläinen, 2002)."""
    gain = sum(1 / math.log2(place + 1) for place, one in _first(ranking.found, k) if one in ranking.evidence)
    most = sum(1 / math.log2(place + 1) for place, _ in _first(ranking.evidence, k))
    return gain / most


def _first(ids: Collection[str], k: int) -> Iterable[tuple[int, str]]:
    return zip(range(1, k + 1), ids, strict=False)


def summary(rankings: Sequence[Ranking]) -> dict[str, float | int | None]:
    """The mean of each measure over the questions; None where there are none."""
    measures = {
        "recall@5": [recall_at(one, 5) for one in rankings],
        "recall@10": [recall_at(one, 10) for one in rankings],
        "recall@20": [recall_at(one, 20) for one in rankings],
        "hit@10": [hit_at(one, 10) for one in rankings],
        "mrr": [reciprocal_rank(one) for one in rankings],
        "ndcg@10": [ndcg_at(one, 10) for one in rankings],
    }
    return {**{name: mean(values) for name, values in measures.items()}, "questions": len(rankings)}


def mean(values: Sequence[float]) -> float | None:
    """The mean with four digits; None of nothing."""
    return round(math.fsum(values) / len(values), 4) if values else None


def floor_that_loses(share: float, answerable: Sequence[float]) -> float:
    """The highest floor under which at most `share` of the best scores of answerable questions (at least one) lie."""
    return sorted(answerable)[math.floor(share * len(answerable))]


def share_under(floor: float, scores: Sequence[float]) -> float | None:
    """How many of `scores` lie under `floor`, as a share."""
    return mean([float(score < floor) for score in scores])
