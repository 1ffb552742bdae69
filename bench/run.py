"""Measure Olvido beside a floor in the same run: `make bench`. See bench/README.md for how to read it.

Progress goes to stderr. The last line of stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import olvido
from bench import erasing, lines, memory, opening, reads, removal, writes
from bench.measure import Row, say
from bench.store import Store, opened

PARTS = ("single", "bulk", "get", "forget", "recall", "open", "footprint", "erase")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How much to measure.

    n: calls of a row. rounds: of what is slow. records: in the filled store. sizes: records of who is forgotten.
    recalled: records of who is asked about.
    """

    n: int
    rounds: int
    records: int
    sizes: tuple[int, ...]
    recalled: tuple[int, ...]


FEW = 10
"""Records of the smallest person that is forgotten."""

FULL = Plan(n=400, rounds=7, records=300_000, sizes=(1_000, 10_000), recalled=(100, 1_000, 10_000, 50_000))
QUICK = Plan(n=20, rounds=2, records=10_000, sizes=(100, 1_000), recalled=(10, 100, 1_000))


async def measure(plan: Plan, parts: Sequence[str], place: Path) -> tuple[list[Row], dict[str, object]]:
    """All rows of `parts`, and what they were measured on."""
    rows: list[Row] = []
    home = place / "store"
    async with opened(home) as store:
        if "open" in parts:
            rows += await opening.opening(place, store.embedder.id, min(plan.rounds, 5))
        if "single" in parts:
            rows += await writes.single(store, plan.n)
        if "bulk" in parts:
            rows += await writes.bulk(store, plan.rounds)
            rows += await lines.lines(store, plan.rounds)
        if "get" in parts:
            rows += await reads.get(store, plan.n)
        rows += await _filled(store, plan, parts, home)
        facts = {
            "olvido": olvido.__version__,
            "postgres": store.administer("sizes")["server"],
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "records": plan.records,
        }
    return rows, facts


async def _filled(store: Store, plan: Plan, parts: Sequence[str], home: Path) -> list[Row]:
    """Rows that are taken in a store full of other people."""
    rows: list[Row] = []
    sizes = {size: f"person-{size}" for size in plan.recalled}
    erased = (FEW, *plan.sizes)
    if "erase" in parts:
        # Before the store is filled and after: what it costs as the rest grows.
        rows += await erasing.erasing(store, erased, rounds=max(2, plan.rounds // 2), name=erasing.SMALL)
    if {"forget", "recall", "footprint", "erase"} & set(parts):
        await reads.fill(store, plan.records, sizes)
    if "recall" in parts:
        async with olvido.open(home, embedder=store.real) as model:
            rows += await reads.recall(store, model, sizes, plan.n // 2)
    if "footprint" in parts:
        rows += opening.footprint(store, home)
        rows += memory.held(home)
        asked = plan.recalled[-2]
        rows += await memory.growth(store, home, written=50 * plan.n, recalls=plan.n, subject=sizes[asked], size=asked)
    if "erase" in parts:
        rows += await erasing.erasing(store, erased, rounds=max(2, plan.rounds // 2), name=erasing.FULL)
        for line in erasing.table(rows, erased, plan.records):
            say(line)
    if "forget" in parts:
        async with opened(home.parent / "small") as small:
            rows.append(await removal.independence(store, small, plan.sizes[0], rounds=2 * plan.rounds))
        for size in (FEW, *plan.sizes):
            rounds = max(2, plan.rounds // 2) if size == plan.sizes[-1] else plan.rounds
            rows.append(await removal.forget(store, size, rounds=rounds, name=f"forget_{size}"))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. The exit code is 0 whether or not the aims are met: a busy machine is no defect."""
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few calls of everything, to see that it runs")
    parser.add_argument("--only", action="append", choices=PARTS, help="only these parts; may be given several times")
    parser.add_argument("--home", type=Path, help="a directory on the disk to measure; by default a temporary one")
    parser.add_argument("--records", type=int, help="in the filled store, instead of 300,000 (10,000 with --quick)")
    options = parser.parse_args(arguments)
    plan = QUICK if options.quick else FULL
    plan = replace(plan, records=options.records or plan.records)
    if plan.records < sum(plan.recalled):
        parser.error(f"--records must be {sum(plan.recalled):,} or more: so many belong to who is asked about")
    place = Path(tempfile.mkdtemp(prefix="olvido-bench-", dir=options.home)).resolve()
    try:
        rows, facts = asyncio.run(measure(plan, options.only or PARTS, place))
    finally:
        shutil.rmtree(place)
    missed = [row.name for row in rows if row.aim is not None and not row.aim.met_by(row)]
    say(f"aims missed: {', '.join(missed) or 'none'}")
    print(json.dumps({**facts, "rows": {row.name: row.document() for row in rows}, "missed": missed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
