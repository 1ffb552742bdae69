"""`olvido worker`: events as lines, a clean stop, and an exit code that says whether something is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from olvido.bootstrap import LEDGER
from olvido.workers.duties import DutyName
from tests.conftest import Clone
from tests.places import put_home
from tests.surfaces.conftest import SCOPE, Answer, Run

CANARY = "canary-3d18"


def events(answer: Answer) -> list[dict[str, Any]]:
    """Each line of standard output, which is a JSON object."""
    return [json.loads(line) for line in answer.out.splitlines()]


@contextmanager
def running(*options: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A worker in a process of its own, with an hour between two looks; killed if the test leaves it running."""
    command = [sys.executable, "-m", "olvido.surfaces.cli.main", "worker", "--json", "--interval", "3600", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OLVIDO_") or name == LEDGER}
    with subprocess.Popen(command, env={**kept, **environment}, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until_rest(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """The events until every duty has nothing to do."""
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    while {event["duty"] for event in seen if event["action"] == "duty_rests"} != {*map(str, DutyName)}:
        seen.append(json.loads(process.stdout.readline()))
    return seen


def test_once_does_what_is_due_and_tells_it_in_numbers(cli: Run, clone: Clone) -> None:
    """What expired goes, what has no entry gets one, each as an event without a content or a name."""
    cli("remember", CANARY, *SCOPE)
    cli("remember", f"{CANARY} stays", *SCOPE)
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("DELETE FROM olvido.index_entries")
        connection.execute(
            "UPDATE olvido.episodes SET expires_at = clock_timestamp() WHERE fields->>'text' = %s", [CANARY]
        )
        connection.execute("UPDATE olvido.due SET next_due_at = clock_timestamp()")
    done = cli("worker", "--once", "--json")
    assert (done.code, done.err) == (0, "")
    told = events(done)
    assert (told[0]["action"], told[0]["duties"]) == ("worker_started", [*map(str, DutyName)])
    assert told[-1]["action"] == "worker_stopped"
    facts = {event["duty"]: event for event in told if event["action"] == "duty_done"}
    assert (facts["purge"]["lives"], facts["purge"]["rows"]) == (1, 1)
    assert (facts["embed"]["lives"], facts["embed"]["rows"]) == (1, 1)
    assert (facts["embed"]["failed"], facts["embed"]["waiting"]) == (0, 0)
    assert all({"at", "level", "action"} <= event.keys() for event in told)
    assert not {word for word in (CANARY, "acme", "ana") if word in done.out}
    again = events(cli("worker", "--once", "--json"))
    assert [event["action"] for event in again if event["action"] == "duty_done"] == []


def test_once_leaves_nothing_unsealed(cli: Run) -> None:
    """Also of a company whose audit was sealed a moment ago, and is therefore not due."""
    for seals, text in enumerate(("prefers aisle seats", "prefers window seats"), start=1):
        cli("remember", text, *SCOPE)
        cli("worker", "--once")
        (chain,) = cli("audit", "verify", "--json").document["chains"]
        assert (chain["seals"], chain["unsealed_rows"], chain["problems"]) == (seals, 0, [])


def test_a_person_reads_lines(cli: Run) -> None:
    """One line an event, in words."""
    cli("remember", "prefers aisle seats", *SCOPE)
    shown = cli("worker", "--once", "--duty", "embed").out.splitlines()
    assert shown[0] == "worker: worker started (duties embed)"
    assert "embed: duty done (lives 1, rows 0, failed 0, waiting 0)" in shown
    assert shown[-1] == "worker: worker stopped"


def test_what_has_to_be_tried_again_is_an_exit_code(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an embedder is out the command ends with 1 and says why; the next one closes the gap."""
    with monkeypatch.context() as patch:
        patch.setenv("OLVIDO_EMBEDDER_URL", "http://127.0.0.1:9/v1")
        patch.setenv("OLVIDO_EMBEDDER_MODEL", "none")
        patch.setenv("OLVIDO_EMBEDDER_DIMENSIONS", "8")
        cli("remember", CANARY, *SCOPE)
        failed = cli("worker", "--once", "--json")
    assert failed.code == 1
    told = events(failed)
    assert {event["problem"] for event in told if event["action"] == "embedder_unusable"} <= {"unreachable", "resting"}
    assert [event["failed"] for event in told if event["action"] == "duty_done" and event["duty"] == "embed"] == [1]
    assert CANARY not in failed.out
    assert cli("worker", "--once").code == 0
    assert cli("recall", "canary", *SCOPE, "--json").document["unindexed"] == 0


def test_a_login_that_is_no_worker_is_told_so(olvido_command: Run, clone: Clone) -> None:
    """The message names the option, with the exit code of the error; with --json as an event."""
    told = olvido_command("worker", "--database-url", clone.app)
    assert told.code == 6
    assert "worker_url" in told.err
    answered = olvido_command("worker", "--once", "--database-url", clone.app, "--json")
    assert answered.code == 6
    last = events(answered)[-1]
    assert (last["action"], last["code"]) == ("worker_failed", "unsafe_database")


def test_every_duty_can_be_asked_for(cli: Run) -> None:
    """Alone and together, by its name; another name is refused."""
    for name in DutyName:
        assert events(cli("worker", "--once", "--json", "--duty", name))[0]["duties"] == [name]
    both = cli("worker", "--once", "--json", "--duty", "embed", "--duty", "purge")
    assert events(both)[0]["duties"] == ["purge", "embed"]
    assert cli("worker", "--once", "--duty", "sing").code == 2


def test_the_doctor_sends_to_the_worker(cli: Run, clone: Clone) -> None:
    """It counts whose index waits and names the command that mends a gap, which then does."""
    cli("remember", "prefers aisle seats", *SCOPE)
    assert cli("doctor", "--json").document["unrepaired_lives"] == 1
    assert "Waiting for a worker to look at their index: 1 subjects." in cli("doctor").out
    cli("worker", "--once")
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("DELETE FROM olvido.index_entries")
    looked = cli("doctor", "--json").document
    assert looked["unrepaired_lives"] == 0
    (gap,) = [finding for finding in looked["findings"] if finding["code"] == "no_index_entry"]
    assert "`olvido worker --once --recheck`" in gap["remedy"]
    assert cli("worker", "--once", "--recheck").code == 0
    mended = cli("doctor", "--json").document
    assert (mended["findings"], mended["unrepaired_lives"]) == ([], 0)


def test_who_is_about_to_be_forgotten_waits_for_no_repair(cli: Run, clone: Clone) -> None:
    """Lives of a company that was closed are none that a worker has to look at, before and after it did."""
    cli("remember", "prefers aisle seats", *SCOPE)
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("UPDATE olvido.tenants SET closed_at = clock_timestamp()")
    for _ in range(2):
        looked = cli("doctor", "--json").document
        assert looked["unrepaired_lives"] == 0
        assert [finding["code"] for finding in looked["findings"]] == ["closed_tenant_lives"]
        assert cli("worker", "--once", "--duty", "embed").code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_stops_it_cleanly(clone: Clone, number: signal.Signals) -> None:
    """It ends at once where it rests, says so, and the exit code is 0."""
    environment = {"OLVIDO_DATABASE_URL": clone.app, "OLVIDO_WORKER_URL": clone.worker}
    with running(environment=environment) as process:
        until_rest(process)
        process.send_signal(number)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert [json.loads(line)["action"] for line in rest.splitlines()] == ["worker_stopping", "worker_stopped"]


def test_it_shares_an_embedded_directory(olvido_command: Run, tmp_path: Path) -> None:
    """Beside a worker of the same directory a command writes and reads, and the worker ends alone."""
    home = str(tmp_path / "memory")
    put_home(tmp_path / "memory")
    olvido_command("remember", "prefers aisle seats", *SCOPE, "--data-dir", home)
    with running("--data-dir", home, environment={}) as process:
        until_rest(process)
        assert olvido_command("remember", "prefers window seats", *SCOPE, "--data-dir", home).code == 0
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    found = olvido_command("recall", "seats", *SCOPE, "--data-dir", home, "--json")
    assert len(found.document["items"]) == 2
