"""The requests of a database that was put back go on: under their ids, from now on, and with what is known here."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import olvido
from olvido.adapters import embedded
from olvido.adapters.keys import KeyDirectory
from olvido.adapters.ledger import FileLedger
from olvido.operations.erase_files import relations_of
from tests.conftest import Clone
from tests.erasure.copies_support import CONNECTED, Copy, declaring
from tests.erasure.restoring import (
    ACME,
    LOCKED_BY,
    NORBROOK,
    World,
    copied,
    filled,
    forgotten,
    opening,
    personal,
    replay,
)
from tests.storage.support import administer, rows


async def test_requests_go_on_under_their_ids(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """Every request that was made after the backup is there again, of the instant at which it was made, and is done.

    It says when it was applied again, nothing of it was due before, and what backups had until then counts from there.
    """
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        async with opening(clone) as memory:
            asked = {one.erasure_id: one for tenant in (ACME, NORBROOK) for one in await requests(memory, tenant)}
        await replay(restored)
        async with opening(restored) as memory:
            again = {one.erasure_id: one for tenant in (ACME, NORBROOK) for one in await requests(memory, tenant)}
            assert len(asked) == LOCKED_BY - 1  # closing a company is no request
            assert again.keys() == asked.keys()
            for erasure_id, one in again.items():
                first = asked[erasure_id]
                assert (one.requested_at, one.target, set(one.record_ids), one.ledger_entry) == (
                    first.requested_at, first.target, set(first.record_ids), first.ledger_entry
                )  # fmt: skip
                rows_step = next(step for step in one.steps if step.step == "rows")
                is_absent = not any(one.removed.values())
                again_at = datetime.fromisoformat(str(rows_step.evidence["applied_again_at"]))
                assert rows_step.evidence.get("absent", False) is is_absent
                assert all(step.due_at >= again_at > one.requested_at for step in one.steps)
                due = {step.step: step.deadline for step in first.steps if step.deadline}
                if not is_absent:
                    due["copy:database-backups"] = again_at + timedelta(days=35)
                assert {step.step: step.deadline for step in one.steps if step.deadline} == due
                assert len(due) == 3
            absent = [one for one in again.values() if not any(one.removed.values())]
            assert [asked[one.erasure_id].removed["episodes"] for one in absent] == [1]
            await memory.erase_pending()
            (gina,) = absent
            settled = await memory.erasure(ACME, gina.erasure_id)
            rows_step = next(step for step in settled.steps if step.step == "rows")
            assert rows_step.status is olvido.StepStatus.ROWS_ABSENT
            assert rows_step.evidence["absent"] is True
        assert (await replay(restored)).applied == 0
        async with opening(restored) as memory:
            assert {one.erasure_id for one in await requests(memory, ACME)} <= again.keys()


async def test_files_are_written_anew_for_what_is_removed_again(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """A rewrite before the replay proves nothing for a request that was asked before it, whatever transactions say."""
    world = World()
    async with opening(clone, eraser_url=clone.eraser) as memory:
        await world.fill(memory)
        await memory.erase_pending()
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        with administer(restored) as connection:
            # As a dump carries it here from a server that counts other transactions.
            connection.execute("UPDATE olvido.rewrites SET gone_before = '9000000000', begun_at = clock_timestamp()")
            ((carried,),) = rows(connection, "SELECT max(begun_at) FROM olvido.rewrites")
        await replay(restored)
        async with opening(restored, eraser_url=restored.eraser) as memory:
            await memory.erase_pending()
            ana = next(one for one in await requests(memory, ACME) if one.removed.get("subjects"))
        assert ana.requested_at < carried
        files = next(step for step in ana.steps if step.step == "files")
        assert files.status is olvido.StepStatus.VERIFIED
        relations = files.evidence["relations"]
        assert isinstance(relations, list)
        assert all(datetime.fromisoformat(one["rewritten_at"]) > carried for one in relations)


async def test_a_request_that_is_here_is_not_written_twice(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """Rows that came back beside their own request are removed by a request of another id, and the first one stays."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        async with opening(clone) as memory:
            first = next(one for one in await requests(memory, ACME) if one.removed.get("subjects"))
        with administer(restored) as connection:
            connection.execute(
                "INSERT INTO olvido.erasures (tenant_id, erasure_id, subject_key, target, record_ids, ledger_entry, "
                "plan_hash, planned, removed, held, requested_at, removed_by, policy_version) SELECT 'acme', %s, "
                "subject_key, 'subject', '{}', 99, '', '{}', '{}', 0, clock_timestamp(), pg_current_xact_id(), '' "
                "FROM olvido.subjects WHERE external_id = 'ana' AND tenant_id = 'acme'",
                [first.erasure_id],
            )
        done = await replay(restored)
        assert (done.applied, done.after.locked) == (9, False)
        async with opening(restored) as memory:
            anas = [
                one
                for one in await requests(memory, ACME)
                if one.removed.get("subjects") or one.erasure_id == first.erasure_id
            ]
            assert {one.erasure_id for one in anas} > {first.erasure_id}
        assert (ACME, "ana") not in personal(restored)


