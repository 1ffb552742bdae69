"""Hand-over: of a session only what the policy names outlives it, once, with the trust it had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

import olvido
from olvido import Message, Origin, OriginClass
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.errors import (
    Conflict,
    EventConflict,
    InvalidInput,
    InvalidValue,
    NotFound,
    NotInPolicy,
    OriginNotAccepted,
    OriginNotGranted,
)
from olvido.testing import ManualClock
from tests.contract.support import PausedEmbedder
from tests.operations.conftest import OpenWith
from tests.operations.test_sessions import SAID, person
from tests.operations.word_embedder import WordEmbedder

DEFAULT = default_policy_text()
SESSIONS = "sessions:\n  purpose: support\n  retention: 24h\n"
SEEN = Origin.observed("assistant", ref="turn-9")


def policy(fields: str, *, inferred: bool = False) -> olvido.Policy:
    """The default policy with a rule to hand sessions over to support cases."""
    rule = f"  hand_over:\n    episode: support-case\n    fields: {fields}\n    status: reported\n"
    text = DEFAULT.replace(SESSIONS, SESSIONS + rule)
    if inferred:
        text = text.replace("origins: [observed, declared]", "origins: [observed, declared, inferred]", 1)
    return load_policy(text, "p.yaml")


@pytest.fixture
async def handing(open_with: OpenWith, words: WordEmbedder) -> AsyncIterator[olvido.Memory]:
    """A memory whose policy hands the goal and the decisions over."""
    async with open_with(words, policy("{title: goal, summary: decisions}")) as opened:
        yield opened


async def talk(memory: olvido.Memory) -> olvido.SessionMemory:
    """A session in which something was said."""
    session = person(memory).session("s1")
    await session.open(goal="reach the\ncourse")
    await session.append("user", "my token is tulip")
    return session


async def test_without_a_rule_the_lines_to_add_are_printed(
    memory: olvido.Memory, open_with: OpenWith, words: WordEmbedder
) -> None:
    """The default policy hands nothing over; the lines of the refusal make a policy that does."""
    session = await talk(memory)
    with pytest.raises(NotInPolicy) as refused:
        await session.hand_over(origin=SEEN)
    before, _, lines = str(refused.value).partition("add under sessions:\n")
    assert before
    assert (await person(memory).episodes()).items == ()
    async with open_with(words, load_policy(DEFAULT.replace(SESSIONS, SESSIONS + lines), "p.yaml")) as allowed:
        written = await person(allowed).session("s1").hand_over(origin=SEEN)
    assert dict(written.record.fields) == {"summary": "reach the course"}


async def test_what_the_rule_names_becomes_one_episode(handing: olvido.Memory, clock: ManualClock) -> None:
    """The named parts, and nothing else, are recorded once with the caller's origin, and outlive the session."""
    session = await talk(handing)
    opened = await session.set(decisions=["reset it", "wait a day"], constraints=["never call"], pending=["call"])
    await session.add_fact("uses an old browser", origin=SAID)
    clock.advance(timedelta(hours=1))
    await session.close()
    written = await session.hand_over(case_id="at1", origin=SEEN)
    record = written.record
    assert written.changed
    assert dict(record.fields) == {"title": "reach the course", "summary": "reset it\nwait a day"}
    assert (record.definition, record.status, record.case_id, record.origin) == (
        "support-case",
        "reported",
        "at1",
        SEEN,
    )
    assert (record.event_id, record.occurred_at) == (f"session:{opened.record_id}", opened.opened_at)
    assert record.expires_at == clock.now() + timedelta(days=365)
    for _ in range(2):
        again = await person(handing).session("s1").hand_over(case_id="at1", origin=SEEN)
        assert (again.changed, again.record) == (False, record)
    clock.advance(timedelta(days=2))
    with pytest.raises(NotFound):
        await session.hand_over(case_id="at1", origin=SEEN)
    await handing.purge_expired()
    assert (await person(handing).episodes()).items == (record,)
    report = await person(handing).forget(record.record_id)
    assert report.removed["episodes"] == 1


async def test_another_state_is_another_body(handing: olvido.Memory) -> None:
    """A session that went on after it was handed over conflicts; a new one under the same id is another event."""
    session = await talk(handing)
    first = await session.hand_over(origin=SEEN)
    await session.set(decisions=["reset it"])
    with pytest.raises(EventConflict) as refused:
        await session.hand_over(origin=SEEN)
    assert "handed over before" in str(refused.value)
    assert "event id" not in str(refused.value)
    await person(handing).forget((await session.read()).record_id)
    assert (await person(handing).get_episode(first.record.record_id)) == first.record
    second = await (await talk(handing)).hand_over(origin=SEEN)
    assert second.changed
    assert second.record.event_id != first.record.event_id


async def test_a_hand_over_is_admitted_like_any_episode(handing: olvido.Memory) -> None:
    """Origins that are missing, not granted or not accepted, over-long fields and an empty session are refused."""
    session = await talk(handing)
    with pytest.raises(InvalidInput, match="origin"):
        await session.hand_over()
    with pytest.raises(OriginNotAccepted):
        await session.hand_over(origin=Origin.inferred("assistant"))
    observer = handing.scope(tenant="altavela", subject="ines", asserts=[OriginClass.OBSERVED])
    with pytest.raises(OriginNotGranted):
        await observer.session("s1").hand_over(origin=SAID)
    await session.set(decisions=["x" * 500] * 5)
    with pytest.raises(InvalidValue, match="field summary of support-case"):
        await session.hand_over(origin=SEEN)
    with pytest.raises(NotFound):
        await person(handing, "tomas").session("s1").hand_over(origin=SEEN)
    empty = person(handing).session("s2")
    await empty.open(constraints=["never call"])
    with pytest.raises(InvalidInput, match="goal, decisions"):
        await empty.hand_over(origin=SEEN)
    assert (await person(handing).episodes()).items == ()


