"""`olvido erasure confirm`: a holder's word, with a reference, and nothing about the person."""

from __future__ import annotations

from tests.surfaces.conftest import Run

ANA = ("--tenant", "acme", "--subject", "ana@example.com")


def forgotten(cli: Run) -> str:
    """The id of a request to forget somebody."""
    assert cli("remember", "prefers aisle seats", *ANA).code == 0
    document = cli("forget", *ANA, "--all", "--yes", "--json").document
    return str(document["erasure_id"])


def test_a_copy_is_confirmed_with_a_reference(cli: Run) -> None:
    """The step says so from then on, and by which reference; a second word changes nothing."""
    erasure_id = forgotten(cli)
    about = ("erasure", "confirm", erasure_id, "support-desk", "--tenant", "acme")
    step = cli(*about, "--evidence", "ticket 42", "--json").document
    assert (step["status"], step["evidence"]["confirmed"], step["blocker"]) == ("confirmed", "ticket 42", None)
    assert "support-desk at customer support: confirmed since" in cli(*about, "--evidence", "ticket 43").out
    steps = cli("erasure", "show", erasure_id, "--tenant", "acme", "--json").document["steps"]
    assert [one["evidence"]["confirmed"] for one in steps if one["status"] == "confirmed"] == ["ticket 42"]


def test_what_cannot_be_confirmed_is_refused(cli: Run) -> None:
    """A copy or company that the request does not have, and evidence that cannot stand in a report."""
    erasure_id = forgotten(cli)
    for arguments, code in (
        (("crm", "--tenant", "acme", "--evidence", "ticket 42"), "not_found"),
        (("support-desk", "--tenant", "globex", "--evidence", "ticket 42"), "not_found"),
        (("support-desk", "--tenant", "acme", "--evidence", ""), "invalid_value"),
        (("support-desk", "--tenant", "acme", "--evidence", "password: hunter2hunter2"), "secret_refused"),
    ):
        assert cli("erasure", "confirm", erasure_id, *arguments, "--json").document["error"]["code"] == code