async def requests(memory: olvido.Memory, tenant: str) -> tuple[olvido.ErasureReport, ...]:
    """All requests of a company but those from before the backup."""
    page = await memory.erasures(tenant)
    return tuple(one for one in page.items if one.ledger_entry != 1)


@pytest.mark.parametrize("lost", [True, False])
async def test_the_entry_of_a_request_is_that_of_the_ledger_in_use(
    clone: Clone, ledger: Path, tmp_path: Path, *, lost: bool
) -> None:
    """Rule 21: where a replay wrote requests down under other numbers, reports and receipts name these.

    lost: all of the ledger, so that a new one is made; otherwise an older copy of it was put back.
    """
    file, asked, before = ledger / "entries.jsonl", {}, b""
    keys = KeyDirectory(tmp_path / "keys")
    async with opening(clone) as memory:
        for tenant in (NORBROOK, ACME, NORBROOK):
            person = memory.scope(tenant=tenant, subject="zoe")
            await person.remember("for a moment")
            before = file.read_bytes()
            report = await person.forget_all()
            asked[report.erasure_id] = tenant
    if lost:
        shutil.rmtree(ledger)
    else:
        file.write_bytes(before)
    await replay(clone, new_ledger=lost)
    state = await FileLedger(ledger).state()
    assert state is not None
    entries = await FileLedger(ledger).entries(range(1, state.last + 1))
    numbers = {one.request.erasure_id: one.number for one in entries if one.request is not None}
    assert [numbers[one] for one in asked if one is not None] == ([2, 1, 3] if lost else [1, 2, 4])
    async with opening(clone, keys=tmp_path / "keys") as memory:
        listed = [one for tenant in (ACME, NORBROOK) for one in (await memory.erasures(tenant)).items]
        assert {one.erasure_id: one.ledger_entry for one in listed} == numbers
        for erasure_id, tenant in asked.items():
            assert erasure_id is not None
            issued = olvido.verify_receipt(await memory.receipt(tenant, erasure_id), keys.published()).receipt
            assert (issued.issuer.ledger_id, issued.issuer.ledger_entry) == (state.ledger_id, numbers[erasure_id])


async def test_a_record_that_is_not_here_is_asked_for_by_its_person(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """The person is here, so connectors are asked; and its files are done, in which it may have been as anything."""
    policy, crm = declaring(CONNECTED), Copy(things={"bea": 1})
    async with opening(clone, policy=policy) as memory:
        await memory.scope(tenant=ACME, subject="bea").remember("prefers aisle seats")
    with copied(cluster, clone) as restored:
        async with opening(clone, policy=policy) as memory:
            bea = memory.scope(tenant=ACME, subject="bea")
            asked = await bea.forget((await bea.remember("came after the backup")).record.record_id)
            assert asked.erasure_id is not None
        done = await replay(restored, policy=policy)
        assert (done.applied, done.absent, done.requests) == (0, 1, 1)
        async with opening(restored, policy=policy, eraser_url=restored.eraser, connectors={"crm": crm}) as memory:
            assert (await memory.erasure(ACME, asked.erasure_id)).identifier_kept
            await memory.erase_pending()
            found = await memory.erasure(ACME, asked.erasure_id)
    steps = {step.step: step for step in found.steps}
    assert (steps["copy:crm"].status, steps["copy:crm"].evidence["found"]) == (olvido.StepStatus.VERIFIED, 1)
    assert (crm.things, found.identifier_kept) == ({}, False)
    written = steps["files"].evidence["relations"]
    assert isinstance(written, list)
    names = {one["relation"].rstrip("_0123456789") for one in written}
    assert names > {"episodes", "preference_versions", "messages", "erasure_identifiers"}


def test_records_of_which_nothing_was_here_may_have_been_anything() -> None:
    """Their files are all that hold records; a hold that had kept nothing has none."""
    assert (
        relations_of("selection", {})
        == relations_of("record", {"episodes": 0})
        > relations_of("record", {"episodes": 1, "preferences": 1})
    )
    assert {"preference_versions", "episodes", "messages"} <= relations_of("record", {}) < relations_of("subject", {})
    assert relations_of("hold", {"held_records": 0}) == frozenset()
    assert relations_of("hold", {"held_records": 1}) == relations_of("subject", {}) | {"held_records"}
