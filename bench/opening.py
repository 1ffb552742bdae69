"""Rows of opening, and of what a store takes: seconds, memory and disk."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

import olvido
from bench.data import Precomputed
from bench.measure import Aim, Row, size_row, timed, times_row
from bench.store import Store

OPEN_AIM = Aim(field="median", limit=1000)
MEGABYTE = 1e6


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
    """Bytes of the tables a record, of the whole directory, and memory of this process and of the server."""
    sizes = store.administer("sizes")
    records = int(str(sizes["records"]))
    server = [process for process in psutil.process_iter(["cmdline"]) if _serves(process, home)]
    workers = [child for process in server for child in process.children(recursive=True)]
    return [
        size_row("records_stored", "records", records),
        size_row("disk_bytes_per_record", "bytes", int(str(sizes["bytes"])) / records),
        size_row("directory_bytes_per_record", "bytes", _bytes_below(home) / records),
        size_row("memory_of_this_process", "MB", psutil.Process().memory_info().rss / MEGABYTE),
        size_row("memory_of_the_server", "MB", sum(_own_memory(process) for process in server + workers) / MEGABYTE),
    ]


def _serves(process: psutil.Process, home: Path) -> bool:
    return any(str(argument).startswith(str(home)) for argument in process.info["cmdline"] or ())


def _own_memory(process: psutil.Process) -> int:
    """Bytes of one process, with its part of what it shares (Linux), else all that it maps."""
    try:
        found = process.memory_full_info()
    except psutil.Error:
        return 0
    size: int = getattr(found, "pss", found.rss)
    return size


def _bytes_below(home: Path) -> int:
    found = 0
    for directory, _, names in os.walk(home):
        for name in names:
            try:
                found += (Path(directory) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return found
