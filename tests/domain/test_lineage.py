"""Records that say the same are one item with every origin; what is only similar stays apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.lineage import differ, folded, gather, moment
from olvido.domain.origin import Origin
from olvido.domain.ranking import Strength
from olvido.domain.recalled import RecallItem
from olvido.domain.records import Episode, JsonScalar, Kind
from tests.domain.told import DAY, GUESSED, SAID, SEEN, START, episode, item, text_of

ORIGINS = (SAID, SEEN, GUESSED, Origin.observed("crm.lookup", ref="row-1"), Origin.declared("web-form", ref="row-1"))


def gathered(records: Sequence[Episode]) -> list[RecallItem[Episode]]:
    """The items of these records, in this order."""
    return gather([item(record) for record in records], text_of)


# case 58
def test_the_strongest_origin_stands_for_all_and_then_the_newest() -> None:
    """One note told five times in four ways is one item, with the other four and their origins beside it."""
    records = [
        episode(1, text="Prefers aisle seats", origin=GUESSED, definition="imported-note", day=9),
        episode(2, text="prefers  aisle seats", origin=SAID, day=1),
        episode(3, text="prefers aisle seats\n", origin=SAID, day=3),
        episode(4, text="PREFERS AISLE SEATS", origin=SEEN, day=8),
        episode(5, text="prefers aisle seats", origin=SAID, day=2),
    ]
    (kept,) = gathered(records)
    assert (kept.record, kept.kind, kept.text, kept.at) == (
        records[2],
        Kind.EPISODE,
        "prefers aisle seats\n",
        START + 3 * DAY,
    )
    assert [(other.record_id, other.definition, other.origin, other.at) for other in kept.also] == [
        (record.record_id, record.definition, record.origin, record.occurred_at)
        for record in (records[1], records[4], records[3], records[0])
    ]
    assert kept.record_ids == (kept.record_id, *(other.record_id for other in kept.also))
    assert kept.sources == 3
    assert kept.label.split("; ") == [
        "history: note, declared via user-request on 2026-01-04",
        "untrusted text",
        "told 5 times by 3 sources since 2026-01-02",
    ]


# case 61
@pytest.mark.parametrize(
    "first, second",
    [
        ("flight at 9:15", "flight at 9:45"),
        ("Ana Reis is my manager", "Ana Reis is my sister"),
        ("likes window seats", "does not like window seats"),
        ("likes window seats", "likes window seats!"),
        ("sesión", "sesion"),
        ("room 1²", "room 12"),
        ("AB-1", "AB 1"),
        ("non smoker", "nonsmoker"),
    ],
)
def test_what_is_similar_stays_apart(first: str, second: str) -> None:
    """Another word, sign, accent or digit is another memory."""
    assert len(gathered([episode(1, text=first), episode(2, text=second)])) == 2


@pytest.mark.parametrize(
    "first, second",
    [
        ("café", unicodedata.normalize("NFD", "café")),
        ("STRASSE", "Straße"),
        ("İstanbul", unicodedata.normalize("NFD", "İSTANBUL")),
        ("a\u00a0b", "A\t\n b"),
        (" a b ", "a b"),
    ],
)
def test_normal_form_case_and_white_space_do_not_count(first: str, second: str) -> None:
    """The same words, however they were typed, are one memory."""
    assert len(gathered([episode(1, text=first), episode(2, text=second)])) == 1


def test_another_definition_case_or_status_is_another_memory() -> None:
    """Reports with the same text stay apart if they belong elsewhere or say another status; notes are their text."""
    text = "cannot log in"
    records = [
        episode(1, definition="support-case", text=text),
        episode(2, definition="support-case", text=text, case_id="at1"),
        episode(3, definition="support-case", text=text, case_id="at2"),
        episode(4, definition="support-case", text=text, case_id="at1", status="open"),
        episode(5, definition="purchase", text=text),
        episode(6, definition="imported-note", text=text),
        episode(7, definition="note", text=text),
    ]
    assert [kept.record.record_id.int for kept in gathered(records)] == [1, 2, 3, 4, 5, 7]


def test_a_field_that_says_otherwise_keeps_records_apart() -> None:
    """A report that says more of the same is the same; one with another value of an unsearched field is not."""
    fields: list[dict[str, JsonScalar]] = [
        {"text": "x"},
        {"text": "x", "channel": "web"},
        {"text": "x", "channel": "phone"},
        {"text": "x", "seat": 3},
    ]
    items = [item(episode(number, fields=told)) for number, told in enumerate(fields, start=1)]
    found = gather(items, lambda record: str(record.fields["text"]))
    assert [sorted(record_id.int for record_id in kept.record_ids) for kept in found] == [[1, 2, 4], [3]]


def test_repetition_of_one_root_counts_once() -> None:
    """Nine reports of one row of one system are one source; without a reference, those of one source and actor."""
    row = Origin.observed("crm.lookup", ref="row-1")
    nine = [episode(number, text="x", origin=row, day=number) for number in range(1, 10)]
    (kept,) = gathered(nine)
    assert (kept.sources, len(kept.also)) == (1, 8)
    assert kept.label.endswith("; told 9 times by 1 source since 2026-01-02")
    (kept,) = gathered([*nine, episode(10, text="x", origin=SEEN), episode(11, text="x", origin=SEEN)])
    assert (kept.sources, len(kept.also)) == (2, 10)


def test_the_place_and_the_score_are_those_of_the_best() -> None:
    """The kept record takes the place, the score and the strength of the best ranked that says the same."""
    weak = item(episode(2, text="x", day=1), score=0.1, strength=Strength.WEAK)
    items = [item(episode(1, text="X"), score=0.9), item(episode(3, text="y"), score=0.4), weak]
    first, second = gather(items, text_of)
    assert (first.record, first.score, first.strength) == (weak.record, 0.9, Strength.MATCH)
    assert "weak match" not in first.label
    assert second == items[1]
    (only,) = gather([weak, item(episode(4, text="x"), score=0.05, strength=Strength.WEAK)], text_of)
    assert (only.strength, "weak match" in only.label) == (Strength.WEAK, True)


RECORDS = st.lists(
    st.builds(
        lambda text, origin, day, status: (text, origin, day, status),
        st.sampled_from(["a", "A", " a", "b", "c d", "c  D"]),
        st.sampled_from(ORIGINS),
        st.integers(0, 3),
        st.sampled_from([None, "open"]),
    ),
    max_size=12,
)


@given(RECORDS)
def test_nothing_is_lost_and_order_decides_nothing_else(told: list[tuple[str, Origin, int, str | None]]) -> None:
    """Every record is in exactly one item, items keep the order of their best, and the best origin stands for each."""
    records = [
        episode(number, text=text, origin=origin, day=day, status=status)
        for number, (text, origin, day, status) in enumerate(told, start=1)
    ]
    found = gathered(records)
    assert sorted(record_id for kept in found for record_id in kept.record_ids) == [
        record.record_id for record in records
    ]
    places = [min(record_id.int for record_id in kept.record_ids) for kept in found]
    assert places == sorted(places)
    by_id = {record.record_id: record for record in records}
    for kept in found:
        same = [by_id[record_id] for record_id in kept.record_ids]
        assert {(folded(text_of(each)), each.status) for each in same} == {(folded(kept.text), kept.record.status)}
        assert kept.record == max(
            same, key=lambda each: (each.origin.origin_class.trust, each.occurred_at, each.record_id)
        )
        assert 1 <= kept.sources <= len(same)
        assert moment(kept) == max((each.occurred_at, each.record_id) for each in same)
    again = {frozenset(kept.record_ids): kept.record_id for kept in gathered(records[::-1])}
    assert again == {frozenset(kept.record_ids): kept.record_id for kept in found}


def test_reports_differ_by_status_or_by_a_field_that_both_have() -> None:
    """Another status, a status beside none, or another value of one field; a field that only one has is no conflict."""
    one = episode(1, case_id="at1", status="open", fields={"topic": "access"})
    assert not differ([one, episode(2, case_id="at1", status="open", fields={"channel": "web", "topic": "ACCESS"})])
    assert differ([one, episode(2, case_id="at1", status="closed")])
    assert differ([one, episode(2, case_id="at1")])
    assert differ([one, episode(2, case_id="at1", status="open", fields={"topic": "card"})])
    assert not differ([one])
    assert moment(item(one)) == (START, UUID(int=1))


@given(st.text(alphabet=st.characters()))
def test_folding_is_stable(text: str) -> None:
    """Folded text folds to itself, so that what says the same also does after a second look."""
    assert folded(folded(text)) == folded(text)
