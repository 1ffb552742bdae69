"""Take times of two things in turn, so that whatever else the machine does hits both, and put them in one row."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

MILLISECONDS = 1e-6
"""Milliseconds in a nanosecond."""

WARM = 20
"""Calls that do not count: connections are opened and statements prepared by then."""

Call = Callable[[int], Awaitable[object]]
"""One call to be timed; the argument is its number, so that no two calls write the same id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aim:
    """What a row should reach. limit: of `field`, at most, or at least if `at_least`."""

    field: str
    limit: float
    at_least: bool = False

    def met_by(self, row: Row) -> bool:
        """Whether the row reaches it; a row without that number does not."""
        value: float | None = getattr(row, self.field)
        if value is None:
            return False
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One measure.

    unit: of median, p95 and floor. p95: for a rate, the slowest twentieth. n: how many times it was taken.
    floor: median of the floor in the same loop; None where there is none. ratio: how many times slower than the floor.
    numpy: median of a search of the same vectors in memory, in the same loop; None where there is none.
    bare, bare_ratio: the same of a second floor that stores less; None where there is none.
    ratio_p10: the same of the tenth percentiles. On a busy machine whatever takes longer is interrupted more often, so
        that medians part; the fastest tenth was not interrupted.
    """

    name: str
    unit: str
    median: float
    p95: float
    n: int
    floor: float | None = None
    ratio: float | None = None
    ratio_p10: float | None = None
    numpy: float | None = None
    bare: float | None = None
    bare_ratio: float | None = None
    aim: Aim | None = None

    def document(self) -> dict[str, object]:
        """The row for the JSON object."""
        found: dict[str, object] = {
            "unit": self.unit,
            "median": rounded(self.median),
            "p95": rounded(self.p95),
            "n": self.n,
            "floor_median": rounded(self.floor),
            "ratio": rounded(self.ratio),
            "ratio_p10": rounded(self.ratio_p10),
        }
        if self.numpy is not None:
            found["numpy_median"] = rounded(self.numpy)
        if self.bare is not None:
            found["bare_median"], found["bare_ratio"] = rounded(self.bare), rounded(self.bare_ratio)
        if self.aim is not None:
            bound = "at least" if self.aim.at_least else "at most"
            found["aim"] = f"{self.aim.field} {bound} {self.aim.limit:g}"
            found["met"] = self.aim.met_by(self)
        return found


async def in_turn(
    name: str,
    floor: Call | None,
    ours: Call,
    *,
    n: int,
    warm: int = WARM,
    numpy: Call | None = None,
    bare: Call | None = None,
    aim: Aim | None = None,
) -> Row:
    """Time `n` calls of each, one after the other, after `warm` calls of each that do not count."""
    floors: list[float] = []
    times: list[float] = []
    in_memory: list[float] = []
    bares: list[float] = []
    for number in range(warm + n):
        calls = [(floor, floors), (ours, times), (numpy, in_memory), (bare, bares)]
        # Each goes first every other time: whoever goes second finds warmer caches.
        for call, into in calls if number % 2 else reversed(calls):
            if call is None:
                continue
            elapsed = await timed(call, number)
            if number >= warm:
                into.append(elapsed)
    return times_row(name, times, floors, numpy=in_memory, bare=bares, aim=aim)


async def timed(call: Call, number: int) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter_ns()
    await call(number)
    return (time.perf_counter_ns() - start) * MILLISECONDS


def times_row(
    name: str,
    times: list[float],
    floors: list[float] | None = None,
    *,
    numpy: list[float] | None = None,
    bare: list[float] | None = None,
    aim: Aim | None = None,
) -> Row:
    """A row of milliseconds."""
    median = statistics.median(times)
    floor = statistics.median(floors) if floors else None
    return reported(
        Row(
            name=name,
            unit="ms",
            median=median,
            p95=percentile(times, 0.95),
            n=len(times),
            floor=floor,
            ratio=None if floor is None else median / floor,
            ratio_p10=percentile(times, 0.1) / percentile(floors, 0.1) if floors else None,
            numpy=statistics.median(numpy) if numpy else None,
            bare=statistics.median(bare) if bare else None,
            bare_ratio=median / statistics.median(bare) if bare else None,
            aim=aim,
        )
    )


def rates_row(
    name: str,
    rates: list[float],
    floors: list[float] | None = None,
    *,
    unit: str = "records/s",
    aim: Aim | None = None,
) -> Row:
    """A row of records, or whatever `unit` says, a second."""
    median = statistics.median(rates)
    floor = statistics.median(floors) if floors else None
    return reported(
        Row(
            name=name,
            unit=unit,
            median=median,
            p95=percentile(rates, 0.05),
            n=len(rates),
            floor=floor,
            ratio=None if floor is None else floor / median,
            ratio_p10=percentile(floors, 0.9) / percentile(rates, 0.9) if floors else None,
            aim=aim,
        )
    )


def size_row(name: str, unit: str, size: float, *, aim: Aim | None = None) -> Row:
    """A row of one size, which is not a sample."""
    return reported(Row(name=name, unit=unit, median=size, p95=size, n=1, aim=aim))


def percentile(values: list[float], share: float) -> float:
    """The smallest value that is not below `share` of all (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def rounded(value: float | None) -> float | None:
    """Four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def reported(row: Row) -> Row:
    """The row, after telling who waits at the terminal."""
    beside = "" if row.floor is None else f"  floor {row.floor:10.2f}  ratio {row.ratio:5.2f} ({row.ratio_p10:.2f})"
    beside += "" if row.numpy is None else f"  numpy {row.numpy:8.3f}"
    beside += "" if row.bare is None else f"  bare {row.bare:8.2f}  ratio {row.bare_ratio:5.2f}"
    missed = "  MISSED" if row.aim is not None and not row.aim.met_by(row) else ""
    say(f"  {row.name:<34} {row.median:10.2f} {row.unit:<10} p95 {row.p95:10.2f}  n {row.n:>5}{beside}{missed}")
    return row


def say(text: str) -> None:
    """Progress goes to stderr; stdout carries the result only."""
    print(text, file=sys.stderr, flush=True)
