"""The contract of memory as plain dictionaries: what must be served, stored and counted, and what must be refused.

Written from the design's section 1 and the retention of the default policy; it shares no code with `src/olvido`.
Instants are aware and in UTC. An operation that has to be refused raises `Refused` with the codes that would be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

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
class Session(Record):
    """A conversation. items: by "decisions", "constraints" and "pending"."""

    expires_at: datetime
    goal: str | None = None
    items: dict[str, list[str]] = field(default_factory=dict)
    messages: list[tuple[str, str]] = field(default_factory=list)
    closed: bool = False


@dataclass(kw_only=True)
class Summary(Record):
    """References to the episodes of one case, with the earliest expiry and the lowest trust among them."""

    sources: set[EventKey]
    expires_at: datetime
    origin: str


@dataclass(kw_only=True)
class Life:
    """Everything stored for one subject until it is forgotten, expired or not."""

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
        return {
            each.record_id: (kind, key)
            for kind, found in kinds.items()
            for key, each in found.items()
            if each.record_id is not None
        }

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


class Model:
    """All companies and people. `now` is moved from outside."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.lives: dict[Scope, Life] = {}
        self.closed: set[str] = set()

    def life(self, scope: Scope, *codes: str) -> Life:
        """What is stored for a scope; an empty life, not stored, if there is nothing.

        codes: what else the call is refused for, which is as right an answer as that the tenant is closed.
        """
        if scope[0] in self.closed:
            raise Refused("tenant_closed", *codes)
        return self.lives.get(scope, Life())

    def rows(self, scope: Scope) -> Counter[str]:
        """Stored rows of a scope by relation."""
        return self.lives[scope].rows() if scope in self.lives else Counter()

    def state(
        self,
        scope: Scope,
        key: str,
        value: str,
        *,
        change: str,
        origin: str,
        said_at: datetime,
        expires_in: Expiry,
        expected: int | None,
    ) -> tuple[bool, int]:
        """Set or correct a preference: whether a version was made, and the version that stands (rules 11 and 12)."""
        codes = set() if origin in ACCEPTED[key] else {"origin_not_accepted"}
        life = self.life(scope, *codes)
        chain = life.preferences.get(key)
        if chain is not None and chain.expires_at <= self.now:
            chain = None
        if expected is not None and expected != (0 if chain is None else chain.head.number):
            codes.add("version_conflict")
        if chain is None and change == "corrected":
            codes.add("not_found")
        if chain is not None and TRUST[origin] < TRUST[chain.head.origin]:
            codes.add("weaker_origin")
        if chain is not None and change == "set" and said_at < chain.stands_since:
            codes.add("older_statement")
        expires_at = self._expiry(PREFERENCE_RETENTION, expires_in, codes)
        if codes:
            raise Refused(*codes)
        if chain is not None and expires_in == "keep":
            expires_at = chain.expires_at
        said = Version(number=1, value=value, change="set", origin=origin, said_at=said_at)
        if chain is None:
            chain = Chain(created_at=self.now, expires_at=expires_at, versions=[said], stands_since=said_at)
            life.preferences[key] = chain
            self.lives[scope] = life
            return True, 1
        head = chain.head
        if (value, origin, expires_at) == (head.value, head.origin, chain.expires_at):
            # Nothing new, yet said again: what was said between the two times does not beat it.
            head.said_at = max(head.said_at, said_at)
            chain.stands_since = max(chain.stands_since, said_at)
            return False, head.number
        said.number, said.change = head.number + 1, change
        head.retain_until = self.now + HISTORY_RETENTION
        chain.versions.append(said)
        chain.expires_at = expires_at
        chain.stands_since = max(said_at, self.now) if change == "corrected" else said_at
        return True, said.number

    def reopen(self, scope: Scope, key: str) -> None:
        """Forget the current version only; the value before it is current again, by explicit choice (rule 25)."""
        chain = self.life(scope).preferences.get(key)
        if chain is None or chain.expires_at <= self.now:
            raise Refused("not_found")
        kept = [each for each in chain.versions[:-1] if each.retain_until is None or each.retain_until > self.now]
        if not kept:
            raise Refused("not_found")
        before, gone = kept[-1], chain.versions.pop()
        chain.versions.append(
            Version(
                number=gone.number + 1,
                value=before.value,
                change="reopened",
                origin=before.origin,
                said_at=before.said_at,
            )
        )
        chain.stands_since = max(before.said_at, self.now)

    def record(
        self,
        scope: Scope,
        key: EventKey,
        fields: Mapping[str, str],
        *,
        case_id: str | None,
        status: str | None,
        origin: str,
        occurred_at: datetime | None,
        expires_in: Expiry,
    ) -> tuple[bool, list[str]]:
        """Record an episode: whether it is new, and the names of dropped fields (rules 6 and 11)."""
        codes = set() if origin in ACCEPTED[key[0]] else {"origin_not_accepted"}
        life = self.life(scope, *codes)
        kept = {name: value for name, value in fields.items() if name in KEPT_FIELDS[key[0]]}
        found = life.episodes.get(key)
        if found is not None and found.expires_at > self.now:
            at = found.occurred_at if occurred_at is None else occurred_at
            if (found.case_id, found.status, found.fields, found.occurred_at) != (case_id, status, kept, at):
                codes.add("event_conflict")
        expires_at = self._expiry(EPISODE_RETENTION, expires_in, codes)
        if codes:
            raise Refused(*codes)
        dropped = sorted(set(fields) - set(kept))
        if found is not None and found.expires_at > self.now:
            return False, dropped
        if found is not None:
            life.drop_episodes({key})
        life.episodes[key] = Episode(
            case_id=case_id,
            status=status,
            fields=kept,
            origin=origin,
            occurred_at=self.now if occurred_at is None else occurred_at,
            expires_at=expires_at,
        )
        self.lives[scope] = life
        return True, dropped

    def open(self, scope: Scope, session_id: str, expires_in: Expiry = "keep") -> Session:
        """Open a session or resume the live one; opening never extends it (rule 4)."""
        life = self.life(scope)
        session = life.sessions.get(session_id)
        if session is not None and session.expires_at > self.now:
            if session.closed:
                raise Refused("session_closed")
            return session
        codes: set[str] = set()
        session = Session(expires_at=self._expiry(SESSION_RETENTION, expires_in, codes))
        if codes:
            raise Refused(*codes)
        life.sessions[session_id] = session
        self.lives[scope] = life
        return session

    def session(self, scope: Scope, session_id: str) -> Session:
        """A live session, closed or not."""
        session = self.life(scope).sessions.get(session_id)
        if session is None or session.expires_at <= self.now:
            raise Refused("not_found")
        return session

    def purge(self) -> tuple[Counter[str], int]:
        """Remove what has expired, everywhere: rows by relation, and in how many scopes there were any (rule 15)."""
        removed: Counter[str] = Counter()
        scopes = 0
        for life in self.lives.values():
            before = life.rows()
            for key in [key for key, chain in life.preferences.items() if chain.expires_at <= self.now]:
                del life.preferences[key]
            for chain in life.preferences.values():
                chain.versions = [
                    each for each in chain.versions if each.retain_until is None or each.retain_until > self.now
                ]
            life.drop_episodes({key for key, episode in life.episodes.items() if episode.expires_at <= self.now})
            for session_id in [key for key, session in life.sessions.items() if session.expires_at <= self.now]:
                del life.sessions[session_id]
            gone = before - life.rows()
            removed += gone
            scopes += bool(gone)
        return removed, scopes

    def forget(self, scope: Scope, record_id: UUID, *, dry_run: bool = False) -> Counter[str]:
        """Forget one record with what derives from it: rows by relation; none for an id that is not of this scope."""
        life = self.life(scope)
        if record_id not in life.records():
            return Counter()
        if dry_run:
            life = deepcopy(life)
        kind, key = life.records()[record_id]
        before = life.rows()
        if kind == "preferences":
            life.preferences = {found: each for found, each in life.preferences.items() if found != key}
        elif kind == "sessions":
            life.sessions = {found: each for found, each in life.sessions.items() if found != key}
        elif kind == "summaries":
            life.summaries = {found: each for found, each in life.summaries.items() if found != key}
        else:
            life.drop_episodes({found for found in life.episodes if found == key})
        return before - life.rows()

    def forget_all(self, scope: Scope) -> Counter[str]:
        """End the life of a subject: rows by relation."""
        self.life(scope)
        life = self.lives.pop(scope, None)
        return Counter() if life is None else life.rows()

    def forget_tenant(self, tenant: str) -> tuple[Counter[str], int]:
        """Close a company and forget everyone in it: rows by relation, and how many people."""
        gone = [scope for scope in self.lives if scope[0] == tenant]
        removed = sum((self.forget_all(scope) for scope in gone), Counter[str]())
        self.closed.add(tenant)
        return removed, len(gone)

    def _expiry(self, retention: timedelta, expires_in: Expiry, codes: set[str]) -> datetime:
        """When something written now expires; adds to `codes` if that is past already or later than allowed."""
        if expires_in == "keep" or expires_in is None:
            return self.now + retention
        if not timedelta(0) < expires_in <= retention:
            codes.add("invalid_time")
        return self.now + expires_in
