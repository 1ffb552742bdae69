"""Killed between two steps of a forget, or still at it: whoever opens next brings database and ledger together."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import olvido
from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import LedgerState, Request, Standing
from olvido.errors import StoreLocked, SubjectForgotten, TenantClosed, UnsafeDatabase
from olvido.operations.apply_again import settle
from tests.conftest import Clone
from tests.contract.support import Outside, until_waiting
from tests.erasure import forgetting_client
from tests.erasure.restoring import ACME, ALTAVELA, check, opening
from tests.storage.support import administer, rows
from tests.warm import program

PEOPLE = ((ACME, "ana"), (ACME, "bea"), (ALTAVELA, "ana"))


async def fill(clone: Clone) -> None:
    """A note and a name for each of three people."""
    async with opening(clone) as memory:
        for tenant, subject in PEOPLE:
            person = memory.scope(tenant=tenant, subject=subject)
            await person.remember(f"the locker of {subject}")
            await person.set_preference("display_name", subject, origin=olvido.Origin.declared("user-confirmation"))


async def state_of(place: Path) -> LedgerState:
    """How far the ledger is."""
    state = await FileLedger(place).state()
    assert state is not None
    return state


def forget_and_die(clone: Clone, ledger: Path, moment: str, target: str) -> None:
    """Run the program that forgets, until it is killed at that moment."""
    with program(forgetting_client.main, clone.app, clone.worker, str(ledger), moment, target) as client:
        assert client.end() == (0 if moment == "done" else -signal.SIGKILL)


async def stored(clone: Clone) -> dict[tuple[str, str], dict[str, int]]:
    """What each person has, by relation."""
    with Outside(clone.superuser) as outside:
        census = outside.census()
        assert outside.problems() == {}
    return {
        scope: {name: found.rows[name] for name in ("episodes", "preferences") if found.rows[name]}
        for scope, found in census.items()
    }


LEFT = {
    "person": {(ACME, "bea"), (ALTAVELA, "ana")},
    "note": {(ACME, "ana"), (ACME, "bea"), (ALTAVELA, "ana")},
    "company": {(ACME, "ana"), (ACME, "bea"), (ALTAVELA, "ana")},
}
WHOLE = {"episodes": 1, "preferences": 1}


@pytest.mark.parametrize("target", ["person", "note", "company"])
@pytest.mark.parametrize("moment", ["intended", "committed", "done"])
async def test_killed_at_any_moment(
    clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch, moment: str, target: str
) -> None:
    """What was intended is removed before anybody is served, once, and nothing else is."""
    await fill(clone)
    await asyncio.to_thread(forget_and_die, clone, ledger, moment, target)
    before = await stored(clone)
    state = await state_of(ledger)
    assert state.last == (3 if (target, moment) == ("company", "done") else 1)
    assert state.in_flight == (() if moment == "done" else (1,))
    untouched = moment == "intended" or (moment, target) == ("committed", "company")
    assert (before == dict.fromkeys(PEOPLE, WHOLE)) is untouched
    # A login that is no worker's cannot finish it, so it is served only where there is nothing to finish.
    if state.in_flight:
        monkeypatch.setattr("olvido.operations.ledger_gate.PATIENCE", 0.0)
        with pytest.raises(StoreLocked, match="olvido worker"):
            async with opening(clone, worker=False):
                pass
    else:
        async with opening(clone, worker=False):
            pass
    assert await stored(clone) == before
    assert await state_of(ledger) == state
    assert (await check(clone)).in_flight == len(state.in_flight)
    async with opening(clone) as memory:
        after = await stored(clone)
        assert (await state_of(ledger)).in_flight == ()
        assert (await check(clone)).standing is Standing.FITS
        if target == "company":
            with pytest.raises(TenantClosed):
                await memory.scope(tenant=ACME, subject="new").remember("nobody begins here any more")
    left = {(ALTAVELA, "ana")} if (target, moment) == ("company", "done") else LEFT[target]
    assert after == {
        scope: {"preferences": 1} if (scope, target) == ((ACME, "ana"), "note") else WHOLE for scope in left
    }
    with administer(clone) as connection:
        count = rows(connection, "SELECT count(*) FROM olvido.erasures")
    assert count == [(2 if moment == "done" else 0,)] if target == "company" else count == [(1,)]


async def test_a_handle_from_before_writes_nothing(clone: Clone, ledger: Path) -> None:
    """Whoever was served meanwhile, without the login of a worker, is refused once the removal was made up for."""
    await fill(clone)
    async with opening(clone, worker=False) as served:
        ana = served.scope(tenant=ACME, subject="ana")
        await asyncio.to_thread(forget_and_die, clone, ledger, "intended", "person")
        await ana.remember("while it was under way")
        async with opening(clone):
            pass
        with pytest.raises(SubjectForgotten):
            await ana.remember("too late")
        assert (await ana.episodes()).items == ()
    assert (ACME, "ana") not in await stored(clone)


async def test_a_worker_finishes_what_others_left(clone: Clone, ledger: Path) -> None:
    """Where nobody opens anew, the next turn of a worker that runs already does it."""
    await fill(clone)
    async with opening(clone) as memory:
        await asyncio.to_thread(forget_and_die, clone, ledger, "intended", "person")
        assert (ACME, "ana") in await stored(clone)
        await memory.erase_pending()
    assert (ACME, "ana") not in await stored(clone)
    assert (await state_of(ledger)).in_flight == ()


async def test_a_version_is_removed_though_a_later_one_is_current(clone: Clone, ledger: Path) -> None:
    """Rule 21: who asked died, and the preference was corrected since: that version goes, and the later one stays."""
    declared = olvido.Origin.declared("user-confirmation")
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        await ana.set_preference("language", "es", origin=declared)
        asked = await ana.correct_preference("language", "pt", origin=declared)
        record_id = asked.record.record_id
        with administer(clone) as connection:
            ((key,),) = rows(connection, "SELECT subject_key FROM olvido.subjects")
        request = Request(erasure_id=uuid4(), requested_at=await memory.now(), target="record")
        other = FileLedger(ledger)
        await other.state()
        await other.intend(ACME, key, [record_id], 2, request)
        other.close()
        await ana.correct_preference("language", "en", origin=declared)
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        assert [(one.version, one.value) for one in await ana.history("language")] == [(1, "es"), (3, "en")]
        erasure = await memory.erasure(ACME, request.erasure_id)
        assert (erasure.record_ids, erasure.removed) == ((record_id,), {"preference_versions": 1})
        step = next(step for step in erasure.steps if step.step == "rows")
        assert step.status is olvido.StepStatus.ROWS_ABSENT
    assert (await check(clone)).standing is Standing.FITS
    assert (await state_of(ledger)).applied == 1


async def test_opening_waits_for_one_that_is_under_way(
    clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that another process is at is not removed twice: the open queues behind it, and finds it done."""
    await fill(clone)
    go, reached = asyncio.Event(), asyncio.Event()
    intend = FileLedger.intend

    async def paused(self: FileLedger, tenant: str, key: UUID, *rest: Any, **more: Any) -> int:  # noqa: ANN401
        number = await intend(self, tenant, key, *rest, **more)
        reached.set()
        await go.wait()
        return number

    async with opening(clone) as memory:
        with monkeypatch.context() as patch, Outside(clone.superuser) as outside:
            patch.setattr(FileLedger, "intend", paused)
            forgetting = asyncio.create_task(memory.scope(tenant=ACME, subject="ana").forget_all())
            await reached.wait()
            second = asyncio.create_task(opening(clone).opened())
            await until_waiting(outside, 1)
            assert not second.done()
            go.set()
            report = await forgetting
            await (await second).close()
    assert report.status is olvido.Status.ROWS_ABSENT
    assert await state_of(ledger) == LedgerState(
        ledger_id=(await state_of(ledger)).ledger_id,
        replaces=frozenset(),
        last=1,
        unapplied=frozenset(),
        in_flight=(),
        newest=(1,),
    )
    with administer(clone) as connection:
        assert rows(connection, "SELECT count(*) FROM olvido.erasures") == [(1,)]


