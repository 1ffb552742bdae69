"""Rows of memory: what this process and the server hold, and what stays of each record written or looked at."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.data import recall_of
from bench.measure import Aim, Row, size_row
from bench.store import BATCH, Store

MEGABYTE = 1e6
WRITTEN_AIM = Aim(field="median", limit=500)
RECALLED_AIM = Aim(field="median", limit=20)
"""Bytes that stay for each record. One takes about 2,000 on disk, a vector alone 768: none of them is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Bytes that are held at one moment: client, by this process; server, by that of a directory with its backends."""

    client: int
    server: int


def look(home: Path) -> Held:
    """What is held at this moment."""
    gc.collect()
    serving = [process for process in psutil.process_iter(["cmdline"]) if _serves(process, home)]
    backends = [child for process in serving for child in process.children(recursive=True)]
    return Held(client=psutil.Process().memory_info().rss, server=sum(_own(process) for process in serving + backends))


def held(home: Path) -> list[Row]:
    """What is held at this moment, as rows."""
    now = look(home)
    return [
        size_row("memory_of_this_process", "MB", now.client / MEGABYTE),
        size_row("memory_of_the_server", "MB", now.server / MEGABYTE),
    ]


async def growth(store: Store, home: Path, *, written: int, recalls: int, subject: str, size: int) -> list[Row]:
    """How much more is held after `written` records more, and after `recalls` that each look at `size` records.

    subject: somebody who has these records. What is kept once, such as a connection, is there before it is measured;
    what the server keeps of the data in its shared buffers is full by then.
    """
    writer, asked = store.person("acme", "memory"), store.person("acme", subject)

    async def recall(first: int, count: int) -> None:
        for number in range(first, first + count):
            await asked.recall(recall_of(number, among=size))

    await store.fill("acme", "memory", 2 * BATCH)
    await recall(0, recalls // 4)
    before = look(home)
    await store.fill("acme", "memory", written, first=2 * BATCH)
    between = look(home)
    await recall(recalls, recalls)
    after = look(home)
    await writer.forget_all()
    return [
        *grown("written", before, between, written, WRITTEN_AIM),
        *grown("looked_at", between, after, recalls * size, RECALLED_AIM),
    ]


def grown(what: str, before: Held, after: Held, records: int, aim: Aim) -> list[Row]:
    """How many bytes more are held, for each of `records`. what: happened to them meanwhile."""
    return [
        size_row(f"memory_of_{who}_per_record_{what}", "bytes", (now - then) / records, aim=aim)
        for who, then, now in (
            ("this_process", before.client, after.client),
            ("the_server", before.server, after.server),
        )
    ]


def _serves(process: psutil.Process, home: Path) -> bool:
    return any(str(argument).startswith(str(home)) for argument in process.info["cmdline"] or ())


def _own(process: psutil.Process) -> int:
    """Bytes of one process, with its part of what it shares (Linux), else all that it maps."""
    try:
        found = process.memory_full_info()
    except psutil.Error:
        return 0
    size: int = getattr(found, "pss", found.rss)
    return size
