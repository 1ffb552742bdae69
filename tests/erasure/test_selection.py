"""Forgetting by conditions: they intersect, never widen, and one report counts what went."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

import olvido
from olvido import Memory, RecordKind, ScopedMemory, Status
from olvido.domain.selection import named
from olvido.errors import (
    InvalidInput,
    InvalidScope,
    InvalidTime,
    InvalidValue,
    NotFound,
    NotInPolicy,
    OlvidoError,
    PlanChanged,
)
from olvido.testing import ManualClock
from tests.cases.support import (
    CONFIRMED,
    DAY,
    START,
    dump,
    fill,
    multiply,
    pages,
    person,
    policy_with,
    record_case,
    served,
    where,
)
from tests.conftest import Clone

HOUR = timedelta(hours=1)


async def live(who: ScopedMemory, *sessions: str) -> dict[UUID, tuple[RecordKind, str, datetime]]:
    """All that the read lists give: kind, the name that a condition would have, and when it was."""
    found: dict[UUID, tuple[RecordKind, str, datetime]] = {}
    for one in await who.preferences():
        found[one.record_id] = (RecordKind.PREFERENCE, one.key, one.said_at)
    for episode in await pages(who):
        found[episode.record_id] = (RecordKind.EPISODE, episode.case_id or "", episode.occurred_at)
    for session_id in sessions:
        try:
            session = await who.session(session_id).read()
        except NotFound:
            continue
        found[session.record_id] = (RecordKind.SESSION, session_id, session.opened_at)
        for fact in session.facts:
            found[fact.record_id] = (RecordKind.FACT, session_id, fact.recorded_at)
    return found


# case 23
async def test_conditions_given_together_intersect(memory: Memory, clock: ManualClock) -> None:
    """A fresh record named by its id is not forgotten with "older than 30 days", nor an old one of another kind."""
    ines = person(memory)
    old = (await record_case(ines, "old", case_id=None)).record.record_id
    kept = (await ines.set_preference("language", "pt", origin=CONFIRMED)).record.record_id
    clock.advance(40 * DAY)
    fresh = (await record_case(ines, "fresh", case_id=None, occurred_at=clock.now())).record.record_id
    until = clock.now() - 30 * DAY
    planned = await ines.forget_where(record_ids=[fresh], kind="episode", until=until, dry_run=True)
    report = await ines.forget_where(record_ids=[fresh], kind="episode", until=until)
    assert (planned.found, report.found, report.removed) == (False, False, {})
    report = await ines.forget_where(record_ids=[fresh, old, kept], kind=RecordKind.EPISODE, until=until)
    assert report.removed == {"episodes": 1, "index_entries": 1}
    assert set(await live(ines)) == {fresh, kept}


# case 27
async def test_a_selection_is_not_the_first_page(memory: Memory, clone: Clone) -> None:
    """Of 1,003 episodes of a kind none is left, in one call with one report; the person and the neighbours stay."""
    ines, tomas = person(memory), person(memory, "tomas")
    await record_case(ines, "copy0", case_id=None)
    multiply(clone, ines, 1002)
    await fill(ines, "harbour")
    await fill(tomas, "walnut")
    neighbour = await tomas.checksums()
    planned = await ines.forget_where(definition="support-case", dry_run=True)
    report = await ines.forget_where(definition="support-case", plan=planned)
    assert report.removed == {"episodes": 1004, "index_entries": 1004, "summaries": 1, "summary_sources": 1}
    assert {copy.copy: copy.planned for copy in report.copies if copy.planned} == report.removed
    assert (report.target, report.status) == ("selection", Status.ROWS_ABSENT)
    assert [episode.definition for episode in await pages(ines)] == ["note"]
    assert await tomas.checksums() == neighbour
    with psycopg.connect(clone.superuser) as connection:
        audited = connection.execute(
            "SELECT count(DISTINCT record_id) FROM olvido.audit_log WHERE action = 'forget' AND kind = 'record'"
        ).fetchone()
    assert audited == (1004,)


# case 15
async def test_names_are_compared_whole(memory: Memory) -> None:
    """Case at1 is not at11 and session s1 is not s10; li is not liam, li-2 or "li."."""
    people = {name: person(memory, name) for name in ("li", "liam", "li-2", "li.")}
    for who in people.values():
        for name in ("1", "11"):
            await record_case(who, f"event{name}", case_id=f"at{name}")
            await who.session(f"s{name}").append("user", "hello")
    before = {name: await who.checksums() for name, who in people.items()}
    assert (await people["li"].forget_where(case_id="at1")).removed["episodes"] == 1
    assert (await people["li"].forget_where(session_id="s1")).removed["sessions"] == 1
    assert {name for _, name, _ in (await live(people["li"], "s1", "s11")).values()} == {"at11", "s11"}
    assert {name: await who.checksums() for name, who in people.items() if name != "li"} == {
        name: sums for name, sums in before.items() if name != "li"
    }


async def test_a_case_goes_with_its_summary(memory: Memory) -> None:
    """All reports of a case go, and the summary of them; other cases keep theirs."""
    ines = person(memory)
    for event, case in (("a", "at1"), ("b", "at1"), ("c", "at2")):
        await record_case(ines, event, case_id=case)
    await ines.consolidate()
    report = await ines.forget_where(case_id="at1")
    assert report.removed == {"episodes": 2, "index_entries": 2, "summaries": 1, "summary_sources": 2}
    assert [summary.case_id for summary in await ines.summaries()] == ["at2"]


async def test_a_kind_is_forgotten_alone(memory: Memory) -> None:
    """Each kind goes without the others; facts go without their session, and summaries without their episodes."""
    expected = {
        "preference": {"preferences": 1, "preference_versions": 2, "index_entries": 1},
        "episode": {"episodes": 2, "index_entries": 2, "summaries": 1, "summary_sources": 1},
        "summary": {"summaries": 1, "summary_sources": 1},
        "fact": {"session_facts": 1},
        "session": {"sessions": 1, "session_items": 3, "session_facts": 1, "messages": 2},
    }
    assert set(expected) == set(RecordKind)
    for kind, removed in expected.items():
        who = person(memory, f"ines-{kind}")
        await fill(who, "harbour")
        stored = await who.stored_rows()
        assert (await who.forget_where(kind=kind)).removed == removed
        assert await who.stored_rows() == {name: rows - removed.get(name, 0) for name, rows in stored.items()}


async def test_a_span_of_time_takes_what_happened_in_it(memory: Memory, clock: ManualClock) -> None:
    """The start is in and the end is not; a summary is rebuilt from the reports that remain."""
    ines = person(memory)
    clock.advance(10 * DAY)
    for day in range(5):
        await record_case(ines, f"day{day}", occurred_at=START + day * DAY)
    await ines.consolidate()
    report = await ines.forget_where(since=START + DAY, until=START + 3 * DAY)
    assert report.removed["episodes"] == 2
    assert [episode.event_id for episode in await pages(ines)] == ["day4", "day3", "day0"]
    (summary,) = await ines.summaries()
    assert [entry.event_id for entry in summary.entries] == ["day0", "day3", "day4"]


async def test_a_session_that_reaches_over_a_border_stays_and_is_named(memory: Memory, clock: ManualClock) -> None:
    """A session wholly inside goes; of one that began before, or went on after, only facts inside go; it is named."""
    ines = person(memory)
    records = {}
    for name in ("before", "inside", "after"):
        if name == "inside":
            clock.advance(HOUR)  # to 1:00, where the span begins
        if name == "after":
            clock.advance(HOUR)  # to 2:00
        session = ines.session(name)
        await session.append("user", "first")
        records[name] = (await session.read()).record_id
    await ines.session("before").add_fact("at two", origin=CONFIRMED)
    clock.advance(HOUR)  # to 3:00, where it ends
    await ines.session("after").append("user", "second")
    await ines.session("before").add_fact("at three", origin=CONFIRMED)
    report = await ines.forget_where(since=START + HOUR, until=START + 3 * HOUR)
    assert report.overlapping == tuple(sorted([records["before"], records["after"]]))
    assert report.removed == {"sessions": 1, "messages": 1, "session_facts": 1}
    with pytest.raises(NotFound):
        await ines.session("inside").read()
    assert [fact.content for fact in (await ines.session("before").read()).facts] == ["at three"]
    assert (await ines.session("after").read()).message_count == 2
    for record_id in report.overlapping:
        assert (await ines.forget(record_id)).found


async def test_expired_records_are_selected_as_well(memory: Memory, clock: ManualClock, clone: Clone) -> None:
    """What no read lists any more is still stored: it goes, and the report counts it."""
    ines = person(memory)
    await fill(ines, "harbour", expires_at=START + DAY)
    clock.advance(2 * DAY)
    assert await live(ines, "session-harbour") == {}
    report = await ines.forget_where(until=START + DAY)
    assert {name: report.removed[name] for name in ("preferences", "episodes", "sessions")} == {
        "preferences": 1, "episodes": 2, "sessions": 1,
    }  # fmt: skip
    assert where(dump(clone.superuser), "harbour") == []


async def test_what_the_policy_dropped_is_still_found(memory: Memory, clone: Clone, clock: ManualClock) -> None:
    """A definition that is in the policy no more finds what is stored under it; one that nobody knows is refused."""
    ines = person(memory)
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    changed = policy_with("  language:\n    description", "  tongue:\n    description")
    opening = olvido.open(clone.app, worker_url=clone.worker, clock=clock, policy=changed)
    async with opening as later:
        assert (await person(later).forget_where(definition="language")).removed["preferences"] == 1
        with pytest.raises(NotInPolicy, match="tongue"):
            await person(later).forget_where(definition="langauge")


# case 41
async def test_a_selection_is_forgotten_twice_with_the_same_success(memory: Memory) -> None:
    """The second call finds nothing and succeeds; an older export does not bring it back without a new consent."""
    ines = person(memory)
    await fill(ines, "harbour")
    document = (await ines.export()).document
    assert (await ines.forget_where(kind="episode")).found
    again = await ines.forget_where(kind="episode")
    assert (again.found, again.removed, again.status) == (False, {}, Status.ROWS_ABSENT)
    taken = await person(memory).import_export(document)
    assert await pages(ines) == []
    assert (taken.written, len(taken.left_out)) == ({}, 2)
    await person(memory).import_export(document, new_consent=True)
    assert len(await pages(ines)) == 2


# case 43
async def test_a_forgotten_key_can_be_set_again(memory: Memory) -> None:
    """Set, forget, set the same key and value: it works, and the history does not show the old one."""
    ines = person(memory)
    first = (await ines.set_preference("language", "pt", origin=CONFIRMED)).record
    await ines.forget_where(definition="language")
    again = (await ines.set_preference("language", "pt", origin=CONFIRMED)).record
    assert (again.version, [version.version for version in await ines.history("language")]) == (1, [1])
    assert again.record_id != first.record_id


# case 46
async def test_forgetting_is_not_a_reversible_invalidation(memory: Memory) -> None:
    """A corrected value can be reopened; a forgotten one cannot be had back by any call."""
    ines = person(memory)
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    corrected = (await ines.correct_preference("language", "es", origin=CONFIRMED)).record
    await ines.forget(corrected.record_id, reopen_previous=True)
    reopened = await ines.get_preference("language")
    assert reopened is not None
    assert reopened.value == "pt"
    await ines.forget_where(definition="language")
    with pytest.raises(NotFound):
        await ines.forget(reopened.record_id, reopen_previous=True)
    assert await served(ines, "language") == []


async def test_a_value_that_an_earlier_version_repeats_is_not_forgotten_alone(memory: Memory) -> None:
    """Reopening would bring the same value back under another number: it says so, and forgets nothing."""
    ines = person(memory)
    for value in ("en", "pt", "es"):
        await ines.set_preference("language", value, origin=CONFIRMED)
    last = (await ines.preferences())[0].record_id
    await ines.forget(last, reopen_previous=True)
    before = await ines.checksums()
    for dry_run in (True, False):
        with pytest.raises(NotFound, match="says the same"):
            await ines.forget(last, reopen_previous=True, dry_run=dry_run)
    assert await ines.checksums() == before


async def test_a_plan_is_of_exactly_these_records(memory: Memory) -> None:
    """A record more, or another one in the place of one, is refused and removes nothing; the same plan goes through."""
    ines = person(memory)
    first = (await record_case(ines, "first", case_id=None)).record.record_id
    plan = await ines.forget_where(kind="episode", dry_run=True)
    await record_case(ines, "second", case_id=None)
    for refused in (plan, plan.plan_hash, "0" * 64):
        with pytest.raises(PlanChanged):
            await ines.forget_where(kind="episode", plan=refused)
    await ines.forget(first)
    with pytest.raises(PlanChanged):  # one record again, but not that one
        await ines.forget_where(kind="episode", plan=plan)
    assert len(await pages(ines)) == 1
    plan = await ines.forget_where(kind="episode", dry_run=True)
    assert (await ines.forget_where(kind="episode", plan=plan.plan_hash)).removed["episodes"] == 1


async def test_a_plan_may_drift_as_far_as_the_policy_says(memory: Memory, clone: Clone, clock: ManualClock) -> None:
    """Rows that came to the same records are counted against plan_drift; a bare hash allows none."""
    loose = policy_with("plan_drift: 0", "plan_drift: 2")
    async with olvido.open(clone.app, worker_url=clone.worker, clock=clock, policy=loose) as later:
        for memory_, allowed in ((memory, False), (later, True)):
            ines = person(memory_, f"ines-{allowed}")
            session = ines.session("s1")
            await session.append("user", "one")
            plan = await ines.forget_where(session_id="s1", dry_run=True)
            whole = await ines.forget_all(dry_run=True)
            await session.extend([("user", "two"), ("user", "three")])
            for call in (
                ines.forget_where(session_id="s1", plan=plan.plan_hash),
                ines.forget_all(plan=whole.plan_hash),
            ):
                with pytest.raises(PlanChanged):
                    await call
            if allowed:
                assert (await ines.forget_where(session_id="s1", plan=plan)).removed["messages"] == 3
            else:
                with pytest.raises(PlanChanged):
                    await ines.forget_where(session_id="s1", plan=plan)


async def test_a_plan_of_one_version_is_not_of_the_next(memory: Memory) -> None:
    """A preference that was corrected since is not reopened by the plan for its earlier version."""
    ines = person(memory)
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    current = (await ines.correct_preference("language", "es", origin=CONFIRMED)).record
    plan = await ines.forget(current.record_id, reopen_previous=True, dry_run=True)
    await ines.correct_preference("language", "en", origin=CONFIRMED)
    with pytest.raises(PlanChanged):
        await ines.forget(current.record_id, reopen_previous=True, plan=plan)
    plan = await ines.forget(current.record_id, reopen_previous=True, dry_run=True)
    assert (await ines.forget(current.record_id, reopen_previous=True, plan=plan.plan_hash)).chain == "reopened"


@pytest.mark.parametrize(
    "conditions, error",
    [
        pytest.param({}, InvalidInput, id="none"),
        pytest.param({"record_ids": []}, InvalidInput, id="no-ids"),
        pytest.param({"record_ids": str(uuid4())}, InvalidInput, id="one-text"),
        pytest.param({"record_ids": ["x"]}, InvalidScope, id="no-id"),
        pytest.param({"kind": "message"}, InvalidValue, id="unknown-kind"),
        pytest.param({"kind": ""}, InvalidValue, id="empty-kind"),
        pytest.param({"definition": " "}, InvalidValue, id="blank-definition"),
        pytest.param({"definition": "suport-case"}, NotInPolicy, id="unknown-definition"),
        pytest.param({"case_id": ""}, InvalidScope, id="empty-case"),
        pytest.param({"session_id": "\x00"}, InvalidScope, id="nul"),
        pytest.param({"kind": "preference", "case_id": "at1"}, InvalidInput, id="no-case"),
        pytest.param({"case_id": "at1", "session_id": "s1"}, InvalidInput, id="never-together"),
        pytest.param({"since": datetime(2026, 1, 1)}, InvalidTime, id="naive"),  # noqa: DTZ001 - what is refused
        pytest.param({"since": START, "until": START}, InvalidTime, id="empty-span"),
    ],
)
async def test_a_condition_that_means_nothing_is_refused(
    memory: Memory, conditions: dict[str, Any], error: type[OlvidoError]
) -> None:
    """Nothing is ignored or widened: what cannot be meant is an error, before anything is removed."""
    ines = person(memory)
    await fill(ines, "harbour")
    before = await ines.checksums()
    with pytest.raises(error):
        await ines.forget_where(**conditions)
    assert await ines.checksums() == before


async def test_foreign_ids_are_not_selected(memory: Memory, clone: Clone) -> None:
    """Ids of somebody else do nothing and leave no trace, beside one's own that is forgotten."""
    ines, tomas = person(memory), person(memory, "tomas")
    own, foreign = (await ines.remember("walnut")).record.record_id, (await tomas.remember("harbour")).record.record_id
    neighbour = await tomas.checksums()
    assert (await ines.forget_where(record_ids=[own, foreign])).removed["episodes"] == 1
    assert await tomas.checksums() == neighbour
    with psycopg.connect(clone.superuser) as connection:
        found = connection.execute("SELECT action FROM olvido.audit_log WHERE record_id = %s", [foreign]).fetchall()
        requests = connection.execute("SELECT record_ids FROM olvido.erasures").fetchall()
    assert found == [("recorded",)]
    assert requests == [([own],)]


def test_the_name_of_a_plan_depends_on_the_ids_alone() -> None:
    """In whatever order; and another id makes another name."""
    ids = [uuid4() for _ in range(3)]
    assert named(ids) == named(reversed(ids)) != named(ids[:2])
