"""Isolation: a scope is one company and one person, on every path, and nothing a caller passes can widen it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from olvido import Memory, ScopedMemory, SessionMemory
from olvido.errors import InvalidScope, NotFound
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, LOOKUP, START, fill, pages, person, record_case, served


# case 1
async def test_a_session_name_does_not_open_another_persons_memory(memory: Memory) -> None:
    """Sharing the id of a session with somebody gives nothing of theirs on any read path."""
    ines, tomas = person(memory), person(memory, "tomas")
    await ines.remember("my locker is 118")
    await ines.session("s1").append("user", "my locker is 118")

    assert await served(tomas, "locker", sessions=["s1"]) == []
    with pytest.raises(NotFound):
        await tomas.context("locker", max_tokens=500, session_id="s1")
    assert [item.record.fields["text"] for item in (await ines.recall("locker")).items] == ["my locker is 118"]


# case 2
@pytest.mark.parametrize("call", ["recall", "episodes", "context", "summaries", "remember", "forget_all"])
async def test_a_filter_that_does_not_exist_is_an_error(memory: Memory, call: str) -> None:
    """A parameter that no operation has, such as filters or user_id, is refused and never ignored."""
    method: Any = getattr(person(memory), call)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        await method(filters={"user_id": "tomas"})
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        await method(user_id="tomas")


# case 3
async def test_a_foreign_company_looks_like_one_that_does_not_exist(memory: Memory) -> None:
    """What one company stored changes no answer, no count and no error of another one."""
    stored = await fill(person(memory), "amber")
    answers = []
    for tenant in ("norbrook", "nobody-ever"):
        who = person(memory, tenant=tenant)
        recalled = await who.recall("amber seat")
        report = await who.forget(stored)
        with pytest.raises(NotFound) as refusal:
            await who.get_episode(stored)
        answers.append(
            (
                replace(recalled, scope=person(memory).scope),
                await who.stored_rows(),
                await who.checksums(),
                await served(who, "amber seat", sessions=["session-amber"]),
                report,
                str(refusal.value),
            )
        )
    assert answers[0] == answers[1]
    assert answers[0][3] == []


# case 5
async def test_fields_cannot_change_the_owner(memory: Memory) -> None:
    """Fields that look like an owner are dropped, also when the event is recorded again."""
    ines = person(memory)
    claims = {"user_id": "tomas", "company": "norbrook", "tenant_id": "norbrook", "subject_key": str(uuid4())}
    for _ in range(2):
        written = await ines.record_episode(
            "support-case",
            event_id="ev1",
            status="open",
            occurred_at=START,
            origin=LOOKUP,
            fields={"summary": "a case", **claims},
        )
        assert written.dropped == ("company", "subject_key", "tenant_id", "user_id")
        assert written.record.fields == {"summary": "a case"}
    assert [episode.event_id for episode in await pages(ines)] == ["ev1"]
    for other in (person(memory, "tomas"), person(memory, "tomas", "norbrook"), person(memory, tenant="norbrook")):
        assert not any((await other.stored_rows()).values())


# case 6
async def test_fields_cannot_reach_into_a_session(memory: Memory) -> None:
    """A field named like a session id is dropped; the session it names does not come to be."""
    ines = person(memory)
    written = await ines.record_episode(
        "note",
        event_id="n1",
        occurred_at=START,
        origin=CONFIRMED,
        fields={"text": "hi", "session_id": "victim-session"},
    )
    assert written.dropped == ("session_id",)
    with pytest.raises(NotFound):
        await ines.session("victim-session").read()


# case 7
async def test_the_same_name_at_two_companies_is_two_people(memory: Memory) -> None:
    """Both ines keep their own language, their own event ev1 and their own session s1."""
    for tenant, value in (("altavela", "es"), ("norbrook", "pt")):
        who = person(memory, tenant=tenant)
        await who.set_preference("language", value, origin=CONFIRMED)
        await record_case(who, "ev1", summary=f"spoken in {value}")
        await who.session("s1").append("user", f"hello in {value}")
    for tenant, value in (("altavela", "es"), ("norbrook", "pt")):
        who = person(memory, tenant=tenant)
        current = await who.get_preference("language")
        assert current is not None
        assert (current.value, current.version) == (value, 1)
        assert [episode.fields for episode in await pages(who)] == [{"summary": f"spoken in {value}"}]
        assert [message.content for message in await who.session("s1").messages()] == [f"hello in {value}"]


# case 9
def test_no_operation_takes_an_identity() -> None:
    """Nothing that could be exposed as a tool has a parameter that names whose memory it is."""
    identities = {"tenant", "subject", "user", "user_id", "company", "owner", "account", "scope", "subject_key"}
    for face in (ScopedMemory, SessionMemory):
        for name, method in inspect.getmembers(face, inspect.isfunction):
            if not name.startswith("_"):
                assert not identities & set(inspect.signature(method).parameters), f"{face.__name__}.{name}"


# case 11
async def test_a_person_who_comes_back_starts_empty(memory: Memory, clock: ManualClock) -> None:
    """A new life shows nothing of the forgotten one, and a purge of what had expired leaves the new rows alone."""
    await fill(person(memory), "old", expires_at=START + DAY)
    clock.set(START + 2 * DAY)
    await person(memory).forget_all()

    back = person(memory)
    await back.remember("prefers the new seat")
    assert not [item for item in await served(back, "old seat", sessions=["session-old"]) if "old seat" in repr(item)]
    assert [episode.fields for episode in await pages(back)] == [{"text": "prefers the new seat"}]
    before = await back.checksums()
    report = await memory.purge_expired()
    assert report.removed == {}
    assert await back.checksums() == before


# case 19
async def test_an_answer_says_whose_memory_was_searched(memory: Memory) -> None:
    """An empty answer names the scope and the purpose that were searched, so that it can be explained."""
    recalled = await person(memory).recall("anything at all")
    assert (recalled.scope.tenant, recalled.scope.subject) == ("altavela", "ines")
    assert recalled.purpose == "support"
    assert recalled.items == ()


# case 19
async def test_a_forget_without_a_target_is_refused(memory: Memory) -> None:
    """Nothing, a blank or a wildcard instead of a record id forgets nothing."""
    ines = person(memory)
    await fill(ines, "amber")
    before = await ines.checksums()
    targets: list[Any] = [None, "", " ", "*", "all", "%", 0, False]
    for target in targets:
        with pytest.raises(InvalidScope):
            await ines.forget(target)
    assert await ines.checksums() == before


# case 19
async def test_a_scope_needs_both_names(memory: Memory) -> None:
    """Leaving out the company or the person is an error, not everybody."""
    scope: Any = memory.scope
    with pytest.raises(TypeError):
        scope(tenant="altavela")
    with pytest.raises(TypeError):
        scope(subject="ines")


# case 15, rule 22
async def test_neighbours_are_untouched_by_a_forget(memory: Memory) -> None:
    """Every other scope, of the same name or the same company, has the same checksums before and after."""
    people = [
        person(memory, subject, tenant) for tenant in ("altavela", "norbrook") for subject in ("ines", "tomas", "li")
    ]
    for number, who in enumerate(people):
        await fill(who, f"word{number}")
    before = [await who.checksums() for who in people]
    await people[0].forget_all()
    after = [await person(memory, who.scope.subject, who.scope.tenant).checksums() for who in people]
    assert after[1:] == before[1:]
    assert after[0] != before[0]
