"""A removal that has begun and not come to a relation yet is not covered by a rewrite of that relation meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from olvido.domain.erasure import StepStatus
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED
from tests.erasure.canaries import marker, pieces
from tests.erasure.conftest import new_place
from tests.erasure.following import HOUR, steps
from tests.erasure.place import Place, without_copies


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A server of its own."""
    with new_place() as made:
        yield made


async def until_somebody_waits(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Return when a session waits for a lock of another one."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while not (await asyncio.to_thread(connection.execute, waiting)).fetchone():
        pass


async def test_a_rewrite_during_a_removal_does_not_count(place: Place, clock: ManualClock) -> None:
    """A forget waits for a writer; what it removes after another request's rewrite is gone by a rewrite of its own."""
    word = marker("under way")
    async with place.opening(clock, without_copies()) as memory:
        ana, bob = memory.scope(tenant="acme", subject="ana"), memory.scope(tenant="acme", subject="bob")
        stated = await ana.set_preference("display_name", f"{word} one", origin=CONFIRMED)
        await bob.set_preference("display_name", "Bob", origin=CONFIRMED)
        await bob.forget_all()
        with (
            psycopg.connect(place.urls.superuser) as writer,
            psycopg.connect(place.urls.superuser, autocommit=True) as watching,
        ):
            # As somebody who corrects it, and takes long.
            writer.execute("SELECT FROM olvido.preferences WHERE record_id = %s FOR UPDATE", [stated.record.record_id])
            forgetting = asyncio.create_task(ana.forget(stated.record.record_id))
            await until_somebody_waits(watching)
            await memory.erase_pending()
            writer.rollback()
        report = await forgetting
        assert report.erasure_id is not None
        clock.advance(HOUR)
        await memory.erase_pending()
        assert (await steps(memory, report.erasure_id, "acme"))["files"].status is StepStatus.VERIFIED
    assert place.found(word=pieces(word)) == {"word": set()}
