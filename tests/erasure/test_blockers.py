"""Whoever can still see removed rows, or keeps the log, is named; nothing is claimed until they are gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from uuid import UUID

import psycopg
import pytest

import olvido
from olvido import Memory
from olvido.bootstrap import EMBEDDED_LEAVES
from olvido.domain.erasure import Level, Step
from olvido.storage.rewriting import EraserTurn, Horizon
from olvido.testing import ManualClock
from tests.conftest import named
from tests.erasure.canaries import hits, marker, pieces
from tests.erasure.conftest import new_place
from tests.erasure.copies_support import BACKUP, declaring
from tests.erasure.following import HOUR, LOCAL, steps
from tests.erasure.place import Place, without_copies

FILES_ONLY = {Level.E2: 1}
LOG_ONLY = {Level.E3: 1}
SETTINGS = "postgresql.auto.conf"

Holding = Callable[[Place], AbstractContextManager[str]]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A server on which transactions can be prepared."""
    with new_place("max_prepared_transactions = 2") as made:
        yield made


@pytest.fixture
async def memory(place: Place, clock: ManualClock) -> AsyncIterator[Memory]:
    """An open memory, with no copy outside declared."""
    async with place.opening(clock, without_copies()) as opened:
        yield opened


async def forget(memory: Memory, word: str, holding: AbstractContextManager[str] | None = None) -> UUID:
    """Remember a word, let somebody look who holds on to what there is, and forget it."""
    who = memory.scope(tenant="acme", subject=word)
    await who.remember(f"lost the {word} key")
    if holding is not None:
        holding.__enter__()
    report = await who.forget_all()
    assert report.erasure_id is not None
    return report.erasure_id


async def step(memory: Memory, erasure_id: UUID, name: str) -> Step:
    """One step of a request."""
    return (await steps(memory, erasure_id, "acme"))[name]


@contextmanager
def snapshot(place: Place) -> Iterator[str]:
    """A transaction that goes on seeing what there was when it began."""
    with psycopg.connect(place.urls.superuser) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 1")
        yield f"session {connection.info.backend_pid}, since 20"


@contextmanager
def writer(place: Place) -> Iterator[str]:
    """A transaction that has written, and does nothing more."""
    with psycopg.connect(place.urls.superuser) as connection:
        connection.execute("SELECT pg_current_xact_id()")
        yield f"session {connection.info.backend_pid}, since 20"
        connection.rollback()


@contextmanager
def writer_elsewhere(place: Place) -> Iterator[str]:
    """One that has written in another database of the server."""
    with psycopg.connect(named(place.urls.superuser, "postgres")) as connection:
        connection.execute("SELECT pg_current_xact_id()")
        yield f"session {connection.info.backend_pid}, since 20"
        connection.rollback()


