"""`forget` by conditions, by words and by plan, and `hold`: what is asked for is what goes, and the report says so."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Clone
from tests.surfaces.conftest import SCOPE, Answer, Run
from tests.surfaces.test_forgetting import _Terminal, remembered

REVIEW = "2030-06-30T00:00:00Z"
HOLD = ("--basis", "court file 7/26", "--review-at", REVIEW)


def case(cli: Run, event: str, case_id: str, occurred_at: str) -> str:
    """One support case; its record id."""
    written = cli(
        "episode", "record", "support-case", "--event-id", event, "--case", case_id, "--occurred-at", occurred_at,
        "--field", "summary=cannot reach the course", *SCOPE, "--json",
    )  # fmt: skip
    record_id: str = written.document["record"]["record_id"]
    return record_id


def events(cli: Run) -> set[str]:
    """The events that are listed."""
    items = cli("episode", "list", *SCOPE, "--json").document["items"]
    return {item["event_id"] for item in items}


def one_line(answer: Answer) -> str:
    """What a command printed, however its lines were folded."""
    return " ".join(answer.out.split())


def test_records_are_forgotten_by_conditions(cli: Run) -> None:
    """Kind, case and time intersect; the dry run and the deed report the same rows and the same plan."""
    case(cli, "old", "at1", "2026-01-01T00:00:00Z")
    case(cli, "new", "at1", "2026-02-01T00:00:00Z")
    case(cli, "other", "at2", "2026-01-01T00:00:00Z")
    asked = (*SCOPE, "--kind", "episode", "--case", "at1", "--until", "2026-01-15T00:00:00Z")
    plan = cli("forget", *asked, "--dry-run", "--json").document
    assert (plan["target"], plan["status"]) == ("selection", "planned")
    report = cli("forget", *asked, "--yes", "--json").document
    assert report["plan_hash"] == plan["plan_hash"]
    assert {copy["copy"]: copy["removed"] for copy in report["copies"] if copy["removed"]} == {
        "episodes": 1, "index_entries": 1,
    }  # fmt: skip
    assert events(cli) == {"new", "other"}


def test_several_records_go_in_one_report(cli: Run) -> None:
    """More ids than one are one selection; conditions narrow them."""
    ids = [case(cli, name, name, "2026-01-01T00:00:00Z") for name in ("a", "b", "c")]
    report = cli("forget", *ids[:2], *SCOPE, "--case", "a", "--yes", "--json").document
    assert (report["target"], report["found"]) == ("selection", True)
    assert events(cli) == {"b", "c"}
    assert cli("forget", *ids, *SCOPE, "--yes").code == 0
    assert events(cli) == set()


def test_a_plan_that_no_longer_holds_is_refused(cli: Run) -> None:
    """--plan takes the hash that a dry run prints; after another write it is a conflict, and nothing goes."""
    remembered(cli)
    shown = cli("forget", *SCOPE, "--all", "--dry-run")
    (plan,) = [line.split()[-1] for line in shown.out.splitlines() if "--plan" in line]
    cli("remember", "is allergic to peanuts", *SCOPE)
    refused = cli("forget", *SCOPE, "--all", "--plan", plan, "--yes", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (5, "plan_changed")
    assert len(cli("episode", "list", *SCOPE, "--json").document["items"]) == 2
    plan = cli("forget", *SCOPE, "--all", "--dry-run", "--json").document["plan_hash"]
    assert cli("forget", *SCOPE, "--all", "--plan", plan, "--yes").code == 0


def test_what_is_removed_is_what_was_shown(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever answers yes agreed to the plan on the screen: what came in between is not swept along."""
    remembered(cli)

    class Late(_Terminal):
        def readline(self, limit: int = -1) -> str:
            # Somebody writes while the question stands.
            monkeypatch.setattr("sys.stdin", _Terminal(""))
            cli("remember", "is allergic to peanuts", *SCOPE)
            return super().readline(limit)

    monkeypatch.setattr("sys.stdin", Late("y"))
    refused = cli("forget", *SCOPE, "--all")
    assert refused.code == 5
    assert len(cli("episode", "list", *SCOPE, "--json").document["items"]) == 2


