"""Copies that policies declared are known for as long as they can hold something, and end as they are declared to."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from olvido.domain.copies import DEADLINE, FRESH
from olvido.domain.erasure import Level, StepStatus
from olvido.errors import InvalidInput, InvalidValue, NotFound, SecretRefused
from olvido.operations.copies import registered_copies
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.erasure.copies_support import BACKUP, CONNECTED, CRM, Copy, Desk, declaring, forget, step_of

DAY = timedelta(days=1)
LOG = {"name": "logs", "kind": "log", "holder": "platform", "retention": "30d"}


@pytest.fixture
def desk(clone: Clone, clock: ManualClock) -> Desk:
    """The database of this test."""
    return Desk(clone=clone, clock=clock)


async def test_a_copy_that_is_declared_no_more_still_gets_steps_for_its_retention(desk: Desk) -> None:
    """It holds what it held; when its retention has passed since, nothing is asked of it any more."""
    async with desk.opening(declaring(LOG, CRM)):
        pass
    async with desk.opening(declaring()) as memory:
        for after, steps in ((0 * DAY, 2), (30 * DAY, 2), (FRESH, 1), (10_000 * DAY, 1)):
            desk.clock.advance(after)
            report = await forget(memory)
            assert report.erasure_id is not None
            found = [step for step in (await memory.erasure("acme", report.erasure_id)).steps if step.level > Level.E3]
            assert len(found) == steps
            assert found[0].step == "copy:crm"


async def test_opening_again_writes_only_what_changed(desk: Desk) -> None:
    """Who declares the same copies does not write; a new holder, retention or connector is noted."""

    def noted() -> list[dict[str, object]]:
        return desk.rows("SELECT *, xmin::text AS written_by FROM olvido.copies ORDER BY name")

    async with desk.opening(declaring(LOG)):
        first = noted()
    async with desk.opening(declaring(LOG)) as memory:
        await forget(memory)
        assert noted() == first
    async with desk.opening(declaring({**LOG, "holder": "security", "retention": "7d"})):
        (again,) = noted()
    assert (again["holder"], again["retention_seconds"]) == ("security", 7 * 86_400)
    assert again["declared_at"] == first[0]["declared_at"]
    desk.clock.advance(FRESH)
    async with desk.opening(declaring({**LOG, "holder": "security", "retention": "7d"})):
        assert noted()[0]["last_declared_at"] == desk.clock.now()


async def test_requests_do_not_wait_for_each_other_at_the_register(desk: Desk) -> None:
    """One that notes copies, and is not committed yet, holds no row that another one would wait for."""
    policy = declaring(LOG, CRM)
    async with desk.opening(policy) as memory:
        desk.clock.advance(FRESH)
        database = memory._environment.database
        async with database.remains("", None) as one, asyncio.timeout(20):
            assert len(await registered_copies(one, policy)) == 2
            report = await forget(memory)
            assert (await step_of(memory, report)).status is StepStatus.MANUAL
    noted = desk.rows("SELECT DISTINCT last_declared_at FROM olvido.copies")
    assert noted == [{"last_declared_at": desk.clock.now()}]


async def test_a_backup_expires_by_its_declared_retention(desk: Desk) -> None:
    """Counted from when the last byte left files and log, not a moment sooner, and it is told that nobody looked."""
    async with desk.opening(declaring(BACKUP)) as memory:
        report = await forget(memory)
        step = await step_of(memory, report, "nightly")
        assert (step.level, step.status, step.deadline) == (Level.E5, StepStatus.OPEN, desk.clock.now() + 35 * DAY)
        # Nobody rewrites files here, so that backups of today have it as well.
        desk.clock.advance(35 * DAY)
        await memory.erase_pending()
        step = await step_of(memory, report, "nightly")
        assert step.status is StepStatus.OPEN
        assert "still in the files" in str(step.blocker)
        gone_here_at = desk.clock.now()
        with psycopg.connect(desk.clone.superuser) as connection:
            connection.execute(
                "UPDATE olvido.erasure_steps SET status = 'verified', settled_at = %s WHERE step IN ('files', 'log')",
                [gone_here_at],
            )
        desk.clock.advance(35 * DAY - timedelta(seconds=1))
        await memory.erase_pending()
        step = await step_of(memory, report, "nightly")
        assert (step.status, step.deadline) == (StepStatus.OPEN, gone_here_at + 35 * DAY)
        desk.clock.advance(timedelta(seconds=1))
        await memory.erase_pending()
        step = await step_of(memory, report, "nightly")
        assert (step.status, step.settled_at) == (StepStatus.EXPIRED, desk.clock.now())
        assert step.evidence == {
            "gone_by": (gone_here_at + 35 * DAY).isoformat(),
            "declared_retention_seconds": 35 * 86_400,
            "looked": False,
            "at": desk.clock.now().isoformat(),
        }


async def test_a_holder_has_a_deadline_and_is_then_asked_about(desk: Desk) -> None:
    """The step needs attention until somebody confirms it with a reference."""
    async with desk.opening(declaring(CRM)) as memory:
        report = await forget(memory)
        step = await step_of(memory, report)
        assert (step.status, step.deadline) == (StepStatus.MANUAL, desk.clock.now() + DEADLINE)
        await memory.erase_pending()
        assert await step_of(memory, report) == step
        for _ in range(2):
            desk.clock.advance(DEADLINE)
            await memory.erase_pending()
            overdue = await step_of(memory, report)
            assert (overdue.status, overdue.settled_at) == (StepStatus.NEEDS_ATTENTION, None)
            assert "holder is over" in (overdue.blocker or "")
        assert report.erasure_id is not None
        await memory.confirm_copy("acme", report.erasure_id, "crm", evidence="ticket 42")
        confirmed = await step_of(memory, report)
        assert (confirmed.status, confirmed.settled_at) == (StepStatus.CONFIRMED, desk.clock.now())
        assert confirmed.evidence["confirmed"] == "ticket 42"
        assert confirmed.blocker is None


async def test_a_manual_copy_with_a_retention_is_gone_by_that_in_the_end(desk: Desk) -> None:
    """If its holder never answered: first it needs attention, then it has expired by declaration."""
    async with desk.opening(declaring({**LOG, "deadline": "7d"})) as memory:
        report = await forget(memory)
        statuses = []
        for _ in range(4):
            desk.clock.advance(8 * DAY)
            await memory.erase_pending()
            statuses.append((await step_of(memory, report, "logs")).status)
        assert statuses == [StepStatus.NEEDS_ATTENTION] * 3 + [StepStatus.EXPIRED]


async def test_a_confirmation_is_written_down_once(desk: Desk) -> None:
    """In the audit without the reference; a second one changes nothing."""
    async with desk.opening(declaring(CRM)) as memory:
        report = await forget(memory)
        assert report.erasure_id is not None
        await memory.confirm_copy("acme", report.erasure_id, "crm", evidence="ticket 42")
        await memory.confirm_copy("acme", report.erasure_id, "crm", evidence="ticket 43")
        assert (await step_of(memory, report)).evidence["confirmed"] == "ticket 42"
        audited = desk.rows("SELECT record_id, counts FROM olvido.audit_log WHERE action = 'confirmed'")
        assert audited == [{"record_id": report.erasure_id, "counts": {}}]


async def test_a_confirmation_says_nothing_about_the_person(desk: Desk) -> None:
    """While the external id is kept, evidence that names it is refused, as are secrets and long texts."""
    async with desk.opening(declaring(CONNECTED), crm=Copy(things={})) as memory:
        report = await forget(memory, "ana@example.com")
        assert report.erasure_id is not None
        for evidence in ("deleted ANA@example.com", "x" * 201, "", "two\nlines"):
            with pytest.raises(InvalidValue) as refused:
                await memory.confirm_copy("acme", report.erasure_id, "crm", evidence=evidence)
            assert "example.com" not in str(refused.value)
        with pytest.raises(SecretRefused):
            await memory.confirm_copy("acme", report.erasure_id, "crm", evidence="password: hunter2hunter2")
        assert (await step_of(memory, report)).status is StepStatus.OPEN


async def test_a_request_of_others_cannot_be_confirmed(desk: Desk) -> None:
    """Another company, request or copy is answered as one that is not there, and nothing changes."""
    async with desk.opening(declaring(CRM)) as memory:
        report = await forget(memory)
        assert report.erasure_id is not None
        for tenant, erasure_id, copy in (
            ("globex", report.erasure_id, "crm"),
            ("acme", uuid4(), "crm"),
            ("acme", report.erasure_id, "erp"),
            ("acme", report.erasure_id, "rows"),
        ):
            with pytest.raises(NotFound):
                await memory.confirm_copy(tenant, erasure_id, copy, evidence="ticket 42")
        assert (await step_of(memory, report)).status is StepStatus.MANUAL


async def test_a_connector_that_no_copy_names_is_refused(desk: Desk) -> None:
    """It would never be asked; the error prints the line to add."""
    with pytest.raises(InvalidInput, match="type: registered, name: erp"):
        async with desk.opening(declaring(CONNECTED), erp=Copy(things={})):
            pass
