"""The gate before every open: the ledger that a database belongs to, lost ones, older ones, and those of others."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from uuid import UUID

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

import olvido
import olvido.sync
from olvido.adapters import embedded
from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import Standing
from olvido.errors import InvalidInput, LedgerUnavailable, StoreLocked, UnsafeDatabase
from tests.conftest import Clone
from tests.contract.support import PlainDetector, PlainEmbedder
from tests.erasure.restoring import ACME, World, check, copied, opening, personal, replay
from tests.storage.support import administer, rows

MARKS = "SELECT ledger_id, entry FROM olvido.ledger_entries ORDER BY entry"


def marks(clone: Clone) -> list[tuple[UUID, int]]:
    """What a database has of which ledgers."""
    with administer(clone) as connection:
        return [(ledger, entry) for ledger, entry in rows(connection, MARKS)]


async def ledger_id(place: Path) -> UUID:
    """The id of the ledger there."""
    return (await FileLedger(place).begin()).ledger_id


async def forget_one(clone: Clone, ledger: Path | None = None, subject: str = "zoe") -> None:
    """Remember somebody, and forget them."""
    async with opening(clone, ledger) as memory:
        person = memory.scope(tenant=ACME, subject=subject)
        await person.remember("for a moment")
        await person.forget_all()


async def locked(clone: Clone, ledger: Path | None = None) -> str:
    """Try to open what must not open; what it says."""
    with pytest.raises(StoreLocked) as error:
        await opening(clone, ledger)
    assert error.value.exit_code == 6
    return str(error.value)


async def test_a_url_needs_a_named_ledger(clone: Clone, monkeypatch: pytest.MonkeyPatch, ledger: Path) -> None:
    """No place is guessed for a database that several hosts may share; the error shows how to name one."""
    monkeypatch.delenv("OLVIDO_LEDGER")
    with pytest.raises(InvalidInput, match="OLVIDO_LEDGER=/srv/olvido-ledger"):
        await opening(clone)
    async with opening(clone, ledger):
        assert ledger.is_dir()  # noqa: ASYNC240 - a test


async def test_a_ledger_inside_the_data_directory(tmp_path: Path) -> None:
    """A backup of the directory would put the ledger back with it, so it is refused before anything is made."""
    with pytest.raises(InvalidInput, match="inside the data directory"):
        await opening(tmp_path / "home", tmp_path / "home" / "ledger")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - a test


async def test_a_database_belongs_to_the_first_ledger_it_meets(clone: Clone, ledger: Path) -> None:
    """Opening makes the ledger and notes whose it is; each forget leaves its number in both."""
    async with opening(clone):
        pass
    own = await ledger_id(ledger)
    assert marks(clone) == [(own, 0)]
    await forget_one(clone)
    await forget_one(clone)
    assert marks(clone) == [(own, 0), (own, 1), (own, 2)]
    seen = await check(clone)
    assert (seen.locked, seen.standing, seen.entries, seen.belongs_to) == (False, Standing.FITS, 2, (own,))
    with administer(clone) as connection:
        assert rows(connection, "SELECT ledger_entry FROM olvido.erasures ORDER BY 1") == [(1,), (2,)]


async def test_a_database_from_before_there_were_ledgers(clone: Clone) -> None:
    """One that holds memory and has no ledger gets a new one."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").remember("was there before")
    with administer(clone) as connection:
        connection.execute("DELETE FROM olvido.ledger_entries")
    async with opening(clone) as memory:
        assert (await memory.scope(tenant=ACME, subject="ana").episodes()).items


async def test_memory_without_a_mark_is_locked(clone: Clone, ledger: Path) -> None:
    """A copy from before the database had a ledger lacks everything that the ledger has."""
    await forget_one(clone)
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        await ana.remember("was there before")
    with administer(clone) as connection:
        connection.execute("DELETE FROM olvido.ledger_entries")
    assert str(ledger) in await locked(clone)
    assert (await check(clone)).standing is Standing.UNMARKED
    done = await replay(clone)
    assert (done.applied, done.absent, done.after.standing) == (0, 1, Standing.FITS)
    async with opening(clone) as memory:
        assert (await memory.scope(tenant=ACME, subject="ana").episodes()).items


async def test_the_ledger_of_another_database(clone: Clone, tmp_path: Path) -> None:
    """It is refused with both ids, by a replay as well."""
    await forget_one(clone)
    other = tmp_path / "other"
    ids = {str(await ledger_id(other)), str(marks(clone)[0][0])}
    said = await locked(clone, other)
    assert all(one in said for one in ids)
    with pytest.raises(StoreLocked):
        await replay(clone, other)
    with pytest.raises(InvalidInput, match="There is a ledger"):
        await replay(clone, other, new_ledger=True)
    assert (await check(clone, other)).standing is Standing.OTHER_LEDGER


