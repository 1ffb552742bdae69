"""A database that was put back is locked, forgets again, and then holds what the one in use holds (rule 23)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import olvido
from olvido.adapters import embedded
from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import Standing
from olvido.errors import ConsentNeeded, StoreLocked, SubjectForgotten, TenantClosed
from tests.conftest import Clone, cloned, named
from tests.contract.support import CONFIRMED
from tests.erasure.restoring import (
    ACME,
    ALTAVELA,
    LOCKED_BY,
    NORBROOK,
    World,
    check,
    copied,
    filled,
    forgotten,
    opening,
    personal,
    replay,
)
from tests.places import put_home, server_directory
from tests.storage.support import administer, rows
from tests.storage.test_dump_restore import run


@pytest.fixture
def home() -> Iterator[Path]:
    """A new home directory with a short path, closed."""
    with server_directory() as place:
        put_home(place / "home")
        yield place / "home"


async def refused(clone: Clone) -> str:
    """Try to open a database that is locked, with and without the login of a worker; what it says."""
    with pytest.raises(StoreLocked):
        await opening(clone, worker=False)
    with pytest.raises(StoreLocked) as locked:
        await opening(clone)
    return str(locked.value)


async def opens_as(restored: Clone, live: Clone) -> None:
    """Assert that the restored database is served, and holds what the live one holds, of everybody."""
    async with opening(restored) as memory:
        carl = memory.scope(tenant=ACME, subject="carl")
        assert [version.value for version in await carl.history("language")] == ["es", "es"]
        assert [one.value for one in await carl.preferences() if one.key == "language"] == ["es"]
        with pytest.raises(TenantClosed):
            await memory.scope(tenant=NORBROOK, subject="new").remember("nobody begins here any more")
    found, right = personal(restored), personal(live)
    assert found.keys() == right.keys() == {
        (ACME, "bea"), (ACME, "carl"), (ACME, "dora"), (ALTAVELA, "ana"), (ALTAVELA, "bea")
    }  # fmt: skip
    for scope, stored in right.items():
        assert found[scope].rows == stored.rows, scope
        if scope != (ACME, "carl"):  # whose older value became current again, at another instant
            assert found[scope].checksums == stored.checksums, scope


async def test_a_copy_from_before_is_locked_and_forgets_again(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """People, single records, one version and a company are forgotten again; the others are what they were."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        before = personal(restored)
        assert "olvido restore replay" in await refused(restored)
        seen = await check(restored)
        assert (seen.locked, seen.standing, seen.missing_here) == (True, Standing.RESTORED, LOCKED_BY)
        assert (seen.missing_in_ledger, seen.in_flight, seen.still_here) == (0, 0, 3)
        assert personal(restored) == before
        progressed: list[tuple[int, int]] = []
        done = await replay(restored, progress=lambda *numbers: progressed.append(numbers))
        assert (done.applied, done.absent, done.written_back) == (9, 1, 0)
        assert done.removed["subjects"] == 3
        assert done.removed["preference_versions"] >= 2 * 3 + 2 + 1
        assert not done.after.locked
        assert (done.after.missing_here, done.after.still_here) == (0, 0)
        assert progressed[-1] == (LOCKED_BY, LOCKED_BY)
        await opens_as(restored, clone)
        assert await check(clone) is not None
        async with opening(clone) as memory:
            assert await memory.scope(tenant=ACME, subject="dora").preferences()


