"""A leaf is swapped for a copy of it while everyone reads and writes on: nothing is lost, what was removed is gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from olvido import Memory
from olvido.errors import Conflict, DatabaseUnavailable, InvalidInput, UnsafeDatabase
from olvido.operations.diagnose import diagnose
from olvido.storage import swapping
from olvido.storage.queries import PARTITIONED
from olvido.storage.swapping import SwappedLeaf, swap_leaf
from olvido.testing import ManualClock
from tests.adapters.embedded.support import eventually
from tests.cases.support import CONFIRMED, person, record_case
from tests.conftest import Clone
from tests.erasure.canaries import marker, pieces, relations_with
from tests.erasure.conftest import new_place
from tests.erasure.following import LOCAL, forget, steps
from tests.erasure.place import remember_everything
from tests.storage.support import administer, leaf, login, populate, rows

TENANT = "altavela"
KEYS = """SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid), convalidated FROM pg_constraint
           WHERE connamespace = 'olvido'::regnamespace ORDER BY 1, 2, 3"""
"""Everything that rows must hold to, by relation; a leaf's own name for it does not matter."""


def name(clone: Clone, relation: str) -> str:
    """The leaf of a relation in which the company of these tests is."""
    with administer(clone) as connection:
        return f"{relation}_{leaf(connection, TENANT)}"


async def swapped(clone: Clone, relation: str, during: Callable[[], Awaitable[None]] | None = None) -> SwappedLeaf:
    """Swap the leaf of a relation. during: runs once, after some of the copy is filled and before the rest."""
    loop, once = asyncio.get_running_loop(), threading.Event()

    def progress(_done: int, _size: int) -> None:
        if during is not None and not once.is_set():
            once.set()

            async def run() -> None:
                await during()

            asyncio.run_coroutine_threadsafe(run(), loop).result(30)

    return await asyncio.to_thread(swap_leaf, clone.superuser, name(clone, relation), progress=progress)


async def test_nothing_changes_but_the_file(erasing: Memory, clone: Clone) -> None:
    """Rows, keys, indexes, walls and names are as before, for the company and for those beside it."""
    people = [(TENANT, "ines"), (TENANT, "rui"), ("norbrook", "ines")]
    for tenant, subject in people:
        await populate(erasing, tenant, subject)
    before = [await erasing.scope(tenant=tenant, subject=subject).checksums() for tenant, subject in people]
    findings = (await diagnose(clone.app, clone.worker)).findings
    with administer(clone) as connection:
        number = connection.execute("SELECT count(*) FROM pg_class").fetchone()
        keys = rows(connection, KEYS)
    for relation in PARTITIONED:
        done = await swapped(clone, relation)
        assert (done.relation, done.came) == (name(clone, relation), 0)
        assert done.rows > 0
    assert [await erasing.scope(tenant=tenant, subject=subject).checksums() for tenant, subject in people] == before
    with administer(clone) as connection:
        assert connection.execute("SELECT count(*) FROM pg_class").fetchone() == number
        assert rows(connection, KEYS) == keys
        assert rows(connection, "SELECT relname FROM pg_class WHERE relname ~ 'copy' AND relname ~ '^[eim]'") == []
    assert (await diagnose(clone.app, clone.worker)).findings == findings
    await swapped(clone, "episodes")


async def test_what_comes_meanwhile_is_in_it(erasing: Memory, clone: Clone) -> None:
    """Records that came while the copy was filled are in it, as they are in the leaf."""
    ines = person(erasing)
    await record_case(ines, "event 1")
    session = ines.session("s1")
    await session.open(goal="find the course")
    await session.append("user", "hello")
    for relation in PARTITIONED:
        after: list[object] = []

        async def during(relation: str = relation, after: list[object] = after) -> None:
            await record_case(ines, f"late {relation}")
            await session.append("user", f"late {relation}")
            after.append(await ines.checksums())

        done = await swapped(clone, relation, during)
        assert done.came == 1
        assert await ines.checksums() == after[0]
    events = {episode.event_id for episode in (await ines.episodes()).items}
    assert events == {"event 1", *(f"late {relation}" for relation in PARTITIONED)}