async def test_a_lost_ledger(clone: Clone, ledger: Path, cluster: embedded.ServerUrls) -> None:
    """Only on request is a new one made, from what the database knows; then older copies forget by that one.

    The old one is not taken any more, should it turn up.
    """
    world = World()
    async with opening(clone) as memory:
        await world.fill(memory)
    with copied(cluster, clone) as older:
        async with opening(clone) as memory:
            await world.forget(memory)
        shutil.move(ledger, ledger.with_name("found"))
        for _ in range(2):
            assert "--new-ledger" in await locked(clone)
        assert await FileLedger(ledger).state() is None
        assert (await check(clone)).standing is Standing.NO_LEDGER
        with pytest.raises(StoreLocked, match="--new-ledger"):
            await replay(clone)
        done = await replay(clone, new_ledger=True)
        assert (done.new_ledger, done.written_back, done.applied, done.after.locked) == (True, 11, 0, False)
        async with opening(clone):
            pass
        assert (await check(older)).standing is Standing.REPLACED_LEDGER
        assert "replaces" in await locked(older)
        assert (await replay(older)).after.standing is Standing.FITS
        found, right = personal(older), personal(clone)
        assert {scope: stored.rows for scope, stored in found.items()} == {
            scope: stored.rows for scope, stored in right.items()
        }
        assert (await check(clone, ledger.with_name("found"))).standing is Standing.OTHER_LEDGER
        await locked(clone, ledger.with_name("found"))


async def test_an_emptied_ledger_is_a_lost_one(clone: Clone, ledger: Path) -> None:
    """A file without a first line is no ledger."""
    await forget_one(clone)
    (ledger / "entries.jsonl").write_bytes(b"")
    assert "There is no erasure ledger" in await locked(clone)


async def test_an_older_ledger(clone: Clone, ledger: Path, cluster: embedded.ServerUrls) -> None:
    """It lacks what the database has; a replay writes that down again, and older copies forget it too."""
    world = World()
    async with opening(clone) as memory:
        await world.fill(memory)
    file = ledger / "entries.jsonl"
    with copied(cluster, clone) as older:
        before = file.read_bytes()
        async with opening(clone) as memory:
            await world.forget(memory)
        file.write_bytes(before)
        assert "older copy" in await locked(clone)
        seen = await check(clone)
        assert (seen.standing, seen.missing_in_ledger, seen.missing_here) == (Standing.OLDER_LEDGER, 10, 0)
        done = await replay(clone)
        assert (done.written_back, done.applied, done.after.standing) == (10, 0, Standing.FITS)
        assert (await replay(clone)).written_back == 0
        await locked(older)
        await replay(older)
        found, right = personal(older), personal(clone)
        assert {scope: stored.rows for scope, stored in found.items()} == {
            scope: stored.rows for scope, stored in right.items()
        }
        await forget_one(clone)
        assert (await check(clone)).standing is Standing.FITS


async def test_one_record_forgotten_twice_is_written_back_twice(clone: Clone, ledger: Path) -> None:
    """A record keeps its id when it is taken in again, and a copy from between the two forgets still has to lose it."""
    file = ledger / "entries.jsonl"
    async with opening(clone) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        note = (await ana.remember("once")).record.record_id
        document = (await ana.export()).document
        await ana.forget(note)
        before = file.read_bytes()
        await ana.import_export(document, new_consent=True)
        assert (await ana.forget(note)).found
    file.write_bytes(before)
    assert (await replay(clone)).written_back == 1
    state = await FileLedger(ledger).state()
    assert state is not None
    assert len({entry.target for entry in await FileLedger(ledger).entries(range(1, state.last + 1))}) == 1
    assert state.applied == 2


async def test_a_damaged_ledger_lets_nobody_in(clone: Clone, ledger: Path) -> None:
    """What cannot be read cannot be compared; nothing is served, and nothing is written over it."""
    await forget_one(clone)
    file = ledger / "entries.jsonl"
    damaged = file.read_bytes().replace(b'"acme"', b'"acne"', 1)
    file.write_bytes(damaged)
    with pytest.raises(LedgerUnavailable, match="damaged"):
        await opening(clone)
    with pytest.raises(LedgerUnavailable):
        await replay(clone)
    assert file.read_bytes() == damaged


async def test_without_its_ledger_nothing_is_forgotten_and_nobody_new_is_served(clone: Clone, ledger: Path) -> None:
    """If it goes away while the store is open, a forget removes nothing and a new connection is refused."""
    async with opening(clone, pool_size=3) as memory:
        ana = memory.scope(tenant=ACME, subject="ana")
        await ana.remember("prefers aisle seats")
        await forget_of(memory)
        shutil.move(ledger, ledger.with_name("away"))
        with pytest.raises(LedgerUnavailable):
            await ana.forget_all()
        assert len((await ana.episodes()).items) == 1
        with administer(clone) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(LedgerUnavailable):
            await ana.episodes()
        shutil.move(ledger.with_name("away"), ledger)
        assert (await ana.forget_all()).status is olvido.Status.ROWS_ABSENT


