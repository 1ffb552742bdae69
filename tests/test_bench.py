"""The benchmark runs, tells its progress on stderr and ends in one JSON object."""

from __future__ import annotations

import json

import pytest

from bench import run
from bench.measure import Aim, in_turn, percentile, times_row


async def test_the_floor_and_the_measured_call_take_turns() -> None:
    """Each goes first every other time, and calls that warm up do not count."""
    order: list[str] = []

    async def floor(number: int) -> None:
        order.append(f"floor {number}")

    async def ours(number: int) -> None:
        order.append(f"ours {number}")

    row = await in_turn("x", floor, ours, n=2, warm=1)
    assert order == ["ours 0", "floor 0", "floor 1", "ours 1", "ours 2", "floor 2"]
    assert row.n == 2


def test_a_row_says_how_far_it_is_from_the_floor_and_whether_its_aim_is_met() -> None:
    """The ratio is that of the medians; an aim is a bound on one field of the row."""
    row = times_row("x", [3.0, 1.0, 2.0], [1.0, 1.0, 1.0], aim=Aim(field="ratio", limit=1.5))
    assert (row.median, row.floor, row.ratio) == (2.0, 1.0, 2.0)
    assert row.document()["met"] is False
    assert Aim(field="median", limit=2.0, at_least=True).met_by(row)
    assert percentile([float(number) for number in range(1, 101)], 0.95) == 95.0


def test_it_runs_and_prints_one_json_object(capfd: pytest.CaptureFixture[str]) -> None:
    """A quick run of one part prints the rows of that part, with the floor measured beside them."""
    assert run.main(["--quick", "--only", "get", "--only", "bulk"]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out.splitlines()[-1])
    assert {"get_preference", "import_record_episodes_1000"} <= set(found["rows"])
    assert found["rows"]["get_preference"]["floor_median"] > 0
    assert "get_preference" in printed.err
