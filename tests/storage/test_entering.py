"""Entering a scope is the check of a pooled connection, and inserts may keep a generic plan that locks one leaf."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import psycopg
import pytest

import olvido
from olvido.adapters.languages import Languages
from olvido.domain.origin import Origin
from olvido.domain.scope import Scope
from olvido.errors import DatabaseUnavailable
from olvido.storage.database import Database, Life, Transaction
from olvido.storage.queries import PARTITIONED, Statement, entities, statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder
from tests.storage.support import administer

SIZE = 3
SAID = Origin.declared("user-confirmation")


@pytest.fixture
async def memory(clone: Clone, clock: ManualClock, detector: Languages) -> AsyncIterator[olvido.Memory]:
    """A memory with few connections."""
    async with olvido.open(
        clone.app, clock=clock, embedder=WordEmbedder(), detector=detector, pool_size=SIZE, timeout=20
    ) as opened:
        yield opened


async def _all_connected(memory: olvido.Memory) -> None:
    """Use every connection of the pool at once, so that all of them exist."""
    database: Database = memory._environment.database
    async with AsyncExitStack() as stack:
        for number in range(SIZE):
            await stack.enter_async_context(database.read(Life(scope=Scope(tenant="acme", subject=str(number)))))


def _end_backends(clone: Clone) -> int:
    """End every other backend of this database, as a restart of the server does."""
    with administer(clone) as connection:
        cursor = connection.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = 'olvido_app' AND pid <> pg_backend_pid()"
        )
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_connections_that_died_in_the_pool_are_passed_over(clone: Clone, memory: olvido.Memory) -> None:
    """Case 113: after all backends were ended, each kind of call works at once, and a write is stored once."""
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.set_preference("language", "pt", origin=SAID)
    calls = (
        lambda: ana.get_preference("language"),
        lambda: ana.recall("aisle"),
        lambda: ana.remember("prefers aisle seats"),
        lambda: ana.correct_preference("language", "en", origin=SAID),
        lambda: ana.session("s1").append("user", "hello"),
        ana.consolidate,
    )
    for call in calls:
        await _all_connected(memory)
        assert _end_backends(clone) >= SIZE
        await call()
    stored = await ana.stored_rows()
    assert stored["episodes"] == 1
    assert stored["preference_versions"] == 2
    assert stored["messages"] == 1


async def test_many_callers_outlive_the_end_of_all_backends(clone: Clone, memory: olvido.Memory) -> None:
    """Case 113: callers that come while connections are replaced wait for a live one, and none gets an error."""
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.set_preference("language", "pt", origin=SAID)
    await _all_connected(memory)
    _end_backends(clone)
    found = await asyncio.gather(*(ana.get_preference("language") for _ in range(20)))
    assert [preference.value for preference in found if preference is not None] == ["pt"] * 20


async def test_a_write_that_loses_its_connection_is_not_sent_again(clone: Clone, memory: olvido.Memory) -> None:
    """Once something was written, a lost connection is an error: only entering is tried again."""
    database: Database = memory._environment.database
    life = Life(scope=Scope(tenant="acme", subject="ana"))
    entered: list[Transaction] = []

    async def write_twice() -> None:
        async with database.write(life) as transaction:
            entered.append(transaction)
            await transaction.touch_due(transaction.now)
            _end_backends(clone)
            await transaction.touch_due(transaction.now)

    with pytest.raises(DatabaseUnavailable):
        await write_twice()
    assert len(entered) == 1
    assert sum((await memory.scope(tenant="acme", subject="ana").stored_rows()).values()) == 0


@pytest.mark.parametrize("fails", [False, True])
async def test_a_snapshot_gives_its_connection_back_as_it_was(memory: olvido.Memory, *, fails: bool) -> None:
    """The next transaction of a connection reads what is committed, also after a snapshot that failed."""
    database: Database = memory._environment.database
    life = Life(scope=Scope(tenant="acme", subject="ana"))

    async def look() -> tuple[psycopg.AsyncConnection[psycopg.rows.DictRow], object]:
        async with database.snapshot(life) as transaction:
            row = await (await transaction.connection.execute("SHOW transaction_isolation")).fetchone()
            if fails:
                raise LookupError
            return transaction.connection, row and row["transaction_isolation"]

    if fails:
        with pytest.raises(LookupError):
            await look()
    else:
        assert (await look())[1] == "repeatable read"
    async with AsyncExitStack() as stack:
        for _ in range(SIZE):
            transaction = await stack.enter_async_context(database.read(life))
            row = await (await transaction.connection.execute("SHOW transaction_isolation")).fetchone()
            assert row == {"transaction_isolation": "read committed"}


def test_what_reads_a_leaf_is_known_from_its_text() -> None:
    """Only the statements that do nothing but insert into a partitioned relation count as reading no leaf of it."""
    found = {
        statement.name: statement.reads_leaves
        for entity in entities()
        for statement in statements(entity).values()
        if any(f"olvido.{relation}" in statement.text.decode() for relation in PARTITIONED)
    }
    inserting = {
        "episodes.record",
        "episodes.record_many",
        "index_entries.repair_preferences",
        "preferences.begin",
        "preferences.supersede",
    }
    assert {name for name, reads in found.items() if not reads} - {"sessions.append"} == inserting


async def _plans(transaction: Transaction, wanted: Statement) -> tuple[int, int]:
    cursor = await transaction.connection.execute(
        "SELECT coalesce(sum(generic_plans), 0)::int AS generic, coalesce(sum(custom_plans), 0)::int AS custom"
        " FROM pg_prepared_statements WHERE starts_with(statement, %s)",
        [wanted.text.decode().partition("%")[0]],
    )
    row = await cursor.fetchone()
    assert row is not None
    return row["generic"], row["custom"]


async def test_inserts_keep_their_plan_and_reads_of_leaves_do_not(clone: Clone, detector: Languages) -> None:
    """A write of one record becomes a generic plan; what looks for its event in a leaf is never prepared beside it."""
    async with olvido.open(clone.app, embedder=WordEmbedder(), detector=detector, pool_size=1) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        for number in range(20):
            await ana.remember(f"note {number}", event_id=f"e{number}")
            await ana.remember(f"note {number}", event_id=f"e{number}")
        database: Database = memory._environment.database
        async with database.read(Life(scope=ana.scope)) as transaction:
            generic, _ = await _plans(transaction, statements("episodes")["record"])
            assert generic > 0
            assert await _plans(transaction, statements("episodes")["by_event"]) == (0, 0)
