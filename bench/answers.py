"""Everything that Olvido answers about one person, through each read of the public API."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from bench.customers import KEYS, SESSION
from olvido import Episode, Preference, ScopedMemory
from olvido.errors import NotFound

WITH_HISTORY = frozenset({"history", "export"})
"""The reads that may show superseded values: each as a version, of a preference that is live."""

MARK = re.compile(r"k[0-9]{5}")
_OFFERED = re.compile(r"preference: (\w+) = (.+?) \(version")
PROMPT_TOKENS = 20_000
"""Room for everything, so that nothing is absent for want of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What came back. current: current preferences by read. marks: the marks found in the whole answer, by read."""

    current: dict[str, dict[str, object]] = field(default_factory=dict)
    marks: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, read: str, answer: object, current: Iterable[Preference] | None = None) -> None:
        """Keep one answer."""
        self.marks[read] = frozenset(MARK.findall(repr(answer)))
        if current is not None:
            self.current[read] = {each.key: each.value for each in current}


async def everything(person: ScopedMemory, question: str, records: Iterable[UUID]) -> Answers:
    """Ask every read. question: for those that search. records: episodes to get by id, live or not."""
    found = Answers()
    got = [await person.get_preference(key) for key in KEYS]
    found.add("get_preference", got, [each for each in got if each is not None])
    listed = await person.preferences()
    found.add("preferences", listed, listed)
    recalled = await person.recall(question, limit=50)
    found.add("recall", recalled, [item.record for item in recalled.preferences])
    block = await person.context(question, max_tokens=PROMPT_TOKENS)
    found.add("context", block)
    found.current["context"] = dict(_OFFERED.findall(block.text))
    found.add("history", [await person.history(key) for key in KEYS])
    found.add("episodes", await all_episodes(person))
    found.add("get_episode", [await _episode(person, record_id) for record_id in records])
    found.add("summaries", await person.summaries())
    exported = await person.export()
    found.add("export", exported)
    found.current["export"] = {f"{row['key']}": row["value"] for row in exported.records["preferences"]}
    await _session(person, question, found)
    return found


async def all_episodes(person: ScopedMemory) -> list[Episode]:
    """Every page."""
    found: list[Episode] = []
    cursor = None
    while True:
        page = await person.episodes(cursor=cursor)
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _episode(person: ScopedMemory, record_id: UUID) -> Episode | None:
    try:
        return await person.get_episode(record_id)
    except NotFound:
        return None


async def _session(person: ScopedMemory, question: str, found: Answers) -> None:
    """The reads of a session; one that is over answers NotFound to each, and then nothing was served."""
    session = person.session(SESSION)
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "session.read": session.read,
        "session.view": session.view,
        "session.messages": session.messages,
        "context of session": lambda: person.context(question, max_tokens=PROMPT_TOKENS, session_id=SESSION),
    }
    for name, read in reads.items():
        try:
            found.add(name, await read())
        except NotFound:
            found.add(name, None)