@pytest.mark.parametrize("relation", ["episodes", "index_entries"])
async def test_where_rows_are_changed_or_removed_meanwhile_it_begins_anew(
    erasing: Memory, clone: Clone, relation: str
) -> None:
    """The copy has nothing that the leaf has not: whoever has an older snapshot would see that again."""
    ines = person(erasing)
    kept = [await record_case(ines, f"event {number}") for number in range(5)]
    await ines.set_preference("language", "pt", origin=CONFIRMED)

    async def during() -> None:
        await record_case(ines, "late")
        await ines.forget(kept.pop().record.record_id)
        await ines.correct_preference("language", "es", origin=CONFIRMED)

    done = await swapped(clone, relation, during)
    assert done.came == 0
    events = {episode.event_id for episode in (await ines.episodes()).items}
    assert events == {*(f"event {number}" for number in range(4)), "late"}
    assert done.rows == (5 if relation == "episodes" else 6)


async def test_a_leaf_that_changes_all_the_time_is_left_as_it_was(
    erasing: Memory, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some fills it is said, and nothing has changed."""
    ines = person(erasing)
    kept = [await record_case(ines, f"event {number}") for number in range(5)]
    real = swapping._Swap._fill
    loop = asyncio.get_running_loop()

    async def forget_one() -> None:
        await ines.forget(kept.pop().record.record_id)

    def filled(
        swap: swapping._Swap, copying: Mapping[str, object], progress: swapping.Progress | None
    ) -> tuple[dict[str, object], int]:
        found = real(swap, copying, progress)
        asyncio.run_coroutine_threadsafe(forget_one(), loop).result(30)
        return found

    monkeypatch.setattr(swapping._Swap, "_fill", filled)
    with pytest.raises(Conflict, match="changed or removed each time"):
        await swapped(clone, "episodes")
    assert len(kept) == 5 - swapping.FILLS
    assert len((await ines.episodes()).items) == len(kept)


async def test_the_isolation_of_the_login_does_not_matter(erasing: Memory, clone: Clone) -> None:
    """Where an administrator's transactions are repeatable reads, what came meanwhile is in the leaf all the same."""
    ines = person(erasing)
    await record_case(ines, "event 1")
    url = f"{clone.superuser}&options=-c%20default_transaction_isolation%3Drepeatable%5C%20read"
    late: list[bool] = []
    loop = asyncio.get_running_loop()

    def progress(_done: int, _size: int) -> None:
        if not late:
            late.append(True)
            asyncio.run_coroutine_threadsafe(record_case(ines, "late"), loop).result(30)

    done = await asyncio.to_thread(swap_leaf, url, name(clone, "episodes"), progress=progress)
    assert (done.rows, done.came) == (2, 1)
    assert len((await ines.episodes()).items) == 2


async def test_who_has_an_older_snapshot_finds_all_rows(erasing: Memory, clone: Clone) -> None:
    """A transaction that began before and comes to the leaf after it does not take it for empty."""
    await record_case(person(erasing), "event 1")
    with psycopg.connect(clone.superuser) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM pg_class")
        await swapped(clone, "episodes")
        assert connection.execute("SELECT count(*) FROM olvido.episodes").fetchone() == (1,)


async def test_what_was_forgotten_meanwhile_is_not_served_to_who_waits(
    erasing: Memory, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export that waited for the swap does not have a record that was forgotten before the export began."""
    ines = person(erasing)
    gone = await record_case(ines, "event 1", summary="lost the blue key")
    await ines.remember("prefers aisle seats")
    exports: list[asyncio.Task[Any]] = []
    real, loop = swapping._Swap._shut, asyncio.get_running_loop()

    async def during() -> None:
        await ines.forget(gone.record.record_id)

    async def export() -> None:
        exports.append(asyncio.create_task(ines.export()))
        assert await asyncio.to_thread(eventually, waiting)

    def waiting() -> bool:
        with administer(clone) as connection:
            return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))

    def shut(swap: swapping._Swap) -> dict[str, object]:
        found = real(swap)
        asyncio.run_coroutine_threadsafe(export(), loop).result(30)
        return found

    monkeypatch.setattr(swapping._Swap, "_shut", shut)
    await swapped(clone, "episodes", during)
    assert exports
    for exported in exports:
        assert "blue key" not in repr(await exported)


async def test_what_was_removed_before_is_not_in_the_files(
    erasing: Memory, clone: Clone, rewritten: list[str], clock: ManualClock
) -> None:
    """The worker has not to write that leaf anew, and goes on with the others."""
    erasure_id = await forget(erasing, "ines")
    await record_case(person(erasing, "rui"), "event 1")
    await swapped(clone, "episodes")
    assert (await erasing.erase_pending()).settled == LOCAL
    assert name(clone, "episodes") not in rewritten
    assert name(clone, "index_entries") in rewritten
    written: Any = (await steps(erasing, erasure_id))["files"].evidence["relations"]
    assert [one["relation"] for one in written if one.get("swapped")] == [name(clone, "episodes")]

    async def during() -> None:
        await person(erasing, "rui").forget_all()

    clock.advance(timedelta(days=1))
    await swapped(clone, "episodes", during)
    rewritten.clear()
    # It began anew, so that what was forgotten meanwhile is not in it either.
    assert (await erasing.erase_pending()).settled == LOCAL
    assert name(clone, "episodes") not in rewritten


async def test_no_byte_of_it_is_in_the_new_file() -> None:
    """Of what is forgotten, after the swap of a leaf its file and its indexes have nothing."""
    word = marker("swapped")
    with new_place() as place:
        async with place.opening() as memory:
            who = await remember_everything(memory, "acme", word, word)
            await memory.scope(tenant="acme", subject="leo").remember("prefers aisle seats")
            await who.forget_all()
        place.run("CHECKPOINT")
        leaves = [
            found
            for found in relations_with(place.urls.superuser, place.directory, pieces(word))
            if found.startswith(("episodes_", "index_entries_", "messages_")) and found.rpartition("_")[2].isdigit()
        ]
        assert {found.rpartition("_")[0] for found in leaves} == set(PARTITIONED)
        for found in leaves:
            swap_leaf(place.urls.superuser, found)
        place.run("CHECKPOINT")
        left = relations_with(place.urls.superuser, place.directory, pieces(word))
        assert not [found for found in left if found.startswith(tuple(leaves))]
        async with place.opening() as memory:
            await memory.erase_pending()
        assert place.found(word=pieces(word)) == {"word": set()}


async def test_a_leaf_that_is_in_use_is_left_as_it_was(
    erasing: Memory, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, nothing is left of the copy, and a later try succeeds."""
    monkeypatch.setattr(swapping, "TRIES", 2)
    monkeypatch.setattr(swapping, "LOCK_SECONDS", 0.05)
    monkeypatch.setattr(swapping, "PAUSE_SECONDS", 0.0)
    await record_case(person(erasing), "event 1")
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("SELECT count(*) FROM olvido.episodes")
        with pytest.raises(Conflict, match="was in use all the time"):
            await swapped(clone, "episodes")
        assert connection.execute("SELECT to_regclass('olvido.episodes_0_copy')").fetchone() == (None,)
    assert (await swapped(clone, "episodes")).rows == 1


async def test_a_failure_in_the_middle_changes_nothing(erasing: Memory, clone: Clone) -> None:
    """Of a swap that broke off, nothing is left: neither a copy nor its file."""
    ines = person(erasing)
    await record_case(ines, "event 1")
    before = await ines.checksums()

    def broken(_done: int, _size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await asyncio.to_thread(swap_leaf, clone.superuser, name(clone, "episodes"), progress=broken)
    assert await ines.checksums() == before
    assert (await swapped(clone, "episodes")).rows == 1


async def test_only_one_writes_files_anew(erasing: Memory, clone: Clone) -> None:
    """While a worker is at it, a swap is refused."""
    eraser = erasing._environment.eraser
    assert eraser is not None
    async with eraser.turn() as turn:
        assert turn is not None
        with pytest.raises(Conflict, match="Another worker"):
            await swapped(clone, "episodes")


async def test_it_takes_a_login_past_row_security(erasing: Memory, clone: Clone) -> None:
    """BYPASSRLS and the owner's rights are enough; a request, a worker and the owner alone are refused."""
    await populate(erasing, TENANT, "ines")
    before = await person(erasing).checksums()
    with login(clone, options="BYPASSRLS", member_of=["olvido_owner"]) as url:
        for relation in PARTITIONED:
            assert (await asyncio.to_thread(swap_leaf, url, name(clone, relation))).rows > 0
    assert await person(erasing).checksums() == before
    with login(clone, member_of=["olvido_owner"]) as url:
        for other in (clone.app, clone.worker, clone.eraser, url):
            with pytest.raises(UnsafeDatabase, match="may not swap a leaf"):
                await asyncio.to_thread(swap_leaf, other, name(clone, "episodes"))


@pytest.mark.parametrize("other", ["episodes", "preferences", "episodes_99", "pg_class", "", 'x"; DROP TABLE y'])
def test_only_a_leaf_is_swapped(clone: Clone, other: str) -> None:
    """Other relations, and names of none, are refused."""
    with pytest.raises(InvalidInput, match="Only a leaf"):
        swap_leaf(clone.superuser, other)


def test_an_unreachable_server_is_said() -> None:
    """With what to check, and without what the driver says."""
    with pytest.raises(DatabaseUnavailable, match="could not be swapped"):
        swap_leaf("postgresql://nobody@127.0.0.1:1/none", "episodes_0")
