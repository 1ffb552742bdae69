"""Rows of opening, and of what a store takes on disk."""

from __future__ import annotations

import os
from pathlib import Path

import olvido
from bench.data import Precomputed
from bench.measure import Aim, Row, size_row, timed, times_row
from bench.store import Store

OPEN_AIM = Aim(field="median", limit=1000)


async def opening(place: Path, model: str, rounds: int) -> list[Row]:
    """Until the first preference is read: in a new directory, and in one whose server is stopped."""
    embedder = Precomputed(model)

    cold = [await timed_until_read(place, embedder, number) for number in range(rounds)]
    existing = [await timed_until_read(place, embedder, number % rounds) for number in range(2 * rounds)]
    return [
        times_row("open_new_directory", cold),
        times_row("open_existing_directory", existing, aim=OPEN_AIM),
    ]


async def timed_until_read(place: Path, embedder: Precomputed, number: int) -> float:
    """Milliseconds from `open` to the first answer; closing is not counted."""
    opened: list[olvido.Memory] = []

    async def begin(_: int) -> None:
        memory = await olvido.open(place / f"open-{number}", embedder=embedder)
        opened.append(memory)
        await memory.scope(tenant="acme", subject="ana").get_preference("language")

    elapsed = await timed(begin, number)
    await opened[0].close()
    return elapsed


def footprint(store: Store, home: Path) -> list[Row]:
    """Bytes of the tables a record, and of the whole directory."""
    sizes = store.administer("sizes")
    records = int(str(sizes["records"]))
    return [
        size_row("records_stored", "records", records),
        size_row("disk_bytes_per_record", "bytes", int(str(sizes["bytes"])) / records),
        size_row("directory_bytes_per_record", "bytes", _bytes_below(home) / records),
    ]


def _bytes_below(home: Path) -> int:
    found = 0
    for directory, _, names in os.walk(home):
        for name in names:
            try:
                found += (Path(directory) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return found
