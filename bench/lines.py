"""Rows of importing a file of JSON lines, as `olvido import` does: read, checked as a whole, then written."""

from __future__ import annotations

import json
import time

from bench.data import EPOCH, language_of, moment_of, text_of
from bench.measure import Aim, Row, rates_row
from bench.store import BATCH, Store
from olvido.surfaces.import_sources import parse_lines
from olvido.surfaces.importing import collecting_rarely, load

AIM = Aim(field="median", limit=3000, at_least=True)
LINES = 2 * BATCH
"""Lines of one file, so that one person takes more than one transaction."""

MANY = 16
NEW = 250
"""People who are there already, and people whose first records a file brings, eight each."""


async def lines(store: Store, rounds: int) -> list[Row]:
    """Files of one person, of several who are there already, and of many whom nobody knows yet; without a model."""
    rates: dict[str, list[float]] = {"1_person": [], f"{MANY}_people": [], f"{NEW}_new_people": []}
    floors: list[float] = []
    await store.person("acme", "floor").remember("first")
    for turn in range(rounds):
        numbers = range(turn * LINES, (turn + 1) * LINES)
        texts = [text_of(number) for number in numbers]
        start = time.perf_counter()
        for first in range(0, LINES, BATCH):
            await store.floor.import_many("acme", "floor", texts[first : first + BATCH])
        floors.append(LINES / (time.perf_counter() - start))
        whose = {"1_person": ["one"], f"{MANY}_people": [f"line-{number}" for number in range(MANY)]}
        whose[f"{NEW}_new_people"] = [f"new-{turn}-{number}" for number in range(NEW)]
        for name, people in whose.items():
            content = file_of(numbers, people)
            start = time.perf_counter()
            await _import(store, content)
            rates[name].append(LINES / (time.perf_counter() - start))
    aims = {f"{NEW}_new_people": None}
    return [rates_row(f"import_lines_{name}", found, floors, aim=aims.get(name, AIM)) for name, found in rates.items()]


def file_of(numbers: range, people: list[str]) -> bytes:
    """A file of notes of `people` in turn, the first line of each a preference."""
    found: list[dict[str, object]] = []
    for place, number in enumerate(numbers):
        whose = {"tenant": "acme", "subject": people[place % len(people)]}
        if place < len(people):
            origin = {"class": "declared", "source": "crm", "at": EPOCH.isoformat()}
            value = ("pt", "es")[numbers.start // LINES % 2]
            found.append({**whose, "kind": "preference", "key": "language", "value": value, "origin": origin})
            continue
        found.append(
            {
                **whose,
                "kind": "note",
                "event_id": f"line-{number}",
                "text": text_of(number),
                "occurred_at": moment_of(number).isoformat(),
                "language": language_of(number),
            }
        )
    return "\n".join(map(json.dumps, found)).encode()


async def _import(store: Store, content: bytes) -> None:
    with collecting_rarely():
        read = parse_lines(content, store.memory.policy, name="lines", now=await store.memory.now())
        report = await load(store.memory, read.records)
    if report.written != LINES or report.refused:
        raise RuntimeError(f"{report.written} of {LINES} lines were written; the row would not be what it says")
