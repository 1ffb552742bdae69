"""Facts: only what was said about the person is kept, questions leave no trace, and what was just said is known."""

from __future__ import annotations

from datetime import timedelta

import pytest

from olvido import Memory
from olvido.errors import LiveState, NotInPolicy, OriginNotAccepted
from tests.cases.support import CONFIRMED, GUESS, START, dump, person, record_case, served
from tests.conftest import Clone


# case 105
@pytest.mark.parametrize(
    "question", ["What is the balance of customer Dario?", "my friend hates football", "Can you answer me in English?"]
)
async def test_asking_stores_nothing(memory: Memory, clone: Clone, question: str) -> None:
    """Neither the person asked about nor the language of the question becomes something about the user."""
    stored = dump(clone.superuser)
    ines = person(memory)
    await ines.recall(question)
    await ines.context(question, max_tokens=500)
    await ines.consolidate()
    assert dump(clone.superuser) == stored

    await ines.session("s1").append("user", question)
    await ines.consolidate()
    assert await ines.preferences() == ()
    assert await served(ines, question) == []
    assert {name for name, rows in (await ines.stored_rows()).items() if rows} == {
        "sessions",
        "messages",
        "due",
        "lives",
        "subjects",
    }


# case 106
async def test_a_context_that_is_fed_back_is_only_a_message(memory: Memory) -> None:
    """The context block, said back in a conversation, makes no preference, episode or summary."""
    ines = person(memory)
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    await record_case(ines, "ev1")
    await ines.consolidate()
    block = await ines.context("course", max_tokens=2000)
    before = await ines.stored_rows()
    await ines.session("s1").append("assistant", block.text)
    await ines.consolidate()
    after = await ines.stored_rows()
    assert {name: rows - before[name] for name, rows in after.items() if rows != before[name]} == {
        "sessions": 1,
        "messages": 1,
    }
    assert (await ines.context("course", max_tokens=2000)).text == block.text


# case 106
async def test_nothing_is_inferred_by_default(memory: Memory, clone: Clone) -> None:
    """The default policy takes no inferred value at all, not even where none stands."""
    stored = dump(clone.superuser)
    ines = person(memory)
    for key, value in (("language", "pt"), ("contact_channel", "email"), ("display_name", "Nes")):
        with pytest.raises(OriginNotAccepted):
            await ines.set_preference(key, value, origin=GUESS)
    with pytest.raises(OriginNotAccepted):
        await ines.remember("probably likes football", origin=GUESS)
    assert dump(clone.superuser) == stored


# case 107
async def test_what_was_just_said_is_in_the_context(memory: Memory) -> None:
    """An explicit write is there for the very next read, through another handle too."""
    await person(memory).set_preference("language", "pt", origin=CONFIRMED)
    await person(memory).remember("prefers aisle seats")
    await person(memory).session("s1").open(constraints=["never by phone"])
    text = (await person(memory).context("which seat?", max_tokens=2000, session_id="s1")).text
    assert "language = pt" in text
    assert "prefers aisle seats" in text
    assert "never by phone" in text
    assert text.index("never by phone") < text.index("language = pt") < text.index("prefers aisle seats")


# rule 10
async def test_live_state_is_consulted_and_never_remembered(memory: Memory, clone: Clone) -> None:
    """A payment is no preference and no episode; a question about it names the tool, and when it was last seen."""
    ines = person(memory)
    stored = dump(clone.superuser)
    for name in ("payment", "balance", "order_progress"):
        with pytest.raises(LiveState):
            await ines.set_preference(name, "paid", origin=CONFIRMED)
        with pytest.raises(LiveState):
            await ines.record_episode(name, event_id="ev1", occurred_at=START, origin=CONFIRMED)
    assert dump(clone.superuser) == stored
    (consult,) = (await ines.recall("did my payment go through?")).consult
    assert (consult.topic, consult.tool, consult.last_seen) == ("payment", "billing.get_payment", None)

    seen = START - timedelta(days=3)
    await record_case(ines, "ev1", summary="the customer says the payment went through", occurred_at=seen)
    recalled = await ines.recall("o meu pagamento já entrou?")
    assert [(consult.tool, consult.last_seen) for consult in recalled.consult] == [("billing.get_payment", seen)]
    assert all(item.live_topic == "payment" for item in recalled.items)


# rule 26
async def test_no_purpose_no_memory(memory: Memory, clone: Clone) -> None:
    """What the policy does not define is refused, and the refusal prints the lines that would allow it."""
    stored = dump(clone.superuser)
    ines = person(memory)
    with pytest.raises(NotInPolicy, match=r"under preferences:\n  shoe_size:\n"):
        await ines.set_preference("shoe_size", "canary-41", origin=CONFIRMED)
    with pytest.raises(NotInPolicy, match=r"under episodes:\n  purchase:\n"):
        await ines.record_episode("purchase", event_id="ev1", occurred_at=START, origin=CONFIRMED)
    assert dump(clone.superuser) == stored
