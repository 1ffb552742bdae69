"""The contract of memory as plain records: what must be served, stored and counted, and what must be refused.

Like `model_records`, it shares no code with `src/olvido`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.contract.model_records import (
    ACCEPTED,
    EPISODE_RETENTION,
    HISTORY_RETENTION,
    KEPT_FIELDS,
    PREFERENCE_RETENTION,
    SESSION_RETENTION,
    TRUST,
    Chain,
    Episode,
    EventKey,
    Expiry,
    Fact,
    Forgotten,
    Life,
    Refused,
    Scope,
    Session,
    Version,
)


class Model:
    """All companies and people. `now` is moved from outside."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.lives: dict[Scope, Life] = {}
        self.closed: set[str] = set()
        self.forgotten: defaultdict[str, Forgotten] = defaultdict(Forgotten)

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
        expires_at = self.expiry(PREFERENCE_RETENTION, expires_in, codes)
        if codes:
            raise Refused(*codes)
        if chain is not None and expires_in == "keep":
            expires_at = chain.expires_at
        said = Version(number=1, value=value, change="set", origin=origin, said_at=said_at, recorded_at=self.now)
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
        life = self.life(scope)
        chain = life.preferences.get(key)
        if chain is None or chain.expires_at <= self.now:
            raise Refused("not_found")
        kept = [each for each in chain.versions[:-1] if each.retain_until is None or each.retain_until > self.now]
        if not kept:
            raise Refused("not_found")
        if kept[-1].value == chain.versions[-1].value:
            raise Refused("not_found")
        before, gone = kept[-1], chain.versions.pop()
        chain.versions.append(
            Version(
                number=gone.number + 1,
                value=before.value,
                change="reopened",
                origin=before.origin,
                said_at=before.said_at,
                recorded_at=self.now,
            )
        )
        chain.stands_since = max(before.said_at, self.now)
        self.forgotten[scope[0]].reopened.append((life.key, chain.record_id, self.now))

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
        expires_at = self.expiry(EPISODE_RETENTION, expires_in, codes)
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

    def record_many(
        self, scope: Scope, reports: Sequence[tuple[EventKey, Mapping[str, Any]]]
    ) -> list[tuple[bool, list[str]]]:
        """Record several episodes, all or none."""
        before = deepcopy(self.lives.get(scope))
        answers, codes = [], set[str]()
        for key, arguments in reports:
            try:
                answers.append(self.record(scope, key, **arguments))
            except Refused as refusal:
                codes |= refusal.codes
        if codes:
            self.lives.pop(scope, None)
            if before is not None:
                self.lives[scope] = before
            raise Refused(*codes)
        return answers

    def open(self, scope: Scope, session_id: str, expires_in: Expiry = "keep") -> Session:
        """Open a session or resume the live one; opening never extends it (rule 4)."""
        life = self.life(scope)
        session = life.sessions.get(session_id)
        if session is not None and session.expires_at > self.now:
            if session.closed:
                raise Refused("session_closed")
            return session
        codes: set[str] = set()
        session = Session(expires_at=self.expiry(SESSION_RETENTION, expires_in, codes))
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

    def writable(self, scope: Scope, session_id: str) -> Session:
        """A live session that takes writes."""
        session = self.session(scope, session_id)
        if session.closed:
            raise Refused("session_closed")
        return session

    def add_fact(self, scope: Scope, session_id: str, content: str, origin: str, messages: Sequence[int]) -> None:
        """Store what is known; it rests on messages that are there."""
        session = self.writable(scope, session_id)
        if any(not 0 <= number < len(session.messages) for number in messages):
            raise Refused("invalid_value")
        session.facts.append(Fact(content=content, origin=origin, messages=sorted(set(messages))))

    def compact(
        self, scope: Scope, session_id: str, keep: int, summarise: Callable[[Sequence[int]], Sequence[Fact] | None]
    ) -> tuple[int, Sequence[Fact]]:
        """Fold all but the last messages: how many, and the facts that came of it (rule 4).

        summarise: makes facts of the numbers of what is folded; None or no facts is a failure, which changes nothing.
        """
        session = self.writable(scope, session_id)
        until = session.border(max(len(session.messages) - keep, 0))
        if until <= session.folded:
            return 0, []
        folded = range(session.folded, until)
        facts = summarise(folded)
        if not facts:
            raise Refused("compaction_failed")
        session.facts += facts
        session.folded = until
        return len(folded), facts

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
        else:
            self.forgotten[scope[0]].drop(life.key, record_id, self.now)
        kind, key = life.records()[record_id]
        before = life.rows()
        if kind == "preferences":
            life.preferences = {found: each for found, each in life.preferences.items() if found != key}
        elif kind == "sessions":
            life.sessions = {found: each for found, each in life.sessions.items() if found != key}
        elif kind == "session_facts":
            session = life.sessions[str(key)]
            session.facts = [fact for fact in session.facts if fact.record_id != record_id]
        elif kind == "summaries":
            life.summaries = {found: each for found, each in life.summaries.items() if found != key}
        else:
            life.drop_episodes({found for found in life.episodes if found == key})
        return before - life.rows()

    def forget_all(self, scope: Scope) -> Counter[str]:
        """End the life of a subject: rows by relation."""
        self.life(scope)
        life = self.lives.pop(scope, None)
        if life is None:
            return Counter()
        self.forgotten[scope[0]].end(life.key, self.now)
        return life.rows()

    def forget_tenant(self, tenant: str) -> tuple[Counter[str], int]:
        """Close a company and forget everyone in it: rows by relation, and how many people."""
        gone = [scope for scope in self.lives if scope[0] == tenant]
        removed = sum((self.forget_all(scope) for scope in gone), Counter[str]())
        self.closed.add(tenant)
        return removed, len(gone)

    def expiry(self, retention: timedelta, expires_in: Expiry, codes: set[str]) -> datetime:
        """When something written now expires; adds to `codes` if that is past already or later than allowed."""
        if expires_in == "keep" or expires_in is None:
            return self.now + retention
        if not timedelta(0) < expires_in <= retention:
            codes.add("invalid_time")
        return self.now + expires_in