async def test_one_that_fails_is_taken_back(clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forget that was rolled back is not carried out by whoever waits for it, nor by whoever opens later."""
    await fill(clone)
    go, reached = asyncio.Event(), asyncio.Event()
    intend = FileLedger.intend
    calls: list[int] = []

    async def paused(self: FileLedger, tenant: str, key: UUID, *rest: Any, **more: Any) -> int:  # noqa: ANN401
        number = await intend(self, tenant, key, *rest, **more)
        calls.append(number)
        reached.set()
        await go.wait()
        return number

    async with opening(clone) as memory:
        with administer(clone) as connection, Outside(clone.superuser) as outside, monkeypatch.context() as patch:
            # What the data map does not name keeps the life from being removed.
            connection.execute(
                'CREATE TABLE olvido.more (t text COLLATE "C", s uuid, FOREIGN KEY (t, s) REFERENCES olvido.subjects)'
            )
            connection.execute(
                "INSERT INTO olvido.more SELECT tenant_id, subject_key FROM olvido.subjects WHERE external_id = 'ana'"
            )
            patch.setattr(FileLedger, "intend", paused)
            forgetting = asyncio.create_task(memory.scope(tenant=ACME, subject="ana").forget_all())
            await reached.wait()
            settling = asyncio.create_task(settle(memory._environment))
            await until_waiting(outside, 1)
            go.set()
            with pytest.raises(UnsafeDatabase):
                await forgetting
            await settling
            connection.execute("DROP TABLE olvido.more")
    assert calls == [1]
    state = await state_of(ledger)
    assert (state.last, state.unapplied, state.in_flight) == (1, frozenset({1}), ())
    async with opening(clone):
        assert (await stored(clone))[ACME, "ana"] == WHOLE
    assert (await check(clone)).withdrawn == 1
