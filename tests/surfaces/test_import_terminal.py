"""The progress of an import: drawn for a person who watches, absent everywhere else."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from olvido.errors import DatabaseUnavailable
from olvido.memory import ScopedMemory
from tests.surfaces.conftest import Run
from tests.surfaces.test_import import NOTE, written


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[bytearray]:
    """A real terminal on standard error; the bytes that were drawn on it, complete when the block has ended."""
    master, slave = os.openpty()
    drawn = bytearray()

    def read() -> None:
        while True:
            try:
                part = os.read(master, 1024)
            except OSError:  # how Linux says that the other end was closed
                return
            if not part:
                return
            drawn.extend(part)

    reader = Thread(target=read)
    reader.start()
    try:
        with monkeypatch.context() as patched, os.fdopen(slave, "w", encoding="utf-8") as terminal:
            patched.setattr(sys, "stderr", terminal)
            patched.setenv("TERM", "xterm")
            patched.delenv("NO_COLOR", raising=False)
            yield drawn
    finally:
        reader.join()
        os.close(master)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Three notes of two people."""
    notes = [{**NOTE, "event_id": f"n{number}", "subject": f"s{number % 2}"} for number in range(3)]
    return written(tmp_path / "in.jsonl", *notes)


def test_progress_is_drawn_on_a_terminal(cli: Run, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar counts records up to all of them, and is taken away again; the answer is what it is without one."""
    with watched(monkeypatch) as drawn:
        answered = cli("import", file)
    assert answered.code == 0
    assert answered.out.startswith("3 records of 2 people: 3 written")
    shown = drawn.decode()
    assert "Importing" in shown
    assert "3/3" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the last line was erased


def test_a_pipe_and_json_get_none(cli: Run, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn where nobody watches, nor beside a JSON answer on a terminal."""
    piped = cli("import", file)
    assert (piped.code, piped.err) == (0, "")
    assert "\x1b" not in piped.out
    with watched(monkeypatch) as drawn:
        assert cli("import", file, "--json").document["unchanged"] == 3
    assert drawn == b""


def test_a_run_that_is_cut_short_says_how_far_it_came(cli: Run, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar leaves the terminal, and the line that stays says how many are done and how to go on."""
    whole = ScopedMemory.import_records
    done = asyncio.Event()

    async def fails_for_the_second(self: ScopedMemory, *arguments: object, **options: object) -> object:
        if self.scope.subject == "s1":
            await done.wait()
            raise DatabaseUnavailable("The connection was lost.")
        outcomes = await whole(self, *arguments, **options)  # type: ignore[arg-type]
        done.set()
        return outcomes

    monkeypatch.setattr(ScopedMemory, "import_records", fails_for_the_second)
    with watched(monkeypatch) as drawn:
        answered = cli("import", file)
    assert answered.code == DatabaseUnavailable.exit_code
    assert "2/3" in drawn.decode()
    assert "Cut short after 2 of 3 records; go on with --resume." in drawn.decode()
