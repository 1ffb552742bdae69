"""A ledger that fails while a forget fails: what was asked stands in it, the caller is told, and it is mended first."""

from __future__ import annotations

from pathlib import Path

import pytest

from olvido.adapters import embedded
from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import LedgerState
from olvido.errors import LedgerUnavailable, StoreLocked, UnsafeDatabase
from tests.adapters.ledger.support import fail_outcomes
from tests.conftest import Clone
from tests.contract.support import Outside
from tests.erasure.restoring import ACME, check, copied, opening
from tests.storage.support import administer

ANA = (ACME, "ana")


async def state_of(place: Path) -> LedgerState:
    """How far the ledger is, as another process sees it."""
    state = await FileLedger(place).state()
    assert state is not None
    return state


def break_the_removal(clone: Clone) -> None:
    """Let a table refer to Ana that the data map does not name, so that she cannot be removed."""
    with administer(clone) as connection:
        connection.execute(
            'CREATE TABLE olvido.more (t text COLLATE "C", s uuid, FOREIGN KEY (t, s) REFERENCES olvido.subjects)'
        )
        connection.execute("INSERT INTO olvido.more SELECT tenant_id, subject_key FROM olvido.subjects")


def mend_the_removal(clone: Clone) -> None:
    """Take that table away."""
    with administer(clone) as connection:
        connection.execute("DROP TABLE olvido.more")


def stored(clone: Clone) -> bool:
    """Whether Ana is there."""
    with Outside(clone.superuser) as outside:
        return ANA in outside.census()


async def test_the_program_that_could_not_write_it_does_so_first(
    clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says that what was asked stands; this program carries it out no more, and takes it back once it can."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").remember("prefers aisle seats")
        break_the_removal(clone)
        with monkeypatch.context() as patch:
            fail_outcomes(patch)
            with pytest.raises(LedgerUnavailable, match=r"Nothing was removed.*carries it out") as told:
                await memory.scope(tenant=ACME, subject="ana").forget_all()
            assert str(ledger) in str(told.value)
            mend_the_removal(clone)
            # This would carry out what has no outcome, if there were any.
            await memory.erase_pending()
            assert stored(clone)
        assert (await state_of(ledger)).in_flight == (1,)
        await memory.erase_pending()
        assert stored(clone)
    state = await state_of(ledger)
    assert (state.in_flight, state.unapplied) == ((), frozenset({1}))
    assert (await check(clone)).withdrawn == 1


async def test_whoever_opens_before_that_carries_it_out(
    clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash, and as the error said; the program that comes too late withdraws nothing of it."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").remember("prefers aisle seats")
        break_the_removal(clone)
        with monkeypatch.context() as patch:
            fail_outcomes(patch)
            with pytest.raises(LedgerUnavailable):
                await memory.scope(tenant=ACME, subject="ana").forget_all()
        mend_the_removal(clone)
        async with opening(clone):
            assert not stored(clone)
        await memory.erase_pending()
    state = await state_of(ledger)
    assert (state.in_flight, state.unapplied, state.applied) == ((), frozenset(), 1)


async def test_a_forget_that_fails_with_a_sound_ledger_says_why_it_failed(clone: Clone, ledger: Path) -> None:
    """The error is the one of the removal, and the entry is taken back."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").remember("prefers aisle seats")
        break_the_removal(clone)
        with pytest.raises(UnsafeDatabase, match="more"):
            await memory.scope(tenant=ACME, subject="ana").forget_all()
        mend_the_removal(clone)
    assert (await state_of(ledger)).unapplied == frozenset({1})


async def test_what_another_program_carried_out_stands(
    clone: Clone, cluster: embedded.ServerUrls, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If that one could not write it down either, what is withdrawn too late is noted as carried out by a worker."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").remember("prefers aisle seats")
    with copied(cluster, clone) as backup:
        async with opening(clone) as memory:
            break_the_removal(clone)
            with monkeypatch.context() as patch:
                fail_outcomes(patch)
                with pytest.raises(LedgerUnavailable):
                    await memory.scope(tenant=ACME, subject="ana").forget_all()
                mend_the_removal(clone)
                with pytest.raises(LedgerUnavailable):
                    await opening(clone)
                assert not stored(clone)
            await memory.erase_pending()
        state = await state_of(ledger)
        assert (state.in_flight, state.unapplied, state.applied) == ((), frozenset(), 1)
        with pytest.raises(StoreLocked):
            await opening(backup)


async def test_a_company_that_could_not_be_closed(clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a person: the error says that it stands in the ledger, and it is taken back before anything else."""
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        await ana.remember("prefers aisle seats")
        with administer(clone) as connection:
            connection.execute("REVOKE INSERT ON olvido.ledger_entries FROM olvido_worker")
        with monkeypatch.context() as patch:
            fail_outcomes(patch)
            with pytest.raises(LedgerUnavailable, match=r"Nothing was removed.*carries it out"):
                await memory.forget_tenant(ACME)
        with administer(clone) as connection:
            connection.execute("GRANT INSERT ON olvido.ledger_entries TO olvido_worker")
        await memory.erase_pending()
        await ana.remember("the company is open")
    assert (await state_of(ledger)).unapplied == frozenset({1})
