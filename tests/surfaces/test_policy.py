"""`olvido policy`: explained in words, described to an editor, and extended by lines that hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from olvido.domain.policy_file import default_policy, default_policy_text, load_policy
from tests.surfaces.conftest import Run

OTHER = """\
version: 1
name: clinic
default_purpose: care
purposes:
  care: {lawful_basis: consent, description: Look after the patient.}
  billing: {lawful_basis: contract, description: Write invoices.}
preferences:
  visits: {description: Visits a year., purpose: care, value: {type: integer, minimum: 0, maximum: 12},
           origins: [inferred, declared], retention: 12h}
  copayment: {description: Share of the bill., purpose: care, value: {type: number, minimum: 0, maximum: 1},
              origins: [observed], retention: unlimited}
  reminders: {description: Whether to remind., purpose: care, value: {type: boolean}, origins: [declared],
              retention: 90s, history_retention: 60s}
episodes:
  note: {description: A note., purpose: care, origins: [declared], retention: 1d, untrusted: true,
         fields: {text: {type: text, max_length: 100, multiline: true}}, searchable: [text]}
  visit: {description: A visit., purpose: care, origins: [observed], retention: 30d, statuses: [done],
          fields: {summary: {type: text, max_length: 50, multiline: true}}}
sessions:
  purpose: care
  retention: 1h
  hand_over: {episode: visit, fields: {summary: goal}}
"""


def flat(text: str) -> str:
    """Without line breaks, which depend on the width."""
    return " ".join(text.split())


def test_the_default_policy_is_explained(olvido_command: Run) -> None:
    """What is kept, why, for how long, who may say it, what is looked up, and which copies are outside."""
    policy = default_policy()
    shown = flat(olvido_command("policy", "explain").out)
    for words in (
        f"Policy support-assistant, {policy.version}",
        "For the purpose support (lawful basis: contract)",
        "preference language: Language in which the customer wants to be answered. Holds one of pt, en, es.",
        "Kept for 730 days. Superseded values: 365 days. Said by the person (declared).",
        "Nothing of it outlives it.",
        "payment: consult billing.get_payment",
        "support-desk: service at customer support, gone after its holder has removed it",
        "no purpose, no memory",
    ):
        assert words in shown
    for name in (*policy.preferences, *policy.episodes, *policy.live_state, *(copy.name for copy in policy.copies)):
        assert name in shown


def test_another_policy_is_explained_as_json_too(olvido_command: Run, tmp_path: Path) -> None:
    """Every shape and unit in words; a purpose for which nothing is kept says so."""
    file = tmp_path / "clinic.yaml"
    file.write_text(OTHER, encoding="utf-8")
    explained = olvido_command("policy", "explain", str(file), "--json").document
    care, billing = explained["purposes"]
    assert (care["default"], billing["keeps"]) == (True, [])
    kept = {one["name"]: one for one in care["keeps"]}
    assert [kept[name]["holds"] for name in ("visits", "copayment", "reminders")] == [
        ["a whole number from 0 to 12"], ["a number from 0 to 1"], ["true or false"],
    ]  # fmt: skip
    assert [(one["kept_for"], one["history_kept_for"]) for one in care["keeps"]] == [
        ("12 hours", "12 hours"),
        ("an unlimited time, until it is forgotten",) * 2,
        ("90 seconds", "1 minute"),
        ("1 day", None),
        ("30 days", None),
        ("1 hour", None),
    ]
    assert kept["visits"]["said_by"] == ["the person (declared)", "a model or rule (inferred)"]
    assert any("its goal as summary of the episode visit" in remark for remark in kept["sessions"]["remarks"])
    shown = flat(olvido_command("policy", "explain", str(file)).out)
    assert "Kept for an unlimited time, until it is forgotten." in shown
    assert "Nothing is kept for it." in shown
    assert "No copy outside is declared." in shown


def test_the_schema_is_one_json_document(olvido_command: Run) -> None:
    """With or without --json, and it says which dialect it is."""
    schema = olvido_command("policy", "schema").document
    assert schema == olvido_command("policy", "schema", "--json").document
    assert schema["$schema"].endswith("/2020-12/schema")
    assert schema["required"][:2] == ["version", "name"]


@pytest.mark.parametrize("kind, find", [("preference", "preferences"), ("episode", "episodes")])
def test_the_lines_to_add_hold_in_that_policy(olvido_command: Run, tmp_path: Path, kind: str, find: str) -> None:
    """Pasted under their section, in a policy with another purpose, they define what was asked for."""
    text = default_policy_text().replace("purpose: support", "purpose: service").replace("  support:", "  service:")
    file = tmp_path / "my-policy.yaml"
    file.write_text(text, encoding="utf-8")
    added = olvido_command("policy", "add", kind, "new-thing", "--policy", str(file))
    assert added.code == 0
    assert added.out.startswith(f"  # under {find}:\n  new-thing:\n")
    policy = load_policy(text.replace(f"\n{find}:\n", f"\n{find}:\n{added.out}", 1), file.name)
    assert getattr(policy, find)["new-thing"].purpose == "service"
    document = olvido_command("policy", "add", kind, "new-thing", "--policy", str(file), "--json").document
    assert document == {"under": find, "lines": added.out.partition("\n")[2]}


@pytest.mark.parametrize(
    "name, code, error",
    [
        ("language", 2, "invalid_value"),
        ("Seat", 2, "invalid_value"),
        ("a.b", 2, "invalid_value"),
        ("ana@example.test", 2, "invalid_value"),
        ("payment", 3, "live_state"),
    ],
)
def test_a_name_that_cannot_be_added_is_refused(olvido_command: Run, name: str, code: int, error: str) -> None:
    """One that is defined, one that is no name, one that is live state; nothing but a policy's own word is repeated."""
    answered = olvido_command("policy", "add", "preference", name, "--json")
    assert (answered.code, answered.document["error"]["code"]) == (code, error)
    assert "ana@" not in answered.document["error"]["message"]
