"""What was acknowledged is kept: many writers, killed ones, full disks; and nobody else gets at it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from olvido.adapters.ledger import FileLedger
from olvido.domain.ledger import NEWEST
from olvido.errors import LedgerUnavailable
from tests.adapters.embedded.support import ordinary_user
from tests.adapters.ledger.support import Ledger, begun, fail_outcomes, filled


def test_several_at_once_share_a_write(place: Path, file: Path) -> None:
    """Entries of many callers get numbers without a gap, and far fewer lines than there are entries."""

    async def work() -> list[int]:
        ledger = FileLedger(place)
        await ledger.begin()
        numbers = await asyncio.gather(*(ledger.intend("acme", uuid4(), None) for _ in range(300)))
        await asyncio.gather(*(ledger.applied(number) for number in numbers))
        return numbers

    assert sorted(asyncio.run(work())) == list(range(1, 301))
    assert file.read_bytes().count(b"\n") < 200
    state = Ledger(place).state()
    assert state is not None
    assert (state.applied, state.in_flight, len(state.newest)) == (300, (), NEWEST)


async def test_a_caller_who_is_cancelled_intends_nothing(place: Path) -> None:
    """An entry that nobody can act on is taken back, so that nobody else acts on it."""
    ledger = FileLedger(place)
    await ledger.begin()
    task = asyncio.create_task(ledger.intend("acme", uuid4(), None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ledger.applied(await ledger.intend("acme", uuid4(), None))
    ledger.close()
    state = await FileLedger(place).state()
    assert state is not None
    assert (state.in_flight, state.applied) == ((), 1)


def test_processes_write_at_once(place: Path) -> None:
    """Several programs get numbers without a gap and without a pair of equal ones."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.ledger.writer", str(place), "40"], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = [program.communicate(timeout=60)[0].split() for program in programs]
    assert [program.returncode for program in programs] == [0, 0, 0]
    assert sorted(int(number) for numbers in said for number in numbers) == list(range(1, 121))
    state = Ledger(place).state()
    assert state is not None
    assert (state.applied, state.in_flight) == (120, ())


@pytest.mark.parametrize("lines", [1, 7, 60])
def test_a_killed_program_loses_nothing_that_it_was_told(place: Path, lines: int) -> None:
    """After SIGKILL the file is read, and holds every entry that was acknowledged."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.ledger.writer", str(place), "0"], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    said = [program.stdout.readline() for _ in range(lines)]
    program.send_signal(signal.SIGKILL)
    rest, _ = program.communicate()
    said += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    ledger = Ledger(place)
    state = ledger.state()
    assert state is not None
    assert state.last >= max(int(line) for line in said)
    assert len(state.in_flight) <= 1
    assert len(ledger.entries(range(1, state.last + 1))) == state.last
    assert ledger.intend("acme", uuid4(), None) == state.last + 1


def test_a_full_disk_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch, place: Path, file: Path) -> None:
    """What was written of a line that does not fit is taken away again, and the caller is told."""
    ledger = filled(place)
    before = file.read_bytes()
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if os.path.samestat(os.fstat(fd), file.stat()):
            if len(data) < 40:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(fd, bytes(data)[:30])
        return write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            ledger.intend("acme", uuid4(), None)
    assert file.read_bytes() == before
    assert ledger.intend("acme", uuid4(), None) == 4


def test_a_disk_that_does_not_keep_it(monkeypatch: pytest.MonkeyPatch, place: Path, file: Path) -> None:
    """If the line cannot be made durable, it is taken away and nothing may be removed."""
    ledger = filled(place)
    before = file.read_bytes()
    sync = os.fsync
    failed: list[int] = []

    def fails_once(fd: int) -> None:
        if not failed:
            failed.append(fd)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    monkeypatch.setattr(os, "fsync", fails_once)
    with pytest.raises(LedgerUnavailable):
        ledger.intend("acme", uuid4(), None)
    assert file.read_bytes() == before


async def test_what_could_not_be_taken_back_counts_as_taken_back_here(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """Whoever could not write it does not see it in flight; others do, until it is written, which comes first."""
    ledger = FileLedger(place)
    await ledger.begin()
    number = await ledger.intend("acme", uuid4(), None)
    with monkeypatch.context() as patch:
        fail_outcomes(patch)
        with pytest.raises(LedgerUnavailable):
            await ledger.withdrawn(number)
        here, elsewhere = await ledger.state(), await FileLedger(place).state()
        assert here is not None
        assert elsewhere is not None
        assert (here.in_flight, here.unapplied, here.applied) == ((), frozenset({number}), 0)
        assert (elsewhere.in_flight, elsewhere.unapplied) == ((number,), frozenset())
    assert await ledger.state() == here == await FileLedger(place).state()


async def test_what_was_carried_out_is_not_taken_back_later(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Its outcome replaces a withdrawal that could not be written, and is itself written as soon as it can be."""
    ledger = FileLedger(place)
    await ledger.begin()
    number = await ledger.intend("acme", uuid4(), None)
    with monkeypatch.context() as patch:
        fail_outcomes(patch)
        for write in (ledger.withdrawn, ledger.applied):
            with pytest.raises(LedgerUnavailable):
                await write(number)
        waiting = await ledger.state()
        assert waiting is not None
        assert (waiting.in_flight, waiting.unapplied) == ((number,), frozenset())
    await ledger.intend("acme", uuid4(), None)
    state = await FileLedger(place).state()
    assert state is not None
    assert (state.newest, state.in_flight, state.unapplied) == ((number,), (number + 1,), frozenset())


