"""Legal holds: what is held is refused with its basis, kept out of every read, and everything else is forgotten."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from olvido import Memory, Status
from olvido.storage.database import Transaction
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, START, fill, pages, person, record_case, served
from tests.conftest import Clone
from tests.erasure.held import BASIS, PRIMARY, REVIEW, hold, kept, personal


async def test_a_held_record_is_refused_and_the_rest_is_forgotten(memory: Memory, clone: Clone) -> None:
    """The report names the record with the basis and the review date; no read finds it, and nothing else is kept."""
    ines, tomas = person(memory), person(memory, "tomas")
    await fill(tomas, "walnut")
    neighbour = await tomas.checksums()
    record_id = await fill(ines, "harbour")
    hold_id = await hold(memory, ines, record_id)
    planned = await ines.forget_all(dry_run=True)
    report = await ines.forget_all()
    assert planned.held == report.held
    (held,) = report.held
    assert (held.record_id, held.hold_id, held.basis, held.review_at) == (record_id, hold_id, BASIS, REVIEW)
    assert report.status is Status.ROWS_ABSENT
    assert {copy.copy: copy.remaining for copy in report.copies if copy.remaining} == {}
    assert await served(person(memory), "harbour key", sessions=["session-harbour"]) == []
    assert personal(clone, "harbour") == []
    rows = kept(clone)
    assert [row["relation"] for row in rows] == ["episodes", "subjects"]
    assert rows[0]["content"]["fields"] == {"summary": "lost the harbour key"}
    assert rows[1]["content"]["external_id"] == "ines"
    assert await tomas.checksums() == neighbour


async def test_a_held_record_can_be_forgotten_by_its_id_alone(memory: Memory, clone: Clone) -> None:
    """Forgetting the one held record moves it out of every read and says why; a second time nothing is there."""
    ines = person(memory)
    record_id = await fill(ines, "harbour")
    await hold(memory, ines, record_id)
    assert (await ines.forget(record_id, dry_run=True)).held[0].basis == BASIS
    report = await ines.forget(record_id)
    assert [held.record_id for held in report.held] == [record_id]
    assert report.removed["episodes"] == 1
    assert record_id not in {episode.record_id for episode in await pages(ines)}
    again = await ines.forget(record_id)
    assert (again.found, again.held) == (False, ())
    assert [row["record_id"] for row in kept(clone)] == [record_id]


async def test_a_held_person_ends_wholly_and_is_kept(memory: Memory, clone: Clone) -> None:
    """Every primary row is kept once, what derives from them is not, and a new life of the person is not held."""
    ines = person(memory)
    await fill(ines, "harbour")
    stored = await ines.stored_rows()
    await hold(memory, ines)
    report = await ines.forget_all()
    assert await person(memory).stored_rows() == dict.fromkeys(stored, 0)
    rows = kept(clone)
    counted = {name: sum(1 for row in rows if row["relation"] == name) for name in PRIMARY}
    assert counted == {name: stored[name] for name in PRIMARY}
    assert {row["relation"] for row in rows} == {*PRIMARY, "subjects"}
    assert len({held.record_id for held in report.held}) == 5  # a preference, two episodes, a session and its fact
    again = person(memory)
    await fill(again, "harbour")
    assert (await again.forget_all()).held == ()
    assert len(kept(clone)) == len(rows)


async def test_a_held_session_is_all_its_rows_and_a_held_fact_is_one(memory: Memory, clone: Clone) -> None:
    """A session is kept with items, facts and messages; of a held fact only the fact, when its session goes."""
    ines, tomas = person(memory), person(memory, "tomas")
    for who in (ines, tomas):
        await fill(who, "harbour")
    session = await ines.session("session-harbour").read()
    fact = (await tomas.session("session-harbour").read()).facts[0]
    await hold(memory, ines, session.record_id)
    await hold(memory, tomas, fact.record_id)
    first = await ines.forget(session.record_id)
    assert {held.record_id for held in first.held} == {session.record_id, session.facts[0].record_id}
    counted = [row["relation"] for row in kept(clone)]
    assert {name: counted.count(name) for name in set(counted)} == {
        "messages": 2, "session_facts": 1, "session_items": 3, "sessions": 1,
    }  # fmt: skip
    second = await tomas.forget((await tomas.session("session-harbour").read()).record_id)
    assert {held.record_id for held in second.held} == {fact.record_id}
    assert [row["relation"] for row in kept(clone)[len(counted) :]] == ["session_facts"]


# case 62
async def test_what_is_held_expires_from_every_read_and_is_purged_into_the_vault(
    memory: Memory, clock: ManualClock, clone: Clone
) -> None:
    """Expired is not served, held or not; the purge removes it from its relation, keeps it, and counts that."""
    ines = person(memory)
    await fill(ines, "harbour", expires_at=START + DAY)
    await hold(memory, ines)
    clock.advance(2 * DAY)
    assert await served(ines, "harbour key", sessions=["session-harbour"]) == []
    assert kept(clone) == []
    report = await memory.purge_expired()
    assert report.held == 5
    assert personal(clone, "harbour") == []
    assert {row["relation"] for row in kept(clone)} == set(PRIMARY)


async def test_what_is_held_survives_being_overwritten(memory: Memory, clock: ManualClock, clone: Clone) -> None:
    """An expired value, event or session that a new one takes the place of is kept, as if it had been purged."""
    ines = person(memory)
    await ines.set_preference("display_name", "harbour", origin=CONFIRMED, expires_at=START + DAY)
    await record_case(ines, "ev1", summary="harbour", expires_at=START + DAY)
    await ines.session("s1").open(goal="harbour", expires_at=START + timedelta(hours=1))
    await hold(memory, ines)
    clock.advance(2 * DAY)
    await ines.set_preference("display_name", "walnut", origin=CONFIRMED)
    await record_case(ines, "ev1", summary="walnut", occurred_at=clock.now())
    await ines.session("s1").append("user", "walnut")
    assert personal(clone, "harbour") == []
    assert {row["relation"] for row in kept(clone) if "harbour" in json.dumps(row["content"])} == {
        "preferences", "preference_versions", "episodes", "sessions",
    }  # fmt: skip


# case 46
async def test_a_held_version_is_kept_when_the_one_before_returns(memory: Memory, clone: Clone) -> None:
    """Reopening drops one version: under a hold that version is kept, and the chain goes on."""
    ines = person(memory)
    await ines.set_preference("display_name", "walnut", origin=CONFIRMED)
    current = (await ines.correct_preference("display_name", "harbour", origin=CONFIRMED)).record
    await hold(memory, ines, current.record_id)
    report = await ines.forget(current.record_id, reopen_previous=True)
    assert [held.record_id for held in report.held] == [current.record_id]
    (row,) = kept(clone)
    assert (row["relation"], row["content"]["version"], row["content"]["value"]) == (
        "preference_versions",
        2,
        "harbour",
    )
    now = await ines.get_preference("display_name")
    assert now is not None
    assert (now.value, now.version) == ("walnut", 3)
    assert personal(clone, "harbour") == []


async def test_old_versions_are_kept_when_their_own_retention_ends(
    memory: Memory, clock: ManualClock, clone: Clone
) -> None:
    """A superseded value whose history is over is purged into the vault, once, in batches as small as one."""
    ines = person(memory)
    for name in ("one", "two", "three"):
        await ines.set_preference("display_name", f"harbour {name}", origin=CONFIRMED)
    await hold(memory, ines)
    clock.advance(366 * DAY)
    report = await memory.purge_expired(batch_size=1)
    assert report.removed == {"preference_versions": 2}
    assert [row["content"]["value"] for row in kept(clone)] == ["harbour one", "harbour two"]
    assert report.held == 1
    assert [version.value for version in await ines.history("display_name")] == ["harbour three"]


async def test_a_record_that_comes_back_can_be_kept_again(memory: Memory, clone: Clone) -> None:
    """An import restores the record id: removing it a second time keeps it a second time."""
    ines = person(memory)
    record_id = (await ines.remember("the harbour seat")).record.record_id
    document = (await ines.export()).document
    await hold(memory, ines)
    await ines.forget(record_id)
    await ines.import_export(document, new_consent=True)
    report = await ines.forget(record_id)
    assert [held.record_id for held in report.held] == [record_id]
    assert [row["record_id"] for row in kept(clone)] == [record_id, record_id]


async def test_two_holds_keep_each_their_own(memory: Memory, clone: Clone) -> None:
    """Releasing one hold leaves what the other keeps."""
    ines = person(memory)
    record_id = (await ines.remember("the harbour seat")).record.record_id
    first, second = await hold(memory, ines, record_id), await hold(memory, ines)
    assert {held.hold_id for held in (await ines.forget_all()).held} == {first, second}
    await memory.release_hold("altavela", first)
    assert {row["hold_id"] for row in kept(clone)} == {second}
    assert [each.hold_id for each in await memory.holds("altavela")] == [second]


async def test_a_company_is_forgotten_around_its_holds(memory: Memory, clone: Clone) -> None:
    """Each life ends, the report names what is held, and the holds stay to be seen and released."""
    ines, tomas = person(memory), person(memory, "tomas")
    record_id = await fill(ines, "harbour")
    await fill(tomas, "walnut")
    hold_id = await hold(memory, ines, record_id)
    planned = await memory.forget_tenant("altavela", dry_run=True)
    report = await memory.forget_tenant("altavela")
    assert planned.held == report.held
    assert [(held.record_id, held.hold_id) for held in report.held] == [(record_id, hold_id)]
    assert report.status is Status.ROWS_ABSENT
    again = await memory.forget_tenant("altavela")
    assert (again.found, again.held) == (False, report.held)
    assert (await memory.forget_tenant("altavela", dry_run=True)).held == report.held
    assert personal(clone, "walnut") == personal(clone, "harbour") == []
    (standing,) = await memory.holds("altavela")
    assert (standing.hold_id, standing.subject, standing.kept) == (hold_id, None, 2)


async def test_without_a_hold_a_removal_asks_once(
    memory: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forget, and each batch of a purge of several kinds, looks for holds with one statement and copies nothing."""
    ines = person(memory)
    await fill(ines, "harbour", expires_at=START + DAY)
    asked: list[str] = []
    execute = Transaction._execute

    async def counted(self: Transaction, statement: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        asked.append(statement.name)
        return await execute(self, statement, *arguments, **options)

    monkeypatch.setattr(Transaction, "_execute", counted)
    clock.advance(2 * DAY)
    await memory.purge_expired()
    assert [name for name in asked if name.startswith("holds.")] == ["holds.of_life"]
    asked.clear()
    await ines.remember("the harbour seat")
    await ines.forget_all()
    assert [name for name in asked if name.startswith("holds.")] == ["holds.of_life"]


def test_the_holds_of_a_life_are_found_by_an_index(clone: Clone) -> None:
    """Among many holds of a company, those of one life take one look, as the role that forgets."""
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("INSERT INTO olvido.tenants VALUES ('altavela', now())")
        connection.execute(
            "INSERT INTO olvido.legal_holds SELECT 'altavela', gen_random_uuid(), gen_random_uuid(), NULL, 'file',"
            " now(), now() FROM generate_series(1, 20000)"
        )
        connection.execute("ANALYZE olvido.legal_holds")
    with psycopg.connect(clone.app) as connection:
        connection.execute("SELECT set_config('olvido.tenant', 'altavela', true)")
        connection.execute("SELECT set_config('olvido.subject', %s, true)", [str(uuid4())])
        plan = connection.execute(
            "EXPLAIN SELECT hold_id FROM olvido.legal_holds WHERE tenant_id = 'altavela' AND subject_key = %s",
            [uuid4()],
        ).fetchall()
    assert "legal_holds_life" in "\n".join(line for (line,) in plan)
