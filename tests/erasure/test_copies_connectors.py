"""Connectors that work, lie, hang, fail or do half: `verified` is only what a look found gone."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from olvido.connectors import Connector
from olvido.domain.copies import DEADLINE
from olvido.domain.erasure import Step, StepStatus
from olvido.errors import InvalidInput
from olvido.operations import erase_copies
from olvido.operations.copies import copy_target
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.erasure.copies_support import CONNECTED, CRM, Copy, Desk, declaring, forget, step_of, until

FAILURES = ["hang", "unavailable", "error", "timeout", "cancelled"]
ERASE = ["all", "half", "nothing", "back", *FAILURES]
VERIFY = ["look", "not yet", "true", "text", "negative", "fraction", *FAILURES]
SHORT = 0.02
LEASE = timedelta(minutes=11)


@pytest.fixture
def desk(clone: Clone, clock: ManualClock) -> Desk:
    """The database of this test."""
    return Desk(clone=clone, clock=clock)


def identifiers(desk: Desk) -> int:
    """How many external ids of forgotten people are kept."""
    (row,) = desk.rows("SELECT count(*) AS kept FROM olvido.erasure_identifiers")
    return int(row["kept"])


async def test_a_copy_is_found_erased_and_looked_at(desk: Desk) -> None:
    """With what was there before, what is left and when that was seen; a neighbour's things are untouched."""
    crm = Copy(things={"ana": 3, "bo": 2})
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        report = await forget(memory)
        assert (await step_of(memory, report)).status is StepStatus.OPEN
        await memory.erase_pending()
        step = await step_of(memory, report)
        now = desk.clock.now()
        assert (step.status, step.settled_at, step.blocker) == (StepStatus.VERIFIED, now, None)
        assert step.evidence == {"found": 3, "asked_at": now.isoformat(), "left": 0, "looked_at": now.isoformat()}
        assert crm.things == {"bo": 2}
        assert crm.asked == ["find", "erase", "verify"]
        await memory.erase_pending()
        assert len(crm.asked) == 3


async def test_the_external_id_goes_with_the_last_copy_that_needs_it(desk: Desk) -> None:
    """In the same transaction files and log begin anew: the id stood in them after they were done."""
    copies = {"one": Copy(things={"ana": 1}), "other": Copy(things={"ana": 1}, verify_script=["not yet"])}
    policy = declaring(
        *({**CRM, "name": name, "connector": {"type": "registered", "name": name}} for name in copies), CRM
    )
    async with desk.opening(policy, connectors=copies) as memory:
        report = await forget(memory)
        desk.run(
            "UPDATE olvido.erasure_steps SET status = 'verified', settled_at = due_at WHERE step IN ('files', 'log')"
        )
        await memory.erase_pending()
        assert (await step_of(memory, report, "one")).status is StepStatus.VERIFIED
        assert (await step_of(memory, report, "other")).status is StepStatus.REQUESTED
        assert identifiers(desk) == 1
        desk.clock.advance(LEASE)
        await memory.erase_pending()
        assert (await step_of(memory, report, "other")).status is StepStatus.VERIFIED
        assert identifiers(desk) == 0
        assert report.erasure_id is not None
        found = await memory.erasure("acme", report.erasure_id)
        assert not found.identifier_kept
        assert {step.step for step in found.remains} == {"files", "log", "copy:crm"}
        files = next(step for step in found.steps if step.step == "files")
        assert set(files.evidence["since"]) == {"erasure_identifiers"}  # type: ignore[call-overload]


async def test_no_external_id_is_kept_where_no_copy_needs_it(desk: Desk) -> None:
    """Copies without a connector are found by their holders."""
    async with desk.opening(declaring(CRM)) as memory:
        await forget(memory)
        assert identifiers(desk) == 0


async def test_two_workers_that_settle_the_last_copies_leave_no_id_behind(desk: Desk) -> None:
    """Each sees the other's step as settled or not yet; one of them, the later one, deletes the id."""
    names = [f"c{number}" for number in range(6)]
    copies = {name: Copy(things={"ana": 1}) for name in names}
    policy = declaring(*({**CRM, "name": name, "connector": {"type": "registered", "name": name}} for name in names))
    async with desk.opening(policy, connectors=copies) as one, desk.opening(policy, connectors=copies) as other:
        await forget(one)
        await asyncio.gather(one.erase_pending(), other.erase_pending())
        assert identifiers(desk) == 0


