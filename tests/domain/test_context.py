"""The token budget and the quoting of context blocks."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.domain.context import CLOSING, HEADINGS, OPENING, Entry, Section, fill, render
from olvido.domain.quoting import quoted
from olvido.domain.tokens import estimate_tokens
from olvido.errors import InvalidInput

HUGE = "an enormous report 漢字 🎂 " * 400
SMALL = [f"relato {number}: não chegou 漢字 👩‍👩‍👧" for number in range(20)]


def history(texts: list[str]) -> list[Entry]:
    """One history entry a text, best first."""
    return [
        Entry(
            section=Section.HISTORY,
            label="history: note, declared via x on 2026-01-01",
            text=text,
            record_id=UUID(int=n),
        )
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize("budget", [0, 1, 50, 500, 100_000])
@pytest.mark.parametrize(
    "count", [estimate_tokens, len, lambda text: len(text.encode())], ids=["estimate", "len", "bytes"]
)
def test_budget_is_hard_and_items_are_whole(budget: int, count: object) -> None:
    """Case 110: one huge memory and twenty small ones never exceed the budget, and no item is cut."""
    assert callable(count)
    entries = history([HUGE, *SMALL])
    filled = fill(entries, budget, count)
    assert (count(filled.text) if filled.text else 0) == filled.tokens <= budget
    assert len(filled.included) + len(filled.omitted) == 21
    for entry in filled.included:
        assert f": {quoted(entry.text or '')}}}\n" in filled.text
    for entry in filled.omitted:
        assert quoted(entry.text or "") not in filled.text


def test_small_items_take_the_room_a_huge_one_cannot() -> None:
    """A huge memory that does not fit does not keep the small ones out, and the block says what is missing."""
    filled = fill(history([HUGE, *SMALL]), 2000, estimate_tokens)
    assert [entry.text for entry in filled.omitted] == [HUGE]
    assert "left out for length: 1;" in filled.text


def test_constraints_come_first() -> None:
    """With room for one item only, it is the constraint, wherever it stood in the input."""
    entries = [*history(["short"]), Entry(section=Section.CONSTRAINTS, label="constraint", text="no phone calls")]
    exact = estimate_tokens(render([entries[1]], 0))
    filled = fill(entries, exact, estimate_tokens)
    assert [entry.section for entry in filled.included] == [Section.CONSTRAINTS]
    assert filled.tokens == exact


def test_the_note_takes_no_room_from_a_constraint() -> None:
    """Budget by budget: the constraint, then its note, and below it what fits beside the note, never instead of it."""
    constraint = Entry(section=Section.CONSTRAINTS, label="constraint", text="never call")
    goal = Entry(section=Section.SESSION, label="goal", text="g")
    entries = [goal, constraint, *history(["a note of some length " * 9])]
    enough = len(render([constraint], 0))
    assert fill(entries, enough - 1, len).included == ()
    shown = [fill(entries, budget, len) for budget in range(enough, enough + 300)]
    assert {filled.included for filled in shown} == {(constraint,), (constraint, goal)}
    assert all(("left out" in filled.text) for filled in shown if goal in filled.included)
    assert "left out for length: 2;" in fill(entries, len(render([constraint], 2)), len).text


def test_a_constraint_too_long_for_the_budget_keeps_the_shorter_ones() -> None:
    """An enormous constraint leaves the short one in, and nothing else: what is below is not told without it."""
    long, short = (Entry(section=Section.CONSTRAINTS, label="constraint", text=text) for text in (HUGE, "never call"))
    filled = fill([long, short, *history(["a"])], 500, len)
    assert filled.included == (short,)
    assert filled.omitted[0] == long
    assert "left out for length: 2;" in filled.text
    assert fill([long, *history(["a"])], 500, len).text == ""


@pytest.mark.parametrize("budget", [-1, True, 1.5, "10", None])
def test_budget_must_be_a_whole_number(budget: object) -> None:
    """Anything but a whole number from 0 up is refused."""
    with pytest.raises(InvalidInput):
        fill([], budget, len)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [-1, True, 0.5, None])
def test_counter_must_count(answer: object) -> None:
    """A counter that answers something else is refused rather than trusted."""
    with pytest.raises(InvalidInput):
        fill(history(["a"]), 100, lambda _: answer)  # type: ignore[arg-type, return-value]


TEXT = st.text(alphabet=st.characters(), max_size=40)
ENTRIES = st.lists(
    st.builds(
        lambda section, label, text, number: Entry(
            section=section, label=label, text=text, record_id=None if number is None else UUID(int=number)
        ),
        st.sampled_from(Section),
        TEXT,
        st.none() | TEXT,
        st.none() | st.integers(0, 99),
    ),
    max_size=8,
)


@given(ENTRIES, st.integers(0, 400), st.sampled_from([estimate_tokens, len, lambda text: len(text.split())]))
def test_stored_text_stays_data(entries: list[Entry], budget: int, count: object) -> None:
    """Whatever records say, each is one line that reads back as it was, under a heading of ours, in one block."""
    assert callable(count)
    filled = fill(entries, budget, count)
    assert (count(filled.text) if filled.text else 0) == filled.tokens <= budget
    assert len(filled.included) + len(filled.omitted) == len(entries)
    if not filled.text:
        assert not filled.included
        return
    assert filled.text.startswith(OPENING)
    assert filled.text.endswith(CLOSING)
    assert (filled.text.count("<"), filled.text.count(">"), filled.text.count("&")) == (2, 2, 0)
    lines = filled.text.split("\n")
    assert len(filled.text.splitlines()) == len(lines) - 1
    said = [json.loads(line) for line in lines[2:-2] if not line.startswith("# ")]
    assert said == [entry.label if entry.text is None else {entry.label: entry.text} for entry in filled.included]
    headings = [line for line in lines[2:-2] if line.startswith("# ")]
    assert set(headings) <= {f"# {heading}" for heading in HEADINGS.values()} | {
        f"# left out for length: {len(filled.omitted)}; fetch them by record id"
    }


STATED = st.lists(
    st.builds(
        lambda text: Entry(section=Section.CONSTRAINTS, label="constraint", text=text),
        st.text(alphabet="a 漢", min_size=1, max_size=60),
    ),
    min_size=1,
    max_size=4,
)


@given(ENTRIES, STATED, st.sampled_from([estimate_tokens, len, lambda text: len(text.split())]))
@settings(deadline=None)
def test_every_budget_has_constraints_first(entries: list[Entry], stated: list[Entry], count: object) -> None:
    """At every budget: without one of the constraints there is nothing else, and a greater one has all of a smaller."""
    assert callable(count)
    given_all = [*entries, *stated]
    constraints = {id(entry) for entry in given_all if entry.section is Section.CONSTRAINTS}
    whole = count(render(given_all, len(given_all)))
    before: set[int] = set()
    for budget in range(0, whole + 1, max(1, whole // 60)):
        filled = fill(given_all, budget, count)
        assert filled.tokens <= budget
        shown = set(map(id, filled.included))
        assert constraints <= shown or shown <= constraints
        assert before <= shown & constraints
        before = shown & constraints
    assert fill(given_all, whole, count).omitted == ()


@given(ENTRIES)
def test_a_block_can_be_said_back_inside_another(entries: list[Entry]) -> None:
    """A whole block as the text of a record is still one line of data in the next block."""
    inner = render(entries, 3)
    outer = render([Entry(section=Section.HISTORY, label="history: note", text=inner)], 0)
    assert (outer.count("<memory>"), outer.count("</memory>")) == (1, 1)
    assert json.loads(outer.split("\n")[3]) == {"history: note": inner}


def test_the_budget_is_spent_by_importance_and_shown_in_order() -> None:
    """With room for some only, the important ones are taken; they stand in the order in which they were given."""
    oldest, middle, newest = history(["oldest", "middle", "newest"])
    room = estimate_tokens(render([oldest, newest], 1))
    filled = fill([oldest, middle, newest], room, estimate_tokens, by_importance=[newest, oldest, middle])
    assert (filled.included, filled.omitted) == ((oldest, newest), (middle,))
    assert fill([oldest, middle, newest], 0, len, by_importance=[newest, oldest, middle]).omitted == (
        newest,
        oldest,
        middle,
    )


def test_a_summary_takes_no_room_where_its_reports_stand() -> None:
    """A summary of what is in the block is not repeated; if one of its reports does not fit, it is told."""
    first, second = history(["a report of the case", "another report of the case " * 20])
    summary = Entry(
        section=Section.SUMMARIES,
        label="history of case at1",
        text="two reports",
        derived_from=(UUID(int=0), UUID(int=1)),
    )
    whole = fill([first, second, summary], 10_000, len)
    assert (whole.included, whole.omitted) == ((first, second), ())
    tight = fill([first, second, summary], 400, len)
    assert (tight.included, tight.omitted) == ((first, summary), (second,))
    repeated = Entry(section=Section.HISTORY, label="history: x", record_id=UUID(int=7), also=(UUID(int=1),))
    assert summary not in fill([first, repeated, summary], 10_000, len).included