async def test_a_real_dump(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """pg_dump before, psql after: locked, replayed, opened, none of the erased and all of the others."""
    world = World()
    await filled(clone, world)
    dumped = run("pg_dump", clone.superuser)
    await forgotten(clone, world)
    with cloned(cluster, "template0") as empty:
        with psycopg.connect(named(cluster.superuser, empty.name), autocommit=True) as connection:
            connection.execute(f"GRANT CONNECT ON DATABASE {empty.name} TO olvido_app, olvido_worker".encode())
        run("psql", empty.superuser, "--quiet", "--set=ON_ERROR_STOP=1", given=dumped)
        await refused(empty)
        assert not (await replay(empty)).after.locked
        await opens_as(empty, clone)


async def test_a_real_base_backup(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the data directory, put back in its place, with the ledger beside it where it is by default."""
    monkeypatch.delenv("OLVIDO_LEDGER")
    world, backup = World(), home.with_name("backup")
    async with opening(home) as memory:
        await world.fill(memory)
        others = {
            subject: await memory.scope(tenant=ALTAVELA, subject=subject).checksums() for subject in ("ana", "bea")
        }
    subprocess.run(["cp", "-a", str(home), str(backup)], check=True)  # noqa: ASYNC221, S607 - a program of every system
    async with opening(home) as memory:
        await world.forget(memory)
        live = await memory.scope(tenant=ACME, subject="bea").checksums()
    shutil.rmtree(home)
    backup.rename(home)
    with pytest.raises(StoreLocked):
        await opening(home)
    assert (await check(home)).missing_here == LOCKED_BY
    done = await replay(home)
    assert (done.applied, done.absent, done.after.locked) == (9, 1, False)
    async with opening(home) as memory:
        for subject, checksums in others.items():
            assert await memory.scope(tenant=ALTAVELA, subject=subject).checksums() == checksums
        assert await memory.scope(tenant=ACME, subject="bea").checksums() == live
        assert await memory.scope(tenant=ACME, subject="ana").episodes() == olvido.Page(items=(), next_cursor=None)


async def test_what_a_hold_kept_goes_with_it(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """A hold of the backup keeps what is forgotten again; one that was released since is released again."""
    world = World()
    async with opening(clone) as memory:
        await world.fill(memory)
        review = await memory.now() + timedelta(days=30)
        released = await memory.place_hold(ACME, subject="ana", basis="a case at court", review_at=review)
        await memory.place_hold(ACME, subject="dora", basis="another one", review_at=review)
    with copied(cluster, clone) as restored:
        async with opening(clone) as memory:
            assert (await memory.scope(tenant=ACME, subject="ana").forget_all()).held
            assert (await memory.release_hold(ACME, released.hold_id)).removed
            await memory.scope(tenant=ACME, subject="dora").forget_all()
        await refused(restored)
        assert (await replay(restored)).applied == 3
        for database in (clone, restored):
            with administer(database) as connection:
                kept = rows(
                    connection,
                    "SELECT DISTINCT basis FROM olvido.held_records JOIN olvido.legal_holds USING (tenant_id, hold_id)",
                )
                assert kept == [("another one",)]
            assert not {(ACME, "ana"), (ACME, "dora")} & personal(database).keys()


async def test_whoever_writes_late_is_refused(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """An import of an export from before asks for consent, also of a life that the backup did not hold."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        async with opening(clone) as memory:
            hal = memory.scope(tenant=ACME, subject="hal")
            await hal.remember("came after the backup")
            exports = [
                (await memory.scope(tenant=ACME, subject=subject).export()).document for subject in ("ana", "hal")
            ]
            bea = (await memory.scope(tenant=ACME, subject="bea").export()).document
            await world.forget(memory)
            await hal.forget_all()
        await replay(restored)
        async with opening(restored) as memory:
            for document in exports:
                with pytest.raises(ConsentNeeded):
                    await memory.scope(tenant=ACME, subject="again").import_export(document)
            person = memory.scope(tenant=ACME, subject="bea")
            report = await person.import_export(bea)
            left = {one.record_id for one in report.left_out}
            assert {world.records["note"], world.records["case"], world.records["chain"]} <= left
            ana = memory.scope(tenant=ACME, subject="ana")
            await ana.import_export(exports[0], new_consent=True)
            assert len((await ana.episodes()).items) == 2
        assert not (await check(restored)).locked


@pytest.mark.parametrize("here", [True, False])
async def test_whoever_took_an_export_in_is_known_again(
    clone: Clone, cluster: embedded.ServerUrls, ledger: Path, *, here: bool
) -> None:
    """Rules 20 and 23: an export that a forgotten person had moved here with asks for consent after a replay as well.

    here: whether the backup had the person, who took it in after that; also by a ledger made anew from the database.
    """
    async with opening(clone) as memory:
        elsewhere = memory.scope(tenant=ALTAVELA, subject="ana")
        await elsewhere.remember("prefers aisle seats")
        document = (await elsewhere.export()).document
        if here:
            await memory.scope(tenant=ACME, subject="ana").remember("was there before")
    with copied(cluster, clone) as restored, copied(cluster, clone) as another:
        async with opening(clone) as memory:
            ana = memory.scope(tenant=ACME, subject="ana")
            await ana.import_export(document)
            await ana.forget_all()
        await replay(restored)
        shutil.rmtree(ledger)
        await replay(clone, new_ledger=True)
        await replay(another)
        for database in (restored, another):
            with administer(database) as connection:
                taken = rows(connection, "SELECT count(*) FROM olvido.audit_log WHERE action = 'imported'")
                assert taken == [(1,)]
        async with opening(another) as memory:
            with pytest.raises(ConsentNeeded):
                await memory.scope(tenant=ACME, subject="ana").import_export(document)


async def test_what_was_stated_after_a_reopen_comes_in_again(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """Rules 12 and 23: a version counts as forgotten, and the one before as chosen, when that was asked, not replayed.

    An export from before the request still brings nothing back.
    """
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        async with opening(clone) as memory:
            carl = memory.scope(tenant=ACME, subject="carl")
            older = (await carl.export()).document
            await carl.forget(world.records["version"], reopen_previous=True)
            await carl.correct_preference("language", "en", origin=CONFIRMED)
            newest = (await carl.export()).document
        await replay(restored)
        async with opening(restored) as memory:
            carl = memory.scope(tenant=ACME, subject="carl")
            report = await carl.import_export(older)
            assert [(one.name, one.code) for one in report.left_out if one.name == "language"] == [
                ("language", "forgotten")
            ]
            assert (await carl.import_export(newest)).written["preferences"] == 1
            assert [one.value for one in await carl.history("language")] == ["es", "es", "en"]


async def test_a_version_with_nothing_before_it_takes_the_rest_along(
    clone: Clone, cluster: embedded.ServerUrls
) -> None:
    """Where the value before cannot be current again, the whole preference is forgotten rather than nothing."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        with administer(restored) as connection:
            connection.execute(
                "DELETE FROM olvido.preference_versions WHERE version = 1 AND record_id = %s",
                [world.records["version"]],
            )
        assert not (await replay(restored)).after.locked
        async with opening(restored) as memory:
            carl = memory.scope(tenant=ACME, subject="carl")
            assert await carl.history("language") == ()
            assert [one.key for one in await carl.preferences()] == ["display_name"]


async def test_whoever_comes_back_begins_with_nothing(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """After a replay, a person who consents again has a new life, which no entry of the ledger is about."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        await replay(restored)
        async with opening(restored) as memory:
            ana = memory.scope(tenant=ACME, subject="ana")
            assert not any((await ana.stored_rows()).values())
            await ana.set_preference("language", "en", origin=CONFIRMED)
        assert (await replay(restored)).applied == 0
        async with opening(restored) as memory:
            assert [one.value for one in await memory.scope(tenant=ACME, subject="ana").preferences()] == ["en"]
            assert (await check(restored)).still_here == 0


async def test_a_replay_that_is_cut_short_goes_on(
    clone: Clone, cluster: embedded.ServerUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its end the store is locked, however far it came; the next one does the rest."""
    world = World()
    await filled(clone, world)

    class CutShortError(Exception):
        pass

    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        applied = FileLedger.applied
        calls: list[int] = []

        async def stops(self: FileLedger, entry: int) -> None:
            calls.append(entry)
            if len(calls) % 2 == 0:
                raise CutShortError
            await applied(self, entry)

        with monkeypatch.context() as patch:
            patch.setattr(FileLedger, "applied", stops)
            for _ in range(3):
                with pytest.raises(CutShortError):
                    await replay(restored)
                await refused(restored)
        assert not (await replay(restored)).after.locked
        await opens_as(restored, clone)


async def test_it_runs_twice_at_once(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """Two operators who replay at once come to the same end, or one is asked to try again."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as restored:
        await forgotten(clone, world)
        done = await asyncio.gather(replay(restored), replay(restored), return_exceptions=True)
        assert any(isinstance(one, olvido.ReplayReport) for one in done), done
        assert all(isinstance(one, olvido.ReplayReport | olvido.OlvidoError) for one in done), done
        assert not (await replay(restored)).after.locked
        await opens_as(restored, clone)


async def test_a_server_put_back_in_use_is_not_served(clone: Clone, cluster: embedded.ServerUrls) -> None:
    """A running program whose database is exchanged for an older one is refused at its next connection, at once."""
    world = World()
    await filled(clone, world)
    with copied(cluster, clone) as backup:
        async with opening(clone, pool_size=2) as memory:
            dora = memory.scope(tenant=ACME, subject="dora")
            ana = memory.scope(tenant=ACME, subject="ana")
            assert await ana.preferences()
            await world.forget(memory)
            assert await dora.preferences()
            exchange(cluster, clone, backup)
            with pytest.raises(StoreLocked, match="restore check"):
                await memory.scope(tenant=ACME, subject="ana").episodes()
            with pytest.raises(StoreLocked):
                await dora.preferences()
            with pytest.raises(StoreLocked):
                await memory.purge_expired()
            await replay(clone)
            assert await dora.preferences()
            with pytest.raises(SubjectForgotten):
                await ana.remember("too late")


def exchange(cluster: embedded.ServerUrls, used: Clone, backup: Clone) -> None:
    """Let the backup take the place of a database that is in use."""
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {used.name} WITH (FORCE)".encode())
        connection.execute(f"ALTER DATABASE {backup.name} RENAME TO {used.name}".encode())
