"""Exit codes by kind of error, one JSON document also for errors, and nothing stored in any message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import olvido
from tests.surfaces.conftest import SCOPE, Run

CANARY = "zq-canary-41"

SET = ["preference", "set"]
REPORT = ["episode", "record", "support-case", "--event-id", "e"]
REFUSALS = [
    pytest.param([*SET, "language", CANARY], 2, "invalid_value", id="value"),
    pytest.param([*SET, "language", "pt", "--expires-at", "2001-01-01T00:00:00Z"], 2, "invalid_time", id="past"),
    pytest.param([*SET, "shoe-size", CANARY], 3, "not_in_policy", id="policy"),
    pytest.param([*SET, "payment", CANARY], 3, "live_state", id="live"),
    pytest.param([*SET, "language", "pt", "--origin", "inferred"], 3, "origin_not_accepted", id="origin"),
    pytest.param([*SET, "display_name", f"password: {CANARY}"], 3, "secret_refused", id="secret"),
    pytest.param(["preference", "correct", "language", "pt"], 4, "not_found", id="nothing-to-correct"),
    pytest.param([*SET, "language", "pt", "--expected-version", "3"], 5, "version_conflict", id="version"),
    pytest.param([*REPORT, "--status", CANARY], 2, "invalid_value", id="status"),
    pytest.param(["episode", "list", "--cursor", CANARY], 2, "invalid_cursor", id="cursor"),
    pytest.param(["forget", CANARY, "--yes"], 2, "invalid_scope", id="record-id"),
    pytest.param(["context", "x", "--session", CANARY], 4, "not_found", id="session"),
    pytest.param(["recall", " "], 2, "invalid_value", id="blank"),
]


@pytest.mark.parametrize("arguments, exit_code, code", REFUSALS)
def test_a_refusal_has_its_exit_code_and_echoes_nothing(
    cli: Run, arguments: list[str], exit_code: int, code: str
) -> None:
    """The exit code follows the kind of error; neither form of the message holds the value, nor a stack trace."""
    answered = cli(*arguments, *SCOPE, "--json")
    assert answered.code == exit_code
    assert answered.document["error"]["code"] == code
    assert answered.err == ""
    told = cli(*arguments, *SCOPE)
    assert told.code == exit_code
    assert told.out == ""
    assert told.err.startswith(f"Error ({code}): ")
    for text in (answered.out, told.err):
        assert CANARY not in text
        assert "Traceback" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["no-such-command"], id="command"),
        pytest.param(["preference", "set", "language"], id="missing"),
        pytest.param(["recall", "x", *SCOPE, "--limit", "many"], id="type"),
        pytest.param(["recall", "x", *SCOPE, "--since", "yesterday"], id="instant"),
        pytest.param(["recall", "x", *SCOPE, "--since", "2026-01-01"], id="day"),
        pytest.param([*SET, "language", "pt", *SCOPE, "--expires-at", "2027-01-01T00:00:00"], id="naive"),
        pytest.param(["episode", "record", "note", *SCOPE, "--event-id", "e", "--field", "text"], id="field"),
        pytest.param(["recall", "x", *SCOPE, "--database-url", "mysql://db"], id="scheme"),
        pytest.param(["recall", "x", *SCOPE, "--database-url", "postgresql://db", "--data-dir", "d"], id="two-stores"),
        pytest.param(["import", "no-such-file.jsonl"], id="file"),
    ],
)
def test_a_command_that_cannot_be_parsed_ends_with_2(olvido_command: Run, arguments: list[str]) -> None:
    """Usage errors exit with 2, and are one JSON document with --json."""
    assert olvido_command(*arguments).code == 2
    answered = olvido_command(*arguments, "--json")
    assert answered.code == 2
    assert answered.document["error"]["code"] == "usage"


def test_a_store_that_cannot_be_opened_ends_with_6(olvido_command: Run) -> None:
    """A data directory that cannot exist is told as such, with what to do."""
    answered = olvido_command("recall", "x", *SCOPE, "--data-dir", "/dev/null/olvido", "--json")
    assert answered.code == 6
    assert answered.document["error"]["code"] == "data_directory"


def test_an_unexpected_error_is_a_short_line(olvido_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text, which may quote what is stored, and its stack trace are shown with --debug only."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(olvido, "open", broken)
    told = olvido_command("recall", "x", *SCOPE)
    assert told.code == 1
    assert told.err == "Error (unexpected): RuntimeError. Run it again with --debug to see where.\n"
    assert olvido_command("recall", "x", *SCOPE, "--json").document["error"]["code"] == "unexpected"
    assert "Traceback" in olvido_command("recall", "x", *SCOPE, "--debug").err


def test_an_interrupt_ends_with_130(olvido_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is no error of the program."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(olvido, "open", interrupted)
    assert olvido_command("recall", "x", *SCOPE).code == 130


def test_a_policy_file_is_checked_with_the_line_to_mend(olvido_command: Run, tmp_path: Path) -> None:
    """A bad policy exits with 2 and names file and line; a good one tells what it defines."""
    good = olvido_command("policy", "check", "--json")
    assert good.code == 0
    assert re.fullmatch(r"sha256:[0-9a-f]{16}", good.document["version"])
    assert "support-assistant" in olvido_command("policy", "check").out
    bad = tmp_path / "mine.yaml"
    bad.write_text("version: 1\nname: mine\ndefault_purpose: support\nsurprise: yes\n")
    answered = olvido_command("policy", "check", str(bad), "--json")
    assert answered.code == 2
    assert "mine.yaml:4" in answered.document["error"]["message"]


def test_the_version_is_told(olvido_command: Run) -> None:
    """`olvido --version` prints the version alone."""
    assert olvido_command("--version").out.strip() == olvido.__version__
