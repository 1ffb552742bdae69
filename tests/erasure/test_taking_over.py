"""A new database takes over the ledger of one that is lost: with all that was forgotten, before anybody is served."""

from __future__ import annotations

import asyncio
import logging

import pytest

from olvido.adapters import embedded
from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import Standing
from olvido.errors import ConsentNeeded, StoreLocked, TenantClosed
from tests.conftest import Clone, cloned
from tests.erasure.restoring import ACME, NORBROOK, check, opening, replay
from tests.erasure.test_ledger_gate import forget_one, marks
from tests.storage.support import administer, rows


async def test_an_empty_database_takes_over_a_ledger(
    clone: Clone, cluster: embedded.ServerUrls, template: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules 18, 20 and 23: what the ledger says is applied before anybody is served, and that is logged.

    A company stays closed, an export of whoever was forgotten needs a new consent, and the requests go on.
    """
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        await ana.remember("was there before")
        document = (await ana.export()).document
        asked = (await ana.forget_all()).erasure_id
        await memory.scope(tenant=NORBROOK, subject="zoe").remember("for a moment")
        await memory.forget_tenant(NORBROOK)
    with cloned(cluster, template) as empty:
        with caplog.at_level(logging.WARNING, "olvido.ledger"):
            async with opening(empty) as memory:
                with pytest.raises(ConsentNeeded):
                    await memory.scope(tenant=ACME, subject="ana").import_export(document)
                with pytest.raises(TenantClosed):
                    await memory.scope(tenant=NORBROOK, subject="new").remember("nobody begins here any more")
                assert [one.erasure_id for one in (await memory.erasures(ACME)).items] == [asked]
        assert [vars(record)["action"] for record in caplog.records] == ["ledger_adopted"]
        assert [entry for _, entry in marks(empty)] == [0, 1, 2, 3]
        # Whether it is empty is for a worker to see.
        with cloned(cluster, template) as another:
            with pytest.raises(StoreLocked, match="restore replay"):
                await opening(another, worker=False)
            assert marks(another) == []
            seen = await check(another)
            assert (seen.standing, seen.missing_here) == (Standing.ADOPT, 3)
            done = await replay(another)
            assert (done.applied, done.absent, done.after.locked) == (1, 2, False)
            async with opening(another, worker=False) as memory:
                with pytest.raises(TenantClosed):
                    await memory.scope(tenant=NORBROOK, subject="new").remember("nobody begins here any more")


async def test_taking_over_a_ledger_is_begun_again(
    clone: Clone, cluster: embedded.ServerUrls, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 23: where it was cut short the database belongs to no ledger yet, and the next opening does the rest."""
    await forget_one(clone)
    async with opening(clone) as memory:
        await memory.forget_tenant(NORBROOK)

    class CutShortError(Exception):
        pass

    async def stops(*_: object) -> None:
        raise CutShortError

    with cloned(cluster, template) as empty:
        with monkeypatch.context() as patch:
            patch.setattr(FileLedger, "applied", stops)
            with pytest.raises(CutShortError):
                await opening(empty)
        assert 0 not in [entry for _, entry in marks(empty)]
        async with opening(empty) as memory:
            with pytest.raises(TenantClosed):
                await memory.scope(tenant=NORBROOK, subject="new").remember("nobody begins here any more")


async def test_two_that_take_over_at_once_say_so_once(
    clone: Clone, cluster: embedded.ServerUrls, template: str
) -> None:
    """Rule 23: both are let in, and each entry has its audit row and its request once."""
    async with opening(clone) as memory:
        for number in range(20):
            person = memory.scope(tenant=ACME, subject=f"ana-{number}")
            await person.remember("was there before")
            await person.forget_all()
    with cloned(cluster, template) as empty:
        for memory in await asyncio.gather(opening(empty), opening(empty)):
            await memory.close()
        with administer(empty) as connection:
            counted = "SELECT count(*) FROM olvido.audit_log WHERE action = 'forget'"
            assert rows(connection, counted) == [(20,)]
            assert rows(connection, "SELECT count(*) FROM olvido.erasures") == [(20,)]
