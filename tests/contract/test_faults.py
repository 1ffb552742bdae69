"""The Nth statement of a forget fails, for every N until none does: nothing partial, lost or back again."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID

import pytest

from olvido import ForgetReport, Memory, ScopedMemory, Status
from olvido.errors import DatabaseUnavailable, PlanChanged
from tests.contract.faulting import failing
from tests.contract.support import Outside
from tests.storage.support import populate

MANY = 200
"""More statements than any forget sends."""

Forget = Callable[[ScopedMemory, UUID], Awaitable[ForgetReport]]


async def everything(person: ScopedMemory, _: UUID) -> ForgetReport:
    """Forget the person."""
    return await person.forget_all()


async def one_record(person: ScopedMemory, record_id: UUID) -> ForgetReport:
    """Forget one preference with its history."""
    return await person.forget(record_id)


async def a_selection(person: ScopedMemory, _: UUID) -> ForgetReport:
    """Forget all episodes, with what derives from them."""
    return await person.forget_where(kind="episode")


@pytest.mark.parametrize("forget", [everything, one_record, a_selection])
async def test_every_statement_may_fail(timed: Memory, outside: Outside, forget: Forget) -> None:
    """All of it is there or none; the same call then does the rest, once; nobody else's rows change."""
    neighbour = timed.scope(tenant="acme", subject="neighbour")
    await populate(timed, "acme", "neighbour")
    untouched = await neighbour.checksums()
    partial, lost, failures = 0, 0, 0
    for number in itertools.count(1):
        assert number < MANY
        subject, others = f"ana-{number}", set(outside.keys("acme"))
        await populate(timed, "acme", subject)
        (key,) = set(outside.keys("acme")) - others
        person = timed.scope(tenant="acme", subject=subject)
        stated = await person.get_preference("language")
        assert stated is not None
        before = outside.survivors(key)
        with failing(number) as fault:
            try:
                report = await forget(person, stated.record_id)
            except DatabaseUnavailable:
                failures += 1
                partial += outside.survivors(key) != before
                report = None
        if report is None or report.status is Status.INCOMPLETE:
            again = await forget(timed.scope(tenant="acme", subject=subject), stated.record_id)
            assert again.status is Status.ROWS_ABSENT
            # Where only the read-back failed, there is nothing left for the second call.
            lost += again.found is (report is not None)
        assert not (await forget(timed.scope(tenant="acme", subject=subject), stated.record_id)).found
        if forget is everything:
            assert outside.survivors(key) == {}
        else:
            assert await timed.scope(tenant="acme", subject=subject).get_preference("display_name") is not None
        if not fault.reached:
            break
    assert (partial, lost) == (0, 0)
    assert failures > 3
    assert await neighbour.checksums() == untouched
    assert outside.problems() == {}


async def test_an_entry_whose_removal_failed_is_not_applied_later(timed: Memory, outside: Outside) -> None:
    """What was announced in the ledger and rolled back stays: opening again removes nothing of it."""
    ana = timed.scope(tenant="acme", subject="ana")
    await populate(timed, "acme", "ana")
    checksums = await ana.checksums()
    for number in range(1, MANY):
        with failing(number) as fault, suppress(DatabaseUnavailable, PlanChanged):
            await ana.forget_all(plan="0" * 64)
        await timed.erase_pending()
        assert await timed.scope(tenant="acme", subject="ana").checksums() == checksums
        if not fault.reached:
            break
    assert outside.problems() == {}
