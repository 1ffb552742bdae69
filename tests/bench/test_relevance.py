"""Measures of rankings, against values worked out by hand."""

from __future__ import annotations

import pytest

from bench.relevance import (
    Ranking,
    floor_that_loses,
    hit_at,
    ndcg_at,
    recall_at,
    reciprocal_rank,
    share_under,
    summary,
)

SECOND_AND_FOURTH = Ranking(evidence=frozenset({"a", "b", "c"}), found=("x", "a", "y", "b", "z"))
NONE = Ranking(evidence=frozenset({"a"}), found=("x", "y"))
NOTHING_FOUND = Ranking(evidence=frozenset({"a"}), found=())


def test_recall_is_the_share_of_the_evidence_that_is_found_early_enough() -> None:
    """Two of three are among the first five, one of three among the first two and three."""
    found = [recall_at(SECOND_AND_FOURTH, k) for k in (1, 2, 3, 4, 5)]
    assert found == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert recall_at(NONE, 5) == recall_at(NOTHING_FOUND, 5) == 0


def test_a_hit_is_any_evidence_that_is_found_early_enough() -> None:
    """The first of the evidence stands at the second place."""
    assert [hit_at(SECOND_AND_FOURTH, k) for k in (1, 2, 10)] == [0, 1, 1]
    assert hit_at(NONE, 10) == hit_at(NOTHING_FOUND, 10) == 0


def test_the_reciprocal_rank_is_that_of_the_first_evidence() -> None:
    """One half for the second place, 0 if there is none."""
    assert reciprocal_rank(SECOND_AND_FOURTH) == pytest.approx(0.5)
    assert reciprocal_rank(NONE) == reciprocal_rank(NOTHING_FOUND) == 0


def test_ndcg_compares_with_the_best_order_there_could_be() -> None:
    """1/log2(3) + 1/log2(5) = 1.06161 of 1 + 1/log2(3) + 1/log2(4) = 2.13093; with k = 2 only, 0.63093 of 1.63093."""
    assert ndcg_at(SECOND_AND_FOURTH, 10) == pytest.approx(0.498189, abs=1e-6)
    assert ndcg_at(SECOND_AND_FOURTH, 2) == pytest.approx(0.386853, abs=1e-6)
    assert ndcg_at(Ranking(evidence=frozenset({"a", "b"}), found=("b", "a", "x")), 10) == pytest.approx(1)
    assert ndcg_at(NONE, 10) == ndcg_at(NOTHING_FOUND, 10) == 0


def test_a_summary_is_the_mean_over_the_questions() -> None:
    """Each question counts the same, however much evidence it has; no question has no mean."""
    found = summary([SECOND_AND_FOURTH, Ranking(evidence=frozenset({"x"}), found=("x",)), NONE, NOTHING_FOUND])
    assert found == {
        "recall@5": 0.4167,
        "recall@10": 0.4167,
        "recall@20": 0.4167,
        "hit@10": 0.5,
        "mrr": 0.375,
        "ndcg@10": 0.3745,
        "questions": 4,
    }
    assert summary([])["recall@10"] is None


def test_a_floor_is_as_high_as_the_share_that_may_be_lost_lets_it_be() -> None:
    """Of a hundred scores, three lie under the fourth lowest; of ten, none may be lost for three in a hundred."""
    hundred = [number / 100 for number in range(100)]
    assert floor_that_loses(0.03, hundred) == pytest.approx(0.03)
    assert share_under(0.03, hundred) == pytest.approx(0.03)
    assert floor_that_loses(0.03, hundred[50:60]) == pytest.approx(0.5)
    assert share_under(0.5, [0.1, 0.5, 0.9, 0.2]) == pytest.approx(0.5)