def test_it_is_durable_before_it_answers(monkeypatch: pytest.MonkeyPatch, place: Path, file: Path) -> None:
    """The file is made durable after the line was written and before the caller learns the number."""
    ledger = begun(place)
    sync, seen = os.fsync, []

    def watched(fd: int) -> None:
        seen.append(file.read_bytes().count(b'"entry"'))
        sync(fd)

    monkeypatch.setattr(os, "fsync", watched)
    ledger.intend("acme", uuid4(), None)
    assert seen == [1]


def test_nobody_else_may_read_it(place: Path, file: Path) -> None:
    """The directory and the file are closed to others, and the directory is not committed by accident."""
    filled(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (place / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_directory_that_others_may_write_in(place: Path) -> None:
    """It is refused, before and after there is a ledger in it: somebody could exchange the file."""
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(LedgerUnavailable, match="chmod o-w"):
        Ledger(place).begin()
    assert list(place.iterdir()) == []
    place.chmod(0o700)
    ledger = filled(place)
    place.chmod(0o707)
    with pytest.raises(LedgerUnavailable, match="chmod o-w"):
        ledger.state()


def test_a_directory_of_another_user(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """It is refused: its owner could exchange the file."""
    filled(place)
    owner = ordinary_user().pw_uid
    os.chown(place, owner, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(LedgerUnavailable, match=f"another user .id {owner}."):
        Ledger(place).state()


def test_a_link_in_place_of_the_file(place: Path, file: Path) -> None:
    """A link could lead where others write."""
    filled(place)
    file.rename(place.with_name("elsewhere"))
    file.symlink_to(place.with_name("elsewhere"))
    with pytest.raises(LedgerUnavailable):
        Ledger(place).state()


def test_a_file_in_the_way(place: Path) -> None:
    """A place that cannot be a directory is an error that says how to name another one."""
    place.touch()
    with pytest.raises(LedgerUnavailable, match="OLVIDO_LEDGER"):
        Ledger(place).begin()


def test_root_does_not_lock_the_owner_out(place: Path) -> None:
    """What is made beside a data directory belongs to the owner of that, also when root makes it."""
    home = place.with_name("home")
    home.mkdir()
    owner = ordinary_user()
    os.chown(home, owner.pw_uid, owner.pw_gid)
    Ledger(place, beside=home).begin()
    assert {path.stat().st_uid for path in (place, *place.iterdir())} == {owner.pw_uid}


async def test_a_closed_one_takes_nothing(place: Path) -> None:
    """Closing finishes what is being written; afterwards the error says what to do."""
    ledger = FileLedger(place)
    await ledger.begin()
    written = asyncio.gather(*(ledger.intend("acme", uuid4(), None) for _ in range(20)))
    await asyncio.sleep(0)
    await asyncio.to_thread(ledger.close)
    assert sorted(await written) == list(range(1, 21))
    ledger.close()
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.intend("acme", uuid4(), None)