@pytest.mark.parametrize(
    "erase, verify, status",
    [
        ("nothing", "look", StepStatus.REMAINING),
        ("half", "look", StepStatus.REMAINING),
        ("back", "look", StepStatus.REMAINING),
        ("all", "not yet", StepStatus.REQUESTED),
        ("nothing", "not yet", StepStatus.REQUESTED),
        *(("nothing", wrong, StepStatus.REQUESTED) for wrong in ("true", "text", "negative", "fraction")),
        *(("nothing", wrong, StepStatus.REQUESTED) for wrong in FAILURES),
        *((wrong, "look", StepStatus.OPEN) for wrong in FAILURES),
    ],
)
async def test_what_was_not_seen_gone_is_not_verified(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, erase: str, verify: str, status: StepStatus
) -> None:
    """Each in its own words, tried again later, and verified in the end when a look finds nothing."""
    monkeypatch.setattr(erase_copies.work_on_copy, "__kwdefaults__", {"seconds": SHORT})
    crm = Copy(things={"ana": 5}, erase_script=[erase], verify_script=[verify])
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        report = await forget(memory)
        await memory.erase_pending()
        step = await step_of(memory, report)
        assert (step.status, step.settled_at) == (status, None)
        assert (step.blocker is None) == (verify == "not yet")
        assert identifiers(desk) == 1
        desk.clock.advance(timedelta(hours=1))
        for _ in range(3):  # a copy that erases half of five things needs so many
            await memory.erase_pending()
            desk.clock.advance(timedelta(hours=1))
        step = await step_of(memory, report)
        assert (step.status, step.evidence["found"], step.evidence["left"]) == (StepStatus.VERIFIED, 5, 0)
        assert (crm.things, identifiers(desk)) == ({}, 0)


async def test_whatever_a_copy_does_no_verified_step_is_false(desk: Desk) -> None:
    """Three hundred copies with misbehaviour drawn by lot: verified is only, and in the end always, what is gone."""
    policy = declaring(CONNECTED)
    chance = Random(5)
    verified = false = tries = 0
    crm = Copy(things={})
    async with desk.opening(policy, crm=crm) as memory:
        report = await forget(memory)
        first = await step_of(memory, report)
        environment = memory._environment
        async with environment.database.administer("acme") as transaction:
            target = await copy_target(transaction, first.erasure_id)
        for _ in range(300):
            crm.things, crm.back = {"ana": chance.randint(0, 9)}, 0
            crm.erase_script = chance.choices(ERASE, k=chance.randint(0, 6))
            crm.verify_script = chance.choices(VERIFY, k=chance.randint(0, 6))
            step, settled = first, False
            while not settled:
                outcome = await erase_copies.work_on_copy(environment, step, target, seconds=SHORT)
                tries += 1
                if outcome.status is StepStatus.VERIFIED:
                    verified += 1
                    false += bool(crm.things.get("ana", 0))
                    settled = outcome.settled
                step = as_stored(step, outcome.status, dict(outcome.evidence))
    assert (verified, false) == (300, 0)
    assert tries > 600


def as_stored(step: Step, status: StepStatus, evidence: dict[str, object]) -> Step:
    """The step as the next worker finds it."""
    return replace(step, status=status, evidence=evidence, attempts=step.attempts + 1)


