"""`remember`, `preference`, `episode`, `recall`, `context` and `consolidate`."""

from __future__ import annotations

import pytest

from tests.surfaces.conftest import SCOPE, Run

CANARY = "zq-canary-41"


def test_a_preference_is_set_corrected_and_shown_with_its_history(cli: Run) -> None:
    """A correction is version 2; the history has both versions with their origins."""
    first = cli("preference", "set", "language", "es", *SCOPE, "--ref", "turn-3", "--json").document
    assert first["record"]["version"] == 1
    assert first["record"]["origin"] == {
        "origin_class": "declared", "source": "operator", "ref": "turn-3", "actor": None, "at": None,
    }  # fmt: skip
    second = cli("preference", "correct", "language", "pt", *SCOPE, "--expected-version", "1", "--json").document
    assert (second["record"]["version"], second["record"]["value"]) == (2, "pt")
    versions = cli("preference", "history", "language", *SCOPE, "--json").document["versions"]
    assert [(one["version"], one["value"], one["change"]) for one in versions] == [
        (1, "es", "set"),
        (2, "pt", "corrected"),
    ]
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"]["value"] == "pt"
    listed = cli("preference", "list", *SCOPE, "--json").document["preferences"]
    assert [one["key"] for one in listed] == ["language"]


def test_a_person_reads_tables(cli: Run) -> None:
    """Without --json the same comes as text, with origins and instants in UTC."""
    cli("preference", "set", "language", "pt", *SCOPE, "--source", "user-confirmation", "--ref", "turn-3")
    shown = cli("preference", "history", "language", *SCOPE)
    assert shown.code == 0
    assert "declared via user-confirmation (turn-3)" in shown.out
    assert "Z" in shown.out


def test_the_same_name_at_another_company_is_somebody_else(cli: Run) -> None:
    """Nothing of one company's customer is shown for another's."""
    cli("preference", "set", "language", "pt", *SCOPE)
    cli("remember", "prefers aisle seats", *SCOPE)
    other = ("--tenant", "globex", "--subject", "ana")
    assert cli("preference", "get", "language", *other, "--json").document == {"preference": None}
    assert cli("recall", "which seat?", *other, "--json").document["items"] == []
    assert "Nothing is recalled" in cli("recall", "which seat?", *other).out


def test_an_episode_keeps_what_the_policy_names_and_says_what_was_dropped(cli: Run) -> None:
    """A field outside the allowlist is dropped, by name; the same event again changes nothing."""
    record = (
        "episode", "record", "support-case", *SCOPE, "--event-id", "ev1", "--case", "at1", "--status", "lookup-failed",
        "--occurred-at", "2026-01-02T10:00:00Z", "--field", "topic=access", "--field", f"transcript={CANARY}",
        "--source", "crm.lookup", "--json",
    )  # fmt: skip
    written = cli(*record).document
    assert written["dropped"] == ["transcript"]
    assert written["record"]["fields"] == {"topic": "access"}
    assert written["record"]["origin"]["origin_class"] == "observed"
    assert cli(*record).document["changed"] is False
    page = cli("episode", "list", *SCOPE, "--json")
    assert [one["occurred_at"] for one in page.document["items"]] == ["2026-01-02T10:00:00Z"]
    assert CANARY not in page.out
    summary = cli("consolidate", *SCOPE, "--json").document["summaries"][0]
    assert (summary["case_id"], summary["last_reported_status"]) == ("at1", "lookup-failed")
    assert "lookup-failed" in cli("consolidate", *SCOPE).out
    assert "at1" in cli("episode", "list", *SCOPE).out


def test_recall_labels_history_and_explains_scores(cli: Run) -> None:
    """A note comes back as history and untrusted text, with the parts of its score."""
    cli("remember", "prefers aisle seats", *SCOPE)
    shown = cli("recall", "aisle seats", *SCOPE, "--explain")
    assert "history: note" in shown.out
    assert "untrusted text" in shown.out
    assert "lex" in shown.out


