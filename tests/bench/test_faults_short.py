"""The sweep over the statements of following up a forget, at some of them; `make bench-faults` fails each."""

from __future__ import annotations

import json

import psycopg
import pytest

from bench import faults
from bench.fault_checks import TENANT, WANTED


def test_nothing_is_claimed_lost_or_left_after_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Each way of failing hits the rewriting and the copies, and a run that comes through ends it."""
    assert faults.main(["--first", "71", "--every", "140"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["passed"]
    assert found["files_with_a_byte"] == {}
    assert found["measures"].keys() == WANTED.keys()
    assert found["hows"].keys() == {"refused", "lost", "unanswered", "crashed"}
    for way in found["hows"].values():
        assert way["rounds"] >= 3
        assert way["raised"] > 0


async def test_what_is_claimed_lost_or_left_is_noticed() -> None:
    """Steps that say more than is so, a request without its steps, bytes, and a neighbour who changed all fail."""
    async with faults.arranged() as checks:
        one = await checks.forget("a lie")
        checks.place.run(
            "UPDATE olvido.erasure_steps SET status = 'verified', settled_at = now() WHERE step <> 'copy:nightly'",
            "UPDATE olvido.erasure_steps SET status = 'expired', settled_at = now() WHERE step = 'copy:nightly'",
        )
        await checks.claims(one, "all of it at once")
        assert checks.tally.measures["false_verified"].served == len(("rows", "files", "log", "crm", "nightly"))
        with psycopg.connect(checks.place.urls.superuser) as connection:
            connection.execute("DELETE FROM olvido.erasure_steps WHERE step = 'log'")
            connection.execute("DELETE FROM olvido.session_items WHERE tenant_id <> %s", [TENANT])
        await checks.end(one, "the end")
        found = {name: (measure.asked, measure.served) for name, measure in checks.tally.measures.items()}
        assert found["steps_settled"] == (5, 4)
        assert found["settled_in_the_audit"] == (1, 0)
        assert found["neighbours_changed"] == (1, 1)
        assert found["bytes_left"] == (1, 1)
        assert checks.everywhere().keys() >= {"relation", "pg_wal"}
        assert found["untyped_error"] == (0, 0)
        assert not checks.tally.passed
