"""`olvido doctor` compares a database with its erasure ledger and its audit with anchors, and knows of rewrites."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clone
from tests.storage.support import administer, rows
from tests.surfaces.conftest import SCOPE, Run


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the keys and anchors of a test."""
    monkeypatch.setenv("OLVIDO_KEYS", str(tmp_path / "keys"))
    return tmp_path / "keys"


def codes(document: dict[str, Any]) -> dict[str, str]:
    """Severity by code."""
    return {finding["code"]: finding["severity"] for finding in document["findings"]}


def remember_and_forget(cli: Run, clone: Clone) -> None:
    """Leave one entry in the ledger, and files that were written anew for it."""
    cli("remember", "prefers aisle seats", *SCOPE)
    cli("remember", "prefers window seats", "--tenant", "acme", "--subject", "bea")
    assert cli("forget", *SCOPE, "--all", "--yes").code == 0
    assert cli("erasure", "run", "--eraser-url", clone.eraser).code == 0


@pytest.mark.usefixtures("keys")
def test_a_ledger_that_is_gone_or_another_one_is_an_error(cli: Run, clone: Clone) -> None:
    """The finding says that the store is locked, names both, and what to do; with the right one it is sound again."""
    remember_and_forget(cli, clone)
    place = Path(os.environ["OLVIDO_LEDGER"])
    sound = cli("doctor", "--json")
    assert (sound.code, codes(sound.document)) == (0, {})
    assert [line for line in sound.document["not_looked_at"] if "ledger" in line or "anchor" in line] == []
    kept = place.with_name("kept")
    place.rename(kept)
    gone = cli("doctor", "--json")
    assert (gone.code, codes(gone.document)) == (6, {"no_ledger": "error"})
    (finding,) = gone.document["findings"]
    assert str(place) in finding["problem"]
    assert "locked" in finding["problem"]
    assert "olvido restore replay --new-ledger" in finding["remedy"]
    assert not place.exists()  # looking makes none
    with administer(clone) as connection:
        connection.execute("CREATE TABLE public.kept AS SELECT * FROM olvido.ledger_entries")
        connection.execute("UPDATE olvido.ledger_entries SET ledger_id = gen_random_uuid() WHERE entry = 0")
    kept.rename(place)
    other = cli("doctor", "--json")
    assert (other.code, codes(other.document)) == (6, {"other_ledger": "error"})
    with administer(clone) as connection:
        connection.execute("DELETE FROM olvido.ledger_entries")
        connection.execute("INSERT INTO olvido.ledger_entries SELECT * FROM public.kept WHERE entry = 0")
        connection.execute("DROP TABLE public.kept")
    shown = cli("doctor")
    assert shown.code == 6
    assert "error restored: This database lacks 1 of the 1 removals" in " ".join(shown.out.split())


def test_a_ledger_that_cannot_be_read_is_an_error(cli: Run, clone: Clone) -> None:
    """A damaged file is told with its place, and the rest is looked at all the same."""
    remember_and_forget(cli, clone)
    file = Path(os.environ["OLVIDO_LEDGER"]) / "entries.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"acme"', b'"acne"'))
    for made in file.parent.iterdir():
        if made != file:
            made.unlink()
    looked = cli("doctor", "--json")
    assert (looked.code, codes(looked.document)) == (6, {"ledger_unavailable": "error"})
    assert looked.document["survey"]["lives"] == 1


def test_what_cannot_be_compared_is_said(cli: Run, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment names no ledger and no keys, the answer says that neither was compared."""
    remember_and_forget(cli, clone)
    monkeypatch.delenv("OLVIDO_LEDGER")
    monkeypatch.delenv("OLVIDO_KEYS", raising=False)
    missed = " ".join(cli("doctor", "--json").document["not_looked_at"])
    assert "name the erasure ledger (OLVIDO_LEDGER or --ledger)" in missed
    assert "name the directory of the keys (OLVIDO_KEYS or --keys)" in missed


def test_an_audit_older_than_its_anchor_is_found(cli: Run, clone: Clone, keys: Path) -> None:
    """Missing seals and a chain that went on without them are found, until the chain is accepted as it is."""
    for subject in ("ana", "bea"):
        cli("remember", "prefers aisle seats", "--tenant", "acme", "--subject", subject)
        assert cli("audit", "seal").code == 0
    assert codes(cli("doctor", "--json").document) == {}
    with administer(clone) as connection:
        connection.execute("DELETE FROM olvido.audit_log WHERE seal = 2")
        connection.execute("DELETE FROM olvido.audit_seals WHERE seal = 2")
        assert rows(connection, "SELECT max(seal) FROM olvido.audit_seals") == [(1,)]
    shortened = cli("doctor", "--json")
    assert (shortened.code, codes(shortened.document)) == (0, {"audit_older_than_anchor": "warning"})
    (finding,) = shortened.document["findings"]
    assert "acme" in finding["problem"]
    assert "olvido audit verify" in finding["remedy"]
    assert "where the store is locked, after `olvido restore replay`" in finding["remedy"]
    cli("remember", "prefers window seats", "--tenant", "acme", "--subject", "carl")
    assert cli("audit", "seal").code == 0
    assert codes(cli("doctor", "--json").document) == {"audit_differs_from_anchor": "warning"}
    assert cli("audit", "accept", "--tenant", "acme", "--yes").code == 0
    assert codes(cli("doctor", "--json").document) == {}
    shutil.rmtree(keys)
    assert codes(cli("doctor", "--json").document) == {}


def test_removed_rows_are_not_told_of_files_that_were_written_anew(cli: Run, clone: Clone) -> None:
    """After a rewrite the server's estimate is of the old file: unknown, until it has estimated anew."""
    remember_and_forget(cli, clone)
    before = {size["relation"]: size for size in cli("doctor", "--json").document["sizes"]}
    assert before["episodes"]["dead_rows"] is None
    assert before["ledger_entries"]["dead_rows"] is not None
    assert "written anew since they were last estimated" in " ".join(cli("doctor").out.split())
    with administer(clone) as connection:
        connection.execute("ANALYZE")
    after = {size["relation"]: size for size in cli("doctor", "--json").document["sizes"]}
    assert after["episodes"]["dead_rows"] == 0
    assert cli("doctor", *SCOPE[:2]).code == 0
