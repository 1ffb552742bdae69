"""The crash check over a few rounds; `make bench-crash` runs it over many.

That one process goes on when another one that has the same directory open is killed is part of every second round;
`tests/adapters/embedded/test_crashes.py` has the handles and locks of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bench import crash
from bench.crash_checks import WANTED, Checks, Line, read_log
from bench.crash_client import NOW, TENANT, note, opened
from olvido.adapters import embedded
from tests.contract.support import CONFIRMED
from tests.places import put_home, server_directory

ROUNDS = 4


@pytest.fixture
def home() -> Iterator[Path]:
    """A home directory with a short path, which does not exist yet."""
    with server_directory() as place:
        yield place / "home"


def test_nothing_is_lost_in_part_or_back_after_a_crash(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program, the server's first process, the whole server and one of its processes are killed in turn."""
    monkeypatch.setattr("tempfile.tempdir", str(home.parent))
    assert crash.main(["--rounds", f"{ROUNDS}", "--lines", "60"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out.splitlines()[-1])
    assert found["passed"]
    assert found["kills"] == {"client": 1, "postmaster": 1, "server": 1, "backend": 1}
    assert {"value", "batch", "turns", "record forgotten"} <= set(found["acknowledged"])


async def test_what_is_missing_in_part_or_back_is_noticed(home: Path) -> None:
    """A log that claims more than was stored, and a store with a record that lost its index entry, both fail."""
    put_home(home)
    async with opened(home, NOW) as memory:
        await memory.scope(tenant=TENANT, subject="ana").record_episodes([note("stored")])
        await memory.scope(tenant=TENANT, subject="eva").set_preference("display_name", "Eva", origin=CONFIRMED)
    checks = Checks()
    await checks.after_crash(home, [["batch", "ana", ["stored"]], ["value", "eva", 1, "Eva"]])
    assert failed(checks) == set(WANTED) - {"acknowledged_present", "partial", "untyped_error"}, (
        "what was not asked does not pass, and nothing else fails"
    )
    with embedded.start(home) as server, psycopg.connect(server.urls.superuser) as connection:
        connection.execute("DELETE FROM olvido.index_entries WHERE kind = 'episode'")
    lies: list[Line] = [
        ["begins batch", "ana", ["stored", "not stored"]],
        ["batch", "ana", ["stored", "not stored"]],
        ["value", "eva", 2, "Eva Maria"],
        ["begins value", "eva", "Eva Maria"],
        ["begins turns", "ana", ["a", "b", "c"]],
        ["turns", "ana", 0, ["a", "b", "c"]],
        ["forgotten", "eva"],
        ["purged", "ana"],
        ["untyped", "_say", "KeyError()"],
    ]
    await checks.after_crash(home, lies)
    shown = {name: measure.asked - measure.served for name, measure in checks.tally.measures.items()}
    assert shown["acknowledged_present"] == 3, "an episode, a value and three messages at once"
    served = {name: measure.served for name, measure in checks.tally.measures.items()}
    assert served["partial"] == 2, "the batch, and the record without an index entry"
    assert served["resurrected"] == 2
    assert served["never_written"] == 1
    assert served["earlier_rounds_changed"] == 2, "both scopes that lost an index entry"
    assert served["untyped_error"] == 1


def failed(checks: Checks) -> set[str]:
    """The measures that did not pass."""
    return {name for name, measure in checks.tally.measures.items() if not measure.passed}


def test_a_line_that_was_cut_off_was_not_said(tmp_path: Path) -> None:
    """The program may be killed while it writes its log."""
    log = tmp_path / "log"
    assert read_log(log) == []
    log.write_text('["value", "ana", 1, "Ana"]\n["value", "a', encoding="utf-8")
    assert read_log(log) == [["value", "ana", 1, "Ana"]]
