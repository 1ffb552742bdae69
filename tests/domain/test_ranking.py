"""Ranking as arithmetic: the same as plain loops over its formula, in one order whatever order the records come in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from uuid import UUID

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import olvido
from olvido.domain.day_spans import Steps
from olvido.domain.origin import OriginClass
from olvido.domain.policy_document import Ranking
from olvido.domain.question import require_query
from olvido.domain.ranking import (
    Asked,
    Candidates,
    Flag,
    Ranked,
    ScoreParts,
    Strength,
    products,
    rank,
    strength_of,
)
from olvido.domain.ranking_times import microseconds
from olvido.domain.words import MAX_FREQUENCY, MAX_KEYS, MAX_WORDS
from olvido.errors import InvalidValue
from tests.domain.reckoning import Known, Query, in_order, reckon

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CASES = {"at1": 7, "at2": -9_000_000_000, "at3": 2**62}
"""Cases, and numbers as the database makes of them."""

DATES = Steps(bounds=(NOW - 4 * DAY, NOW - 2 * DAY, NOW - DAY), weights=(0.0, 0.4, 1.0, 0.0))


def policy(**changes: object) -> olvido.Policy:
    """The default policy with some weights changed, and a priority for one kind of episode."""
    default = olvido.default_policy()
    support = default.episodes["support-case"]
    return replace(
        default,
        ranking=default.ranking.model_copy(update=changes),
        episodes={**default.episodes, "support-case": replace(support, priority=0.5)},
    )


def candidates(known: Sequence[Known], unindexed: Sequence[bool] = ()) -> Candidates:
    """The records as the database answers them. Those of a priority are of the one kind that has one."""
    trust = {OriginClass.DECLARED: 3, OriginClass.OBSERVED: 2, OriginClass.INFERRED: 1}
    flags = [
        each.is_preference * Flag.PREFERENCE
        + missing * Flag.UNINDEXED
        + each.is_named * Flag.IDENTIFIER
        + each.tells_time * Flag.TIMED
        + each.is_spoken * Flag.SPEAKER
        + (trust[each.origin] << Flag.TRUST_SHIFT)
        + ((1 if each.priority and not each.is_preference else 0) << Flag.KIND_SHIFT)
        for each, missing in zip(known, unindexed or [False] * len(known), strict=True)
    ]
    hits = [
        -1 if each.frequencies is None else sum(times << 4 * place for place, times in enumerate(each.frequencies))
        for each in known
    ]
    return Candidates(
        record_id=np.array([each.record_id.bytes for each in known], dtype="V16"),
        case=np.array([0 if each.case is None else CASES[each.case] for each in known], dtype=np.int64),
        occurred_at=np.array([microseconds(each.occurred_at) for each in known], dtype=np.int64),
        length=np.array([each.length for each in known], dtype=np.int64),
        hits=np.array(hits, dtype=np.int64),
        sem=np.array([math.nan if each.sem is None else each.sem for each in known]),
        flags=np.array(flags, dtype=np.int64),
    )


def ids(chosen: Candidates, places: Iterable[int]) -> list[UUID]:
    """The record at each of `places`."""
    return [UUID(bytes=chosen.record_id[place].tobytes()) for place in places]


BRIEF = settings(deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink])
"""Without explaining why, which of arrays takes minutes."""


@st.composite
def scopes(draw: st.DrawFn) -> tuple[list[Known], Query]:
    """Up to eight records, many of them alike in case, instant, words or vector, and a question."""
    words = draw(st.sampled_from([0, 1, 2, 3, 5, 6, 15]))
    number = draw(st.integers(0, 8))
    hidden = st.none() if draw(st.booleans()) else st.nothing()
    numbers = draw(st.lists(st.integers(0, 2**128 - 1), min_size=number, max_size=number, unique=True))
    known = []
    for each in numbers:
        preference = draw(st.integers(0, 5)) == 0
        known.append(
            Known(
                record_id=UUID(int=each),
                case=None if preference else draw(st.sampled_from([None, *CASES])),
                occurred_at=NOW - draw(st.integers(-1, 5)) * DAY,
                frequencies=draw(hidden | st.tuples(*[st.sampled_from([0, 0, 1, 2, 3, 15])] * words))
                if words
                else None,
                length=draw(st.integers(0, 40)),
                sem=draw(hidden | st.integers(-400, 1200).map(lambda value: value / 1000)),
                origin=draw(st.sampled_from(OriginClass)),
                priority=0 if preference else draw(st.sampled_from([0, 0.5])),
                is_preference=preference,
                is_named=draw(st.booleans()),
                tells_time=draw(st.booleans()),
                is_spoken=draw(st.booleans()),
            )
        )
    dates = draw(st.sampled_from(["none", "among others", "alone"]))
    query = Query(
        words=words,
        now=NOW,
        asks_when=draw(st.booleans()),
        date_weight=(lambda _: 0) if dates == "none" else stepped,
        named=stepped if dates == "alone" else None,
    )
    return known, query


def stepped(at: datetime) -> float:
    """The weight of DATES at an instant."""
    return DATES.weights[sum(bound <= at for bound in DATES.bounds)]


def asked(query: Query) -> Asked:
    """The question as `rank` takes it."""
    dates = replace(DATES, alone=query.named is not None) if query.date_weight is stepped else None
    return Asked(words=query.words, when=query.asks_when, dates=dates, now=query.now)


@BRIEF
@given(scope=scopes(), floor=st.sampled_from([0, 0.15, 0.6]))
def test_scores_and_order_are_those_of_the_formula(scope: tuple[list[Known], Query], floor: float) -> None:
    """Each part of each score is what loops over the formula give, and so are the order and the floor."""
    known, query = scope
    rules = policy(omit_below=floor, weak_below=max(floor, 0.22))
    expected = reckon(known, query, rules.ranking)
    chosen = candidates(known)
    ranked = rank(chosen, asked(query), rules)
    for place, each in enumerate(known):
        assert ranked.base(place) == pytest.approx(expected[each.record_id]["base"], abs=1e-9)
        assert ranked.score(place) == ranked.parts_of(place).score
        for name, value in expected[each.record_id].items():
            # Two roundings: of the base, and of the sum with what the best base of its case adds.
            tolerance = 3e-9 if name in {"score", "session"} else 1e-9
            assert getattr(ranked.parts_of(place), name) == pytest.approx(value, abs=tolerance), name
    assert ids(chosen, ranked.episodes) == in_order(known, query, expected, rules.ranking)
    assert ids(chosen, ranked.preferences) == [one.record_id for one in known if one.is_preference]
    assert ranked.total == sum(not one.is_preference for one in known)


@BRIEF
@given(scope=scopes(), random=st.randoms(use_true_random=False))
def test_the_order_that_records_come_in_decides_nothing(scope: tuple[list[Known], Query], random: Random) -> None:
    """Records in another order have the very same scores and the same order of answers, ties included."""
    known, query = scope
    shuffled = random.sample(known, len(known))
    first, second = candidates(known), candidates(shuffled)
    one, other = rank(first, asked(query), policy(omit_below=0)), rank(second, asked(query), policy(omit_below=0))
    assert ids(first, one.episodes) == ids(second, other.episodes)
    scores = {each.record_id: other.parts_of(place) for place, each in enumerate(shuffled)}
    for place, each in enumerate(known):
        # Sums in another order: their last digits, which decide nothing, may differ.
        expected = pytest.approx(asdict(scores[each.record_id]), abs=1e-12)
        assert asdict(one.parts_of(place)) == expected


def note(number: int, **more: object) -> Known:
    """A note of the beginning of 2026 that the question matches by one word and a little by meaning."""
    values: dict[str, object] = {"record_id": UUID(int=number), "occurred_at": NOW, "frequencies": (1,), "sem": 0.5}
    return Known(**{**values, **more})  # type: ignore[arg-type]


def ranked(known: Sequence[Known], **weights: object) -> Ranked:
    """Ranked for a question of one word."""
    return rank(candidates(known), Asked(words=1, when=False, dates=None, now=NOW), policy(**weights))


def test_ties_go_to_the_newest_and_then_to_the_smaller_id() -> None:
    """Records that score the same come newest first, and those of one instant by id, as bytes."""
    twins = [note(2**127 + 1), note(3), note(2**64 + 2), note(1, occurred_at=NOW - DAY), note(2)]
    places = ranked(twins, recency=0).episodes
    assert [twins[place].record_id.int for place in places] == [2, 3, 2**64 + 2, 2**127 + 1, 1]


def test_nothing_gives_nothing() -> None:
    """A scope without records, and a question without words, are ranked like any other."""
    empty = ranked([])
    assert (empty.total, empty.unindexed, list(empty.episodes), list(empty.preferences)) == (0, 0, [], [])
    wordless = rank(candidates([note(1, frequencies=None)]), Asked(words=0, when=True, dates=None, now=NOW), policy())
    assert wordless.parts_of(0).lex is None
    assert wordless.base(0) == 0.5


def test_a_record_is_compared_by_what_it_has() -> None:
    """Without a vector a record counts its words twice, without words its vector, and without both it has nothing."""
    both, words, vector, nothing = (
        note(1),
        note(2, sem=None),
        note(3, frequencies=None),
        note(4, frequencies=None, sem=None),
    )
    result = ranked([both, words, vector, nothing])
    lex = result.parts_of(0).lex
    assert lex is not None
    assert [result.base(place) for place in range(4)] == [
        pytest.approx((lex + 0.5) / 2),
        pytest.approx(lex),
        pytest.approx(0.5),
        0,
    ]
    assert (result.parts_of(1).sem, result.parts_of(2).lex) == (None, None)


def test_what_is_to_be_repaired_is_counted() -> None:
    """Records without a vector or without words are counted apart, whatever they score."""
    known = [note(1), note(2, sem=None), note(3, frequencies=None)]
    result = rank(candidates(known, [False, True, True]), Asked(words=1, when=False, dates=None, now=NOW), policy())
    assert result.unindexed == 2


def test_a_better_match_never_scores_less() -> None:
    """More of a word, a nearer vector, a younger, better known or named record: each alone makes the score higher."""
    plain = note(1, frequencies=(1,), sem=0.4, occurred_at=NOW - DAY, origin=OriginClass.INFERRED, length=9)
    for better in (
        {"frequencies": (2,)},
        {"length": 4},
        {"sem": 0.41},
        {"occurred_at": NOW},
        {"origin": OriginClass.OBSERVED},
        {"is_named": True},
        {"is_spoken": True},
        {"priority": 0.5},
    ):
        result = ranked([plain, note(2, **{**vars(plain), "record_id": UUID(int=2), **better})])
        assert result.score(1) > result.score(0), better
        assert list(result.episodes) == [1, 0]


def test_the_previous_event_lends_its_words() -> None:
    """A report is read together with the one before it in its case, never with the one after or of another case."""
    first = note(1, case="at1", frequencies=(1,), sem=0.0, occurred_at=NOW - 2 * DAY)
    second = note(2, case="at1", frequencies=(0,), sem=0.0, occurred_at=NOW - DAY)
    third = note(3, case="at1", frequencies=(0,), sem=0.0)
    other = note(4, case="at2", frequencies=(0,), sem=0.0)
    alone = note(5, frequencies=(0,), sem=0.0)
    result = ranked([first, second, third, other, alone])
    lex = [result.parts_of(place).lex for place in range(5)]
    assert [bool(value) for value in lex] == [True, True, False, False, False]
    session = [result.parts_of(place).session for place in range(5)]
    assert session[0] == session[1] == session[2] == pytest.approx(0.3 * result.base(0))
    assert session[3:] == [0, 0]


def test_the_future_is_as_new_as_now() -> None:
    """A record that is dated after the question gains no more than one of this instant."""
    result = ranked(
        [note(1, occurred_at=NOW + 400 * DAY), note(2, occurred_at=NOW), note(3, occurred_at=NOW - 90 * DAY)]
    )
    assert [result.parts_of(place).recency for place in range(3)] == [0.05, 0.05, pytest.approx(0.025)]


def test_very_old_records_are_ranked() -> None:
    """A record from the beginning of the calendar has no recency left and breaks nothing."""
    result = ranked([note(1, occurred_at=datetime(1, 1, 1, tzinfo=UTC))], recency_half_life=timedelta(seconds=1))
    assert result.parts_of(0).recency < 1e-300
    assert list(result.episodes) == [0]


@BRIEF
@given(
    frequencies=st.dictionaries(st.integers(0, 40), st.integers(1, MAX_FREQUENCY)),
    keys=st.lists(st.integers(0, 40), max_size=MAX_WORDS * MAX_KEYS, unique=True),
    sizes=st.lists(st.integers(1, MAX_KEYS), min_size=MAX_WORDS, max_size=MAX_WORDS),
)
def test_one_inner_product_counts_six_words(frequencies: dict[int, int], keys: list[int], sizes: list[int]) -> None:
    """The digits of the three inner products are how often the record has each word, under whichever of its keys."""
    left = iter(keys)
    groups = [group for group in (frozenset(islice(left, size)) for size in sizes) if group]
    counted = [sum(frequencies.get(key, 0) for key in group) for group in groups]
    digits = [
        (int(sum(times * weights.get(key, 0) for key, times in frequencies.items())) >> 4 * place) & 15
        for weights in products(groups)
        for place in range(6)
    ]
    assert digits == [*counted, *[0] * (len(digits) - len(groups))]
    assert len(digits) >= MAX_WORDS
    # A float4, in which the database adds, holds no larger whole numbers exactly.
    most = [sum(MAX_FREQUENCY * weight for weight in weights.values()) for weights in products(groups)]
    assert all(total < 2**24 for total in most)


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
    """`base` alone decides, at its very bound, so that being new, known or dated makes no match of a weak one."""
    assert strength_of(base, Ranking()) is strength


MARCH = replace(DATES, alone=True)
"""A question that asks for nothing but what happened between two and one day before now."""


def shown(known: Sequence[Known], dates: Steps) -> dict[int, Strength]:
    """The notes that are shown for a question with these dates, best first, and how well they match."""
    chosen, rules = candidates(known), policy()
    found = rank(chosen, Asked(words=1, when=False, dates=dates, now=NOW), rules)
    strengths = [found.strength(int(place), rules.ranking) for place in found.episodes]
    return {each.int: strength for each, strength in zip(ids(chosen, found.episodes), strengths, strict=True)}


def then(number: int, days: float = 1.5, **more: object) -> Known:
    """A note of some days ago that the question does not match."""
    return note(number, **{"occurred_at": NOW - days * DAY, "frequencies": (0,), "sem": 0.0, **more})


def test_a_date_alone_makes_nothing_relevant() -> None:
    """Where no record matches what is asked, none is shown for having happened when the question says."""
    assert shown([then(1), then(2), then(3, sem=0.27)], DATES) == {}


def test_a_date_helps_what_matches_and_no_more_than_that() -> None:
    """Where something matches, a date shows what matches a quarter as well, and no less, and that is weak."""
    known = [then(1, sem=0.06), then(2, sem=0.08), then(3, days=9, sem=0.08), then(4, days=9, sem=0.5)]
    assert shown(known, DATES) == {4: Strength.MATCH, 2: Strength.WEAK}


def test_a_question_for_a_date_is_answered_with_what_happened_then() -> None:
    """What happened in the time is a match, whatever it says; shortly before or after it is not shown."""
    known = [then(1), then(2, days=1.2), then(3, days=3), then(4, days=9), then(5, days=0.5)]
    assert shown(known, MARCH) == {2: Strength.MATCH, 1: Strength.MATCH}
    assert shown([then(4, days=9), then(5, days=0.5)], MARCH) == {}
    assert shown([*known, then(6, days=9, sem=0.3), then(7, days=9, sem=0.5)], MARCH).keys() == {1, 2, 7}


def test_a_day_that_is_asked_for_is_followed_by_weak_matches() -> None:
    """Some days after a day that is all a question asks for are near it, and no match; a preference is none."""
    fading = Steps(bounds=(NOW - 4 * DAY, NOW - 3 * DAY, NOW - 2 * DAY, NOW), weights=(0, 1, 0.8, 0.4, 0), alone=True)
    known = [then(1, days=3.5), then(2, days=2.5), then(3, days=1.5), then(4, days=3.5, is_preference=True)]
    assert shown(known, fading) == {1: Strength.MATCH, 2: Strength.WEAK}


def test_a_year_that_is_asked_for_is_a_match() -> None:
    """A year weighs half of a month, and is within what was asked for all the same."""
    assert shown([then(1)], Steps(bounds=(NOW - 4 * DAY, NOW), weights=(0, 0.5, 0), alone=True)) == {1: Strength.MATCH}


def test_every_part_has_a_weight_in_the_policy() -> None:
    """A weight of zero takes its part away, and there is no other part."""
    known = [note(1, case="at1", is_named=True, is_spoken=True, tells_time=True, priority=0.5)]
    question = Asked(words=1, when=True, dates=replace(DATES, weights=(1, 1, 1, 1)), now=NOW)
    gains = ["session", "date", "when", "speaker", "recency", "priority", "reliability"]
    full = rank(candidates(known), question, policy()).parts_of(0)
    assert all(getattr(full, name) > 0 for name in [*gains, "identifier"])
    for name in gains:
        parts = rank(candidates(known), question, policy(**{name: 0})).parts_of(0)
        assert getattr(parts, name) == 0
        assert parts.score == pytest.approx(full.score - getattr(full, name))
    none = rank(candidates(known), question, policy(**dict.fromkeys(gains, 0))).parts_of(0)
    assert none.score == none.base
    assert {*gains, "identifier", "lex", "sem", "base", "score"} == set(ScoreParts.__slots__)
