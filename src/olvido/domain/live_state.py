"""Which live state a question is about, by the topic terms of the policy (rule 10)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from olvido.domain.characters import ACCENTS, UNSPACED

if TYPE_CHECKING:
    from olvido.domain.policy import Policy

_WORD = re.compile(r"[^\W_]+")
_ANY_WORD = re.compile(f"{UNSPACED}|[^\\W_{UNSPACED[1:]}+")
"""Scripts without spaces do not part words: each of their characters is one, and a term of several a sequence."""

_GAP = ""

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveTopic:
    """Something to look up now. name: as in the policy. consult: the tool that knows, such as "billing.get_payment"."""

    name: str
    consult: str
    description: str


def match_topics(policy: Policy, query: str) -> tuple[LiveTopic, ...]:
    """The live states that `query` asks about, in the order of the policy; empty when there are none.

    Terms of every language are compared as whole words, without case and accents: "pagó" is "pago", and "repayable" is
    not "pay". A term of several words matches them in sequence, one in a script without spaces wherever it stands.
    """
    spoken = words(query)
    index = _index(policy)
    # Most texts begin no term at all, which is cheap to see.
    if index.first.isdisjoint(spoken):
        return ()
    return tuple(topic for topic, terms, ignored in index.topics if _mentions(spoken, terms, ignored))


def words(text: str) -> Words:
    """The words of `text`, folded: without case, accents and compatibility forms; digits count as words."""
    if text.isascii():
        return tuple(_WORD.findall(text.lower()))
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    latin = ACCENTS.sub("", decomposed)
    return tuple(_WORD.findall(latin) if latin.isascii() else _ANY_WORD.findall(decomposed.translate(_WITHOUT_MARKS)))


class _WithoutMarks(dict[int, int | None]):
    """Code point -> itself, or None for a mark that goes with a letter. Filled as characters are met, up to a bound."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code)) == "Mn" else code
        if len(self) < _ROOM:
            self[code] = kept
        return kept


_ROOM = 5_000
_WITHOUT_MARKS = _WithoutMarks()


class _Index(NamedTuple):
    """The live states of a policy, each with its terms and what is ignored. first: the words that terms begin with."""

    topics: tuple[tuple[LiveTopic, frozenset[Words], frozenset[Words]], ...]
    first: frozenset[str]


@lru_cache(maxsize=16)
def _index(policy: Policy) -> _Index:
    topics = tuple(
        (
            LiveTopic(name=name, consult=state.consult, description=state.description),
            _folded(state.topics.values()),
            _folded(state.ignore.values()),
        )
        for name, state in policy.live_state.items()
    )
    return _Index(topics=topics, first=frozenset(term[0] for _, terms, _ in topics for term in terms if term))


def _folded(lists: Iterable[tuple[str, ...]]) -> frozenset[Words]:
    return frozenset(words(term) for terms in lists for term in terms)


def _mentions(spoken: Words, terms: frozenset[Words], ignored: frozenset[Words]) -> bool:
    left = list(spoken)
    for start, end in _found(spoken, ignored):
        left[start:end] = [_GAP] * (end - start)
    return any(True for _ in _found(tuple(left), terms))


def _found(spoken: Words, terms: frozenset[Words]) -> Iterable[tuple[int, int]]:
    lengths = sorted({len(term) for term in terms})
    for start in range(len(spoken)):
        for length in lengths:
            if spoken[start : start + length] in terms:
                yield start, start + length
