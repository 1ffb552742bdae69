"""Budget: a context never exceeds its tokens, never cuts an item, and says what it left out."""

from __future__ import annotations

import json

import pytest

from olvido import Memory
from olvido.domain.quoting import quoted
from olvido.domain.tokens import estimate_tokens
from olvido.errors import InvalidInput
from tests.cases.support import CONFIRMED, person, record_case


# case 110
@pytest.mark.parametrize("budget", [0, 1, 50, 120, 500, 5000])
async def test_a_context_keeps_its_budget(memory: Memory, budget: int) -> None:
    """One huge and twenty small memories in several scripts: every line is whole, the count never exceeded."""
    ines = person(memory)
    huge = "enrolment " * 95
    small = [f"enrolment note {number} 学生 🎂 açúcar" for number in range(20)]
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    await ines.session("s1").open(constraints=["never by phone"], goal="enrol")
    for text in (huge, *small):
        await ines.remember(text)
    block = await ines.context("enrolment note", max_tokens=budget, session_id="s1", count_tokens=len)
    assert block.tokens == len(block.text) <= budget
    texts = [value for line in block.text.splitlines() if line.startswith("{") for value in json.loads(line).values()]
    assert set(texts) <= {huge, *small, "never by phone", "enrol"}
    assert bool(block.text) == bool(block.included)
    left = [item for item in block.omitted if item.record_id is not None]
    stored = {episode.record_id for episode in (await ines.episodes(limit=200)).items}
    assert not {item.record_id for item in left if item.record_id in stored} & set(block.included)
    if budget >= 500:
        assert block.text.index("never by phone") < block.text.index("language = pt")
    if budget == 5000:
        assert block.omitted == ()
        assert huge in texts


# case 110
@pytest.mark.parametrize("budget", [0, 1, 50, 120, 500, 9000])
async def test_real_counts_stay_in_the_budget(memory: Memory, budget: int) -> None:
    """By bytes, of which no tokenizer makes more tokens, by characters and by the estimate: never over, never cut."""
    ines = person(memory)
    huge = "学生登録 🎂👩‍👩‍👧 " * 60
    small = [f"enrolment note {number} 学生 👩‍👩‍👧 açúcar" for number in range(20)]
    for text in (huge, *small):
        await ines.remember(text)
    counters = (None, len, lambda text: len(text.encode()))
    for count in counters:
        block = await ines.context("enrolment note 学生", max_tokens=budget, count_tokens=count)
        assert block.tokens == (count or estimate_tokens)(block.text) <= budget
        assert {entry.text for entry in block.entries} <= {huge.strip(), huge, *small}
        assert all(quoted(str(entry.text)) in block.text for entry in block.entries)
        assert len({*block.included, *(one.record_id for one in block.omitted)}) + block.more == 21
        if budget < 50:
            assert (block.text, block.entries) == ("", ())
        if budget == 9000:
            assert block.omitted == ()


# case 110
@pytest.mark.parametrize("budget", [-1, True, 1.5, "100", None])
async def test_a_budget_is_a_whole_number(memory: Memory, budget: object) -> None:
    """A negative, fractional or textual budget is refused."""
    with pytest.raises(InvalidInput):
        await person(memory).context("x", max_tokens=budget)  # type: ignore[arg-type]


# case 110
async def test_what_is_left_out_can_be_fetched(memory: Memory) -> None:
    """Each omitted episode is named by its record id, and the id gives the original."""
    ines = person(memory)
    for number in range(8):
        await record_case(ines, f"ev{number}", summary=f"cannot reach the course number {number}", case_id=None)
    block = await ines.context("cannot reach the course", max_tokens=120)
    assert block.omitted
    for item in block.omitted:
        assert item.record_id is not None
        assert (await ines.get_episode(item.record_id)).fields["summary"]
