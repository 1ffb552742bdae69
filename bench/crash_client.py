"""A program that does everything that writes, all at once and for ever, until it is killed.

Run as: python -m bench.crash_client HOME LOG NAME. Each line of LOG is a JSON array: a word, a subject, and what was
written or removed. "begins" lines are written before a call and may be cut off with the program. The others are written
and synced after the call returned: they are what was acknowledged. NAME starts the name of every subject.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import olvido
from olvido import Memory, NewEpisode, Origin, ScopedMemory, Status
from olvido.errors import NotFound, OlvidoError
from olvido.surfaces.import_lines import parse
from olvido.surfaces.importing import load
from olvido.testing import ManualClock
from tests.contract.support import CONFIRMED, LOOKED_UP, PlainDetector, PlainEmbedder

TENANT = "norte"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXPIRY = NOW + timedelta(hours=1)
LATER = NOW + timedelta(hours=2)
HAPPENED = NOW - timedelta(days=30)
BATCH = 12
PAUSE = 0.01
"""Seconds before a refused call is tried again: the server may be starting."""


@asynccontextmanager
async def opened(home: Path, now: datetime) -> AsyncIterator[Memory]:
    """The directory at one instant, without a model."""
    opening = olvido.open(
        home, clock=ManualClock(now), embedder=PlainEmbedder(), detector=PlainDetector(), pool_size=8, timeout=5
    )
    async with opening as memory:
        yield memory


class Log:
    """What this program says it does and has done."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def begins(self, *line: object) -> None:
        """Say what is about to be done."""
        os.write(self._file, f"{json.dumps(line, default=str)}\n".encode())

    def done(self, *line: object) -> None:
        """Say what was done, durably."""
        self.begins(*line)
        os.fsync(self._file)


