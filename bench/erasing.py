"""Rows of what comes after a forget: files written anew (E2) and the log turned over (E3), and how long others wait."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from bench.measure import Row, rates_row, say, size_row, timed, times_row
from bench.store import Store
from olvido.domain.erasure import FILES, Step
from olvido.domain.erasure_report import ErasureReport
from olvido.operations import erase_files

TOGETHER = 200
"""Requests that share one rewrite."""


async def erasing(store: Store, sizes: Sequence[int], *, rounds: int, name: str) -> list[Row]:
    """Follow up the forget of people of these sizes, one at a time, and of many people together."""
    # What was locked for long is left alone for a while; here every round is measured.
    erase_files.REST = 0
    rows: list[Row] = []
    for size in sizes:
        times: list[float] = []
        locks: list[float] = []
        for turn in range(rounds):
            subject = f"{name}-{size}-{turn}"
            await store.fill("acme", subject, size)
            report = await store.person("acme", subject).forget_all()
            times.append(await timed(lambda _: store.memory.erase_pending(), turn))
            if report.erasure_id is None:
                raise LookupError  # there was something to forget
            locks.append(_longest_lock(await store.memory.erasure("acme", report.erasure_id)))
        rows += [
            times_row(f"{name}_{size}", times),
            times_row(f"{name}_{size}_longest_lock", locks),
        ]
    rows += await _together(store, name)
    return rows


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


def _longest_lock(report: ErasureReport) -> float:
    """Milliseconds for which the relation was locked that was locked longest. Raises LookupError if E2 is open."""
    files: Step = next(step for step in report.steps if step.step == FILES)
    if files.settled_at is None:
        raise LookupError(files.blocker or "files are not rewritten yet")
    measured = cast("Sequence[Mapping[str, Any]]", files.evidence["relations"])
    return max(float(relation["locked_ms"]) for relation in measured)
