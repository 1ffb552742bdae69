"""Sessions: groups that stay together, facts with their origin, and what a conversation goes on from."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import olvido
from olvido import Origin, OriginClass
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.errors import InvalidInput, InvalidScope, InvalidValue, NotFound, OriginNotGranted, SessionClosed
from olvido.testing import ManualClock
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import WordEmbedder

SAID = Origin.declared("user-confirmation", ref="turn-3")


def person(memory: olvido.Memory, subject: str = "ines") -> olvido.ScopedMemory:
    """A new handle, as each request takes one."""
    return memory.scope(tenant="altavela", subject=subject)


def numbers(messages: tuple[olvido.Message, ...]) -> list[int]:
    """Their sequence numbers."""
    return [message.sequence for message in messages]


@pytest.mark.parametrize("given", ["ab", [("user",)], [("user", "a", "b")], [7], 7, None])
async def test_messages_are_pairs(memory: olvido.Memory, given: Any) -> None:  # noqa: ANN401 - whatever a caller passes
    """Anything else is refused before anything is stored; an iterator of pairs is as good as a list."""
    session = person(memory).session("s1")
    with pytest.raises(InvalidInput, match="pairs of a role and a text"):
        await session.extend(given)
    assert numbers(await session.extend(("user", text) for text in "ab")) == [0, 1]
    with pytest.raises(InvalidInput, match="at least one"):
        await session.extend(iter(()))


# case 111
async def test_the_newest_messages_begin_at_a_group_border(memory: olvido.Memory) -> None:
    """A cut between a tool call and its result moves back to the call, also past what others wrote in between."""
    session = person(memory).session("s1")
    await session.append("user", "where is my order?")
    call = await session.append("assistant", "call orders.get_order", "call-1")
    await session.append("user", "are you there?")
    await session.append("tool", "in transit", "call-1")
    await session.append("assistant", "it is on its way")
    assert call.group == "call-1"
    assert [numbers(await session.messages(last=last)) for last in range(6)] == [
        [],
        [4],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
        [0, 1, 2, 3, 4],
    ]
    assert numbers((await session.view(last=2)).messages) == [1, 2, 3, 4]
    assert (await session.view(last=2)).left_out == 1


# case 111
async def test_interleaved_groups_move_a_cut_until_none_is_parted(memory: olvido.Memory) -> None:
    """Where the cut moves into another group it moves on, and a group is one of its own session only."""
    ines = person(memory)
    await ines.session("s0").extend([("user", "of another session")] * 3, "a")
    session = ines.session("s1")
    for group in (None, "a", "b", "a", "c", "b", "c", None):
        await session.append("tool", f"part of {group}", group)
    assert numbers(await session.messages(last=2)) == [1, 2, 3, 4, 5, 6, 7]
    assert numbers(await session.messages(last=1)) == [7]


# case 70, case 79, case 111
async def test_fifty_writers_of_pairs_leave_no_gap(memory: olvido.Memory) -> None:
    """Fifty calls with two messages each, to a session that none of them opened, keep every pair and every number."""
    written = await asyncio.gather(
        *(
            person(memory).session("s1").extend([("assistant", f"call {n}"), ("tool", f"result {n}")], f"call-{n}")
            for n in range(50)
        )
    )
    read = await person(memory).session("s1").messages()
    assert numbers(read) == list(range(100))
    assert {message.sequence: message for pair in written for message in pair} == {m.sequence: m for m in read}
    for last in range(1, 100, 7):
        newest = await person(memory).session("s1").messages(last=last)
        assert newest == read[-2 * -(-last // 2) :]


async def test_a_group_has_a_name_and_a_limit(open_with: OpenWith, words: WordEmbedder) -> None:
    """A name that is no id is refused, and a group grows to the limit of the policy only, in one call or in several."""
    text = default_policy_text().replace("session_group_messages: 100", "session_group_messages: 3")
    async with open_with(words, load_policy(text, "p.yaml")) as memory:
        session = person(memory).session("s1")
        for odd in ("", " ", "x" * 201, "a\x00"):
            with pytest.raises(InvalidScope):
                await session.append("tool", "x", odd)
        await session.extend([("tool", "x")] * 2, "a")
        await session.append("tool", "x", "a")
        with pytest.raises(InvalidValue, match="session_group_messages"):
            await session.append("tool", "x", "a")
        with pytest.raises(InvalidValue, match="session_group_messages"):
            await session.extend([("tool", "x")] * 4, "b")
        assert (await session.read()).message_count == 3


async def test_a_fact_keeps_its_origin_and_its_messages(memory: olvido.Memory, clock: ManualClock) -> None:
    """What is known is listed with origin, references and time, in order, and shown in a context as what it is."""
    ines = person(memory)
    session = ines.session("s1")
    await session.open(goal="reach the course", constraints=["never call by phone"])
    await session.extend([("user", f"message {number}") for number in range(5)])
    first = await session.add_fact("uses an old browser", origin=SAID, messages=[3, 1, 2, 1])
    clock.advance(timedelta(hours=1))
    observed = Origin.observed("crm.lookup")
    second = await ines.acting(observed).session("s1").add_fact("has two accounts")
    assert (first.messages, first.origin, second.messages, second.origin) == ((1, 2, 3), SAID, (), observed)
    assert second.recorded_at - first.recorded_at == timedelta(hours=1)
    assert (await session.read()).facts == (first, second)
    assert (await session.view()).session.facts == (first, second)

    block = await ines.context("browser", max_tokens=1000, session_id="s1")
    label = "fact, declared via user-confirmation on 2026-01-01, from messages 1-3"
    assert f'{{"{label}": "uses an old browser"}}' in block.text
    assert "never call by phone" in block.text.split("# this session")[0]
    assert {first.record_id, second.record_id} <= set(block.included)


@pytest.mark.parametrize("messages", [[5], [-1], [0, 5], [True], ["0"], "1", 0, [0.0], [0] * 1001])
async def test_a_fact_rests_on_messages_that_are_there(memory: olvido.Memory, messages: Any) -> None:  # noqa: ANN401
    """A reference to no message of the session is refused, and no fact is stored."""
    session = person(memory).session("s1")
    await session.extend([("user", "hello")] * 5)
    with pytest.raises(InvalidValue):
        await session.add_fact("a fact", origin=SAID, messages=messages)
    assert (await session.read()).facts == ()


async def test_a_fact_is_admitted_like_any_write(memory: olvido.Memory) -> None:
    """An origin that was not granted or is missing, blank or long text, and a closed or missing session are refused."""
    granted = memory.scope(tenant="altavela", subject="ines", asserts=[OriginClass.OBSERVED])
    session = granted.session("s1")
    seen = Origin.observed("crm.lookup")
    with pytest.raises(NotFound):
        await session.add_fact("a fact", origin=seen)
    await session.open()
    with pytest.raises(OriginNotGranted):
        await session.add_fact("a fact", origin=SAID)
    with pytest.raises(InvalidInput, match="origin"):
        await session.add_fact("a fact")
    for odd in ("", " ", "x" * 501):
        with pytest.raises(InvalidValue):
            await session.add_fact(odd, origin=seen)
    masked = await session.add_fact("the password: hunter2hunter2", origin=seen)
    assert "hunter2" not in masked.content
    await session.close()
    with pytest.raises(SessionClosed):
        await session.add_fact("a fact", origin=seen)


async def test_facts_are_bounded_and_one_can_be_forgotten(open_with: OpenWith, words: WordEmbedder) -> None:
    """At the limit a fact is refused until one was forgotten by its record id; the report counts that fact only."""
    text = default_policy_text().replace("session_facts: 200", "session_facts: 2")
    async with open_with(words, load_policy(text, "p.yaml")) as memory:
        ines = person(memory)
        session = ines.session("s1")
        await session.append("user", "hello")
        one, two = [await session.add_fact(text, origin=SAID, messages=[0]) for text in ("one", "two")]
        with pytest.raises(InvalidValue, match="session_facts"):
            await session.add_fact("three", origin=SAID)
        planned = await ines.forget(one.record_id, dry_run=True)
        report = await ines.forget(one.record_id)
        assert planned.plan_hash == report.plan_hash
        assert (report.found, report.status, report.removed) == (True, "rows_absent", {"session_facts": 1})
        assert not (await person(memory, "tomas").forget(two.record_id)).found
        three = await session.add_fact("three", origin=SAID)
        assert (await session.read()).facts == (two, three)
        assert not (await ines.forget(one.record_id)).found


async def test_facts_and_groups_go_with_their_session(memory: olvido.Memory, clock: ManualClock) -> None:
    """Forgetting the session, the person, or purging what expired removes the facts, counts them, and no others."""
    ines, tomas = person(memory), person(memory, "tomas")
    for who in (ines, tomas):
        for session_id in ("s1", "s2"):
            session = who.session(session_id)
            await session.extend([("user", "hello")] * 3, "g")
            await session.add_fact("a fact", origin=SAID, messages=[0])
            await session.compact(1)
            await session.compact(0)
    before = await tomas.checksums()
    rows = {"sessions": 1, "session_facts": 1, "messages": 3}
    record_id = (await ines.session("s1").read()).record_id
    planned = await ines.forget(record_id, dry_run=True)
    report = await ines.forget(record_id)
    assert (report.status, report.removed, report.plan_hash) == ("rows_absent", rows, planned.plan_hash)
    assert (await ines.stored_rows())["session_facts"] == 1
    report = await ines.forget_all()
    assert {name: report.removed[name] for name in rows} == rows
    assert await tomas.checksums() == before

    clock.advance(timedelta(days=1))
    with pytest.raises(NotFound):
        await tomas.session("s1").view()
    assert (await memory.purge_expired()).removed == {name: 2 * count for name, count in rows.items()}
    left = await tomas.stored_rows()
    assert not any(left[name] for name in rows)


async def test_a_view_is_what_to_go_on_from(memory: olvido.Memory) -> None:
    """State and messages that are not folded, the newest ones if there are more, and how many of them are not shown."""
    session = person(memory).session("s1")
    with pytest.raises(NotFound):
        await session.view()
    await session.open(goal="reach the course", decisions=["reset"], constraints=["no phone"], pending=["call back"])
    await session.extend([("user", f"message {number}") for number in range(10)])
    await session.compact(6)
    view = await session.view()
    assert (view.session.goal, view.session.decisions, view.session.constraints) == (
        "reach the course",
        ("reset",),
        ("no phone",),
    )
    assert (view.session.folded, numbers(view.messages), view.left_out) == (4, [4, 5, 6, 7, 8, 9], 0)
    view = await session.view(last=2)
    assert (numbers(view.messages), view.left_out) == ([8, 9], 4)
    assert ((await session.view(last=0)).messages, await session.messages(last=0)) == ((), ())
    await session.close()
    assert (await session.view()).session.closed_at is not None
    for odd in (-1, 1001, True, 1.0):
        wrong: Any = odd
        for call in (session.view, session.messages):
            with pytest.raises(InvalidInput):
                await call(last=wrong)
