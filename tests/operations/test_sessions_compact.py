"""Compaction: facts stand for what is folded, nothing is lost, and a failed one changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

import olvido
from olvido import Message, Origin, OriginClass
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.errors import (
    CompactionFailed,
    Conflict,
    InvalidInput,
    InvalidValue,
    NotFound,
    OriginNotGranted,
    SessionClosed,
    SubjectForgotten,
)
from olvido.testing import ManualClock
from tests.operations.conftest import OpenWith
from tests.operations.test_sessions import SAID, numbers, person
from tests.operations.word_embedder import WordEmbedder

Facts = Sequence[tuple[str, Sequence[int]]]
CANARY = "axolotl" + "7c1f"


async def talked(memory: olvido.Memory, count: int = 10) -> olvido.SessionMemory:
    """A session with all parts of a state and some messages."""
    session = person(memory).session("s1")
    await session.open(
        goal="reach the course", decisions=["reset it"], constraints=["never call"], pending=["send the link"]
    )
    await session.extend([("user", f"message {number}") for number in range(count)])
    await session.add_fact("uses an old browser", origin=SAID, messages=[1])
    return session


async def two_facts(messages: Sequence[Message]) -> Facts:
    """A summariser that does its work."""
    return [
        ("tried to log in twice", numbers(tuple(messages[:2]))),
        ("the password: hunter2hunter2 was shown", [messages[-1].sequence]),
    ]


async def test_the_state_stays_and_the_originals_can_be_read(memory: olvido.Memory, clock: ManualClock) -> None:
    """Without a summariser only the border moves: the state, its facts and every message are as they were."""
    session = await talked(memory)
    before, messages = await session.read(), await session.messages()
    done = await session.compact(4)
    assert (done.folded, done.facts, done.session.folded) == (6, (), 6)
    after = await session.read()
    assert after == done.session
    assert (after.goal, after.decisions, after.constraints, after.pending, after.facts, after.message_count) == (
        before.goal,
        before.decisions,
        before.constraints,
        before.pending,
        before.facts,
        before.message_count,
    )
    assert after.expires_at == before.expires_at
    assert await session.messages() == messages
    assert numbers((await session.view()).messages) == [6, 7, 8, 9]
    clock.set(after.expires_at)
    with pytest.raises(NotFound):
        await session.messages()


async def test_conclusions_are_inferred_and_refer_to_messages(memory: olvido.Memory) -> None:
    """A summariser sees exactly what is folded; its facts are stored as inferred, masked, after the others."""
    session = await talked(memory)
    given: list[int] = []

    async def summarise(messages: Sequence[Message]) -> Facts:
        given.extend(message.sequence for message in messages)
        return await two_facts(messages)

    done = await session.compact(4, summarise=summarise)
    assert given == [0, 1, 2, 3, 4, 5]
    assert [fact.messages for fact in done.facts] == [(0, 1), (5,)]
    assert {(fact.origin.origin_class, fact.origin.source) for fact in done.facts} == {
        (OriginClass.INFERRED, "compaction")
    }
    assert done.facts[0].content == "tried to log in twice"
    assert "hunter2" not in done.facts[1].content
    assert (await session.read()).facts == (done.session.facts[0], *done.facts)
    assert done.session.facts[0].origin == SAID

    given.clear()
    await session.extend([("user", "more")] * 2)
    await session.compact(4, summarise=summarise)
    assert given == [6, 7]


async def test_nothing_to_fold_is_no_compaction(memory: olvido.Memory) -> None:
    """With no more messages than are to be kept, nothing changes and the summariser is not asked."""
    session = await talked(memory)

    async def summarise(messages: Sequence[Message]) -> Facts:
        raise AssertionError(len(messages))

    await session.compact(4)
    before = await session.read()
    for keep in (4, 5, 10, 1000):
        done = await session.compact(keep, summarise=summarise)
        assert (done.session, done.folded, done.facts) == (before, 0, ())


# case 111
async def test_a_group_is_folded_as_a_whole_or_not_at_all(memory: olvido.Memory) -> None:
    """A border inside a group moves back to its first message, and folds once the whole group is before it."""
    session = person(memory).session("s1")
    await session.extend([("user", "hello")] * 3)
    await session.append("assistant", "call", "call-1")
    await session.append("user", "are you there?")
    await session.append("tool", "result", "call-1")
    folded = [(await session.compact(keep)).session.folded for keep in (6, 5, 2, 1)]
    assert folded == [0, 1, 3, 3]
    assert numbers((await session.view()).messages) == [3, 4, 5]
    assert (await session.compact(0)).folded == 3
    late = await session.append("tool", "another result", "call-1")
    assert numbers((await session.view()).messages) == [3, 4, 5, late.sequence]


async def raises(messages: Sequence[Message]) -> Facts:
    """A summariser whose error quotes what it was given."""
    raise RuntimeError(CANARY, messages)


async def times_out(_: Sequence[Message]) -> Facts:
    """A summariser whose own call took too long."""
    raise TimeoutError(CANARY)


async def never_answers(_: Sequence[Message]) -> Facts:
    """A summariser that hangs."""
    await asyncio.Event().wait()
    return []


def answers(answer: Any) -> Any:  # noqa: ANN401 - anything
    """A summariser that answers just this."""

    async def summarise(_: Sequence[Message]) -> Any:  # noqa: ANN401 - anything
        return answer

    return summarise


# case 109
@pytest.mark.parametrize(
    "summarise, reason",
    [
        (raises, "raised RuntimeError"),
        (times_out, "timed out"),
        (never_answers, "longer than 0.05 s"),
        (lambda _: [(CANARY, [0])], "not an async function"),
        (answers(None), "no list"),
        (answers(""), "no list of facts"),
        (answers([]), "answered nothing"),
        (answers([(CANARY, [0]), ("", [1])]), "blank"),
        (answers([(f"{{{{{CANARY}}}}}", [0])]), "template"),
        (answers([(CANARY * 50, [0])]), "characters long"),
        (answers([(CANARY, [6])]), "not there"),
        (answers([(CANARY, [])]), "without the numbers"),
        (answers([(f"{CANARY} {number}", [0]) for number in range(200)]), "session_facts"),
    ],
)
async def test_a_failed_compaction_changes_nothing(
    memory: olvido.Memory,
    caplog: pytest.LogCaptureFixture,
    summarise: Any,  # noqa: ANN401 - some are wrong
    reason: str,
) -> None:
    """Whatever a summariser does instead of answering facts, the rows are the same after it, and no error quotes it."""
    session = await talked(memory)
    before = await person(memory).checksums()
    with caplog.at_level(logging.DEBUG), pytest.raises(CompactionFailed, match=reason) as failed:
        await session.compact(4, summarise=summarise, timeout_seconds=0.05)
    assert await person(memory).checksums() == before
    assert CANARY not in f"{failed.value!r} {failed.getrepr(chain=True)} {caplog.text}".replace(__file__, "")
    assert failed.value.__cause__ is None
    assert (await session.compact(4, summarise=two_facts)).folded == 6


async def test_what_is_wrong_is_said_before_the_summariser_is_asked(memory: olvido.Memory) -> None:
    """A wrong number, an origin that was not granted, a closed and a missing session are refused at once."""
    session = await talked(memory)
    wrong: Any
    for wrong in (-1, 1.5, True, None, "4"):
        with pytest.raises(InvalidInput):
            await session.compact(wrong, summarise=raises)
    for wrong in (0, -1, 3601, float("nan"), True, None):
        with pytest.raises(InvalidInput):
            await session.compact(1, summarise=raises, timeout_seconds=wrong)
    observer = memory.scope(tenant="altavela", subject="ines", asserts=["observed"]).session("s1")
    with pytest.raises(OriginNotGranted):
        await observer.compact(4, summarise=raises)
    assert (await observer.compact(9)).folded == 1
    with pytest.raises(NotFound):
        await person(memory).session("s2").compact(0)
    with pytest.raises(NotFound):
        await person(memory, "tomas").session("s1").compact(0)
    await session.close()
    with pytest.raises(SessionClosed):
        await session.compact(4, summarise=raises)


async def test_of_two_compactions_one_wins(memory: olvido.Memory) -> None:
    """Two that read the same messages give one set of facts; the other is told, and its facts are not stored."""
    await talked(memory)
    both = asyncio.Barrier(2)

    async def summarise(messages: Sequence[Message]) -> Facts:
        await both.wait()
        return await two_facts(messages)

    done = await asyncio.gather(
        *(person(memory).session("s1").compact(keep, summarise=summarise) for keep in (4, 3)), return_exceptions=True
    )
    (won,) = (each for each in done if isinstance(each, olvido.Compaction))
    (lost,) = (each for each in done if isinstance(each, Conflict))
    assert "first" in str(lost)
    assert (await person(memory).session("s1").read()) == won.session
    assert len(won.session.facts) == 3


async def test_what_happens_meanwhile_is_kept(memory: olvido.Memory) -> None:
    """While a summariser works, nothing is held: messages, items and facts of others are stored, and stay."""
    session = await talked(memory)

    async def summarise(messages: Sequence[Message]) -> Facts:
        other = person(memory).session("s1")
        await other.append("user", "and another thing")
        await other.set(decisions=["meanwhile"])
        await other.add_fact("meanwhile", origin=SAID, messages=[10])
        return await two_facts(messages)

    done = await session.compact(4, summarise=summarise)
    assert (done.folded, done.session.message_count, done.session.decisions) == (6, 11, ("meanwhile",))
    assert [fact.content for fact in done.session.facts][:3] == [
        "uses an old browser",
        "meanwhile",
        "tried to log in twice",
    ]
    assert numbers((await session.view()).messages) == [6, 7, 8, 9, 10]


@pytest.mark.parametrize("action", ["group", "close", "forget session", "reopen", "forget", "expire", "fill"])
async def test_a_session_that_changed_too_much_is_not_compacted(
    open_with: OpenWith, words: WordEmbedder, clock: ManualClock, action: str
) -> None:
    """A late part of a group, a close, a forget, an expiry or too many facts meanwhile: refused, and nothing stored."""
    text = default_policy_text().replace("session_facts: 200", "session_facts: 3")
    async with open_with(words, load_policy(text, "p.yaml")) as memory:
        session = await talked(memory, 2)
        await session.extend([("tool", f"part {number}") for number in range(10)], "call-1")
        await session.extend([("user", "done")] * 4)

        async def summarise(messages: Sequence[Message]) -> Facts:
            other = person(memory)
            if action == "group":
                await other.session("s1").append("tool", "late", "call-1")
            elif action == "close":
                await other.session("s1").close()
            elif action in {"forget session", "reopen"}:
                await other.forget((await other.session("s1").read()).record_id)
                if action == "reopen":
                    await other.session("s1").extend([("user", "new")] * 20)
            elif action == "forget":
                await other.forget_all()
            elif action == "expire":
                clock.advance(timedelta(days=1))
            else:
                await other.session("s1").add_fact("meanwhile", origin=SAID)
            return await two_facts(messages)

        expected = {
            "group": Conflict,
            "close": SessionClosed,
            "reopen": Conflict,
            "forget": SubjectForgotten,
            "fill": InvalidValue,
        }
        with pytest.raises(expected.get(action, NotFound)):
            await session.compact(4, summarise=summarise)
        left = await person(memory).stored_rows()
        assert left["session_facts"] == {"group": 1, "close": 1, "expire": 1, "fill": 2}.get(action, 0)
        if action in {"group", "fill"}:
            assert (await session.read()).folded == 0
        if action == "forget":
            assert not any(left.values())


async def test_early_constraints_survive_any_number_of_turns(memory: olvido.Memory) -> None:
    """After 60 turns and many compactions a constraint of the first turn is in the state, and first in a context."""
    ines = person(memory)
    session = ines.session("s1")
    await session.open(goal="reach the course", constraints=["never call by phone"])

    async def summarise(messages: Sequence[Message]) -> Facts:
        return [(f"turns {messages[0].sequence} to {messages[-1].sequence}", numbers(tuple(messages)))]

    for turn in range(60):
        await session.extend([("user", f"question {turn}"), ("assistant", f"answer {turn}")], f"turn-{turn}")
        if turn % 5 == 4:
            await session.compact(5, summarise=summarise if turn % 2 else None)
    view = await session.view()
    assert view.session.constraints == ("never call by phone",)
    assert numbers(view.messages) == [114, 115, 116, 117, 118, 119]
    assert [fact.messages for fact in view.session.facts] == sorted(fact.messages for fact in view.session.facts)
    assert len(view.session.facts) == 6
    first = await ines.context("phone", max_tokens=120, session_id="s1")
    assert "never call by phone" in first.text
    assert first.omitted
    assert [message.sequence for message in await session.messages()] == list(range(120))


async def test_a_summariser_can_use_the_memory_it_serves(memory: olvido.Memory) -> None:
    """No transaction and no connection is held while it works, not even when all of a small pool are asked for."""
    session = await talked(memory)

    async def summarise(messages: Sequence[Message]) -> Facts:
        for _ in range(20):
            await person(memory).session("s1").append("user", "x")
        await asyncio.gather(*(person(memory).session("s1").read() for _ in range(20)))
        await person(memory).remember("prefers aisle seats", origin=Origin.declared("chat"))
        return await two_facts(messages)

    assert (await session.compact(4, summarise=summarise)).session.message_count == 30