async def test_nothing_that_a_copy_says_is_repeated(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its errors quote the external id: no blocker, evidence or log line does."""
    monkeypatch.setattr(erase_copies.work_on_copy, "__kwdefaults__", {"seconds": SHORT})
    caplog.set_level(logging.DEBUG)
    person = "canary-ana@example.com"
    crm = Copy(
        things={person: 1},
        erase_script=["unavailable", "error", "timeout", "cancelled"],
        verify_script=["unavailable", "error", "timeout", "cancelled"],
    )
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        report = await forget(memory, person)
        blockers = []
        for _ in range(8):
            await memory.erase_pending()
            blockers.append((await step_of(memory, report)).blocker)
            desk.clock.advance(timedelta(hours=2))
        assert [blocker.partition(":")[0] for blocker in blockers if blocker] == ["erase"] * 4 + ["verify"] * 4
        stored = str(desk.rows("SELECT to_jsonb(s) AS step FROM olvido.erasure_steps s"))
        said = caplog.text + "".join(str(vars(record)) for record in caplog.records if record.name.startswith("olvido"))
        assert "canary" not in stored + said


async def test_a_copy_that_never_works_needs_attention_and_is_still_tried(desk: Desk) -> None:
    """Nothing is given up; the id is kept for it."""
    crm = Copy(things={"ana": 1}, erase_script=["unavailable"] * 30)
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        report = await forget(memory)
        await until(memory, desk.clock, lambda: len(crm.erase_script) < 20)
        assert (await step_of(memory, report)).status is StepStatus.NEEDS_ATTENTION
        assert identifiers(desk) == 1
        await until(memory, desk.clock, lambda: not crm.things)
        assert (await step_of(memory, report)).status is StepStatus.VERIFIED


async def test_a_connector_that_is_not_here_is_waited_for(desk: Desk) -> None:
    """Where no host code registers it, the step says so; where it is, it is done."""
    policy = declaring(CONNECTED)
    async with desk.opening(policy) as memory:
        report = await forget(memory)
        await memory.erase_pending()
        step = await step_of(memory, report)
        assert (step.status, "olvido.open(connectors={...})" in (step.blocker or "")) == (StepStatus.OPEN, True)
    desk.clock.advance(timedelta(hours=1))
    async with desk.opening(policy, crm=Copy(things={"ana": 1})) as memory:
        await memory.erase_pending()
        assert (await step_of(memory, report)).status is StepStatus.VERIFIED


@pytest.mark.parametrize("part", ["by_record", "find", "erase", "verify"])
async def test_what_lacks_a_part_of_a_connector_is_refused_when_it_is_taken_in(desk: Desk, part: str) -> None:
    """Not by the worker, weeks later, for everybody whose forget it follows up."""
    parts: dict[str, Any] = {name: getattr(Copy(things={}), name) for name in ("by_record", "find", "erase", "verify")}
    del parts[part]
    with pytest.raises(InvalidInput, match=f"'crm' has no {part}"):
        async with desk.opening(declaring(CONNECTED), connectors={"crm": cast("Connector", SimpleNamespace(**parts))}):
            pass


async def test_a_copy_of_an_older_policy_is_still_asked(desk: Desk) -> None:
    """Its connector is known by the name under which it was declared."""
    async with desk.opening(declaring(CONNECTED)) as memory:
        report = await forget(memory)
    other = {**CONNECTED, "name": "erp"}
    crm = Copy(things={"ana": 1})
    async with desk.opening(declaring(other), crm=crm) as memory:
        await memory.erase_pending()
        assert (await step_of(memory, report)).status is StepStatus.VERIFIED


async def test_a_copy_without_single_records_is_looked_at_by_its_holder(desk: Desk) -> None:
    """Asking it to erase everything of somebody for one record would be too much, and asking nothing too little."""
    crm = Copy(things={"ana": 3}, by_record=False)
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        note = (await ana.remember("prefers aisle seats")).record
        await ana.remember("prefers the morning")
        report = await ana.forget(note.record_id)
        await memory.erase_pending()
        step = await step_of(memory, report)
        assert (step.status, crm.asked, crm.things) == (StepStatus.MANUAL, [], {"ana": 3})
        # So the report had said: by its holder, and by when.
        (told,) = report.outside
        assert (told.connected, told.deadline) == (False, report.requested_at + DEADLINE)
        assert step.deadline == told.deadline
        (told,) = (await ana.forget_all(dry_run=True)).outside
        assert (told.connected, told.deadline) == (True, None)
        assert "no single records" in (step.blocker or "")
        assert report.erasure_id is not None
        await memory.confirm_copy("acme", report.erasure_id, "crm", evidence="ticket 42")
        assert ((await step_of(memory, report)).status, identifiers(desk)) == (StepStatus.CONFIRMED, 0)


async def test_a_worker_that_dies_between_asking_and_looking_is_followed_by_another(desk: Desk) -> None:
    """Its step is given back, and asked for again: to ask twice is harmless, and to not look would not be."""
    crm = Copy(things={"ana": 2}, verify_script=["hang"])
    async with desk.opening(declaring(CONNECTED), crm=crm) as memory:
        report = await forget(memory)
        dying = asyncio.create_task(memory.erase_pending())
        await crm.looked_at.wait()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        assert ((await step_of(memory, report)).status, crm.things) == (StepStatus.OPEN, {})
        await memory.erase_pending()
        assert crm.asked == ["find", "erase", "verify"]
        desk.clock.advance(LEASE)
        await memory.erase_pending()
        step = await step_of(memory, report)
        assert (step.status, step.evidence["left"]) == (StepStatus.VERIFIED, 0)
