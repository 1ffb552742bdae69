"""What the model remembers: plain records, and everything that is stored for one person.

Written from the design's section 1 and the retention of the default policy; it shares no code with `src/olvido`.
Instants are aware and in UTC. An operation that has to be refused raises `Refused` with the codes that would be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

Scope = tuple[str, str]
EventKey = tuple[str, str]
CaseKey = tuple[str, str]

PREFERENCE_RETENTION = timedelta(days=730)
HISTORY_RETENTION = timedelta(days=365)
EPISODE_RETENTION = timedelta(days=365)
SESSION_RETENTION = timedelta(hours=24)
TRUST = {"declared": 3, "observed": 2, "inferred": 1}
ACCEPTED = {
    "language": {"declared"},
    "contact_channel": {"declared"},
    "display_name": {"declared", "observed", "inferred"},
    "support-case": {"declared", "observed"},
    "note": {"declared", "observed"},
}
KEPT_FIELDS = {"support-case": {"title", "summary"}, "note": {"text"}}

Expiry = timedelta | Literal["keep"] | None
"""From now on; "keep" is not given, None is the whole retention."""


class Refused(Exception):
    """What the contract does not allow; any of `codes` is a right answer."""

    def __init__(self, *codes: str) -> None:
        super().__init__(", ".join(codes))
        self.codes = set(codes)


@dataclass(kw_only=True)
class Version:
    """One version of a preference. retain_until: None while it is current."""

    number: int
    value: str
    change: str
    origin: str
    said_at: datetime
    recorded_at: datetime
    retain_until: datetime | None = None


@dataclass(kw_only=True)
class Record:
    """Anything with an id. record_id: as it was answered; it never changes."""

    record_id: UUID | None = None


@dataclass(kw_only=True)
class Chain(Record):
    """A preference with its versions, oldest first. stands_since: a plain statement said before it comes too late."""

    created_at: datetime
    expires_at: datetime
    versions: list[Version]
    stands_since: datetime

    @property
    def head(self) -> Version:
        """The current version."""
        return self.versions[-1]


@dataclass(kw_only=True)
class Episode(Record):
    """Something that happened."""

    case_id: str | None
    status: str | None
    fields: dict[str, str]
    origin: str
    occurred_at: datetime
    expires_at: datetime


@dataclass(kw_only=True)
class Fact(Record):
    """What is known in a session. messages: numbers of those it rests on."""

    content: str
    origin: str
    messages: list[int]


Message = tuple[str, str, str | None]
"""Role, content and group."""


@dataclass(kw_only=True)
class Session(Record):
    """A conversation. items: by "decisions", "constraints" and "pending". folded: how many messages facts stand for."""

    expires_at: datetime
    goal: str | None = None
    items: dict[str, list[str]] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    folded: int = 0
    closed: bool = False

    def border(self, cut: int) -> int:
        """The last place up to `cut` at which no group has messages on both sides."""
        while True:
            late = {group for _, _, group in self.messages[cut:] if group is not None}
            parted = [number for number, (_, _, group) in enumerate(self.messages[:cut]) if group in late]
            if not parted:
                return cut
            cut = parted[0]

    def view(self, last: int) -> list[int]:
        """Numbers of the messages to go on from: the newest of those that are not folded, groups whole."""
        first = self.border(max(self.folded, len(self.messages) - last))
        return list(range(first, len(self.messages)))


@dataclass(kw_only=True)
class Summary(Record):
    """References to the episodes of one case, with the earliest expiry and the lowest trust among them."""

    sources: set[EventKey]
    expires_at: datetime
    origin: str


@dataclass(kw_only=True)
class Life:
    """Everything stored for one subject until it is forgotten, expired or not. key: tells it from all other lives."""

    key: UUID = field(default_factory=uuid4)
    preferences: dict[str, Chain] = field(default_factory=dict)
    episodes: dict[EventKey, Episode] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    summaries: dict[CaseKey, Summary] = field(default_factory=dict)

    def rows(self) -> Counter[str]:
        """Stored rows by relation; relations with none are left out, and so is the schedule of purges."""
        return +Counter(
            subjects=1,
            preferences=len(self.preferences),
            preference_versions=sum(len(chain.versions) for chain in self.preferences.values()),
            episodes=len(self.episodes),
            index_entries=len(self.preferences) + len(self.episodes),
            sessions=len(self.sessions),
            session_items=sum(len(texts) for each in self.sessions.values() for texts in each.items.values()),
            session_facts=sum(len(each.facts) for each in self.sessions.values()),
            messages=sum(len(each.messages) for each in self.sessions.values()),
            summaries=len(self.summaries),
            summary_sources=sum(len(each.sources) for each in self.summaries.values()),
        )

    def records(self) -> dict[UUID, tuple[str, object]]:
        """Kind and key of each record, by the id it was answered with; expired ones included."""
        kinds: dict[str, Mapping[Any, Record]] = {
            "preferences": self.preferences,
            "episodes": self.episodes,
            "sessions": self.sessions,
            "summaries": self.summaries,
        }
        found = [(kind, key, each) for kind, by_key in kinds.items() for key, each in by_key.items()]
        for session_id, session in self.sessions.items():
            found += [("session_facts", session_id, fact) for fact in session.facts]
        return {each.record_id: (kind, key) for kind, key, each in found if each.record_id is not None}

    def drop_episodes(self, gone: set[EventKey]) -> None:
        """Take episodes away, and make the summaries those of what remains."""
        for key in gone:
            del self.episodes[key]
        for case, summary in list(self.summaries.items()):
            if summary.sources & gone:
                self._summarise(case, summary.sources - gone)

    def summarise(self, now: datetime) -> None:
        """Make a summary of each case from its live episodes."""
        cases: dict[CaseKey, set[EventKey]] = {}
        for key, episode in self.episodes.items():
            if episode.case_id is not None and episode.expires_at > now:
                cases.setdefault((key[0], episode.case_id), set()).add(key)
        for case, sources in cases.items():
            self._summarise(case, sources)

    def _summarise(self, case: CaseKey, sources: set[EventKey]) -> None:
        if not sources:
            del self.summaries[case]
            return
        found = [self.episodes[key] for key in sources]
        before = self.summaries.get(case)
        self.summaries[case] = Summary(
            record_id=None if before is None else before.record_id,
            sources=sources,
            expires_at=min(episode.expires_at for episode in found),
            origin=min((episode.origin for episode in found), key=TRUST.__getitem__),
        )


@dataclass(kw_only=True)
class Forgotten:
    """What one company knows of what was forgotten in it, without any of it.

    lives: whole ones. records: single records, by life. reopened: preferences of which a version was forgotten, by
    life, and when. taken: of which life an export was taken in, and by which. held: since when a life first had a
    record. dropped: when a record was last forgotten, alone or with a life that ever had it.
    """

    lives: set[UUID] = field(default_factory=set)
    records: set[tuple[UUID, UUID]] = field(default_factory=set)
    reopened: list[tuple[UUID, UUID | None, datetime]] = field(default_factory=list)
    taken: set[tuple[UUID, UUID]] = field(default_factory=set)
    held: dict[UUID, dict[UUID, datetime]] = field(default_factory=dict)
    dropped: dict[UUID, datetime] = field(default_factory=dict)

    def hold(self, life: UUID, record: UUID, now: datetime) -> None:
        """A life has this record."""
        self.held.setdefault(record, {}).setdefault(life, now)

    def drop(self, life: UUID, record: UUID, now: datetime) -> None:
        """A life was told to forget this record."""
        self.records.add((life, record))
        self.dropped[record] = now

    def end(self, life: UUID, now: datetime) -> None:
        """A life was forgotten, with whatever it had."""
        self.lives.add(life)
        self.dropped |= {record: now for record, lives in self.held.items() if life in lives}

    def revoked(self) -> set[UUID]:
        """Records that were forgotten here and that no life has come to since."""
        return {record for record, at in self.dropped.items() if at >= max(self.held[record].values())}
