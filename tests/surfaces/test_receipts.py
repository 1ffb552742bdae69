"""Receipts, keys and the audit on the command line: what is printed, what it exits with, what it opens."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from olvido.adapters.keys import SIGNING, VARIABLE, KeyDirectory
from olvido.adapters.signatures import opened
from tests.adapters.forgery import FORGERIES, with_payload
from tests.conftest import Clone
from tests.storage.support import administer
from tests.surfaces.conftest import SCOPE, Run

SECRET = "prefers the zebra seat"


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the keys, as the environment names it."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "keys"))
    return tmp_path / "keys"


@pytest.fixture
def erasure_id(cli: Run) -> str:
    """A request to forget a person."""
    assert cli("remember", SECRET, *SCOPE).code == 0
    report = cli("forget", *SCOPE, "--all", "--yes", "--json").document
    return str(report["erasure_id"])


@pytest.fixture
def receipt(cli: Run, erasure_id: str, tmp_path: Path) -> Path:
    """Its receipt, in a file."""
    issued = cli("receipt", "issue", erasure_id, "--tenant", "acme")
    assert (issued.code, issued.err, issued.out.count("\n")) == (0, "", 1)
    file = tmp_path / "receipt.jws"
    file.write_text(issued.out)
    return file


def test_the_first_receipt_is_not_older_than_its_key(receipt: Path, keys: Path) -> None:
    """The key is there before the instant at which the receipt is issued is taken."""
    issued = json.loads(opened(receipt.read_text().strip())[1])["issued_at"]
    made = (keys / SIGNING).stat().st_mtime
    assert made <= datetime.fromisoformat(issued).timestamp()


def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever opens a database from here on fails: nothing listens there."""
    monkeypatch.setenv("OLVIDO_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nowhere")


def test_a_receipt_is_verified_offline_with_the_published_keys(
    cli: Run, receipt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the file and the published keys needs no database, and is told what is attested and what is not."""
    published = tmp_path / "published.json"
    published.write_text(cli("keys", "publish").out)
    no_database(monkeypatch)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "of-somebody-else"))
    said = cli("receipt", "verify", str(receipt), "--jwks", str(published))
    assert (said.code, said.err) == (0, "")
    for words in (
        "The signature holds.",
        "everything of one person",
        "episodes 1",
        "Status: rows_absent",
        "copy:database-backups",
        "platform team",
        "What this receipt does not attest",
        "That it is gone from: files, log, ",
        "ask the issuer for a newer receipt",
    ):
        assert words in said.out
    assert SECRET not in said.out
    assert "ana" not in said.out.split()
    document = cli("receipt", "verify", str(receipt), "--jwks", str(published), "--json").document
    assert document["verified"] is True
    assert document["receipt"]["status"] == "rows_absent"
    assert document["key_id"] == json.loads(published.read_text())["keys"][0]["kid"]
    assert len(document["does_not_attest"]) == 5
    assert not (tmp_path / "of-somebody-else").exists()
    against = document["checked_against"]
    assert (against["source"], against["own"]) == (str(published), False)
    made = json.loads(published.read_text())["keys"][0]["iat"]
    assert datetime.fromisoformat(against["key_since"]).timestamp() == made
    told = " ".join(said.out.split())
    assert f"Checked with the keys in {published}, which you named." in told
    assert f"(Ed25519), made {against['key_since']}." in told


def test_ones_own_receipts_verify_without_naming_keys(
    cli: Run, receipt: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published keys here are used then; where there are none, it says what to name."""
    no_database(monkeypatch)
    document = cli("receipt", "verify", str(receipt), "--json").document
    assert (document["verified"], document["checked_against"]["own"]) == (True, True)
    told = " ".join(cli("receipt", "verify", str(receipt)).out.split())
    assert f"Checked with the keys of this installation, in {keys / 'jwks.json'}." in told
    # As a release wrote it that did not note when a key was made.
    older = json.loads((keys / "jwks.json").read_text())
    del older["keys"][0]["iat"]
    (keys / "jwks.json").write_text(json.dumps(older))
    assert cli("receipt", "verify", str(receipt), "--json").document["checked_against"]["key_since"] is None
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(receipt.read_bytes())))
    assert cli("receipt", "verify", "-").code == 0
    monkeypatch.delenv(VARIABLE)
    assert cli("receipt", "verify", str(receipt), "--keys", str(keys)).code == 0
    nowhere = cli("receipt", "verify", str(receipt))
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "--jwks" in nowhere.err


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_receipt_ends_with_an_error(olvido_command: Run, keys: Path, tmp_path: Path, name: str) -> None:
    """Exit code 2 and a stable code, whatever was done to it."""
    jwk = olvido_command("keys", "publish").document["keys"][0]
    genuine = KeyDirectory(keys).sign_now(b"{}", token_type="olvido-receipt+jws")
    file = tmp_path / "forged.jws"
    file.write_text(FORGERIES[name][0](genuine, jwk))
    said = olvido_command("receipt", "verify", str(file), "--json")
    assert (said.code, said.document["error"]["code"]) == (2, "invalid_receipt")


