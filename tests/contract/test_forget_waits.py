"""Whom a forget waits for, and who waits for it: never both."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

import olvido
from olvido import Status
from olvido.operations import consent, forget
from olvido.operations.environment import Environment
from olvido.storage.database import Transaction
from tests.conftest import Clone
from tests.contract.support import PATIENCE, Outside, PlainDetector, until_waiting
from tests.operations.word_embedder import WordEmbedder


async def test_a_forget_does_not_wait_for_those_who_wait_for_it(
    clone: Clone, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 18: it holds the life and asks the audit, while a duty that waits for the life has the only connection."""
    holds, go = asyncio.Event(), asyncio.Event()
    asks = consent.taken_in

    async def paused(environment: Environment, transaction: Transaction, *, worker: bool) -> tuple[UUID, ...]:
        holds.set()
        await go.wait()
        return await asks(environment, transaction, worker=worker)

    async with olvido.open(
        clone.app, worker_url=clone.worker, embedder=WordEmbedder(), detector=PlainDetector(), pool_size=1
    ) as memory:
        await memory.scope(tenant="norte", subject="ana").remember("prefers aisle seats", language="en")
        monkeypatch.setattr(forget, "taken_in", paused)
        forgetting = asyncio.create_task(memory.scope(tenant="norte", subject="ana").forget_all())
        await holds.wait()
        closing = asyncio.create_task(memory.forget_tenant("norte"))
        await until_waiting(outside, 1)
        go.set()
        async with asyncio.timeout(PATIENCE):
            assert (await forgetting).status is Status.ROWS_ABSENT
            assert (await closing).status is Status.ROWS_ABSENT