def test_an_item_says_what_it_is_and_where_it_comes_from(cli: Run) -> None:
    """In JSON each has kind, text, label, origin, time, score, strength and ids; a person reads the same."""
    cli("preference", "set", "language", "pt", *SCOPE, "--ref", "turn-3")
    first = cli("remember", "prefers aisle seats", *SCOPE, "--json").document["record"]
    second = cli("remember", "Prefers aisle  seats", *SCOPE, "--ref", "turn-9", "--json").document["record"]
    found = cli("recall", "aisle seats", *SCOPE, "--json").document
    assert (found["scope"], found["purpose"]) == ({"tenant": "acme", "subject": "ana"}, "support")
    assert found["policy_version"].startswith("sha256:")
    assert (found["omitted"], found["index_complete"]) == (0, True)
    (preference,), (note,) = found["preferences"], found["items"]
    assert (preference["kind"], preference["value"], preference["text"]) == ("preference", "pt", "pt")
    assert preference["origin"]["ref"] == "turn-3"
    assert (note["kind"], note["text"], note["strength"]) == ("episode", "Prefers aisle  seats", "match")
    assert (note["record_id"], note["at"]) == (second["record_id"], second["occurred_at"])
    assert [one["record_id"] for one in note["also"]] == [first["record_id"]]
    assert (note["sources"], note["record"]["definition"], note["parts"]) == (2, "note", None)
    assert note["label"].startswith("history: note, declared via ")
    assert note["score"] > 0
    explained = cli("recall", "aisle seats", *SCOPE, "--explain", "--json").document["items"][0]
    assert explained["parts"]["score"] == explained["score"]
    shown = cli("recall", "aisle seats", *SCOPE).out
    for told in (note["record_id"], first["record_id"], preference["record_id"], "also declared via", "match, score"):
        assert told in shown
    for narrowed in (("--kind", "preference"), ("--origin", "inferred"), ("--product", "card")):
        assert cli("recall", "aisle seats", *SCOPE, *narrowed, "--json").document["items"] == []
    assert cli("recall", "aisle seats", *SCOPE, "--kind", "episode", "--json").document["preferences"] == []


def test_a_question_about_live_state_is_answered_with_where_to_look(cli: Run) -> None:
    """A payment is consulted, never remembered."""
    document = cli("recall", "did my payment go through?", *SCOPE, "--json").document
    assert [one["tool"] for one in document["consult"]] == ["billing.get_payment"]
    assert "consult billing.get_payment" in cli("recall", "did my payment go through?", *SCOPE).out


def test_the_context_block_is_alone_on_standard_output(cli: Run) -> None:
    """It can be piped into a prompt; what it took and left out goes to standard error."""
    cli("preference", "set", "language", "pt", *SCOPE)
    shown = cli("context", "hello", *SCOPE, "--max-tokens", "200")
    assert shown.out.startswith("<memory>")
    assert shown.out.endswith("</memory>\n")
    assert "of at most 200 tokens" in shown.err
    block = cli("context", "hello", *SCOPE, "--max-tokens", "200", "--json").document
    assert block["text"] == shown.out
    assert block["tokens"] <= 200
    (entry,) = block["entries"]
    assert (entry["section"], entry["text"], [entry["record_id"]]) == ("preferences", None, block["included"])
    assert entry["label"].startswith("preference: language = pt (version 1, ")
    assert (block["scope"], block["omitted"]) == ({"tenant": "acme", "subject": "ana"}, [])


def test_stored_text_cannot_control_the_terminal(cli: Run) -> None:
    """Escape sequences and marks that reorder text are spelt out, in text and in JSON."""
    cli("remember", "aisle \x1b]0;owned\x07 seats \u202e backwards \x9b31m red", *SCOPE)
    for answer in (cli("recall", "aisle seats", *SCOPE), cli("recall", "aisle seats", *SCOPE, "--json"),
                   cli("episode", "list", *SCOPE), cli("context", "aisle seats", *SCOPE)):  # fmt: skip
        assert "owned" in answer.out
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(answer.out)


def test_stored_text_is_not_read_as_markup(cli: Run) -> None:
    """Brackets are shown as they are."""
    cli("remember", "seat [bold red]12A[/] in [link=https://example.test]row[/link]", *SCOPE)
    assert "[bold red]12A[/]" in cli("recall", "seat 12A row", *SCOPE).out


def test_ids_can_be_copied(cli: Run) -> None:
    """Lists have each id in one piece, on a line of its own: it is what `forget` takes."""
    written = [
        cli("remember", "prefers aisle seats", *SCOPE, "--json"),
        cli("preference", "set", "language", "pt", *SCOPE, "--json"),
    ]
    lines = [line for kind in ("episode", "preference") for line in cli(kind, "list", *SCOPE).out.splitlines()]
    assert {f"  record id {answer.document['record']['record_id']}" for answer in written} <= set(lines)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_a_pipe_gets_no_colour(cli: Run, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Output that is not a terminal has no colour codes and no blanks at the ends of lines."""
    monkeypatch.setenv(variable, "1")
    cli("preference", "set", "language", "pt", *SCOPE)
    shown = cli("preference", "list", *SCOPE)
    assert "\x1b" not in shown.out
    assert all(line == line.rstrip() for line in shown.out.splitlines())
