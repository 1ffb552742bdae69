"""`olvido restore`: what an operator sees of a database that was put back, and how it opens again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olvido.adapters import embedded
from olvido.adapters.keys import VARIABLE
from tests.conftest import Clone
from tests.erasure.restoring import ACME, copied, opening
from tests.surfaces.conftest import Run


async def remember(clone: Clone) -> None:
    """Two people."""
    async with opening(clone) as memory:
        for subject in ("ana", "bea"):
            await memory.scope(tenant=ACME, subject=subject).remember("prefers aisle seats")


async def forget(clone: Clone) -> None:
    """One of them, and somebody new."""
    async with opening(clone) as memory:
        await memory.scope(tenant=ACME, subject="ana").forget_all()
        zoe = memory.scope(tenant=ACME, subject="zoe")
        await zoe.remember("for a moment")
        await zoe.forget_all()


def test_a_database_that_was_put_back(
    olvido_command: Run,
    clone: Clone,
    cluster: embedded.ServerUrls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every command says that it is locked and what to run; check counts, replay forgets, and then it opens."""
    asyncio.run(remember(clone))
    with copied(cluster, clone) as restored:
        asyncio.run(forget(clone))
        monkeypatch.setenv("OLVIDO_DATABASE_URL", restored.app)
        monkeypatch.setenv("OLVIDO_WORKER_URL", restored.worker)
        refused = olvido_command("recall", "seats", "--tenant", ACME, "--subject", "bea")
        assert refused.code == 6
        assert "olvido restore replay" in refused.err
        seen = olvido_command("restore", "check", "--json")
        assert seen.code == 6
        assert {name: seen.document[name] for name in ("locked", "standing", "missing_here", "still_here")} == {
            "locked": True,
            "standing": "restored",
            "missing_here": 2,
            "still_here": 1,
        }
        told = " ".join(olvido_command("restore", "check").out.split())
        assert "Of the removals, 2 were carried out and are missing in this database." in told
        assert told.endswith("The store is locked.")
        done = olvido_command("restore", "replay")
        assert done.code == 0
        said = " ".join(done.out.split())
        assert "Carried out again: 1 removal, of " in said
        assert "Noted only, as nothing of it was in this copy: 1 removal." in said
        assert "2 removals written down in it as carried out." in said
        assert "under their ids: `olvido erasure list --tenant NAME`, for each company." in said
        assert said.endswith("The store opens.")
        again = olvido_command("restore", "replay", "--json")
        assert (again.code, again.document["applied"], again.document["after"]["standing"]) == (0, 0, "fits")
        assert again.document["requests"] == 0
        assert olvido_command("restore", "check").code == 0
        listed = olvido_command("erasure", "list", "--tenant", ACME, "--json").document["items"]
        came_later, was_here = (
            " ".join(olvido_command("erasure", "show", one["erasure_id"], "--tenant", ACME).out.split())
            for one in listed
        )
        assert "nothing of it was in that copy; a receipt from before says what there was then." in came_later
        assert "Applied again 20" in was_here
        assert "rows, plan and levels are of that copy" in was_here
        monkeypatch.setenv(VARIABLE, str(tmp_path / "keys"))
        (tmp_path / "receipt.jws").write_text(
            olvido_command("receipt", "issue", listed[1]["erasure_id"], "--tenant", ACME).out
        )
        verified = " ".join(olvido_command("receipt", "verify", str(tmp_path / "receipt.jws")).out.split())
        assert "An older copy of the database was put back after that. Applied again 20" in verified
        assert "aisle" in olvido_command("recall", "seats", "--tenant", ACME, "--subject", "bea").out
        assert "aisle" not in olvido_command("recall", "seats", "--tenant", ACME, "--subject", "ana").out


def test_the_ledger_is_named_by_an_option(
    cli: Run, clone: Clone, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option counts before the variable, for every command; without either the error shows how to name one."""
    asyncio.run(remember(clone))
    monkeypatch.delenv("OLVIDO_LEDGER")
    scope = ("--tenant", ACME, "--subject", "ana")
    refused = cli("recall", "seats", *scope)
    assert refused.code == 2
    assert "OLVIDO_LEDGER=" in refused.err
    assert cli("recall", "seats", *scope, "--ledger", str(ledger)).code == 0
    assert cli("restore", "check", "--ledger", str(ledger)).code == 0
    other = cli("recall", "seats", *scope, "--ledger", str(ledger.with_name("other")))
    assert other.code == 6
    assert "There is no erasure ledger" in other.err


def test_a_lost_ledger_takes_a_word(cli: Run, clone: Clone, ledger: Path) -> None:
    """A new ledger is made on request only, and what that means is said."""
    asyncio.run(remember(clone))
    asyncio.run(forget(clone))
    ledger.rename(ledger.with_name("lost"))
    refused = cli("restore", "replay")
    assert refused.code == 6
    assert "--new-ledger" in refused.err
    told = " ".join(cli("restore", "replay", "--new-ledger").out.split())
    assert "Made a new ledger. Written into the ledger, from what the database knows: 2 removals." in told
    assert cli("restore", "replay", "--new-ledger").code == 2
    assert cli("restore", "check").code == 0


def test_there_is_nothing_to_look_at(olvido_command: Run, tmp_path: Path) -> None:
    """A directory that does not exist is not made by looking at it."""
    for command in ("check", "replay"):
        answer = olvido_command("restore", command, "--data-dir", str(tmp_path / "none"))
        assert answer.code == 6
        assert "There is no memory" in answer.err
    assert list(tmp_path.iterdir()) == []
