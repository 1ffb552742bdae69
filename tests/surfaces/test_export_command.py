"""`olvido export`, and the ways back: an export, and lines after a failure or after a forget."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from olvido.errors import DatabaseUnavailable
from olvido.memory import ScopedMemory
from tests.surfaces.conftest import SCOPE, Run
from tests.surfaces.test_import import EPISODE, NOTE, PREFERENCE, written

OTHER = ("--tenant", "other", "--subject", "ana")


@pytest.fixture
def filled(cli: Run, tmp_path: Path) -> str:
    """Somebody with a language and an episode; the file that they came from."""
    file = written(tmp_path / "all.jsonl", PREFERENCE, EPISODE)
    assert cli("import", file).code == 0
    return file


def test_an_export_is_one_document(cli: Run, filled: str) -> None:
    """On standard output, with or without --json."""
    del filled
    document = cli("export", *SCOPE).document
    assert document["manifest"]["counts"]["episodes"] == 1
    assert cli("export", *SCOPE, "--json").document["records"] == document["records"]


def test_a_file_is_for_its_owner_only_and_new(cli: Run, filled: str, tmp_path: Path) -> None:
    """Mode 0600; a file that is there is never written over; what is said has counts and no content."""
    del filled
    file = tmp_path / "ana.json"
    told = cli("export", *SCOPE, "--output", str(file))
    assert told.code == 0
    assert "episodes" in told.out
    assert "lookup-failed" not in told.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    again = cli("export", *SCOPE, "--output", str(file), "--json")
    assert again.code == 2
    assert "is there already" in again.document["error"]["message"]
    assert file.read_bytes() == before
    assert cli("export", *SCOPE, "--output", str(tmp_path / "no" / "ana.json")).code == 2
    manifest = cli("export", *SCOPE, "--output", str(tmp_path / "b.json"), "--json").document
    assert manifest["format"] == "olvido-export"
    assert "records" not in manifest


def test_an_export_is_imported_into_another_scope(cli: Run, filled: str, tmp_path: Path) -> None:
    """Once; a torn file is refused, and so is one that was forgotten since, until the person consents again."""
    del filled
    file = tmp_path / "ana.json"
    cli("export", *SCOPE, "--output", str(file))
    into = ("import", str(file), "--from", "export", *OTHER)
    first = cli(*into, "--json")
    assert (first.code, first.document["written"]) == (0, {"preferences": 1, "episodes": 1})
    assert "There already: preferences (1), episodes (1)" in cli(*into).out
    assert cli("preference", "get", "language", *OTHER, "--json").document["preference"]["origin"]["source"] == "crm"
    torn = tmp_path / "torn.json"
    torn.write_text(file.read_text(encoding="utf-8")[:300], encoding="utf-8")
    assert cli("import", str(torn), "--from", "export", *OTHER).code == 2
    assert "--subject" in cli("import", str(file), "--from", "export", "--tenant", "other").err
    cli("forget", *OTHER, "--all", "--yes")
    refused = cli(*into, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (5, "consent_needed")
    told = cli(*into)
    assert (told.code, told.out) == (5, "")
    assert "import it with --new-consent." in told.err
    assert "new_consent" not in told.err
    assert "The exit code is 5 if a record, or a whole export, was refused" in cli("import", "--help").out
    assert cli(*into, "--new-consent", "--json").document["written"]["episodes"] == 1


def test_a_record_that_is_left_out_is_named(cli: Run, filled: str, tmp_path: Path) -> None:
    """The exit code says that somebody should look at it."""
    del filled
    document: Any = cli("export", *SCOPE).document
    document["records"]["episodes"][0]["definition"] = "seance"
    file = written(tmp_path / "changed.json", document)
    answered = cli("import", file, "--from", "export", *OTHER)
    assert answered.code == 5
    assert "seance" in answered.out
    assert "not_in_policy" in answered.out


def test_lines_do_not_revive_whom_was_forgotten(cli: Run, filled: str) -> None:
    """Case 41: an older file after a forget is refused line by line, until the person consents again."""
    cli("forget", *SCOPE, "--all", "--yes")
    again = cli("import", filled, "--json")
    assert (again.code, again.document["written"]) == (5, 0)
    assert again.document["refused"] == [{"line": line, "code": "consent_needed"} for line in (1, 2)]
    assert "--new-consent" in cli("import", filled).out
    assert cli("export", *SCOPE).document["manifest"]["life"] is None
    assert cli("import", filled, "--new-consent", "--json").document["written"] == 2


def test_lines_do_not_revive_a_forgotten_record(cli: Run, filled: str, tmp_path: Path) -> None:
    """What is still stored is there already; what was forgotten stays away; what happened later comes in."""
    (episode,) = cli("episode", "list", *SCOPE, "--json").document["items"]
    cli("forget", episode["record_id"], *SCOPE, "--yes")
    again = cli("import", filled, "--json").document
    assert (again["unchanged"], again["refused"]) == (1, [{"line": 2, "code": "consent_needed"}])
    undated = cli("import", written(tmp_path / "note.jsonl", NOTE), "--json").document
    assert undated["refused"] == [{"line": 1, "code": "consent_needed"}], "it may have happened at any time"
    cli("remember", "prefers windows", *SCOPE)
    stranger = {**EPISODE, "subject": "bea"}
    assert cli("import", written(tmp_path / "bea.jsonl", stranger), "--json").document["written"] == 1


def test_a_run_that_was_cut_short_goes_on(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written stands, the message says how far it came, and --resume writes the rest."""
    people = [*["ana"] * 3, *["bea"] * 2]
    lines = [{**EPISODE, "subject": who, "event_id": f"ev{number}"} for number, who in enumerate(people)]
    file = written(tmp_path / "five.jsonl", *lines)
    whole, done = ScopedMemory.import_records, asyncio.Event()

    async def fails_for_bea(self: ScopedMemory, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        if self.scope.subject == "bea":
            await done.wait()
            raise DatabaseUnavailable("The connection was lost.")
        outcomes = await whole(self, *arguments, **options)
        done.set()
        return outcomes

    with monkeypatch.context() as patched:
        patched.setattr(ScopedMemory, "import_records", fails_for_bea)
        cut = cli("import", file)
    assert cut.code == 6
    assert "Cut short after 3 of 5 records" in cut.err
    rest = cli("import", file, "--resume", "--json").document
    assert (rest["written"], rest["unchanged"]) == (2, 3)
    assert json.loads(cli("import", file, "--json").out)["unchanged"] == 5
