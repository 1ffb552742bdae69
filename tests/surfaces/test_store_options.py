"""Commands that are printed name the store as the command that printed them was told, so that they can be pasted."""

from __future__ import annotations

import shlex
from pathlib import Path

import psycopg.conninfo

from tests.conftest import Clone
from tests.places import put_home
from tests.surfaces.conftest import SCOPE, Run

FOLLOWS = "A worker follows it up: "


def printed(out: str) -> str:
    """The command in a report."""
    (line,) = [line for line in out.splitlines() if line.startswith(FOLLOWS)]
    return line.removeprefix(FOLLOWS)


def test_a_printed_command_runs_as_it_is_printed(olvido_command: Run, tmp_path: Path) -> None:
    """With the data directory and the ledger, on one line however long they are, and quoted."""
    home = tmp_path / "a place with blanks and a rather long name" / "memory of somebody"
    home.parent.mkdir()
    put_home(home)
    store = ("--data-dir", str(home), "--ledger", str(tmp_path / "ledger"))
    written = olvido_command("remember", "prefers aisle seats", *SCOPE, *store)
    assert written.code == 0, written.err
    command = printed(olvido_command("forget", *SCOPE, "--all", "--yes", *store).out)
    words = shlex.split(command)
    assert tuple(words[-4:]) == store
    shown = olvido_command(*words[1:])
    assert shown.code == 0
    assert shown.out.startswith("Forgotten: ")


def test_a_url_is_named_and_never_printed(olvido_command: Run, cli: Run, clone: Clone) -> None:
    """Given as an option, a word stands for it; named by the environment, nothing does."""
    cli("remember", "prefers aisle seats", *SCOPE)
    assert printed(cli("forget", *SCOPE, "--all", "--yes").out).endswith(" --tenant acme")
    cli("remember", "prefers aisle seats", *SCOPE)
    urls = ("--database-url", clone.app, "--worker-url", clone.worker)
    forgotten = olvido_command("forget", *SCOPE, "--all", "--yes", *urls)
    assert printed(forgotten.out).endswith(" --tenant acme --database-url URL --worker-url URL")
    assert not {part for part in psycopg.conninfo.conninfo_to_dict(clone.app).values() if f"/{part}" in forgotten.out}
    assert "postgresql://" not in forgotten.out
