"""The benchmark runs, tells its progress on stderr and ends in one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import psycopg
import pytest

from bench import removal, run
from bench.measure import Aim, in_turn, percentile, times_row
from bench.memory import Held, grown, look
from bench.store import Store
from olvido.adapters.embedded import ServerUrls


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


def test_memory_is_told_for_each_record() -> None:
    """What is held afterwards and was not before, shared out, with an aim that a leak misses."""
    aim = Aim(field="median", limit=500)
    before, after = Held(client=1_000, server=5_000), Held(client=1_000 + 100 * 768, server=4_000)
    client, server = grown("written", before, after, 100, aim)
    assert (client.name, client.median, aim.met_by(client)) == ("memory_of_this_process_per_record_written", 768, False)
    assert (server.name, server.median, aim.met_by(server)) == ("memory_of_the_server_per_record_written", -10, True)


def test_memory_is_looked_at_in_all_processes_of_a_server(cluster: ServerUrls) -> None:
    """The postmaster is known by its directory, and its backends count."""
    with psycopg.connect(cluster.superuser) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    found = look(Path(row[0]))
    assert found.server > 5_000_000
    assert found.client > 5_000_000
    assert look(Path("/nowhere/at/all")).server == 0


async def test_a_forget_is_timed_in_both_stores_by_turns() -> None:
    """The small store goes first every other time, and is the floor of the row."""
    order: list[str] = []

    class Person:
        def __init__(self, store: str, subject: str) -> None:
            self._done = f"{store} {subject[-1]}"

        async def forget_all(self) -> None:
            order.append(self._done)

    class Counted:
        def __init__(self, name: str) -> None:
            self._name = name

        async def fill(self, _: str, subject: str, size: int) -> None:
            assert (size, subject.startswith("independent-")) == (1000, True)

        def administer(self, name: str) -> None:
            assert name == "settle"

        def person(self, _: str, subject: str) -> Person:
            return Person(self._name, subject)

    row = await removal.independence(cast("Store", Counted("full")), cast("Store", Counted("small")), 1000, rounds=2)
    assert order == ["full 0", "small 0", "small 1", "full 1"]
    assert (row.name, row.n) == ("forget_1000_beside_a_small_store", 2)
    assert row.document()["aim"] == "ratio at most 1.5"


def test_it_runs_and_prints_one_json_object(capfd: pytest.CaptureFixture[str]) -> None:
    """A quick run of one part prints the rows of that part, with the floor measured beside them."""
    assert run.main(["--quick", "--only", "get", "--only", "bulk"]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out.splitlines()[-1])
    assert {"get_preference", "import_record_episodes_1000", "import_lines_1_person"} <= set(found["rows"])
    assert found["rows"]["get_preference"]["floor_median"] > 0
    assert "get_preference" in printed.err
