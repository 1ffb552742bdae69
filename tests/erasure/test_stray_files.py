"""What a crash of the server leaves of a relation that was being written anew is found, and no claim made over it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from olvido import Memory
from olvido.adapters.embedded import stray_files
from olvido.domain.erasure_status import ErasureStatus
from olvido.errors import DatabaseUnavailable, DataDirectoryError
from olvido.operations.erase_strays import MAY_NOT_LIST
from olvido.storage import swapping
from olvido.storage.queries import statements
from olvido.storage.rewriting import EraserTurn
from olvido.storage.swapping import swap_leaf
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.faulting import crash
from tests.erasure.canaries import marker, pieces
from tests.erasure.conftest import new_place
from tests.erasure.following import HOUR, LOCAL, administer, forget, steps
from tests.erasure.place import Place, remember_everything

FORBIDDEN = "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text, boolean, boolean) FROM olvido_eraser"


def cut_off(place: Place) -> list[Path]:
    """Write all relations anew, and let the server crash before that is committed; the files that it leaves."""
    data = place.directory / "home" / "pg"
    with closing(psycopg.connect(place.urls.eraser)) as connection:
        before = set(data.glob("base/*/*"))
        connection.execute(
            """SELECT olvido.rewrite(c.oid) FROM pg_catalog.pg_class c
                WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'"""
        )
        crash(connection)
    return [file for file in set(data.glob("base/*/*")) - before if file.stat().st_size]


def age(files: list[Path]) -> None:
    """Let files have been written an hour ago."""
    for file in files:
        written = file.stat().st_mtime - HOUR.total_seconds()
        os.utime(file, (written, written))


async def test_what_a_crash_left_is_removed_before_anything_is_called_gone() -> None:
    """All that stood in the relations stands in these files, also what is forgotten after the crash."""
    word = marker("cut off")
    with new_place() as place:
        async with place.opening() as memory:
            await remember_everything(memory, "acme", word, word)
            neighbour = memory.scope(tenant="norbrook", subject="leo")
            await neighbour.remember("prefers aisle seats")
            untouched = await neighbour.checksums()
        left = await asyncio.to_thread(cut_off, place)
        clock = ManualClock(datetime.now(UTC))
        async with place.opening(clock) as memory:
            erasure_id = (await memory.scope(tenant="acme", subject=word).forget_all()).erasure_id
            assert erasure_id is not None
            await memory.erase_pending()
            step = (await steps(memory, erasure_id, "acme"))["files"]
            assert step.settled_at is None
            assert "of no relation yet: it is being written, or left of a crash a moment ago" in str(step.blocker)
            assert place.found(word=pieces(word)) == {"word": {"relation", "pg_wal"}}
            assert all(file.exists() for file in left)
            age(left)
            clock.advance(HOUR)
            await memory.erase_pending()
            found = await memory.erasure("acme", erasure_id)
            assert found.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
            step = (await steps(memory, erasure_id, "acme"))["files"]
            assert step.evidence["stray_files"] == {"listed": True, "removed": len(left)}
            neighbour = memory.scope(tenant="norbrook", subject="leo")
            assert await neighbour.checksums() == untouched
        assert not [file for file in left if file.exists()]
        assert place.found(word=pieces(word)) == {"word": set()}