async def test_facts_keep_the_trust_they_had(open_with: OpenWith, words: WordEmbedder) -> None:
    """An episode of facts is no stronger than the weakest of them: what was inferred stays inferred."""
    async with open_with(words, policy("{summary: facts}", inferred=True)) as memory:
        session = await talk(memory)
        await session.add_fact("uses an old browser", origin=SAID, messages=[0])
        declared = await session.hand_over(origin=SAID)
        assert declared.record.origin == SAID

        other = person(memory).session("s2")
        await other.extend([("user", "it fails since Monday")] * 2)
        await other.add_fact("uses an old browser", origin=SAID, messages=[0])

        async def summarise(messages: Sequence[Message]) -> Sequence[tuple[str, Sequence[int]]]:
            return [("it may fail since Monday", [message.sequence for message in messages])]

        await other.compact(0, summarise=summarise)
        inferred = (await other.hand_over(origin=SAID)).record
        assert (inferred.origin.origin_class, inferred.origin.source) == (OriginClass.INFERRED, SAID.source)
        assert inferred.fields["summary"] == "uses an old browser\nit may fail since Monday"
        limited = memory.scope(tenant="altavela", subject="ines", asserts=["declared"]).session("s2")
        with pytest.raises(OriginNotGranted):
            await limited.hand_over(origin=SAID)


async def test_a_forgotten_person_is_not_handed_over(handing: olvido.Memory) -> None:
    """After a forget the handle finds no session, and no episode appears."""
    session = await talk(handing)
    await person(handing).forget_all()
    with pytest.raises(NotFound):
        await session.hand_over(origin=SEEN)
    assert not any((await person(handing).stored_rows()).values())


@pytest.mark.parametrize("forgotten, refusal", [("session", NotFound), ("fact", Conflict), ("reopened", NotFound)])
async def test_what_is_forgotten_during_a_hand_over_does_not_come_back(
    open_with: OpenWith, words: WordEmbedder, forgotten: str, refusal: type[Exception]
) -> None:
    """A session, or a fact of it, that was forgotten while its episode was embedded: nothing is stored (rule 18)."""
    paused = PausedEmbedder(words)
    async with open_with(paused, policy("{title: goal, summary: facts}", inferred=True)) as memory:
        session = await talk(memory)
        fact = await session.add_fact("uses an old browser", origin=SAID)
        opened = await session.read()
        handing = asyncio.create_task(person(memory).session("s1").hand_over(origin=SEEN))
        await paused.started.wait()
        report = await person(memory).forget(fact.record_id if forgotten == "fact" else opened.record_id)
        if forgotten == "reopened":
            await talk(memory)
        paused.go.set()
        with pytest.raises(refusal):
            await handing
        assert (report.found, report.handed_over) == (True, ())
        assert (await person(memory).episodes()).items == ()


@pytest.mark.parametrize("change", ["append", "close", "set"])
async def test_a_session_that_goes_on_during_a_hand_over(open_with: OpenWith, words: WordEmbedder, change: str) -> None:
    """Messages and closing change nothing that the rule takes; another goal is refused, and handed over next time."""
    paused = PausedEmbedder(words)
    async with open_with(paused, policy("{title: goal}")) as memory:
        session = await talk(memory)
        handing = asyncio.create_task(session.hand_over(origin=SEEN))
        await paused.started.wait()
        match change:
            case "append":
                await session.append("user", "it fails")
            case "close":
                await session.close()
            case _:
                await session.set(goal="reach the exam")
        paused.go.set()
        if change != "set":
            assert (await handing).changed
            return
        with pytest.raises(Conflict, match="Hand it over again"):
            await handing
        assert (await session.hand_over(origin=SEEN)).record.fields["title"] == "reach the exam"


async def test_forgetting_a_session_names_what_it_was_handed_over_to(handing: olvido.Memory) -> None:
    """The episode remains: the report has its record id, in the dry run as well, and until it is forgotten itself."""
    session = await talk(handing)
    fact = await session.add_fact("uses an old browser", origin=SAID)
    opened = await session.read()
    assert (await person(handing).forget(opened.record_id, dry_run=True)).handed_over == ()
    episode = (await session.hand_over(origin=SEEN)).record
    assert (await person(handing).forget(opened.record_id, dry_run=True)).handed_over == (episode.record_id,)
    assert (await person(handing).forget(fact.record_id)).handed_over == (episode.record_id,)
    report = await person(handing).forget(opened.record_id)
    assert (report.found, report.handed_over) == (True, (episode.record_id,))
    again = await person(handing).forget(opened.record_id)
    assert (again.found, again.handed_over) == (False, (episode.record_id,))
    stranger = handing.scope(tenant="altavela", subject="rui")
    assert (await stranger.forget(opened.record_id)).handed_over == ()
    for record_id in again.handed_over:
        assert (await person(handing).forget(record_id)).handed_over == ()
    assert (await person(handing).forget(opened.record_id)).handed_over == ()
    assert (await person(handing).episodes()).items == ()
