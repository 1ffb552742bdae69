"""How records are ranked against a question (rules 16 and 17): the query, the weights and the floors.

The arithmetic is SQL (`recall.sql`, statement `rank`), which reads what is said here as parameters:

    lex   = sum over query words of idf * tf / (tf + K)  /  sum of idf over all query words             in [0, 1)
            K = k1 * (1 - b + b * |d| / mean |d|);  idf = ln(1 + (N - df + 0.5) / (df + 0.5))
    sem   = max(0, cosine(q - m, d - m)),  m = (N * mean vector of the eligible records + 50 * centre) / (N + 50)
    base  = text * lex + meaning * sem
    score = base + recency * 0.5 ** (age / half life) + reliability * trust / 3

lex is BM25 (Robertson and Zaragoza, 2009) divided by the most that any record could reach, so that it has an absolute
scale; N, df and |d| are those of the eligible records of this one person, so nobody else's words move a score. A query
word that no record has counts in the divisor. A record that has no vector of this embedder takes its lex for sem.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from olvido.domain.origin import OriginClass
from olvido.domain.policy_document import Ranking
from olvido.domain.policy_values import nfc
from olvido.errors import InvalidValue

K1 = 0.9
B = 0.5
"""Saturation and length normalisation of BM25, measured best on the development part of LoCoMo."""

CENTRE_WEIGHT = 50
"""As many records as the embedder's own centre counts for, so that a scope of three has a steady mean."""


class Strength(StrEnum):
    """How well an item matches. weak: show it as a guess; what is weaker still is not returned."""

    MATCH = "match"
    WEAK = "weak"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreParts:
    """What a score is made of (module docstring). sem is None if there is no vector to compare."""

    lex: float
    sem: float | None
    base: float
    recency: float
    reliability: float
    score: float


def require_query(value: object, limit: int) -> str:
    """`value` in NFC, as records are. Raises InvalidValue if it is not text, blank, or over `limit` characters."""
    if not isinstance(value, str):
        raise InvalidValue(f"The query must be text; got {type(value).__name__}.")
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidValue("The query has a NUL or an unpaired surrogate. Pass well-formed text.")
    if len(value) > limit:
        raise InvalidValue(f"The query has {len(value)} characters; the policy allows {limit}. Pass a shorter one.")
    if not value.strip():
        raise InvalidValue("The query is blank. Pass the question or the words to look for.")
    return nfc(value)


def strength_of(parts: ScoreParts, ranking: Ranking) -> Strength:
    """Whether the match is one: `base` alone decides, so that a record is not a match for being new."""
    return Strength.WEAK if parts.base < ranking.weak_below else Strength.MATCH


def parameters(ranking: Ranking) -> dict[str, float]:
    """The numbers of this module and of the policy, as the statement `rank` names them."""
    trust = {origin_class: origin_class.trust / OriginClass.DECLARED.trust for origin_class in OriginClass}
    return {
        "k1": K1,
        "b": B,
        "centre_weight": CENTRE_WEIGHT,
        "text_weight": ranking.text,
        "meaning_weight": ranking.meaning,
        "recency_weight": ranking.recency,
        "half_life": ranking.recency_half_life.total_seconds(),
        "declared": ranking.reliability * trust[OriginClass.DECLARED],
        "observed": ranking.reliability * trust[OriginClass.OBSERVED],
        "inferred": ranking.reliability * trust[OriginClass.INFERRED],
        "floor": ranking.omit_below,
    }