def test_words_only_propose(cli: Run) -> None:
    """Without a terminal, and with --yes too, nothing is forgotten: ids have to be given."""
    remembered(cli)
    for options in ((), ("--yes",), ("--dry-run",)):
        shown = cli("forget", *SCOPE, "--query", "aisle seat", *options)
        assert shown.code == 0
        assert "Nothing was forgotten" in shown.out
        assert "prefers aisle seats" in shown.out
    assert len(cli("episode", "list", *SCOPE, "--json").document["items"]) == 1


def test_a_proposal_is_taken_up_by_its_token(cli: Run) -> None:
    """The JSON answer has the token and the ids; together they forget, and a foreign id does not."""
    record_id = remembered(cli)
    proposal = cli("forget", *SCOPE, "--query", "aisle seat", "--json").document
    assert [record["record_id"] for record in proposal["records"]] == [record_id]
    taken = ("forget", *SCOPE, "--proposal", proposal["token"], "--yes", "--json")
    foreign = cli(*taken, "01a23014-3578-78f4-8ca9-4c3fc1bff6e3")
    assert (foreign.code, foreign.document["error"]["code"]) == (2, "invalid_input")
    assert cli(*taken, record_id).document["found"] is True
    assert cli("episode", "list", *SCOPE, "--json").document["items"] == []


@pytest.mark.parametrize(
    "said, left, code",
    [
        (["2", "y"], [1], 0),
        (["1, 2", "y"], [], 0),
        (["2", "n"], [1, 2], 1),
        ([""], [1, 2], 0),
        (["3", "all", "1 3", ""], [1, 2], 0),
        (["3", "1", "y"], [2], 0),
        (["3"], [1, 2], 130),
    ],
)
def test_on_a_terminal_numbers_choose(
    cli: Run, monkeypatch: pytest.MonkeyPatch, said: list[str], left: list[int], code: int
) -> None:
    """Only the numbers that are typed go, after a yes; nothing typed forgets nothing, anything else is asked again."""
    for name in ("a", "b"):
        case(cli, name, name, "2026-01-01T00:00:00Z")
    query = ("forget", *SCOPE, "--query", "cannot reach the course")
    shown = [record["record_id"] for record in cli(*query, "--json").document["records"]]
    monkeypatch.setattr("sys.stdin", _Terminal(*said))
    assert cli(*query).code == code
    items = cli("episode", "list", *SCOPE, "--json").document["items"]
    assert sorted(shown.index(item["record_id"]) + 1 for item in items) == left


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([*SCOPE, "--query", "x", "--all"], id="query-all"),
        pytest.param([*SCOPE, "--query", "x", "--kind", "episode"], id="query-kind"),
        pytest.param([*SCOPE, "--query", "x", "01a23014-3578-78f4-8ca9-4c3fc1bff6e3"], id="query-id"),
        pytest.param([*SCOPE, "--query", "x", "--proposal", "y"], id="query-proposal"),
        pytest.param([*SCOPE, "--proposal", "y"], id="proposal-of-nothing"),
        pytest.param(["--tenant", "acme", "--query", "x"], id="query-of-nobody"),
        pytest.param([*SCOPE, "--all", "--kind", "episode"], id="all-of-a-kind"),
        pytest.param(["--tenant", "acme", "--kind", "episode"], id="kind-of-nobody"),
        pytest.param(["--tenant", "acme", "--plan", "0"], id="plan-of-a-company"),
        pytest.param([*SCOPE, "--kind", "message"], id="unknown-kind"),
        pytest.param([*SCOPE, "--case", "at1", "--reopen-previous"], id="reopen-a-case"),
    ],
)
def test_what_goes_with_what_has_to_be_clear(cli: Run, arguments: list[str]) -> None:
    """Options that do not go together are refused before anything is opened."""
    assert cli("forget", *arguments, "--yes").code == 2