@contextmanager
def prepared(place: Place) -> Iterator[str]:
    """A prepared transaction, which nobody is connected for."""
    with psycopg.connect(place.urls.superuser, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT pg_current_xact_id()")
        connection.execute("PREPARE TRANSACTION 'monthly'")
        yield "prepared transaction monthly, since 20"
        connection.execute("ROLLBACK PREPARED 'monthly'")


HOLDERS = [snapshot, writer, writer_elsewhere, prepared]


@pytest.mark.parametrize("holder", HOLDERS)
async def test_who_may_still_see_the_rows_is_named(
    place: Place, memory: Memory, clock: ManualClock, rewritten: list[str], holder: Holding
) -> None:
    """Nothing is locked in vain and no byte is said to be gone while it is there; then all of it is done."""
    word = marker(holder.__name__)
    holding = holder(place)
    erasure_id = await forget(memory, word, holding)
    try:
        assert (await memory.erase_pending()).settled == {}
        files = await step(memory, erasure_id, "files")
        assert rewritten == []
        assert "relation" in place.found(word=pieces(word))["word"]
    finally:
        holding.__exit__(None, None, None)
    clock.advance(HOUR)
    assert (await memory.erase_pending()).settled == LOCAL
    assert place.found(word=pieces(word)) == {"word": set()}
    with holder(place) as said:
        kind, name = said.split(", since")[0].rsplit(" ", 1)
    assert str(files.blocker).startswith(f"{kind} ")
    assert "may still see what was removed" in str(files.blocker)
    held = files.evidence["holders"]
    assert isinstance(held, list)
    assert [one["kind"] for one in held] == [kind]
    assert held[0]["name"].isdigit() or held[0]["name"] == name


@pytest.mark.parametrize("holder", HOLDERS)
async def test_who_came_later_is_no_hindrance(place: Place, memory: Memory, holder: Holding) -> None:
    """A transaction that began after the removal cannot see the rows, and nobody waits for it."""
    word = marker(f"before {holder.__name__}")
    await forget(memory, word)
    with holder(place):
        assert (await memory.erase_pending()).settled == LOCAL
        assert place.found(word=pieces(word)) == {"word": set()}


async def test_rows_that_a_rewrite_had_to_keep_are_noticed(
    place: Place, memory: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is what the server says of each rewrite, also where nobody was seen who holds rows."""
    word = marker("kept")
    real, looks = EraserTurn.horizon, list[int]()

    async def blind(turn: EraserTurn) -> Horizon:
        looks.append(1)
        seen = await real(turn)
        return Horizon(gone_before=seen.gone_before + 10**6, holders=()) if len(looks) == 1 else seen

    holding = snapshot(place)
    erasure_id = await forget(memory, word, holding)
    monkeypatch.setattr(EraserTurn, "horizon", blind)
    try:
        assert (await memory.erase_pending()).settled == {}
        assert "relation" in place.found(word=pieces(word))["word"]
    finally:
        holding.__exit__(None, None, None)
    files = await step(memory, erasure_id, "files")
    assert "may still see what was removed" in str(files.blocker)
    # What had no row of it was rewritten without keeping any, and is not rewritten again.
    assert set(files.evidence["missing"]) >= {"subjects"}  # type: ignore[call-overload]
    assert "session_items" not in files.evidence["missing"]  # type: ignore[operator]
    clock.advance(HOUR)
    assert (await memory.erase_pending()).settled == LOCAL
    assert place.found(word=pieces(word)) == {"word": set()}


@contextmanager
def keeping_slot(place: Place) -> Iterator[str]:
    """A replication slot whose standby is gone and which keeps the log for it."""
    place.run("SELECT pg_create_physical_replication_slot('lisbon', true)")
    try:
        yield "replication slot lisbon keeps the log from"
    finally:
        place.run("SELECT pg_drop_replication_slot('lisbon')")


@contextmanager
def unused_slot(place: Place) -> Iterator[str]:
    """A replication slot for a standby of which nothing is known."""
    place.run("SELECT pg_create_physical_replication_slot('lisbon')")
    try:
        yield "the standby of replication slot lisbon is not connected"
    finally:
        place.run("SELECT pg_drop_replication_slot('lisbon')")


def setting(line: str, reason: str) -> Holding:
    """A setting of the server with which old files of the log stay."""

    @contextmanager
    def set_it(place: Place) -> Iterator[str]:
        file = place.directory / "home" / "pg" / SETTINGS
        before = file.read_text(encoding="utf-8")
        file.write_text(f"{before}{line}\n", encoding="utf-8")
        place.run("SELECT pg_reload_conf()")
        try:
            yield reason
        finally:
            file.write_text(before, encoding="utf-8")
            place.run("SELECT pg_reload_conf()")

    return set_it


def revoked(revoke: str, grant: str, reason: str) -> Holding:
    """A right that a managed server may not give."""

    @contextmanager
    def take_it(place: Place) -> Iterator[str]:
        place.run(revoke)
        try:
            yield reason
        finally:
            place.run(grant)

    return take_it


LOG_KEEPERS = {
    "slot": keeping_slot,
    "unused slot": unused_slot,
    "wal_recycle": setting("wal_recycle = on", "wal_recycle is on, so that old files of the log are kept"),
    "wal_keep_size": setting("wal_keep_size = 64MB", "wal_keep_size is 64MB, so that old files of the log stay"),
    "checkpoint": revoked(
        "REVOKE pg_checkpoint FROM olvido_eraser", "GRANT pg_checkpoint TO olvido_eraser", "GRANT pg_checkpoint"
    ),
    "switch": revoked(
        "REVOKE EXECUTE ON FUNCTION pg_switch_wal() FROM olvido_eraser",
        "GRANT EXECUTE ON FUNCTION pg_switch_wal() TO olvido_eraser",
        "EXECUTE ON FUNCTION pg_switch_wal()",
    ),
    "list": revoked(
        "REVOKE EXECUTE ON FUNCTION pg_ls_waldir() FROM olvido_eraser",
        "GRANT EXECUTE ON FUNCTION pg_ls_waldir() TO olvido_eraser",
        "pg_ls_waldir()",
    ),
}


@pytest.mark.parametrize("keeper", LOG_KEEPERS.values(), ids=LOG_KEEPERS.keys())
async def test_what_keeps_the_log_is_named(place: Place, memory: Memory, clock: ManualClock, keeper: Holding) -> None:
    """Files are verified on their own; the log is not, and says why; once that is gone it is, and so are the bytes."""
    word = marker(str(keeper))
    erasure_id = await forget(memory, word)
    with keeper(place) as reason:
        assert (await memory.erase_pending()).settled == FILES_ONLY
        log = await step(memory, erasure_id, "log")
        assert reason in str(log.blocker)
        assert log.settled_at is None
    clock.advance(HOUR)
    assert (await memory.erase_pending()).settled == LOG_ONLY
    assert place.found(word=pieces(word)) == {"word": set()}


async def test_files_of_the_log_that_wait_to_be_used_again_are_used_up(place: Place, memory: Memory) -> None:
    """Where old files were kept under later names, as before wal_recycle was turned off, they are written over too."""
    word = marker("waits")
    erasure_id = await forget(memory, word)
    place.run("SELECT pg_switch_wal()")
    directory = place.directory / "home" / "pg" / "pg_wal"
    old = next(path for path in directory.iterdir() if path.is_file() and hits(path, word=pieces(word))["word"])
    ((current,),) = place.rows("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
    kept = directory / f"{int(str(current), 16) + 2:024X}"
    shutil.copy2(old, kept)
    os.chown(kept, old.stat().st_uid, old.stat().st_gid)
    assert (await memory.erase_pending()).settled == LOCAL
    assert int(str((await step(memory, erasure_id, "log")).evidence["switches"])) >= 3
    assert place.found(word=pieces(word)) == {"word": set()}


@pytest.mark.parametrize(
    "revoke, reason",
    [
        ("REVOKE MAINTAIN ON olvido.sessions FROM olvido_eraser", "olvido_eraser may not rewrite sessions"),
        ("GRANT olvido_app TO olvido_eraser", "may read and write rows"),
        ("ALTER ROLE olvido_eraser BYPASSRLS", "can bypass row security"),
    ],
)
async def test_a_login_with_other_rights_is_not_used(
    place: Place, memory: Memory, clock: ManualClock, revoke: str, reason: str
) -> None:
    """One that may do too much or too little is named; as the migrations made it, it is used."""
    erasure_id = await forget(memory, marker(reason))
    place.run(revoke)
    try:
        assert (await memory.erase_pending()).settled == {}
        assert reason in str((await step(memory, erasure_id, "files")).blocker)
    finally:
        place.run(
            "GRANT MAINTAIN ON olvido.sessions TO olvido_eraser",
            "REVOKE olvido_app FROM olvido_eraser",
            "ALTER ROLE olvido_eraser NOBYPASSRLS",
        )
    clock.advance(HOUR)
    assert (await memory.erase_pending()).settled == LOCAL


async def test_an_archive_has_to_be_declared(clock: ManualClock) -> None:
    """A log that is archived is another copy: the level stays open until the policy says who holds it, as a backup."""
    with new_place("archive_mode = on\narchive_command = '/bin/true'") as place:
        async with place.opening(clock, without_copies()) as memory:
            erasure_id = await forget(memory, marker("archived"))
            assert (await memory.erase_pending()).settled == FILES_ONLY
            log = await step(memory, erasure_id, "log")
            assert "the log is archived (archive_mode is on); declare the archive" in str(log.blocker)
        clock.advance(HOUR)
        async with place.opening(clock, declaring(BACKUP)) as memory:
            assert (await memory.erase_pending()).settled == {}  # a nightly dump is no archive of the log
        clock.advance(HOUR)
        async with place.opening(clock, declaring({**BACKUP, "name": "wal", "kind": "archive"})) as memory:
            assert (await memory.erase_pending()).settled == LOG_ONLY


async def test_migrating_again_restores_what_the_eraser_may_do(place: Place, memory: Memory) -> None:
    """The rights beside those on relations are given again by `olvido migrate`, as often as it runs."""
    place.run(
        "REVOKE pg_checkpoint, pg_read_all_stats FROM olvido_eraser",
        "REVOKE EXECUTE ON FUNCTION pg_switch_wal(), pg_ls_waldir() FROM olvido_eraser",
    )
    for _ in range(2):
        olvido.migrate(place.urls.superuser, leaves=EMBEDDED_LEAVES)
    await forget(memory, marker("granted again"))
    assert (await memory.erase_pending()).settled == LOCAL