@pytest.mark.parametrize("where", ["not listed", "in another tablespace"])
async def test_what_a_crash_cut_off_of_a_swap_is_not_called_gone(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the copy stands, and whether or not files may be listed."""
    word = marker("swapped away")
    with new_place() as place:
        clock = ManualClock(datetime.now(UTC))
        async with place.opening(clock) as memory:
            await remember_everything(memory, "acme", word, word)
        ((leaf,),) = place.rows(
            "SELECT DISTINCT tableoid::regclass::text FROM olvido.episodes WHERE tenant_id = 'acme'"
        )
        if where == "in another tablespace":
            elsewhere = place.directory / "elsewhere"
            elsewhere.mkdir()
            owner = (place.directory / "home" / "pg").stat()
            os.chown(elsewhere, owner.st_uid, owner.st_gid)
            place.run(
                f"CREATE TABLESPACE elsewhere LOCATION '{elsewhere}'",
                "GRANT CREATE ON TABLESPACE elsewhere TO olvido_owner",
                f"ALTER TABLE {leaf} SET TABLESPACE elsewhere",
            )
        real = swapping._Swap._shut

        def shut(swap: swapping._Swap) -> dict[str, object]:
            found = real(swap)
            place.run("CHECKPOINT")
            crash(swap._connection)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(swapping._Swap, "_shut", shut)
            with pytest.raises(DatabaseUnavailable, match="no connection"):
                await asyncio.to_thread(swap_leaf, place.urls.superuser, str(leaf).removeprefix("olvido."))
        async with place.opening(clock) as memory:
            if where == "not listed":
                place.run(FORBIDDEN)
            erasure_id = (await memory.scope(tenant="acme", subject=word).forget_all()).erasure_id
            assert erasure_id is not None
            await memory.erase_pending()
            assert place.found(word=pieces(word))["word"]
            assert (await steps(memory, erasure_id, "acme"))["files"].settled_at is None


def test_a_file_of_a_transaction_that_goes_on_is_not_left_behind(clone: Clone) -> None:
    """Also where its session does not say since when it goes on."""
    sql = statements("rewriting")
    with psycopg.connect(clone.superuser) as writer, psycopg.connect(clone.eraser, autocommit=True) as eraser:
        writer.execute("SET track_activities = off")
        writer.commit()
        writer.execute("CREATE TABLE public.mine AS SELECT number FROM generate_series(1, 1000) AS number")
        ((data, path),) = writer.execute(
            "SELECT current_setting('data_directory'), pg_relation_filepath('public.mine')"
        ).fetchall()
        administer(clone, "CHECKPOINT")
        age([Path(data) / path])
        ((may_list, ended_by),) = eraser.execute(sql["listing"].text).fetchall()
        assert (may_list, ended_by) == (True, None)
        found = eraser.execute(sql["stray_files"].text, {"ended_by": ended_by}).fetchall()
        assert (path, False) in found


@contextmanager
def stray(clone: Clone, name: str = "4000000000") -> Iterator[Path]:
    """A file beside the relations of a database that belongs to none of them, written an hour ago."""
    with psycopg.connect(clone.superuser) as connection:
        row = connection.execute(
            "SELECT current_setting('data_directory'), pg_relation_filepath('pg_class')"
        ).fetchone()
    assert row is not None
    file = (Path(row[0]) / row[1]).parent / name
    file.write_bytes(b"x" * 8192)
    age([file])
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


async def test_on_another_server_it_is_named_and_left(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """Files of a server that is not ours are not removed; once they are gone, the request goes on."""
    with stray(clone) as file, stray(clone, "4000000000_fsm"):
        erasure_id = await forget(erasing, "ines")
        await erasing.erase_pending()
        step = (await steps(erasing, erasure_id))["files"]
        place = "/".join(file.parts[-3:])
        assert step.blocker == (
            f"{place}, {place}_fsm are left of a crash of the server, with what was removed since in it; remove it as "
            "docs/forgetting.md says"
        )
        assert file.exists()
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL
    step = (await steps(erasing, erasure_id))["files"]
    assert step.evidence["stray_files"] == {"listed": True, "removed": 0}


async def test_what_somebody_is_writing_is_waited_for(erasing: Memory, clone: Clone, clock: ManualClock) -> None:
    """A relation that is not committed yet looks the same; it may hold what is forgotten, and it is not removed."""
    erasure_id = await forget(erasing, "ines")
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("CREATE TABLE public.other AS SELECT number FROM generate_series(1, 10) AS number")
        await erasing.erase_pending()
        step = (await steps(erasing, erasure_id))["files"]
        assert "of no relation yet" in str(step.blocker)
    clock.advance(HOUR)
    assert (await erasing.erase_pending()).settled == LOCAL
    with psycopg.connect(clone.superuser) as connection:
        assert connection.execute("SELECT count(*) FROM public.other").fetchone() == (10,)


async def test_where_files_may_not_be_listed_it_is_said(erasing: Memory, clone: Clone) -> None:
    """What was not cut off is verified by the server's own word, and the evidence says that nobody looked."""
    administer(clone, FORBIDDEN)
    erasure_id = await forget(erasing, "ines")
    assert (await erasing.erase_pending()).settled == LOCAL
    step = (await steps(erasing, erasure_id))["files"]
    assert step.evidence["stray_files"] == {"listed": False, "removed": 0}


@pytest.mark.parametrize("crashed", [False, True])
async def test_without_a_list_what_was_cut_off_is_not_called_gone(
    erasing: Memory,
    clone: Clone,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    *,
    crashed: bool,
) -> None:
    """A lost session leaves nothing if the server went on; otherwise it is open until somebody looks."""
    administer(clone, FORBIDDEN)
    erasure_id = await forget(erasing, "ines")

    async def lost(_turn: EraserTurn, _relation: str) -> None:
        raise DatabaseUnavailable("The connection is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(EraserTurn, "rewrite", lost)
        with pytest.raises(DatabaseUnavailable):
            await erasing.erase_pending()
    if crashed:
        administer(clone, "SELECT pg_stat_reset_shared()")  # as a crash does
    clock.advance(HOUR)
    settled = (await erasing.erase_pending()).settled
    step = (await steps(erasing, erasure_id))["files"]
    assert (settled, step.blocker) == (({}, MAY_NOT_LIST) if crashed else (LOCAL, None))
    administer(clone, FORBIDDEN.replace("REVOKE", "GRANT").replace("FROM", "TO"))
    clock.advance(HOUR)
    await erasing.erase_pending()
    assert (await steps(erasing, erasure_id))["files"].settled_at is not None


def test_only_files_of_relations_are_removed(tmp_path: Path) -> None:
    """Another path is refused before anything is removed."""
    (tmp_path / "base" / "5").mkdir(parents=True)
    kept = [tmp_path / "base" / "5" / name for name in ("16384", "PG_VERSION")]
    for file in kept:
        file.touch()
    for other in ("base/5/PG_VERSION", "base/5/../../16384", "global/1262", "/base/5/16384", "base/5/16384\n"):
        with pytest.raises(DataDirectoryError):
            stray_files.remove(tmp_path, ["base/5/16384", other])
    assert all(file.exists() for file in kept)
    stray_files.remove(tmp_path, ["base/5/16384", "base/5/16385.1", "base/5/16385_fsm"])
    assert [file.exists() for file in kept] == [False, True]
