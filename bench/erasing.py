"""Rows of forgetting by level: deleted (E1), files written anew (E2), the log turned over (E3), how long others wait.

The table of docs/forgetting.md is printed from these rows, so that it can be made again by one command.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import olvido
from bench.measure import Row, rates_row, say, size_row, times_row
from bench.store import Store
from olvido.domain.erasure import FILES, LOG, Step
from olvido.domain.erasure_report import ErasureReport
from olvido.operations import erase_files

TOGETHER = 200
"""Requests that share one rewrite."""
BESIDE = "records_in_the_same_leaf"
SMALL = "erase_in_a_small_store"
FULL = "erase"
"""Names of the rows of a store with little in it, and of a full one."""


@dataclass(kw_only=True, slots=True)
class _Times:
    """Milliseconds of each person of one size. lock: of the relation that was locked longest. E3 locks none."""

    deleted: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    log: list[float] = field(default_factory=list)
    lock: list[float] = field(default_factory=list)

    def rows(self, name: str) -> list[Row]:
        return [
            times_row(f"{name}_E1", self.deleted),
            times_row(f"{name}_E2", self.files),
            times_row(f"{name}_E2_longest_lock", self.lock),
            times_row(f"{name}_E3", self.log),
        ]


async def erasing(store: Store, sizes: Sequence[int], *, rounds: int, name: str) -> list[Row]:
    """Forget people of these sizes and follow each up, one at a time, and then many people together."""
    # What was locked for long is left alone for a while; here every round is measured.
    erase_files.REST = 0
    rows: list[Row] = []
    for size in sizes:
        times = _Times()
        for turn in range(rounds):
            subject = f"{name}-{size}-{turn}"
            await store.fill("acme", subject, size)
            store.administer("settle")
            await _one(store, subject, times)
        rows += times.rows(f"{name}_{size}")
    rows += await _together(store, name)
    rows += await _swapping(store, name)
    rows.append(size_row(f"{name}_{BESIDE}", "records", float(str(store.administer("beside")["records"]))))
    return rows


async def _one(store: Store, subject: str, times: _Times) -> None:
    """Forget one person, as callers do: with the ledger, the request and the read-back; and follow that up at once."""
    person = store.person("acme", subject)
    start = time.perf_counter()
    forgotten = await person.forget_all()
    times.deleted.append((time.perf_counter() - start) * 1000)
    if forgotten.erasure_id is None:
        raise LookupError  # there was something to forget
    begun_at = await store.memory.now()
    await store.memory.erase_pending()
    report = await store.memory.erasure("acme", forgotten.erasure_id)
    files_at, log_at = _settled(report, FILES), _settled(report, LOG)
    times.files.append((files_at - begun_at).total_seconds() * 1000)
    times.log.append((log_at - files_at).total_seconds() * 1000)
    times.lock.append(_longest_lock(report))


async def _together(store: Store, name: str) -> list[Row]:
    say(f"forgetting {TOGETHER} people, to be followed up together")
    people = [store.person("acme", f"{name}-many-{number}") for number in range(TOGETHER)]
    for person in people:
        await person.remember("one of many", language="en")
    for person in people:
        await person.forget_all()
    start = time.perf_counter()
    report = await store.memory.erase_pending()
    seconds = time.perf_counter() - start
    return [
        size_row(f"{name}_{TOGETHER}_together", "ms", seconds * 1000),
        rates_row(f"{name}_{TOGETHER}_together_steps", [report.worked / seconds], unit="steps/s"),
    ]


async def _swapping(store: Store, name: str) -> list[Row]:
    """Swap each leaf in which the company is, and time the slowest of them."""
    await store.person("acme", f"{name}-kept").remember("one who stays", language="en")
    swapped = []
    for leaf in str(store.administer("leaves")["leaves"]).split():
        say(f"swapping {leaf}")
        relation = leaf.removeprefix("olvido.")
        swapped.append(await asyncio.to_thread(olvido.swap_leaf, store.urls.superuser, relation))
    return [
        times_row(f"{name}_swap", [max(leaf.filling for leaf in swapped) * 1000]),
        times_row(f"{name}_swap_lock", [max(leaf.locked for leaf in swapped) * 1000]),
    ]


def _step(report: ErasureReport, name: str) -> Step:
    return next(step for step in report.steps if step.step == name)


def _settled(report: ErasureReport, name: str) -> datetime:
    """When a step was verified. Raises LookupError if it is open."""
    step = _step(report, name)
    if step.settled_at is None:
        raise LookupError(step.blocker or f"{name} is not done yet")
    return step.settled_at


def _longest_lock(report: ErasureReport) -> float:
    """Milliseconds for which the relation was locked that was locked longest."""
    measured = cast("Sequence[Mapping[str, Any]]", _step(report, FILES).evidence["relations"])
    return max(float(relation["locked_ms"]) for relation in measured)


def table(rows: Sequence[Row], sizes: Sequence[int], records: int) -> Iterator[str]:
    """The tables of docs/forgetting.md, line by line: each time as its median, and the longest where that differs."""
    by_name = {row.name: row for row in rows}
    stores = {SMALL: "little", FULL: f"{records:,}"}
    yield "| records of the others | of the person | E1 | E2 | longest lock in it | E3 |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, others in stores.items():
        for size in sizes:
            cells = (_time(by_name[f"{name}_{size}_{level}"]) for level in ("E1", "E2", "E2_longest_lock", "E3"))
            yield f"| {others} | {size:,} | {' | '.join(cells)} |"
    yield ""
    yield (
        f"| records of the others | in the same leaf | E2 and E3 of {TOGETHER} people together | steps a second "
        "| filling the copy of a leaf | everyone waits for its swap |"
    )
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, others in stores.items():
        beside, took, steps, filling, lock = (
            by_name[f"{name}_{what}"]
            for what in (BESIDE, f"{TOGETHER}_together", f"{TOGETHER}_together_steps", "swap", "swap_lock")
        )
        times = f"{_time(took)} | {steps.median:.0f} | {_time(filling)} | {_time(lock)}"
        yield f"| {others} | {beside.median:,.0f} | {times} |"


def _time(row: Row) -> str:
    """Milliseconds below a second, seconds above it; the slowest beside the median where there were several."""
    shown = [_shown(row.median)]
    if row.n > 1 and _shown(row.p95) != shown[0]:
        shown.append(f"at most {_shown(row.p95)}")
    return ", ".join(shown)


def _shown(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"  # noqa: PLR2004 - in one
