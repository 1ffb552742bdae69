"""What recall answers: current preferences, labelled history, and what to consult instead (rules 10, 16 and 17)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from olvido.domain.live_state import LiveTopic
from olvido.domain.origin import Origin, OriginClass
from olvido.domain.ranking import ScoreParts, Strength
from olvido.domain.records import Episode, Fact, Fields, JsonScalar, Kind, Preference, Summary
from olvido.domain.scope import Scope

Remembered = TypeVar("Remembered", Preference, Episode)

_VERB = {
    OriginClass.DECLARED: "declared via",
    OriginClass.OBSERVED: "observed by",
    OriginClass.INFERRED: "inferred by",
}
_LAYOUT = frozenset({"Cc", "Zl", "Zp"})

WEAK_MATCH = "weak match"


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """Another record that says the same as the one shown. record_id: what `forget` accepts.

    at: when it happened, as reported (UTC).
    """

    record_id: UUID
    definition: str
    origin: Origin
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallItem(Generic[Remembered]):
    """One record with what has to be said about it wherever it is shown.

    label: one line: what it is, its status, origin and date; an episode is always history, never the present.
    score: from 0 to a little over 1, higher is better, of the best ranked record that says this; comparable within one
    recall. parts: what it is made of; None unless recall was asked to explain, or if there is no index entry.
    live_topic: the live state that its text touches, whose source is to be consulted for the present; or None.
    also: the other records that say the same. `record` has the strongest origin of all of them, then the newest date.
    sources: how many sources told it: records with one origin source and reference count once, those without a
    reference by their source and actor. Nothing is ranked by it: repetition is not evidence.
    """

    record: Remembered
    label: str
    strength: Strength
    score: float
    parts: ScoreParts | None = None
    live_topic: str | None = None
    also: tuple[Repetition, ...] = ()
    sources: int = 1

    @property
    def kind(self) -> Kind:
        """Whether it is a preference or an episode."""
        return _kind(self.record)

    @property
    def text(self) -> str:
        """The value of a preference; of an episode its only field, or its fields one a line as "name: value"."""
        return _text(self.record)

    @property
    def origin(self) -> Origin:
        """Where it comes from."""
        return self.record.origin

    @property
    def at(self) -> datetime:
        """When a preference was said, or an episode happened (UTC)."""
        return _at(self.record)

    @property
    def record_id(self) -> UUID:
        """What `forget` and `get_episode` accept."""
        return self.record.record_id

    @property
    def record_ids(self) -> tuple[UUID, ...]:
        """Every record that says this, `record_id` first. To forget what is said, forget each of them."""
        return (self.record_id, *(each.record_id for each in self.also))


@dataclass(frozen=True, kw_only=True, slots=True)
class Consult:
    """The question is about live state: ask `tool`. Nothing stored answers it.

    last_seen: when the newest live episode that mentions the topic happened (UTC); None if there is none.
    """

    topic: str
    tool: str
    last_seen: datetime | None
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """The answer to one question. The question itself is not kept in it.

    now: the instant as of which it holds (UTC). policy_version: the policy that decided what is eligible.
    preferences: all current ones for this purpose, those that bear on the question first: offered, not searched for.
    items: episodes, best first. consult: what to look up instead.
    omitted: how many more eligible episodes there are, too weak or beyond the limit.
    text_only: the question could not be embedded, so that only its words were compared.
    unindexed: how many eligible records lack a vector of this embedder, or words of this lexer, and are to be repaired.
    """

    scope: Scope
    purpose: str
    policy_version: str
    now: datetime
    preferences: tuple[RecallItem[Preference], ...]
    items: tuple[RecallItem[Episode], ...]
    consult: tuple[Consult, ...]
    omitted: int
    text_only: bool
    unindexed: int

    @property
    def index_complete(self) -> bool:
        """Whether every eligible record was compared by text and by meaning."""
        return not self.text_only and self.unindexed == 0


def one_line(text: str) -> str:
    """`text` with a space for every line break and control character, so that it cannot lay out lines of its own."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(character) in _LAYOUT else character for character in text)


def written(value: JsonScalar) -> str:
    """A value of a preference or a field as it is shown: true and false in lower case, text as it is."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_text(fields: Fields) -> str:
    """The fields of an episode for a reader: the value of the only one, or "name: value" with one field a line."""
    told = {name: written(value) for name, value in fields.items() if value is not None}
    if len(told) == 1:
        return next(iter(told.values()))
    return "\n".join(f"{name}: {one_line(value)}" for name, value in told.items())


def preference_label(preference: Preference) -> str:
    """Such as "preference: language = pt (version 2, declared via user-confirmation on 2026-06-02)"."""
    return one_line(
        f"preference: {preference.key} = {written(preference.value)} "
        f"(version {preference.version}, {_said(preference.origin, preference.said_at)})"
    )


def episode_label(episode: Episode, live: LiveTopic | None = None, strength: Strength = Strength.MATCH) -> str:
    """Such as "history: lookup-failed, observed by crm.lookup on 2026-06-02"."""
    notes = [
        f"history: {episode.status or episode.definition}, {_said(episode.origin, episode.occurred_at)}",
        WEAK_MATCH if strength is Strength.WEAK else "",
        "untrusted text" if episode.untrusted else "",
        f"for the current state consult {live.consult}" if live else "",
    ]
    return one_line("; ".join(note for note in notes if note))


def fact_label(fact: Fact) -> str:
    """Such as "inferred by compaction on 2026-06-02, from messages 0-3, 7"."""
    told = _said(fact.origin, fact.origin.at or fact.recorded_at)
    return one_line(f"{told}, from messages {_ranges(fact.messages)}" if fact.messages else told)


def summary_label(summary: Summary) -> str:
    """Such as "history of case at1: 3 reports from 2026-06-01 to 2026-06-09, last reported status lookup-failed"."""
    last = f", last reported status {summary.last_reported_status}" if summary.last_reported_status else ""
    return one_line(
        f"history of case {summary.case_id}: {len(summary.entries)} reports from {_day(summary.first_at)} "
        f"to {_day(summary.last_at)}{last}"
    )


def summary_text(summary: Summary) -> str:
    """One report a clause, oldest first: date, status and origin as they were reported."""
    return one_line(
        "; ".join(
            f"{_day(entry.occurred_at)} {entry.status or summary.definition}, "
            f"{_VERB[entry.origin.origin_class]} {entry.origin.source}"
            for entry in summary.entries
        )
    )


def consult_for(topic: LiveTopic, last_seen: datetime | None) -> Consult:
    """What to say about a live state: where to look, and when it was last mentioned."""
    seen = f"; last mentioned in history on {_day(last_seen)}" if last_seen else ""
    return Consult(
        topic=topic.name,
        tool=topic.consult,
        last_seen=last_seen,
        label=f"live state: {topic.name} is not remembered, consult {topic.consult}{seen}",
    )


def _kind(record: Preference | Episode) -> Kind:
    return Kind.PREFERENCE if isinstance(record, Preference) else Kind.EPISODE


def _text(record: Preference | Episode) -> str:
    return written(record.value) if isinstance(record, Preference) else fields_text(record.fields)


def _at(record: Preference | Episode) -> datetime:
    return record.said_at if isinstance(record, Preference) else record.occurred_at


def _said(origin: Origin, at: datetime) -> str:
    return f"{_VERB[origin.origin_class]} {origin.source} on {_day(at)}"


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, runs of them as first-last."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _day(at: datetime) -> str:
    return at.date().isoformat()