async def forget_of(memory: olvido.Memory) -> None:
    """Forget somebody, so that there is an entry."""
    person = memory.scope(tenant=ACME, subject="zoe")
    await person.remember("for a moment")
    await person.forget_all()


async def test_a_restore_takes_a_worker(clone: Clone, ledger: Path) -> None:
    """Only the login of a worker may look into every company."""
    await forget_one(clone)
    with pytest.raises(UnsafeDatabase, match="worker_url"):
        await olvido.restore_check(clone.app, ledger=ledger)
    with pytest.raises(UnsafeDatabase, match="worker_url"):
        await olvido.restore_replay(clone.app, ledger=ledger, embedder=PlainEmbedder())


async def test_opening_while_others_forget(clone: Clone) -> None:
    """Whoever opens in the midst of it is let in, every time."""
    stop = asyncio.Event()
    forgotten = 0

    async def forget(name: str) -> None:
        nonlocal forgotten
        async with opening(clone, pool_size=4) as memory:
            while not stop.is_set():
                person = memory.scope(tenant=ACME, subject=f"{name}-{forgotten}")
                await person.remember("for a moment")
                await person.forget_all()
                forgotten += 1

    busy = [asyncio.create_task(forget(str(number))) for number in range(3)]
    for number in range(12):
        async with opening(clone, worker=number % 2 == 0, pool_size=1) as memory:
            await memory.scope(tenant=ACME, subject="dora").preferences()
    stop.set()
    await asyncio.gather(*busy)
    assert forgotten > 12
    seen = await check(clone)
    assert (seen.standing, seen.entries, seen.in_flight) == (Standing.FITS, forgotten, 0)


async def test_two_hosts_with_a_ledger_each(clone: Clone, tmp_path: Path) -> None:
    """Of two that open a new database at once with different ledgers, one gets it and the other is refused."""
    places = [tmp_path / name for name in ("one", "two")]
    opened = await asyncio.gather(*(opened_with(clone, place) for place in places), return_exceptions=True)
    assert sorted(type(one).__name__ for one in opened) == ["NoneType", "StoreLocked"]
    assert len({ledger for ledger, _ in marks(clone)}) == 1


async def opened_with(clone: Clone, place: Path) -> None:
    """Open, and close again."""
    async with opening(clone, place):
        pass


async def test_rows_that_were_put_back_by_themselves(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """A life whose key the ledger calls forgotten is found although the database has the entry, and forgotten again."""
    world = World()
    async with opening(clone) as memory:
        await world.fill(memory)
    with copied(cluster, clone) as older:
        async with opening(clone) as memory:
            await world.forget(memory)
        with administer(older) as source, administer(clone) as target:
            for relation in ("subjects", "lives", "episodes"):
                name = sql.Identifier("olvido", relation)
                found = source.execute(
                    sql.SQL(
                        "SELECT to_jsonb(t) FROM {} t JOIN olvido.subjects s USING (tenant_id, subject_key) "
                        "WHERE s.tenant_id = 'acme' AND s.external_id = 'ana'"
                    ).format(name)
                )
                for (row,) in found.fetchall():
                    target.execute(
                        sql.SQL("INSERT INTO {name} SELECT * FROM jsonb_populate_record(NULL::{name}, %s)").format(
                            name=name
                        ),
                        [Jsonb(row)],
                    )
        assert (await check(clone)).still_here == 1
        done = await replay(clone)
        assert (done.applied, done.removed["episodes"], done.after.still_here) == (1, 2, 0)


async def test_a_stray_file_is_no_place(clone: Clone, tmp_path: Path) -> None:
    """Where the ledger cannot be made, the store does not open, and says how to name another place."""
    (tmp_path / "taken").touch()
    with pytest.raises(LedgerUnavailable, match="OLVIDO_LEDGER"):
        await opening(clone, tmp_path / "taken")
    assert marks(clone) == []


def test_the_environment_names_it_for_the_sync_face_too(clone: Clone, ledger: Path) -> None:
    """The same variable and the same argument."""
    embedder, detector = PlainEmbedder(), PlainDetector()
    with olvido.sync.open(clone.app, embedder=embedder, detector=detector):
        assert os.environ["OLVIDO_LEDGER"] == str(ledger)
    with olvido.sync.open(clone.app, ledger=ledger, embedder=embedder, detector=detector):
        pass
    with pytest.raises(StoreLocked):
        olvido.sync.open(clone.app, ledger=ledger.with_name("nowhere"), embedder=embedder, detector=detector)