class Client:
    """The jobs. Each works for subjects of its own, one step after the other.

    memory: at the instant NOW. purger: of the same directory, later, when what expires has expired.
    """

    def __init__(self, memory: Memory, purger: Memory, log: Log, name: str) -> None:
        self._memory = memory
        self._purger = purger
        self._log = log
        self._name = name

    async def run(self) -> None:
        """All of it, until the end of the process."""
        steps = (self._say, self._record, self._import, self._talk, self._purge, self._forget, self._forget_record)
        await asyncio.gather(*(self._for_ever(step) for step in steps))

    async def _for_ever(self, step: Callable[[int], Awaitable[None]]) -> None:
        for number in count():
            try:
                await step(number)
            except Exception as error:  # noqa: BLE001 - an error that is not Olvido's own is what the check is to find
                # An import writes for several people at once, and so may fail several times.
                errors = error if isinstance(error, ExceptionGroup) else ExceptionGroup("", [error])
                _, untyped = errors.split(OlvidoError)
                if untyped is not None:
                    self._log.done("untyped", step.__name__, repr(untyped.exceptions))
                    return
                self._log.begins("refused", step.__name__)
                await asyncio.sleep(PAUSE)

    def _person(self, role: str, number: int | None = None) -> tuple[str, ScopedMemory]:
        subject = f"{self._name}-{role}" if number is None else f"{self._name}-{role}-{number}"
        return subject, self._memory.scope(tenant=TENANT, subject=subject)

    async def _say(self, number: int) -> None:
        subject, person = self._person("said")
        value = f"name {number}"
        self._log.begins("begins value", subject, value)
        try:
            written = await person.correct_preference("display_name", value, origin=CONFIRMED)
        except NotFound:
            written = await person.set_preference("display_name", value, origin=CONFIRMED)
        self._log.done("value", subject, written.record.version, value)

    async def _record(self, number: int) -> None:
        subject, person = self._person("cases")
        events = [f"{number}.{part}" for part in range(BATCH if number % 2 else 1)]
        self._log.begins("begins batch", subject, events)
        if len(events) == 1:
            await person.record_episode(
                "support-case",
                event_id=events[0],
                case_id="case",
                status="open",
                occurred_at=HAPPENED,
                origin=LOOKED_UP,
            )
        else:
            await person.record_episodes([note(event) for event in events])
        self._log.done("batch", subject, events)
        if number % 5 == 0:
            await person.consolidate()

    async def _import(self, number: int) -> None:
        subject, _ = self._person("import", number)
        events = [f"line {line}" for line in range(BATCH)]
        base = {"tenant": TENANT, "subject": subject}
        origin = {"class": "declared", "source": "old-system", "at": HAPPENED.isoformat()}
        lines: list[dict[str, object]] = [
            {**base, "kind": "note", "text": f"text of {event}", "event_id": event, "language": "en"}
            for event in events
        ]
        lines.append({**base, "kind": "preference", "key": "display_name", "value": "Ana", "origin": origin})
        self._log.begins("begins import", subject, events)
        given = [json.dumps(line).encode() for line in lines]
        records = parse(given, self._memory.policy, name="lines", now=await self._memory.now())
        # Other subjects of this company are being forgotten, which an import without consent has to respect.
        await load(self._memory, records, new_consent=True)
        self._log.done("import", subject, events)
        self._log.done("value", subject, 1, "Ana")

    async def _talk(self, number: int) -> None:
        subject, person = self._person("talks")
        session = person.session("s")
        turns = [f"turn {number}.{part}" for part in range(3)]
        self._log.begins("begins turns", subject, turns)
        stored = await session.extend([("user", turn) for turn in turns], f"group {number}")
        self._log.done("turns", subject, stored[0].sequence, turns)
        if number % 7 == 0:
            await session.compact(6)

    async def _purge(self, number: int) -> None:
        subject, person = self._person("old", number)
        self._log.begins("begins purge", subject)
        await person.set_preference("display_name", "Ana", origin=CONFIRMED, expires_at=EXPIRY)
        await person.correct_preference("display_name", "Eva", origin=CONFIRMED)
        await person.record_episodes([note(f"{line}", expires_at=EXPIRY) for line in range(BATCH)])
        await person.session("s").open(goal="g", expires_at=EXPIRY)
        await person.session("s").append("user", "olá")
        report = await self._purger.purge_expired()
        if not report.left_locked:
            self._log.done("purged", subject)

    async def _forget(self, number: int) -> None:
        subject, person = self._person("gone", number)
        await fill(person)
        self._log.begins("begins forget", subject)
        report = await person.forget_all()
        if report.status is Status.ROWS_ABSENT:
            self._log.done("forgotten", subject)

    async def _forget_record(self, number: int) -> None:
        subject, person = self._person("kept")
        written = await person.remember(f"note {number}", event_id=f"{number}", language="en")
        record_id = written.record.record_id
        if number % 2:
            self._log.done("batch", subject, [f"{number}"])
            return
        report = await person.forget(record_id)
        if report.status is Status.ROWS_ABSENT:
            self._log.done("record forgotten", subject, record_id)


async def fill(person: ScopedMemory) -> None:
    """Something of every kind."""
    await person.set_preference("display_name", "Ana", origin=CONFIRMED)
    await person.correct_preference("display_name", "Eva", origin=CONFIRMED)
    await person.record_episode(
        "support-case", event_id="e", case_id="case", status="open", occurred_at=HAPPENED, origin=LOOKED_UP
    )
    await person.consolidate()
    session = person.session("s")
    await session.open(goal="g", constraints=["c"])
    await session.append("user", "olá")
    await session.add_fact("f", origin=Origin.declared("chat"), messages=[0])


def note(event: str, *, expires_at: datetime | None = None) -> NewEpisode:
    """A note under an event id."""
    return NewEpisode(
        definition="note",
        event_id=event,
        fields={"text": f"text of {event}"},
        occurred_at=HAPPENED,
        expires_at=expires_at,
        language="en",
    )


async def main(home: str, log: str, name: str) -> None:
    """Open and work. An error of Olvido while opening is an answer as well: the server may have been killed."""
    said = Log(Path(log))
    try:
        async with opened(Path(home), NOW) as memory, opened(Path(home), LATER) as purger:
            await Client(memory, purger, said, name).run()
    except OlvidoError as error:
        said.done("refused", f"opening: {error.code}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
