"""The benchmark runs, tells its progress on stderr and ends in one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import psycopg
import pytest

from bench import erasing, lines, removal, run, writes
from bench.measure import Aim, in_turn, percentile, rates_row, size_row, times_row
from bench.memory import Held, grown, look
from bench.store import Store
from olvido.adapters.embedded import ServerUrls
from tests.places import server_directory


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


def test_the_tables_of_erasing_are_made_from_its_rows() -> None:
    """A line for each store and person, the slowest beside the median, and a line for each store of many together."""
    rows = []
    for name, factor in ((erasing.SMALL, 1), (erasing.FULL, 3)):
        for number, level in enumerate(("E1", "E2", "E2_longest_lock", "E3"), start=1):
            rows.append(times_row(f"{name}_10_{level}", [100.0 * number * factor, 100.0 * number * factor + 500]))
        rows.append(size_row(f"{name}_200_together", "ms", 1500.0 * factor))
        rows.append(rates_row(f"{name}_200_together_steps", [400 / factor], unit="steps/s"))
        rows.append(times_row(f"{name}_swap", [900.0 * factor]))
        rows.append(times_row(f"{name}_swap_lock", [50.0 * factor]))
        rows.append(size_row(f"{name}_records_in_the_same_leaf", "records", 8_000.0 * (factor - 1)))
    table = list(erasing.table(rows, (10,), 100_000))
    times = ("350 ms, at most 600 ms", "450 ms, at most 700 ms", "550 ms, at most 800 ms", "650 ms, at most 900 ms")
    assert table[2] == f"| little | 10 | {' | '.join(times)} |"
    assert table[3].startswith("| 100,000 | 10 | 550 ms, at most 800 ms | 850 ms, at most 1.1 s | ")
    assert table[-2:] == [
        "| little | 0 | 1.5 s | 400 | 900 ms | 50 ms |",
        "| 100,000 | 16,000 | 4.5 s | 133 | 2.7 s | 150 ms |",
    ]


def test_more_has_to_be_stored_than_is_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    """A store that is too small for the people in it is refused before anything is measured."""
    with pytest.raises(SystemExit):
        run.main(["--quick", "--only", "erase", "--records", "1000"])
    assert "--records must be 1,110 or more" in capsys.readouterr().err


def test_it_runs_and_prints_one_json_object(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick run of some parts prints the rows of these parts, with the floor measured beside them."""
    for smaller in ((writes, "BATCH", 100), (lines, "BATCH", 100), (lines, "LINES", 200), (lines, "NEW", 25)):
        monkeypatch.setattr(*smaller)
    with server_directory() as place:
        assert run.main(["--quick", "--only", "get", "--only", "bulk", "--home", str(place)]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out.splitlines()[-1])
    assert {"get_preference", "import_record_episodes_1000", "import_lines_1_person"} <= set(found["rows"])
    assert found["rows"]["get_preference"]["floor_median"] > 0
    assert "get_preference" in printed.err