def place(cli: Run, *options: str) -> Any:  # noqa: ANN401 - a JSON document
    """Place a hold on the person."""
    return cli("hold", "place", *SCOPE, *HOLD, *options, "--json").document


def test_a_hold_is_placed_shown_and_released(cli: Run) -> None:
    """The report of a forget names the hold with basis and date; its content is shown on request only."""
    record_id = remembered(cli)
    hold = place(cli, "--record", record_id)
    assert (hold["record_id"], hold["basis"], hold["review_at"]) == (record_id, "court file 7/26", REVIEW)
    listed = cli("hold", "list", "--tenant", "acme", "--json").document["holds"]
    assert listed == [hold]
    shown = cli("forget", *SCOPE, "--all", "--yes")
    assert shown.code == 0
    for part in (
        "Refused by a legal hold",
        "and 2, of 1 record, are kept apart",
        "court file 7/26",
        REVIEW,
        hold["hold_id"],
    ):
        assert part in one_line(shown)
    assert "holds none of these rows any more" not in one_line(shown)
    assert "E2" in shown.out
    without = cli("hold", "show", hold["hold_id"], "--tenant", "acme")
    assert "aisle" not in without.out
    assert "a forgotten person" in without.out
    content = cli("hold", "show", hold["hold_id"], "--tenant", "acme", "--content", "--json").document
    assert [row["relation"] for row in content["rows"]] == ["episodes", "subjects"]
    assert content["rows"][0]["content"]["fields"] == {"text": "prefers aisle seats"}
    assert "prefers aisle seats" in one_line(cli("hold", "show", hold["hold_id"], "--tenant", "acme", "--content"))
    assert cli("hold", "release", hold["hold_id"], "--tenant", "acme").code == 2  # nobody to ask
    released = cli("hold", "release", hold["hold_id"], "--tenant", "acme", "--yes")
    assert released.code == 0
    assert "2 rows that it had kept were deleted, and none is left" in one_line(released)
    assert cli("hold", "show", hold["hold_id"], "--tenant", "acme").code == 4
    assert "No legal hold" in cli("hold", "list", "--tenant", "acme").out


def test_a_hold_that_finds_nothing_says_so(cli: Run) -> None:
    """There is nothing to keep of a person of whom nothing is stored."""
    refused = cli("hold", "place", *SCOPE, *HOLD, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (4, "not_found")


def test_a_purge_says_what_is_held(cli: Run, clone: Clone) -> None:
    """What expired is removed, and the report says how much of it a hold keeps."""
    remembered(cli)
    place(cli)
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("UPDATE olvido.episodes SET expires_at = clock_timestamp() - interval '1 second'")
        connection.execute("UPDATE olvido.due SET next_due_at = clock_timestamp() - interval '1 second'")
    shown = one_line(cli("purge"))
    assert "in 1 person" in shown
    assert "a legal hold keeps 1 record" in shown


# case 38
def test_the_report_says_what_is_still_in_files_and_until_when(cli: Run) -> None:
    """Rows are absent; the files, the log and each copy outside stand below, with who acts and when it is gone."""
    remembered(cli)
    shown = cli("forget", *SCOPE, "--kind", "episode", "--yes")
    rows, _, remains = shown.out.partition("what remains")
    assert "rows_absent" in rows
    lines = {line.split("  ")[0].strip(): line for line in remains.splitlines()}
    for what, level in (("data files", "E2"), ("log and replicas", "E3"), ("database-backups", "E5")):
        assert level in lines[what].split()
        assert "open" in lines[what].split()
    assert "as soon as a worker has run" in lines["data files"]
    assert "olvido erasure show" in shown.out
