"""`olvido erasure`: requests to forget, listed, shown and followed up."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import Clone
from tests.storage.support import leaf
from tests.surfaces.conftest import SCOPE, Run

TENANT = ("--tenant", "acme")


@pytest.fixture
def erasing(cli: Run, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with the login of the eraser in the environment."""
    monkeypatch.setenv("OLVIDO_ERASER_URL", clone.eraser)
    return cli


def forget(cli: Run) -> str:
    """Remember something of somebody, forget them, and say under which id that is followed up."""
    cli("remember", "prefers aisle seats", *SCOPE)
    return str(cli("forget", *SCOPE, "--all", "--yes", "--json").document["erasure_id"])


def test_what_was_forgotten_is_followed_up(erasing: Run) -> None:
    """The list says what is not done, `run` does it, `show` says what was measured, and what remains until when."""
    erasure_id = forget(erasing)
    before = erasing("erasure", "list", *TENANT)
    assert before.code == 0
    first, second = before.out.splitlines()
    assert (first.split()[0], first.split()[2]) == (erasure_id, "rows_absent")
    assert (
        second.strip()
        == "everything of a person; not done: files, log, application-logs, support-desk, database-backups"
    )
    ran = erasing("erasure", "run")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Worked on 2 steps; settled 1 of E2, 1 of E3.")
    assert "Not settled yet: 2 of E4, 1 of E5" in ran.out
    shown = " ".join(erasing("erasure", "show", erasure_id, *TENANT).out.split())
    assert "Forgotten: everything of a person" in shown
    assert "11 relations written anew, the longest lock" in shown
    assert "0 files left of the log before" in shown
    assert "database-backups backup platform team E5 open" in shown
    assert "Status: local_verified_external_open." in shown
    assert "prefers" not in shown
    again = erasing("erasure", "run", "--json")
    assert (again.code, again.document["worked"], again.document["hindered"]) == (0, 0, 0)


def test_json_has_all_the_evidence(erasing: Run) -> None:
    """What a program reads is whole: steps with levels, statuses, instants and what was measured."""
    erasure_id = forget(erasing)
    ran = erasing("erasure", "run", "--json").document
    assert ran["settled"] == {"E2": 1, "E3": 1}
    shown = erasing("erasure", "show", erasure_id, *TENANT, "--json").document
    steps = {step["step"]: step for step in shown["steps"]}
    assert (shown["status"], shown["target"]) == ("local_verified_external_open", "subject")
    assert {one["relation"].split("_")[0] for one in steps["files"]["evidence"]["relations"]} >= {
        "episodes",
        "subjects",
    }
    assert steps["log"]["evidence"]["files_left"] == 0
    listed = erasing("erasure", "list", *TENANT, "--json").document
    assert [one["erasure_id"] for one in listed["items"]] == [erasure_id]


def test_what_is_in_the_way_is_shown(cli: Run, clone: Clone) -> None:
    """Without the login of the eraser the exit code is 1, and what is missing is named; with it, all is done."""
    erasure_id = forget(cli)
    ran = cli("erasure", "run")
    assert (ran.code, "1 step could not be done" in ran.out) == (1, True)
    shown = " ".join(cli("erasure", "show", erasure_id, *TENANT).out.split())
    assert "no login of olvido_eraser is known" in shown
    assert "In the way of files of this database, after 1 try:" in shown
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("UPDATE olvido.erasure_steps SET due_at = clock_timestamp() WHERE kind = 'database'")
    assert cli("erasure", "run", "--eraser-url", clone.eraser).code == 0


def test_a_missing_request_is_not_found(cli: Run) -> None:
    """An id of nowhere, and a company of which nothing was forgotten."""
    missing = cli("erasure", "show", str(uuid4()), *TENANT, "--json")
    assert (missing.code, missing.document["error"]["code"]) == (4, "not_found")
    assert "Nothing was forgotten" in cli("erasure", "list", *TENANT).out


def test_the_doctor_names_erasures_that_do_not_get_on(cli: Run, clone: Clone) -> None:
    """Steps that need attention, and those that no worker came to for a day, each with what to do."""
    forget(cli)
    assert cli("doctor", "--json").document["findings"] == []
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("UPDATE olvido.erasure_steps SET status = 'needs_attention' WHERE step = 'files'")
        connection.execute("UPDATE olvido.erasure_steps SET due_at = due_at - interval '2 days' WHERE step = 'log'")
    looked = cli("doctor", "--json")
    assert looked.code == 0
    assert {finding["code"] for finding in looked.document["findings"]} == {
        "erasure_needs_attention",
        "overdue_erasure",
    }


def test_a_worker_has_the_duty(erasing: Run) -> None:
    """`olvido worker --once --duty erase` does the same, and tells it as an event."""
    erasure_id = forget(erasing)
    worked = erasing("worker", "--once", "--duty", "erase", "--json")
    assert worked.code == 0
    assert '"steps": 2, "settled": 2' in worked.out
    status = erasing("erasure", "show", erasure_id, *TENANT, "--json").document["status"]
    assert status == "local_verified_external_open"


def test_a_worker_that_is_hindered_says_so(cli: Run) -> None:
    """The exit code of one round is 1 where something has to be tried again later."""
    forget(cli)
    worked = cli("worker", "--once", "--duty", "erase", "--json")
    assert worked.code == 1
    assert '"hindered": 1' in worked.out


def test_an_administrator_swaps_a_leaf(erasing: Run, clone: Clone) -> None:
    """It says how long everyone waited; the worker goes on from there; others are refused, and so is no leaf."""
    erasure_id = forget(erasing)
    with psycopg.connect(clone.superuser) as connection:
        remainder = leaf(connection, "acme")
    swapped = erasing("erasure", "swap", f"episodes_{remainder}", "--database-url", clone.superuser, "--json").document
    assert (swapped["relation"], swapped["rows"], swapped["came"]) == (f"episodes_{remainder}", 0, 0)
    assert swapped["locked"] > 0
    told = erasing("erasure", "swap", f"messages_{remainder}", "--database-url", clone.superuser)
    assert told.code == 0
    assert re.match(
        rf"messages_{remainder} was swapped for a copy with 0 rows, filled in \d\.\d s, while 0 rows came. "
        r"Everyone waited for \d\.\d\d s\.",
        " ".join(told.out.split()),
    )
    assert erasing("erasure", "run", "--json").document["settled"] == {"E2": 1, "E3": 1}
    shown = erasing("erasure", "show", erasure_id, *TENANT, "--json").document
    relations = next(step for step in shown["steps"] if step["step"] == "files")["evidence"]["relations"]
    assert [one["relation"] for one in relations if one.get("swapped")] == [
        f"episodes_{remainder}",
        f"messages_{remainder}",
    ]
    refused = erasing("erasure", "swap", f"episodes_{remainder}", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (6, "unsafe_database")
    wrong = erasing("erasure", "swap", "episodes", "--database-url", clone.superuser, "--json")
    assert (wrong.code, wrong.document["error"]["code"]) == (2, "invalid_input")


def test_there_must_be_a_memory_to_swap(olvido_command: Run, tmp_path: Path) -> None:
    """A directory without one is not made into one."""
    (tmp_path / "empty").mkdir()
    for directory in ("none", "empty"):
        refused = olvido_command("erasure", "swap", "episodes_0", "--data-dir", str(tmp_path / directory), "--json")
        assert (refused.code, refused.document["error"]["code"]) == (6, "data_directory")
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]
