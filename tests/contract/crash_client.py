"""A program that writes and forgets in an embedded directory until it is killed, and says what was acknowledged.

It is told HOME and NAME. Each line it writes is a JSON array: "note", "version" or "message" with what was stored, or
"forgotten" with whom, after the call returned; "forgetting" with whom, before it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime

import olvido
from olvido import Memory, ScopedMemory
from olvido.errors import NotFound
from tests.contract.support import CONFIRMED, LOOKED_UP, PlainDetector, PlainEmbedder

TENANT = "norte"
SUBJECT = "ana"
HAPPENED = datetime(2025, 12, 1, tzinfo=UTC)


def person(memory: Memory, subject: str = SUBJECT) -> ScopedMemory:
    """A new handle."""
    return memory.scope(tenant=TENANT, subject=subject)


async def note(memory: Memory, name: str) -> None:
    """Record cases and notes, and summarise now and then."""
    ana = person(memory)
    number = 0
    while True:
        number += 1
        event = f"{name}-{number}"
        await ana.remember(f"text of {event}", event_id=event)
        _say("note", event)
        await ana.record_episode(
            "support-case", event_id=event, case_id="at1", status="open", origin=LOOKED_UP, occurred_at=HAPPENED
        )
        if number % 5 == 0:
            await ana.consolidate()


async def correct(memory: Memory, name: str) -> None:
    """Correct one preference again and again."""
    ana = person(memory)
    number = 0
    while True:
        number += 1
        value = f"{name}-{number}"
        try:
            written = await ana.correct_preference("display_name", value, origin=CONFIRMED)
        except NotFound:
            written = await ana.set_preference("display_name", value, origin=CONFIRMED)
        _say("version", written.record.version, value)


async def converse(memory: Memory, name: str) -> None:
    """Append to one session."""
    session = person(memory).session("s")
    number = 0
    while True:
        number += 1
        message = await session.append("user", f"{name}-{number}")
        _say("message", message.sequence, message.content)


async def forget(memory: Memory, name: str) -> None:
    """Write for one person after another, and forget each."""
    number = 0
    while True:
        number += 1
        subject = f"{name}-{number}"
        await fill(person(memory, subject))
        _say("forgetting", subject)
        await person(memory, subject).forget_all()
        _say("forgotten", subject)


async def fill(memory: ScopedMemory) -> None:
    """Something of every kind."""
    await memory.set_preference("language", "pt", origin=CONFIRMED)
    await memory.record_episode(
        "support-case", event_id="e", case_id="at1", status="open", origin=LOOKED_UP, occurred_at=HAPPENED
    )
    await memory.consolidate()
    await memory.session("s").open(goal="consultar acesso", pending=["consultar matrícula"])
    await memory.session("s").append("user", "olá")


def _say(*line: object) -> None:
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


async def main(home: str, name: str) -> None:
    """All of it at once, for ever."""
    async with olvido.open(home, embedder=PlainEmbedder(), detector=PlainDetector()) as memory:
        await asyncio.gather(*(work(memory, name) for work in (note, correct, converse, forget)))
