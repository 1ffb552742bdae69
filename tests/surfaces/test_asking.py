"""`olvido forget` as a person meets it: at a real terminal, with a hold in the way, and when something is wrong."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from olvido.surfaces.cli.main import main
from tests.surfaces.conftest import SCOPE, Run

PATIENCE = 60.0
"""Seconds for a word to appear: a program starts, on a machine that has other work."""
WHICH = "Which are to be forgotten?"
LOOKS = {"TERM": "xterm", "COLUMNS": "200", "NO_COLOR": "1"}
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SURE = "Forget this record? [y/N]"


class Terminal:
    """A program at a terminal, and what it has shown so far. ended: waits until it has ended; its exit code."""

    def __init__(self, descriptor: int, ended: Callable[[], int]) -> None:
        self._descriptor = descriptor
        self._ended = ended
        self.shown = ""

    def wait_for(self, words: str, *, after: int = 0) -> int:
        """Read until these words have appeared, and return where they end."""
        until = time.monotonic() + PATIENCE
        while words not in self.shown[after:]:
            assert time.monotonic() < until, self.shown
            assert self._read(), self.shown
        return self.shown.index(words, after) + len(words)

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._descriptor, f"{line}\n".encode())

    def end(self) -> int:
        """Read until the program has ended; its exit code."""
        while self._read():
            pass
        return self._ended()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
        if not ready:
            return False
        try:
            part = os.read(self._descriptor, 4096)
        except OSError:  # how Linux says that the other end was closed
            return False
        self.shown += _STYLE.sub("", part.decode(errors="replace")).replace("\r\n", "\n")
        return bool(part)


@contextmanager
def process(*arguments: str) -> Iterator[Terminal]:
    """The command in a process of its own, whose standard streams are a terminal."""
    master, slave = os.openpty()
    environment = {**os.environ, **LOOKS}
    command = [sys.executable, "-m", "olvido.surfaces.cli.main", *arguments]
    program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    try:
        yield Terminal(master, lambda: program.wait(PATIENCE))
    finally:
        program.kill()
        program.wait()
        os.close(master)


@contextmanager
def thread(*arguments: str) -> Iterator[Terminal]:
    """The command in a thread of this process, which takes a tenth of the time. No other command can run meanwhile."""
    master, slave = os.openpty()

    def at_the_terminal() -> int:
        try:
            return main(arguments)
        finally:
            for stream in (sys.stdin, sys.stdout, sys.stderr):
                stream.close()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(max_workers=1) as pool:
        for name, value in LOOKS.items():
            patch.setenv(name, value)
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            patch.setattr(sys, name, os.fdopen(os.dup(slave), mode, encoding="utf-8"))
        os.close(slave)
        running = pool.submit(at_the_terminal)
        try:
            yield Terminal(master, lambda: running.result(PATIENCE))
        finally:
            # Whatever it still asks is answered with the end of the file.
            os.close(master)


@pytest.fixture
def texts(cli: Run) -> list[str]:
    """Two notes of a person; their texts."""
    said = ["prefers aisle seats", "prefers the aisle seat near the exit"]
    for number, text in enumerate(said):
        cli("remember", text, *SCOPE, "--event-id", f"n{number}")
    return said


def left(cli: Run) -> list[str]:
    """What is listed of the person."""
    items = cli("episode", "list", *SCOPE, "--json").document["items"]
    return sorted(item["fields"]["text"] for item in items)


def test_it_shows_asks_does_and_reports(cli: Run, texts: list[str]) -> None:
    """A wrong number is asked again; the plan of what was picked comes before the question, the report after it."""
    with process("forget", *SCOPE, "--query", "aisle seat") as screen:
        asked = screen.wait_for(WHICH)
        assert "This may be meant:" in screen.shown
        assert "Nothing was forgotten" not in screen.shown
        assert all(text in screen.shown for text in texts)
        (first,) = [line for line in screen.shown.splitlines() if line.startswith("1 ")]
        (chosen,) = [text for text in texts if f" {text} " in first]
        screen.type("3")
        again = screen.wait_for("Give numbers from 1 to 2.", after=asked)
        screen.wait_for(WHICH, after=again)
        screen.type("1")
        sure = screen.wait_for(SURE, after=again)
        assert "episodes" in screen.shown[again:sure]
        assert "Planned only: nothing was removed." in screen.shown[again:sure]
        assert "--plan" not in screen.shown
        assert left(cli) == sorted(texts)
        screen.type("y")
        code = screen.end()
        report = screen.shown[sure:]
    assert code == 0
    assert "rows_absent" in report
    assert "A worker follows it up: olvido erasure show" in report
    assert "Nothing was forgotten" not in screen.shown
    assert left(cli) == [text for text in texts if text != chosen]


@pytest.mark.parametrize("answers, code", [(("",), 0), (("1", "n"), 1), (("1", ""), 1)])
def test_no_answer_forgets_nothing(cli: Run, texts: list[str], answers: tuple[str, ...], code: int) -> None:
    """Nothing typed, a no, and the default of the question each leave everything, and say so at the end only."""
    with thread("forget", *SCOPE, "--query", "aisle seat") as screen:
        at = 0
        for words, answer in zip((WHICH, SURE), answers, strict=False):
            at = screen.wait_for(words, after=at)
            assert "Nothing was forgotten" not in screen.shown
            screen.type(answer)
        assert screen.end() == code
    assert screen.shown.rstrip().endswith("Nothing was forgotten.")
    assert left(cli) == sorted(texts)


def test_with_yes_the_numbers_are_the_only_question(cli: Run, texts: list[str]) -> None:
    """Search never decides: which records is asked all the same."""
    with thread("forget", *SCOPE, "--query", "aisle seat", "--yes") as screen:
        screen.wait_for(WHICH)
        screen.type("1,2")
        assert screen.end() == 0
    assert "[y/N]" not in screen.shown
    assert left(cli) == []
    assert len(texts) == 2


def test_without_a_terminal_the_missing_yes_is_told_plainly(cli: Run) -> None:
    """It is about no value of an option, so it is not called an invalid one."""
    release = ("hold", "release", "019f0000-0000-7000-8000-000000000001", *SCOPE[:2])
    for command in (("forget", *SCOPE, "--all"), release):
        refused = cli(*command)
        assert refused.code == 2
        assert "there is no terminal to ask. Add --yes." in " ".join(refused.err.split())
        assert "Invalid value" not in refused.err
        answered = cli(*command, "--json").document["error"]
        assert (answered["code"], answered["message"][:11]) == ("usage", "This remove")


@pytest.mark.parametrize(
    "conditions, said",
    [
        (("--kind", "preference", "--case", "at1"), "A preference has no case_id. Conditions intersect"),
        (("--kind", "episode", "--session", "s1"), "An episode has no session_id."),
        (("--case", "at1", "--session", "s1"), "No kind of record has case_id and session_id at once."),
    ],
)
def test_conditions_that_nothing_meets_are_told_in_words(cli: Run, conditions: tuple[str, ...], said: str) -> None:
    """The condition that does not go with the kind is named, and what to do."""
    refused = cli("forget", *SCOPE, *conditions, "--yes")
    assert refused.code == 2
    assert said in " ".join(refused.err.split())


def test_an_id_that_is_none_is_called_by_its_name(cli: Run) -> None:
    """A hold is named by a hold_id, a request by an erasure_id, a record by a record_id."""
    for name, command in (
        ("hold_id", ("hold", "show", "no-uuid", *SCOPE[:2])),
        ("erasure_id", ("erasure", "show", "no-uuid", *SCOPE[:2])),
        ("record_id", ("forget", "no-uuid", *SCOPE, "--yes")),
        ("record_ids", ("forget", "no-uuid", "neither", *SCOPE, "--yes")),
    ):
        refused = " ".join(cli(*command).err.split())
        assert f"{name} is not a UUID. Pass the {name.removesuffix('s')} that Olvido returned." in refused


def test_the_content_of_a_hold_is_a_block_for_each_row(cli: Run) -> None:
    """Relation, record and instant on one line; below it a line for each column, none of them squeezed into a table."""
    written = cli("remember", "prefers aisle seats", *SCOPE, "--json").document
    hold = cli(
        "hold", "place", *SCOPE, "--basis", "court file 7/26", "--review-at", "2030-06-30T00:00:00Z", "--json"
    ).document
    assert cli("forget", *SCOPE, "--all", "--yes").code == 0
    lines = cli("hold", "show", hold["hold_id"], *SCOPE[:2], "--content").out.splitlines()
    record_id = written["record"]["record_id"]
    (head,) = [number for number, line in enumerate(lines) if line.startswith(f"episodes {record_id}, kept at ")]
    block = lines[head + 1 : lines.index("", head)]
    assert '  fields: {"text": "prefers aisle seats"}' in block
    assert all(line.startswith("  ") and ": " in line for line in block if line.strip())
    assert any(line.startswith("subjects ") for line in lines)


def test_what_is_held_adds_up(cli: Run) -> None:
    """Planned is deleted, kept and remaining together, in each line and in the sum, in JSON as on the screen."""
    first = cli("remember", "prefers aisle seats", *SCOPE, "--json").document["record"]["record_id"]
    cli("remember", "prefers window seats", *SCOPE, "--event-id", "n2")
    cli("preference", "set", "language", "pt", *SCOPE)
    cli("hold", "place", *SCOPE, "--record", first, "--basis", "file 7", "--review-at", "2030-06-30T00:00:00Z")
    planned = cli("forget", *SCOPE, "--all", "--dry-run", "--json").document
    shown = cli("forget", *SCOPE, "--all", "--dry-run").out
    every = sum(copy["planned"] for copy in planned["copies"])
    kept = {copy["copy"]: copy["kept"] for copy in planned["copies"] if copy["kept"]}
    assert kept == {"episodes": 1, "subjects": 1}
    assert f"Of {every} rows, {every - 2} would be deleted for good and 2, of 1 record, would be kept apart" in shown
    report = cli("forget", *SCOPE, "--all", "--yes", "--json").document
    for copy in report["copies"]:
        assert copy["planned"] == copy["removed"] + copy["remaining"]
        assert copy["kept"] == kept.get(copy["copy"], 0) <= copy["removed"]
    assert len(report["held"]) == 1
    (hold,) = cli("hold", "list", "--tenant", "acme", "--json").document["holds"]
    assert hold["kept"] == sum(kept.values())
    told = " ".join(cli("erasure", "show", report["erasure_id"], *SCOPE[:2]).out.split())
    assert f"Rows removed: {every}. Of these, those of a record were not deleted but kept apart by a legal hold" in told


def test_the_columns_of_a_held_report_add_up(cli: Run) -> None:
    """Deleted and kept stand beside each other for each relation."""
    cli("remember", "prefers aisle seats", *SCOPE)
    cli("hold", "place", *SCOPE, "--basis", "file 7", "--review-at", "2030-06-30T00:00:00Z")
    shown = cli("forget", *SCOPE, "--all", "--yes").out
    header = next(line for line in shown.splitlines() if line.startswith("copy in this database"))
    assert header.split("  ")[0] == "copy in this database"
    assert "deleted" in header
    assert "kept by a hold" in header
    rows = {line.split()[0]: line.split()[1:5] for line in shown.splitlines() if line.endswith("rows_absent")}
    assert rows["episodes"] == ["1", "0", "1", "0"]
    assert rows["index_entries"] == ["1", "1", "0", "0"]
    assert "Whose they were is kept with them." in " ".join(shown.split())
