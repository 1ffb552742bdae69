"""The token budget and the quoting of context blocks."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.context import CLOSING, Entry, Section, estimate_tokens, fill, quoted, render
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


@given(st.text(alphabet=st.characters(), max_size=60), st.text(alphabet=st.characters(), max_size=60))
def test_stored_text_stays_data(label: str, text: str) -> None:
    """Whatever a record says, it stays on its line, reads back as JSON and cannot close the block."""
    block = render([Entry(section=Section.HISTORY, label=label, text=text)], 0)
    lines = block.split("\n")
    assert len(block.splitlines()) == len(lines) - 1 == 5
    assert json.loads(lines[3]) == {label: text}
    assert block.count("<") == 2
    assert block.endswith(CLOSING)


def test_hidden_characters_are_shown_escaped() -> None:
    """Marks that reorder text and invisible tag letters are escaped; the joiners of emoji stay."""
    assert quoted("a\u202eb\U000e0041\x7f") == '"a\\u202eb\\udb40\\udc41\\u007f"'
    assert quoted("👩‍👧") == '"👩‍👧"'


@given(st.text(alphabet=st.characters()))
def test_estimate_never_falls_when_text_grows(text: str) -> None:
    """More text never counts as fewer tokens, and nothing counts as none."""
    assert estimate_tokens("") == 0
    assert 0 < estimate_tokens(text + "x") >= estimate_tokens(text)
