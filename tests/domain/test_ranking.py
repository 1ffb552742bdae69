"""The question, the weights and the floors of recall; the arithmetic is tested against numpy in tests/operations."""

from __future__ import annotations

import pytest

from olvido.domain.policy_document import Ranking
from olvido.domain.ranking import ScoreParts, Strength, parameters, require_query, strength_of
from olvido.errors import InvalidValue


@pytest.mark.parametrize(
    "query",
    ["", "   \n", "a\x00b", "\ud83d", "x" * 2001, None, 7, b"bytes"],
    ids=["empty", "blank", "nul", "surrogate", "long", "none", "number", "bytes"],
)
def test_unusable_queries_are_refused(query: object) -> None:
    """A query that is not usable text is refused with a typed error that does not repeat it."""
    with pytest.raises(InvalidValue) as refused:
        require_query(query, 2000)
    assert len(str(refused.value)) < 200


def test_query_is_composed_like_records() -> None:
    """A decomposed accent in the query becomes the composed one that records are stored with."""
    assert require_query("cafe\u0301", 5) == "café"


def test_limit_counts_characters() -> None:
    """The limit is exact, in characters."""
    assert require_query("🎂" * 2000, 2000) == "🎂" * 2000


@pytest.mark.parametrize(
    "base, strength",
    [(0.2199, Strength.WEAK), (0.22, Strength.MATCH), (0.9, Strength.MATCH)],
    ids=["below", "at", "above"],
)
def test_strength_looks_at_the_match_alone(base: float, strength: Strength) -> None:
    """Recency and reliability never turn a weak match into one."""
    parts = ScoreParts(lex=base, sem=base, base=base, recency=0.05, reliability=0.02, score=base + 0.07)
    assert strength_of(parts, Ranking()) is strength


def test_reliability_follows_trust() -> None:
    """Declared gains the whole of the reliability weight, observed two thirds, inferred one."""
    named = parameters(Ranking(reliability=0.03))
    assert named["declared"] == pytest.approx(0.03)
    assert named["observed"] == pytest.approx(0.02)
    assert named["inferred"] == pytest.approx(0.01)
