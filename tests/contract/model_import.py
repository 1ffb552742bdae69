"""Export and import in the model: what comes along, what stands, and what stays forgotten (rules 11, 12 and 20)."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tests.contract.model import Model
from tests.contract.model_records import (
    EPISODE_RETENTION,
    HISTORY_RETENTION,
    PREFERENCE_RETENTION,
    TRUST,
    Chain,
    Episode,
    EventKey,
    Forgotten,
    Life,
    Refused,
    Scope,
    Session,
    Summary,
    Version,
)


@dataclass(kw_only=True)
class Exported:
    """What was live of one life at an instant."""

    life: UUID
    at: datetime
    preferences: dict[str, Chain]
    episodes: dict[EventKey, Episode]
    sessions: dict[str, Session]
    summaries: list[Summary]

    def counts(self) -> Counter[str]:
        """Rows by relation; relations with none are left out."""
        sessions = self.sessions.values()
        return +Counter(
            subjects=1,
            preferences=len(self.preferences),
            preference_versions=sum(len(chain.versions) for chain in self.preferences.values()),
            episodes=len(self.episodes),
            sessions=len(self.sessions),
            session_items=sum(len(texts) for each in sessions for texts in each.items.values()),
            session_facts=sum(len(each.facts) for each in sessions),
            messages=sum(len(each.messages) for each in sessions),
            summaries=len(self.summaries),
            summary_sources=sum(len(each.sources) for each in self.summaries),
        )


def export(model: Model, scope: Scope) -> Exported | None:
    """What is live of a scope now; None if nothing is stored."""
    model.life(scope)
    life = model.lives.get(scope)
    if life is None:
        return None
    preferences = {key: deepcopy(chain) for key, chain in life.preferences.items() if chain.expires_at > model.now}
    for chain in preferences.values():
        chain.versions = [each for each in chain.versions if each.retain_until is None or each.retain_until > model.now]
    return Exported(
        life=life.key,
        at=model.now,
        preferences=preferences,
        episodes={key: deepcopy(each) for key, each in life.episodes.items() if each.expires_at > model.now},
        sessions={key: deepcopy(each) for key, each in life.sessions.items() if each.expires_at > model.now},
        summaries=[deepcopy(each) for each in life.summaries.values() if each.expires_at > model.now],
    )


@dataclass(kw_only=True)
class Taken:
    """What an import did. written, unchanged: by relation. left_out: relation, name and code of each."""

    written: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def take_in(model: Model, document: Exported, scope: Scope, *, new_consent: bool) -> Taken:
    """Take an export into a scope, all of it or nothing."""
    life = model.life(scope)
    known = model.forgotten[scope[0]]
    holders = {document.life} | {by for of, by in known.taken if of == document.life}
    if not new_consent and holders & known.lives:
        raise Refused("consent_needed")
    gone = set() if new_consent else _gone(known, document, life)
    model.lives[scope] = life
    taking = _Taking(model.now, life)
    taken = taking.taken
    for key, chain in document.preferences.items():
        ends = min(chain.expires_at, model.now + PREFERENCE_RETENTION)
        code = "forgotten" if chain.record_id in gone else "expired" if ends <= model.now else None
        if code is None:
            taking.preference(key, chain, ends)
        else:
            taken.left_out["preferences", key, code] += 1
    for event, episode in document.episodes.items():
        ends = min(episode.expires_at, model.now + EPISODE_RETENTION)
        code = "forgotten" if episode.record_id in gone else "expired" if ends <= model.now else None
        if code is None:
            taking.episode(event, episode, ends)
        else:
            taken.left_out["episodes", event[0], code] += 1
    if taken.written:
        known.taken.add((document.life, life.key))
    return taken


def _gone(known: Forgotten, document: Exported, life: Life) -> set[UUID | None]:
    """Records that were forgotten where the export is of, or here, or that lost a version since it was made.

    A record that was forgotten with somebody else in this company stays away as well, unless it is here already.
    """
    lives = {document.life, life.key}
    return (
        {record for of, record in known.records if of in lives}
        | {record for of, record, at in known.reopened if of in lives and at >= document.at}
        | (known.revoked() - life.records().keys())
    )


class _Taking:
    """Records on their way into one life."""

    def __init__(self, now: datetime, life: Life) -> None:
        self._now = now
        self._life = life
        self.taken = Taken()

    def preference(self, key: str, chain: Chain, ends: datetime) -> None:
        """The whole chain where no value stands; otherwise its value is judged against the one that does."""
        standing = self._life.preferences.get(key)
        head = chain.head
        since = head.said_at if head.change == "set" else max(head.said_at, self._now)
        if standing is None or standing.expires_at <= self._now:
            kept = [each for each in chain.versions[:-1] if each.retain_until is None or each.retain_until > self._now]
            lost = len(chain.versions) - 1 - len(kept)
            if lost:
                self.taken.left_out["preference_versions", key, "expired"] += lost
            self._life.preferences[key] = Chain(
                record_id=chain.record_id,
                created_at=self._now,
                expires_at=ends,
                versions=[_again(each, number, self._now) for number, each in enumerate([*kept, head], start=1)],
                stands_since=since,
            )
            self.taken.written.update({"preferences": 1, **({"preference_versions": len(kept)} if kept else {})})
            return
        current = standing.head
        said_at = head.said_at if head.change == "set" else max(head.said_at, head.recorded_at)
        if (current.value, current.origin) == (head.value, head.origin):
            current.said_at = max(current.said_at, head.said_at)
            standing.stands_since = max(standing.stands_since, head.said_at)
            self.taken.unchanged["preferences"] += 1
        elif TRUST[head.origin] < TRUST[current.origin]:
            self.taken.left_out["preferences", key, "weaker_origin"] += 1
        elif said_at < standing.stands_since:
            self.taken.left_out["preferences", key, "older_statement"] += 1
        else:
            current.retain_until = self._now + HISTORY_RETENTION
            standing.versions.append(_again(head, current.number + 1, self._now))
            standing.expires_at, standing.stands_since = ends, since
            self.taken.written["preferences"] += 1
            if len(chain.versions) > 1:
                self.taken.left_out["preference_versions", key, "older_statement"] += len(chain.versions) - 1

    def episode(self, key: EventKey, episode: Episode, ends: datetime) -> None:
        """Once an event."""
        found = self._life.episodes.get(key)
        if found is not None and found.expires_at > self._now:
            if _body(found) == _body(episode):
                self.taken.unchanged["episodes"] += 1
            else:
                self.taken.left_out["episodes", key[0], "event_conflict"] += 1
            return
        if found is not None:
            self._life.drop_episodes({key})
        self._life.episodes[key] = deepcopy(episode)
        self._life.episodes[key].expires_at = ends
        self.taken.written["episodes"] += 1


def _again(version: Version, number: int, now: datetime) -> Version:
    """The same statement, recorded now; what was reopened counts as corrected."""
    return Version(
        number=number,
        value=version.value,
        change="set" if version.change == "set" else "corrected",
        origin=version.origin,
        said_at=version.said_at,
        recorded_at=now,
        retain_until=None if version.retain_until is None else min(version.retain_until, now + HISTORY_RETENTION),
    )


def _body(episode: Episode) -> tuple[object, ...]:
    return (episode.case_id, episode.status, episode.fields, episode.occurred_at)
