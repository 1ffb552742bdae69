"""The shape of a policy file.

`policy_file` reads one, `policy_checks` compares its parts, and `policy` is what the rest of the code uses.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from olvido.domain.origin import OriginClass
from olvido.domain.path_template import PathTemplate
from olvido.domain.policy_values import MAX_TEXT, ShortText, Strict, UniqueTexts, ValueShape, nfc

MAX_SECONDS = 36_500 * 86_400
_DURATION = re.compile(r"([0-9]{1,12})([dhms])")
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_KEY = re.compile(r"[^\W\d_][\w-]{0,59}")


def _duration(value: object) -> timedelta:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("duration", "write a duration as a number and a unit: 90d, 24h, 30m or 45s")
    seconds = int(match[1]) * _UNITS[match[2]]
    if seconds == 0:
        raise PydanticCustomError("duration_zero", "a duration of zero would keep nothing")
    if seconds > MAX_SECONDS:
        raise PydanticCustomError("duration_long", "a duration is at most 36500d, a hundred years")
    return timedelta(seconds=seconds)


def _retention(value: object) -> timedelta | None:
    if value == "unlimited":
        return None
    try:
        return _duration(value)
    except PydanticCustomError as error:
        if error.type == "duration_zero":
            raise
        message = f"{error.message()}; or write unlimited, until it is corrected or forgotten"
        raise PydanticCustomError("retention", "{message}", {"message": message}) from None


def _seconds(value: timedelta | None) -> int | None:
    return None if value is None else int(value.total_seconds())


ACTOR = "actor"
"""In `searchable`: the actor of the origin, such as who speaks in a conversation."""


def is_key(name: str) -> bool:
    """Whether the policy may use `name` for something; `name` is in NFC."""
    return _KEY.fullmatch(name) is not None and name == name.lower()


def _key(value: str) -> str:
    key = nfc(value)
    if not is_key(key):
        raise PydanticCustomError(
            "key", "a name is a lower-case letter, then letters, digits, `-` and `_`, at most 60 in all"
        )
    return key


def _strongest_first(origins: tuple[OriginClass, ...]) -> tuple[OriginClass, ...]:
    if len(set(origins)) < len(origins):
        raise PydanticCustomError("repeated", "an origin is listed twice; keep one")
    return tuple(sorted(origins, key=lambda origin: -origin.trust))


Key = Annotated[str, AfterValidator(_key)]
"""A name that the policy gives to something. Kept in NFC, so that one word is one key however it was typed."""

Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(_seconds),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+[dhms]$"}),
]
Retention = Annotated[
    timedelta | None,
    BeforeValidator(_retention),
    PlainSerializer(_seconds),
    WithJsonSchema({"type": "string", "pattern": "^([0-9]+[dhms]|unlimited)$"}),
]
"""A duration, or None for `unlimited`: until it is corrected or forgotten."""

Origins = Annotated[tuple[OriginClass, ...], Field(min_length=1), AfterValidator(_strongest_first)]
Share = Annotated[float, Field(ge=0, le=1)]


class Purpose(Strict):
    """Why data is kept. lawful_basis: one of the six of GDPR article 6(1)."""

    lawful_basis: Literal[
        "consent", "contract", "legal-obligation", "vital-interests", "public-task", "legitimate-interests"
    ]
    description: ShortText


class PreferenceDefinition(Strict):
    """One preference: its value, who may say it, how long it and its superseded versions are kept."""

    description: ShortText
    purpose: Key
    value: ValueShape
    origins: Origins
    retention: Retention
    history_retention: Retention = Field(default_factory=lambda valid: valid["retention"])


class EpisodeDefinition(Strict):
    """One kind of event. What `fields` does not name is dropped before storage.

    searchable: which text fields are indexed, in this order; `status` may be among them, and `actor`: who said it.
    untrusted: its text was written by somebody and is marked as such wherever it is shown.
    priority: how much it stands before other kinds that match as well; `ranking.priority` says what that is worth.
    """

    description: ShortText
    purpose: Key
    origins: Origins
    retention: Retention
    statuses: UniqueTexts = ()
    fields: dict[Key, ValueShape] = Field(min_length=1)
    searchable: UniqueTexts = ()
    untrusted: bool = False
    priority: Share = 0


class SessionPart(StrEnum):
    """The parts of a session that a hand-over may take; messages are not among them."""

    GOAL = "goal"
    DECISIONS = "decisions"
    CONSTRAINTS = "constraints"
    PENDING = "pending"
    FACTS = "facts"


class HandOver(Strict):
    """What of a session may become an episode, and outlive it.

    episode: the kind of episode. fields: which of its fields takes which part of the session. status: of the episode.
    """

    episode: Key
    fields: dict[Key, SessionPart] = Field(min_length=1)
    status: ShortText | None = None


class SessionDefinition(Strict):
    """Short-term state of a conversation: always limited, never searched.

    hand_over: the one way in which any of it outlives the session; None is no way.
    """

    purpose: Key
    retention: Duration
    hand_over: HandOver | None = None


class LiveStateDefinition(Strict):
    """What is looked up and never remembered.

    topics: the words by which a question is about it, per language; ignore: phrases in which those words mean
    something else. consult: the tool that knows.
    """

    description: ShortText
    consult: ShortText
    topics: dict[Key, Annotated[UniqueTexts, Field(min_length=1)]] = Field(min_length=1)
    ignore: dict[Key, UniqueTexts] = Field(default_factory=dict)


class CopyKind(StrEnum):
    """What kind of place an outside copy is in."""

    BACKUP = "backup"
    ARCHIVE = "archive"
    REPLICA = "replica"
    CACHE = "cache"
    LOG = "log"
    SEARCH = "search"
    CHECKPOINT = "checkpoint"
    SERVICE = "service"
    MANUAL = "manual"


def _variable(value: str) -> str:
    if _VARIABLE.fullmatch(value) is None:
        message = "name a variable of the environment, such as OLVIDO_CACHE_URL; its value never stands in a policy"
        raise PydanticCustomError("variable", message)
    return value


def _template(value: str) -> str:
    try:
        PathTemplate.parse(value)
    except ValueError as error:
        raise PydanticCustomError("template", "{message}", {"message": str(error)}) from None
    return value


_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
Variable = Annotated[
    str, AfterValidator(_variable), WithJsonSchema({"type": "string", "pattern": f"^{_VARIABLE.pattern}$"})
]
"""A variable of the environment that has an address or a secret in it, which no policy file has."""


class RegisteredConnector(Strict):
    """A connector that host code made: `olvido.open(connectors={name: ...})`."""

    type: Literal["registered"]
    name: Key


class ValkeyConnector(Strict):
    """The session cache in a Valkey or Redis. url_env: the variable with its URL."""

    type: Literal["valkey"]
    url_env: Variable


class HttpConnector(Strict):
    """A service that speaks the protocol of docs/copies.md. url_env, key_env: the variables with its URL and key."""

    type: Literal["http"]
    url_env: Variable
    key_env: Variable


class DirectoryConnector(Strict):
    """Files below a directory. path_env: the variable with its path. template: which files are of one person."""

    type: Literal["directory"]
    path_env: Variable
    template: Annotated[str, AfterValidator(_template)]


BuiltInConnector = ValkeyConnector | HttpConnector | DirectoryConnector
ConnectorSettings = Annotated[
    RegisteredConnector | ValkeyConnector | HttpConnector | DirectoryConnector, Field(discriminator="type")
]


class OutsideCopy(Strict):
    """A copy that Olvido cannot delete itself; a forget reports it as open until it is known to be gone.

    retention: after how long the copy is gone by itself; None (`unlimited`): only when the holder removes it.
    connector: what can erase it and look at it; None: its holder has to act, or time has to pass.
    deadline: within which time after a forget the holder has to act, where nothing else removes it.
    """

    name: Key
    kind: CopyKind
    holder: ShortText
    retention: Retention
    connector: ConnectorSettings | None = None
    deadline: Duration | None = None
    description: ShortText | None = None

    @property
    def connected(self) -> str | None:
        """The name under which its connector is known: its own, or that of the copy with a dot and its type."""
        if self.connector is None:
            return None
        if isinstance(self.connector, RegisteredConnector):
            return self.connector.name
        return f"{self.name}.{self.connector.type}"


class Limits(Strict):
    """How much one call may carry. Lengths are characters.

    plan_drift: by how many rows what is forgotten may differ from its plan.
    """

    message_length: int = Field(default=8_000, ge=1, le=MAX_TEXT)
    session_item_length: int = Field(default=500, ge=1, le=10_000)
    session_items: int = Field(default=50, ge=1, le=1_000)
    session_facts: int = Field(default=200, ge=1, le=1_000)
    session_group_messages: int = Field(default=100, ge=1, le=1_000)
    query_length: int = Field(default=2_000, ge=1, le=30_000)
    page_size: int = Field(default=50, ge=1, le=1_000)
    page_size_max: int = Field(default=200, ge=1, le=1_000)
    recall_items: int = Field(default=10, ge=1, le=200)
    recall_items_max: int = Field(default=50, ge=1, le=200)
    plan_drift: int = Field(default=0, ge=0, le=1_000_000)


class Ranking(Strict):
    """Weights and floors of recall, all from 0 to 1 (design, section 5).

    weak_below: a match under this is marked weak; omit_below: under this it is not returned. text, meaning: the two
    halves of the score that the floors look at; identifier: what a part of an order number, case id or the like adds to
    them. What else a record gains at most: session, for what its case says; date, for when it happened; when, for
    telling a time where the question asks for one; speaker, for being said by whom the question names; recency, for
    being new; priority, for its kind of episode; reliability, for its origin.
    """

    weak_below: Share = 0.22
    omit_below: Share = 0.14
    text: Share = 0.5
    meaning: Share = 0.5
    identifier: Share = 0.3
    session: Share = 0.3
    date: Share = 0.2
    when: Share = 0.1
    speaker: Share = 0.05
    priority: Share = 0.1
    recency: Share = 0.05
    reliability: Share = 0.02
    recency_half_life: Duration = timedelta(days=90)


class PolicyDocument(Strict):
    """A whole policy file."""

    version: Literal[1]
    name: Key
    default_purpose: Key
    purposes: dict[Key, Purpose] = Field(min_length=1)
    preferences: dict[Key, PreferenceDefinition] = Field(default_factory=dict)
    episodes: dict[Key, EpisodeDefinition]
    sessions: SessionDefinition
    live_state: dict[Key, LiveStateDefinition] = Field(default_factory=dict)
    copies: tuple[OutsideCopy, ...] = ()
    limits: Limits = Field(default_factory=Limits)
    ranking: Ranking = Field(default_factory=Ranking)

    def content_hash(self) -> str:
        """`sha256:` and 16 hexadecimal digits over what the file means; layout, comments and key order do not count."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:16]}"
