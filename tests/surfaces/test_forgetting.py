"""`forget` and `purge`: asked for, counted, reported by copy, never as a bare "complete"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from olvido import ForgetReport
from olvido.memory import ScopedMemory
from tests.conftest import Clone
from tests.surfaces.conftest import SCOPE, Run


def remembered(cli: Run) -> str:
    """A preference and a note; the record id of the note."""
    cli("preference", "set", "language", "pt", *SCOPE)
    record_id: str = cli("remember", "prefers aisle seats", *SCOPE, "--json").document["record"]["record_id"]
    return record_id


def test_a_person_is_forgotten_with_a_report(cli: Run) -> None:
    """The dry run counts what the deed removes; copies outside are open, with holder and due date."""
    remembered(cli)
    plan = cli("forget", *SCOPE, "--all", "--dry-run", "--json").document
    assert plan["status"] == "planned"
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"] is not None
    report = cli("forget", *SCOPE, "--all", "--yes", "--json").document
    assert report["plan_hash"] == plan["plan_hash"]
    assert report["status"] == "rows_absent"
    assert {copy["copy"]: copy["removed"] for copy in report["copies"] if copy["removed"]}["episodes"] == 1
    assert {copy["status"] for copy in report["outside"]} == {"open"}
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"] is None


def test_the_report_for_a_person_names_what_remains(cli: Run) -> None:
    """Levels, statuses, holders and due dates are shown, and the word complete is not."""
    remembered(cli)
    shown = cli("forget", *SCOPE, "--all", "--yes")
    assert shown.code == 0
    for part in ("E1", "rows_absent", "database-backups", "platform team", "open", "by its holder, until"):
        assert part in shown.out
    assert "complete" not in shown.out.lower()
    again = cli("forget", *SCOPE, "--all", "--yes")
    assert again.code == 0
    assert "Nothing of this is stored here" in again.out
    # Nobody was asked for anything, so nothing is promised: holders are named, without dates.
    for part in ("database-backups", "platform team", "support-desk", "no request was made"):
        assert part in again.out
    for part in ("gone by", "until", "worker", "20"):
        assert part not in again.out


def test_one_record_is_forgotten(cli: Run) -> None:
    """The note goes and the preference stays; a foreign id is answered like a missing one."""
    record_id = remembered(cli)
    other = cli("forget", record_id, "--tenant", "globex", "--subject", "ana", "--yes", "--json").document
    assert other["found"] is False
    report = cli("forget", record_id, *SCOPE, "--yes", "--json").document
    assert (report["found"], report["target"]) == (True, "record")
    assert cli("episode", "list", *SCOPE, "--json").document["items"] == []
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"] is not None


def test_the_previous_value_returns_only_when_asked_for(cli: Run) -> None:
    """Rule 25: --reopen-previous forgets the current version alone, and the report says so."""
    cli("preference", "set", "language", "es", *SCOPE)
    current = cli("preference", "correct", "language", "pt", *SCOPE, "--json").document["record"]
    report = cli("forget", current["record_id"], *SCOPE, "--reopen-previous", "--yes", "--json").document
    assert report["chain"] == "reopened"
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"]["value"] == "es"


def test_a_company_is_forgotten(cli: Run) -> None:
    """--tenant alone closes the company and forgets everyone in it; others stay."""
    remembered(cli)
    cli("preference", "set", "language", "en", "--tenant", "globex", "--subject", "ana")
    report = cli("forget", "--tenant", "acme", "--yes", "--json").document
    assert (report["target"], report["lives"], report["status"]) == ("tenant", 1, "rows_absent")
    assert (report["requests"], report["erasure_id"]) == (1, None)
    (erasure_id,) = report["erasure_ids"]
    assert cli("erasure", "show", erasure_id, "--tenant", "acme", "--json").document["target"] == "tenant"
    assert cli("preference", "get", "language", *SCOPE, "--json").document["error"]["code"] == "tenant_closed"
    kept = cli("preference", "get", "language", "--tenant", "globex", "--subject", "ana", "--json").document
    assert kept["preference"]["value"] == "en"


def test_a_company_names_the_requests_that_it_left(cli: Run) -> None:
    """Each by the command that shows it, up to ten of them, then the command that lists all."""
    for number in range(11):
        cli("preference", "set", "language", "en", "--tenant", "acme", "--subject", f"person {number}")
    printed = " ".join(cli("forget", "--tenant", "acme", "--yes").out.split())
    listed = cli("erasure", "list", "--tenant", "acme", "--json").document["items"]
    ids = [one["erasure_id"] for one in listed][::-1]
    shown = [erasure_id for erasure_id in ids if f"olvido erasure show {erasure_id} --tenant acme" in printed]
    assert (len(ids), shown) == (11, ids[:10])
    assert "follows up 11 requests, one for each person" in printed
    assert "And 1 more; all of them: olvido erasure list --tenant acme" in printed
    assert "E2 open as soon as a worker has run" in printed
    assert "erasure show" not in cli("forget", "--tenant", "acme", "--yes").out


def test_nothing_is_forgotten_unasked(cli: Run) -> None:
    """Without a terminal to ask on, --yes has to be given."""
    remembered(cli)
    refused = cli("forget", *SCOPE, "--all", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "usage")
    assert len(cli("episode", "list", *SCOPE, "--json").document["items"]) == 1


@pytest.mark.parametrize("answer, code, left", [("n", 1, 1), ("y", 0, 0)])
def test_on_a_terminal_the_plan_is_shown_and_the_question_asked(
    cli: Run, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    """No is an answer: then nothing is forgotten."""
    remembered(cli)
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    asked = cli("forget", *SCOPE, "--all")
    assert asked.code == code
    assert "Forget this person?" in asked.err
    assert "planned" in asked.err
    assert len(cli("episode", "list", *SCOPE, "--json").document["items"]) == left


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--all"], id="no-company"),
        pytest.param(["--tenant", "acme", "--all"], id="no-person"),
        pytest.param([*SCOPE], id="no-target"),
        pytest.param([*SCOPE, "--all", "01a23014-3578-78f4-8ca9-4c3fc1bff6e3"], id="two-targets"),
        pytest.param([*SCOPE, "--all", "--reopen-previous"], id="reopen-what"),
    ],
)
def test_what_to_forget_has_to_be_clear(cli: Run, arguments: list[str]) -> None:
    """A target that is missing or ambiguous is refused before anything is opened."""
    assert cli("forget", *arguments, "--yes").code == 2


def test_a_purge_says_what_expired(cli: Run, clone: Clone) -> None:
    """Nothing to purge is said; what has expired is counted by relation."""
    remembered(cli)
    assert "Nothing that is stored has expired" in cli("purge").out
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("UPDATE olvido.episodes SET expires_at = clock_timestamp() - interval '1 second'")
        connection.execute("UPDATE olvido.due SET next_due_at = clock_timestamp() - interval '1 second'")
    shown = cli("purge")
    assert "in 1 person" in shown.out
    assert "episodes" in shown.out
    assert cli("purge", "--json").document["removed"] == {}


class _Terminal:
    """A standard input that is a terminal at which somebody types these answers, and no more."""

    def __init__(self, *answers: str) -> None:
        self._answers = [f"{answer}\n" for answer in answers]

    def isatty(self) -> bool:
        return True

    def readline(self, _limit: int = -1) -> str:
        return self._answers.pop(0) if self._answers else ""


def test_what_a_session_was_handed_over_to_is_named(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The episodes that outlive a forgotten session stand in the report with the ids that forget them."""
    left = UUID("019f0000-0000-7000-8000-000000000007")

    async def forgets(self: ScopedMemory, record_id: str, **options: Any) -> ForgetReport:  # noqa: ANN401 - as they came
        return replace(await whole(self, record_id, **options), handed_over=(left,))

    whole = ScopedMemory.forget
    record_id = remembered(cli)
    monkeypatch.setattr(ScopedMemory, "forget", forgets)
    for _ in range(2):  # the second finds nothing of the session itself
        shown = cli("forget", record_id, *SCOPE, "--yes")
        assert "1 episode that the session was handed over to remains here" in " ".join(shown.out.split())
        assert str(left) in shown.out
    assert cli("forget", record_id, *SCOPE, "--yes", "--json").document["handed_over"] == [str(left)]
