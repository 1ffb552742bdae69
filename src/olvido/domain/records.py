"""What Olvido remembers, as values. A row becomes one of these once; nothing changes them afterwards.

Every instant is an aware datetime in UTC. `record_id` is what `forget` accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar
from uuid import UUID

from olvido.domain.instants import KEEP, KeepType
from olvido.domain.origin import Origin, OriginClass

JsonScalar = str | int | float | bool | None
Fields = Mapping[str, JsonScalar]

PRODUCT = "product"
"""The field of an episode that says which product it is about, where a policy has one: recall filters by it."""
R = TypeVar("R")


class Kind(StrEnum):
    """The kinds of memory that can be recalled, each with its own table and rules."""

    PREFERENCE = "preference"
    EPISODE = "episode"


class RecordKind(StrEnum):
    """The kinds of record that have an id to be forgotten by. A fact is one of a session."""

    PREFERENCE = "preference"
    EPISODE = "episode"
    SUMMARY = "summary"
    SESSION = "session"
    FACT = "fact"


class IndexState(StrEnum):
    """Whether a record can be found by text and by meaning.

    indexed: by both. text_only: the embedder failed; a worker repairs it, and text recall finds it meanwhile.
    """

    INDEXED = "indexed"
    TEXT_ONLY = "text_only"


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference:
    """The one current value of a key.

    version: 1 for the first value; each correction adds 1.
    said_at: when the person said it or a tool saw it; recorded_at: when this version was stored.
    created_at: when version 1 was stored; it never changes.
    expires_at: from this instant on it is not served; None means until corrected or forgotten.
    """

    record_id: UUID
    key: str
    value: JsonScalar
    version: int
    purpose: str
    origin: Origin
    said_at: datetime
    recorded_at: datetime
    created_at: datetime
    expires_at: datetime | None
    policy_version: str


class Change(StrEnum):
    """What made a version: a statement, a confirmed correction, or forgetting the version after it (rule 25)."""

    SET = "set"
    CORRECTED = "corrected"
    REOPENED = "reopened"


@dataclass(frozen=True, kw_only=True, slots=True)
class PreferenceVersion:
    """One version in the history of a preference, oldest first.

    valid_from, valid_to: the interval of record time in which it was the current value; valid_to is None for the
    current one.
    """

    record_id: UUID
    key: str
    value: JsonScalar
    version: int
    change: Change
    origin: Origin
    said_at: datetime
    recorded_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    policy_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """Something that happened: a report about the past, never evidence of the present.

    definition: the policy's name for it, such as "support-case" or "note".
    fields: what the policy's allowlist let through.
    untrusted: the text was written by a person and is data, never an instruction (notes).
    """

    record_id: UUID
    definition: str
    event_id: str
    case_id: str | None
    status: str | None
    fields: Fields
    language: str
    purpose: str
    origin: Origin
    occurred_at: datetime
    recorded_at: datetime
    expires_at: datetime | None
    policy_version: str
    untrusted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEpisode:
    """Something that happened, as a caller tells it, for `record_episodes`.

    definition: its kind, from the policy. event_id: the same event again is a no-op; None, for a note only, makes a new
    one. fields: what the policy does not name is dropped. occurred_at: None takes the origin's time, then now.
    expires_at: KEEP and None take the policy's retention. language: None has it detected.
    """

    definition: str
    event_id: str | None = None
    fields: Mapping[str, object]
    case_id: str | None = None
    status: str | None = None
    occurred_at: datetime | None = None
    origin: Origin | None = None
    expires_at: datetime | KeepType | None = KEEP
    language: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPreference:
    """A value that somebody stated, as a caller tells it, for `import_records`.

    key: from the policy. origin: with the time at which it was said; without one it counts as said now.
    expires_at: as in `set_preference`.
    """

    key: str
    value: object
    origin: Origin | None = None
    expires_at: datetime | KeepType | None = KEEP


@dataclass(frozen=True, kw_only=True, slots=True)
class Written(Generic[R]):
    """What a write did.

    record: the record as it now stands.
    changed: False when the same thing was already there. Of a preference said again, the later said_at is kept.
    dropped: names (never values) of the fields that the policy does not allow; they were dropped before storage.
    masked: what kinds of secret were masked in the text, such as "api_key".
    index_state: whether recall finds it by meaning already.
    """

    record: R
    changed: bool
    dropped: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    index_state: IndexState = IndexState.INDEXED


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[R]):
    """One page of a list. Pass `next_cursor` to get the following page; None means this was the last."""

    items: tuple[R, ...]
    next_cursor: str | None


class ItemKind(StrEnum):
    """The kinds of item that a session keeps apart from its messages."""

    DECISION = "decision"
    CONSTRAINT = "constraint"
    PENDING = "pending"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One thing known in a session, stored by `add_fact` or by a compaction. It goes when its session expires.

    messages: sequence numbers of the messages it rests on, ascending; after a compaction at least one.
    origin: of a compaction, inferred: a summariser concluded it.
    """

    record_id: UUID
    content: str
    messages: tuple[int, ...]
    origin: Origin
    recorded_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """Short-term state of one conversation. It expires soon and is never searched.

    facts: in the order in which they were stored. message_count: messages appended so far; the next one gets this
    number as its `sequence`. folded: messages before this number are folded; they can still be read.
    """

    record_id: UUID
    session_id: str
    purpose: str
    goal: str | None
    decisions: tuple[str, ...]
    constraints: tuple[str, ...]
    pending: tuple[str, ...]
    facts: tuple[Fact, ...]
    message_count: int
    folded: int
    opened_at: datetime
    closed_at: datetime | None
    expires_at: datetime
    policy_version: str


class Role(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a session.

    sequence: starts at 0 and has no gaps. group: messages of one group stay together wherever a history is cut.
    """

    session_id: str
    sequence: int
    role: Role
    content: str
    recorded_at: datetime
    group: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionView:
    """What a conversation goes on from: the state of its session and the newest messages, read at one instant.

    messages: oldest first, from a group border on. left_out: older messages that are not folded and not in `messages`.
    """

    session: Session
    messages: tuple[Message, ...]
    left_out: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Compaction:
    """What a compaction did.

    session: the state afterwards. folded: how many messages this call folded; 0 if there were no more than it was to
    keep. facts: what this call added.
    """

    session: Session
    folded: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryEntry:
    """One episode as its summary refers to it: reference, date, status and origin, never a conclusion."""

    record_id: UUID
    event_id: str
    status: str | None
    occurred_at: datetime
    origin: Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The episodes of one case, oldest first (derived; rebuilt when one of them goes).

    last_reported_status: the status of the newest entry that has one, as last reported, which is not the present.
    origin_class: the lowest trust among the entries. expires_at: the earliest expiry among them.
    """

    record_id: UUID
    definition: str
    case_id: str
    entries: tuple[SummaryEntry, ...]
    last_reported_status: str | None
    origin_class: OriginClass
    first_at: datetime
    last_at: datetime
    expires_at: datetime | None
    built_at: datetime