def test_a_changed_receipt_is_refused_for_a_person_too(cli: Run, receipt: Path) -> None:
    """The words say that it proves nothing and why."""
    receipt.write_text(with_payload(receipt.read_text().strip(), b'{"status":"complete"}'))
    said = cli("receipt", "verify", str(receipt))
    assert (said.code, said.out) == (2, "")
    assert "This receipt proves nothing. Its signature does not fit" in said.err


@pytest.mark.parametrize("arguments", [("missing.jws",), ("receipt.jws", "--jwks", "missing.json")])
def test_a_file_that_cannot_be_read_is_a_usage_error(
    olvido_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """As anywhere on the command line."""
    monkeypatch.chdir(tmp_path)
    Path("receipt.jws").write_text("a.b.c")
    said = olvido_command("receipt", "verify", *arguments)
    assert (said.code, said.out) == (2, "")
    assert "cannot be read" in said.err


def test_a_receipt_is_as_long_as_the_docs_say(cli: Run, receipt: Path, erasure_id: str, clone: Clone) -> None:
    """About 3.3 kB right after the forget, and 5.9 kB with what was measured of each relation: docs/receipts.md."""
    assert 3_200 <= len(receipt.read_text().strip()) <= 3_450
    assert cli("erasure", "run", "--eraser-url", clone.eraser).code == 0
    later = cli("receipt", "issue", erasure_id, "--tenant", "acme").out.strip()
    assert 5_600 <= len(later) <= 6_200


def test_a_receipt_of_nothing_is_not_found(cli: Run) -> None:
    """The exit code is that of a missing id."""
    said = cli("receipt", "issue", "019f0000-0000-7000-8000-000000000001", "--tenant", "acme", "--json")
    assert (said.code, said.document["error"]["code"]) == (4, "not_found")


def test_without_a_place_for_keys_the_error_says_what_to_name(
    cli: Run, erasure_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issuing and publishing need one; the option names it as well as the variable."""
    monkeypatch.delenv(VARIABLE)
    for command in (("receipt", "issue", erasure_id, "--tenant", "acme"), ("keys", "publish"), ("keys", "rotate")):
        said = cli(*command)
        assert (said.code, said.out) == (6, "")
        assert "keys_unavailable" in said.err
        assert VARIABLE in said.err


def test_keys_are_published_and_rotated_without_a_database(
    olvido_command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first is made when it is asked for; after a rotation both are published, the new one first."""
    no_database(monkeypatch)
    (first,) = olvido_command("keys", "publish").document["keys"]
    assert first.keys() == {"alg", "crv", "iat", "kid", "kty", "use", "x"}
    rotation = olvido_command("keys", "rotate", "--json").document
    assert (rotation["retired"], rotation["published"]) == (first["kid"], 2)
    assert [key["kid"] for key in olvido_command("keys", "publish").document["keys"]] == [
        rotation["key_id"],
        first["kid"],
    ]
    said = olvido_command("keys", "rotate")
    assert f"The key {rotation['key_id']} signs no more." in " ".join(said.out.split())
    monkeypatch.delenv("OLVIDO_DATABASE_URL")
    monkeypatch.delenv(VARIABLE)
    beside = olvido_command("keys", "publish", "--data-dir", str(tmp_path / ".olvido"))
    assert (tmp_path / ".olvido-keys" / "jwks.json").is_file()
    assert beside.document["keys"][0]["kid"] not in {first["kid"], rotation["key_id"]}
    assert not (tmp_path / ".olvido").exists()


def chains(document: Any) -> list[tuple[str, list[str]]]:  # noqa: ANN401 - JSON is of any shape
    """Each company with what is wrong."""
    return [(chain["tenant"], [one["breach"] for one in chain["problems"]]) for chain in document["chains"]]


def test_the_audit_is_sealed_verified_and_found_broken(cli: Run, clone: Clone) -> None:
    """The exit code says whether it is what was sealed, and the words say what is wrong where."""
    cli("remember", SECRET, *SCOPE)
    cli("remember", SECRET, "--tenant", "zeta", "--subject", "ana")
    open_yet = cli("audit", "verify")
    assert open_yet.code == 0
    assert "1 row since" in open_yet.out
    sealed = cli("audit", "seal", "--json").document
    assert (sealed["seals"], sealed["anchored"]) == (2, 2)
    assert "Sealed 0 rows" in cli("audit", "seal").out
    whole = cli("audit", "verify", "--json")
    assert (whole.code, whole.document["intact"]) == (0, True)
    assert chains(whole.document) == [("acme", []), ("zeta", [])]
    assert "What is sealed is what was sealed." in cli("audit", "verify").out
    with administer(clone) as connection:
        connection.execute("UPDATE olvido.audit_log SET action = 'other' WHERE tenant_id = 'acme'")
    broken = cli("audit", "verify", "--json")
    assert (broken.code, broken.document["intact"]) == (1, False)
    assert chains(broken.document) == [("acme", ["row_changed"]), ("zeta", [])]
    said = cli("audit", "verify")
    assert said.code == 1
    assert "row_changed, seal 1" in said.out
    assert "The audit is not what was sealed." in said.out
    assert cli("audit", "verify", "--tenant", "zeta").code == 0
    assert "No restore looks like this" in said.out
    assert "olvido audit accept --tenant" not in said.out
    refused = cli("audit", "accept", "--tenant", "acme", "--yes", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (3, "audit_not_accepted")
    assert "row_changed" in refused.document["error"]["message"]
    nothing = cli("audit", "accept", "--tenant", "zeta", "--yes", "--json")
    assert (nothing.code, nothing.document["error"]["code"]) == (3, "audit_not_accepted")
    assert "after a restore" not in cli("audit", "verify").out


def test_a_line_of_somebody_else_among_the_anchors_is_no_restore(cli: Run, tmp_path: Path) -> None:
    """What to look at is named, and accepting is not proposed."""
    keys = str(tmp_path / "keys-of-mine")
    cli("remember", SECRET, *SCOPE)
    assert "Sealed 1 row under 1 seal;" in cli("audit", "seal", "--keys", keys).out
    with (tmp_path / "keys-of-mine" / "audit-anchors.log").open("a") as file:
        file.write("not a line of ours\n")
    said = cli("audit", "verify", "--keys", keys)
    assert said.code == 1
    assert "who could write in the directory of the keys" in " ".join(said.out.split())
    assert "audit accept" not in said.out
    assert "  as sealed" in said.out
    mistyped = cli("audit", "verify", "--tenant", "acmee", "--keys", keys)
    assert mistyped.code == 1
    assert "nothing here" in mistyped.out
    assert "  as sealed" not in mistyped.out


def test_a_mistyped_company_does_not_look_intact(cli: Run) -> None:
    """Of a company of which there is nothing, verify and accept say that, with the exit code of what is missing."""
    cli("remember", SECRET, *SCOPE)
    cli("audit", "seal")
    for command in (("verify",), ("accept", "--yes")):
        told = cli("audit", *command, "--tenant", "nosuch")
        assert told.code == 4
        assert "No audit of such a company is here" in told.err
        document = cli("audit", *command, "--tenant", "nosuch", "--json").document
        assert document["error"]["code"] == "not_found"
    assert cli("audit", "verify", "--tenant", "acme").code == 0


class _Typed(io.StringIO):
    """A standard input at which somebody types."""

    def isatty(self) -> bool:
        return True


def test_a_shortened_audit_is_found_and_can_be_taken_as_it_is(
    cli: Run, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a restore leaves is told from its anchor, until somebody says that it was on purpose."""
    cli("remember", SECRET, *SCOPE)
    cli("audit", "seal")
    with administer(clone) as connection:
        connection.execute("DELETE FROM olvido.audit_log")
        connection.execute("DELETE FROM olvido.audit_seals")
    older = cli("audit", "verify", "--tenant", "acme")
    assert older.code == 1
    assert "older_than_anchor, seal 1: the chain ends at seal 0" in older.out
    assert "olvido audit accept --tenant acme\n" in older.out
    unasked = cli("audit", "accept", "--tenant", "acme")
    assert unasked.code == 2
    assert "there is no terminal to ask. Add --yes." in " ".join(unasked.err.split())
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdin", _Typed("n\n"))
        no = cli("audit", "accept", "--tenant", "acme")
    assert no.code == 1
    assert "older_than_anchor, seal 1: the chain ends at seal 0" in no.err
    assert "0 rows under 0 seals" in no.err
    assert "Take this audit as it is? [y/N]" in no.err
    assert "Nothing was accepted." in no.err
    assert cli("audit", "verify").code == 1
    accepted = cli("audit", "accept", "--tenant", "acme", "--yes", "--json").document
    assert (accepted["seal"], accepted["accepted"]) == (0, True)
    taken = cli("audit", "verify")
    assert taken.code == 0
    assert "taken as it is after a restore" in taken.out


def test_without_anchors_the_audit_says_what_it_cannot_tell(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sealed and verified all the same."""
    monkeypatch.delenv(VARIABLE)
    cli("remember", SECRET, *SCOPE)
    for command in (("audit", "seal"), ("audit", "verify")):
        said = cli(*command)
        assert said.code == 0
        assert "No anchors are kept here" in said.out


def test_a_company_without_an_anchor_is_named(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another directory of keys than the one that its anchors are in is no proof of anything, and that is said."""
    cli("remember", SECRET, *SCOPE)
    cli("audit", "seal")
    assert "There is no anchor" not in cli("audit", "verify").out
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other-keys"))
    said = cli("audit", "verify")
    assert "There is no anchor of these companies" in said.out
    assert ("acme",) in {tuple(line.split()) for line in said.out.splitlines()}


def test_what_a_hold_keeps_is_said_to_be_kept(
    cli: Run, clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a hold may stand, no report says that nothing is left or that nobody finds the person; then they do."""
    assert cli("remember", SECRET, *SCOPE).code == 0
    hold = cli("hold", "place", *SCOPE, "--basis", "file 7", "--review-at", "2030-06-30T00:00:00Z", "--json").document
    erasure_id = cli("forget", *SCOPE, "--all", "--yes", "--json").document["erasure_id"]
    shown, verified = reports(cli, erasure_id, tmp_path)
    for told in (shown, verified):
        assert "What a legal hold kept stays apart until the hold is released" in told
    assert "holds none of these rows any more" not in shown
    assert "cannot lead back" not in verified
    assert "The rows were read back as absent." not in verified
    assert "The legal hold leads back to the person, for those at the issuer who may see what it keeps" in verified
    assert "That the rows of a record, which a legal hold kept apart, are deleted: they are stored while it" in verified
    assert cli("hold", "release", hold["hold_id"], *SCOPE[:2], "--yes").code == 0
    monkeypatch.setenv("OLVIDO_ERASER_URL", clone.eraser)
    assert cli("erasure", "run").out.startswith("Worked on 4 steps; settled 2 of E2, 2 of E3.")
    shown, verified = reports(cli, erasure_id, tmp_path)
    assert "No byte of it is left in the files and the log of this database" in shown
    assert "which the issuer cannot lead back to anybody any more" in verified
    assert "stored while it stands" not in verified


def reports(cli: Run, erasure_id: str, directory: Path) -> tuple[str, str]:
    """What `erasure show` and `receipt verify` say of a request, on one line each."""
    receipt = directory / "held.jws"
    receipt.write_text(cli("receipt", "issue", erasure_id, "--tenant", "acme").out)
    said = cli("erasure", "show", erasure_id, "--tenant", "acme").out, cli("receipt", "verify", str(receipt)).out
    return " ".join(said[0].split()), " ".join(said[1].split())
