"""What a crash must have left: all that was acknowledged, nothing in part, nothing that was forgotten."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from bench.answers import all_episodes
from bench.crash_client import LATER, NOW, TENANT, fill, opened
from bench.tally import Measure, Tally, Wanted
from olvido import Memory, Message, ScopedMemory
from olvido.adapters import embedded
from olvido.errors import NotFound
from olvido.storage.queries import named
from tests.contract.support import CONSISTENCY, Outside, Stored

WANTED = {
    "acknowledged_present": Wanted.ALL,
    "partial": Wanted.NONE,
    "never_written": Wanted.NONE,
    "resurrected": Wanted.NONE,
    "earlier_rounds_changed": Wanted.NONE,
    "untyped_error": Wanted.NONE,
    "program_got_to_work": Wanted.ALL,
    "other_process_goes_on": Wanted.ALL,
}

SQL = named((Path(__file__).parent / "crash.sql").read_text(encoding="utf-8"), "crash")

Line = list[Any]


def read_log(path: Path) -> list[Line]:
    """The lines that a killed program finished."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line[-1] == "\n"]


def _dangling(url: str) -> dict[str, int]:
    """How many rows refer to nothing, by what they are."""
    found = {}
    with psycopg.connect(url) as connection:
        for name, statement in SQL.items():
            row = connection.execute(statement.text).fetchone()
            found[name] = -1 if row is None else int(row[0])
    return found


@dataclass(kw_only=True, slots=True)
class Checks:
    """The checks of all rounds.

    frozen: what was stored after the last round, by scope: no later crash may change it. whole: the rows of a subject
    that has something of every kind. forgotten: every subject whose forget was acknowledged. acknowledged: by word.
    """

    tally: Tally = field(
        default_factory=lambda: Tally(measures={name: Measure(wanted=wanted) for name, wanted in WANTED.items()})
    )
    frozen: dict[tuple[str, str], Stored] = field(default_factory=dict)
    whole: Counter[str] = field(default_factory=Counter)
    forgotten: set[str] = field(default_factory=set)
    acknowledged: Counter[str] = field(default_factory=Counter)

    async def after_crash(self, home: Path, said: Sequence[Line]) -> None:
        """Open the directory again and judge it by what was said in this round."""
        self.acknowledged.update(line[0] for line in said if not line[0].startswith("begins"))
        tally = self.tally
        untyped = [line for line in said if line[0] == "untyped"]
        tally.count("untyped_error", f"{untyped}", asked=1, served=len(untyped))
        with embedded.start(home) as server:
            async with opened(home, NOW) as memory:
                with Outside(server.urls.superuser) as outside:
                    problems = outside.problems()
                    for name in CONSISTENCY:
                        tally.ask("partial", name, served=name in problems)
                    for name, rows in _dangling(server.urls.superuser).items():
                        tally.ask("partial", name, served=rows > 0)
                    self._subjects(outside, said)
                    await self._acknowledged(memory, said)
                    await self._freeze(home, memory, outside)

    def _subjects(self, outside: Outside, said: Sequence[Line]) -> None:
        """Forgets are whole or not begun, purges that were acknowledged left nothing, earlier rounds are untouched."""
        census = outside.census()
        for scope, stored in self.frozen.items():
            self.tally.ask("earlier_rounds_changed", scope[1], served=census.get(scope) != stored)
        self.forgotten |= {line[1] for line in said if line[0] == "forgotten"}
        for subject in self.forgotten:
            self.tally.ask("resurrected", subject, served=(TENANT, subject) in census)
        for line in said:
            found = census.get((TENANT, line[1]))
            rows = Counter[str]() if found is None else found.rows
            if line[0] == "begins forget" and line[1] not in self.forgotten:
                self.tally.ask("partial", line[1], served=rows not in (Counter(), self.whole) and bool(self.whole))
            elif line[0] == "purged":
                self.tally.ask("resurrected", line[1], served=bool(set(rows) - {"subjects", "due", "lives"}))

    async def _acknowledged(self, memory: Memory, said: Sequence[Line]) -> None:
        for subject in dict.fromkeys(line[1] for line in said if line[0] not in {"refused", "untyped"}):
            lines = [line for line in said if line[1] == subject]
            person = memory.scope(tenant=TENANT, subject=subject)
            await self._episodes(person, subject, lines)
            await self._values(person, subject, lines)
            await self._turns(person, subject, lines)
            for line in lines:
                if line[0] == "record forgotten":
                    with suppress(NotFound):
                        await person.get_episode(line[2])
                        self.tally.ask("resurrected", subject, served=True)
                    self.tally.ask("resurrected", subject, served=False)

    async def _episodes(self, person: ScopedMemory, subject: str, lines: Sequence[Line]) -> None:
        if not any(line[0] in {"begins batch", "batch", "import"} for line in lines):
            return
        stored = {episode.event_id for episode in await all_episodes(person)}
        for line in lines:
            if line[0] in {"batch", "import"}:
                kept = len(stored.intersection(line[2]))
                self.tally.count("acknowledged_present", subject, asked=len(line[2]), served=kept)
            elif line[0] == "begins batch":
                part = 0 < len(stored.intersection(line[2])) < len(line[2])
                self.tally.ask("partial", f"{subject}, a batch", served=part)

    async def _values(self, person: ScopedMemory, subject: str, lines: Sequence[Line]) -> None:
        acknowledged = [(line[2], line[3]) for line in lines if line[0] == "value"]
        begun = {line[2] for line in lines if line[0] == "begins value"}
        if not acknowledged and not begun:
            return
        history = {version.version: version.value for version in await person.history("display_name")}
        for version, value in acknowledged:
            self.tally.ask("acknowledged_present", subject, served=history.get(version) == value)
        gaps = sorted(history) != list(range(1, len(history) + 1))
        self.tally.ask("partial", f"{subject}, versions", served=gaps)
        if begun:
            self.tally.ask("never_written", subject, served=not set(history.values()) <= begun)

    async def _turns(self, person: ScopedMemory, subject: str, lines: Sequence[Line]) -> None:
        begun = [line[2] for line in lines if line[0] == "begins turns"]
        if not begun:
            return
        messages: list[Message] = []
        with suppress(NotFound):
            while page := await person.session("s").messages(first=len(messages)):
                messages += page
        contents = [message.content for message in messages]
        self.tally.ask(
            "partial",
            f"{subject}, messages",
            served=[message.sequence for message in messages] != list(range(len(messages))),
        )
        groups = [contents[first : first + 3] for first in range(0, len(contents), 3)]
        self.tally.ask("never_written", subject, served=any(group not in begun for group in groups))
        for line in lines:
            if line[0] == "turns":
                kept = contents[line[2] : line[2] + 3] == line[3]
                self.tally.ask("acknowledged_present", f"{subject}, messages", served=kept)

    async def _freeze(self, home: Path, memory: Memory, outside: Outside) -> None:
        """Remove what is to be purged, so that from here on nothing may change what is stored."""
        async with opened(home, LATER) as purger:
            await purger.purge_expired()
        if not self.whole:
            await fill(memory.scope(tenant=TENANT, subject="whole"))
            self.whole = outside.census()[TENANT, "whole"].rows
        self.frozen = outside.census()
