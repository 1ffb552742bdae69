"""A row becomes a value once, here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from pgvector import SparseVector
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from olvido.domain.erasure import Level, Step, StepStatus
from olvido.domain.origin import Origin, OriginClass
from olvido.domain.records import (
    Change,
    Episode,
    Fact,
    Fields,
    ItemKind,
    Message,
    Preference,
    PreferenceVersion,
    Role,
    Session,
    Summary,
    SummaryEntry,
)
from olvido.storage.arrays import MOST_WORDS, WORD_DIMENSIONS

Row = Mapping[str, Any]


def utc(value: datetime) -> datetime:
    """The same instant in UTC, whatever the time zone of the connection."""
    return value.astimezone(UTC)


def utc_or_none(value: datetime | None) -> datetime | None:
    """The same instant in UTC, or None."""
    return None if value is None else value.astimezone(UTC)


def origin(row: Row) -> Origin:
    """The origin columns of any record."""
    return Origin(
        origin_class=OriginClass(row["origin_class"]),
        source=row["origin_source"],
        ref=row["origin_ref"],
        actor=row["origin_actor"],
        at=row["origin_at"],
    )


def origin_columns(value: Origin) -> dict[str, object]:
    """The reverse of `origin`, as statement parameters."""
    return {
        "origin_class": value.origin_class,
        "origin_source": value.source,
        "origin_ref": value.ref,
        "origin_actor": value.actor,
        "origin_at": value.at,
    }


def json_value(value: object) -> Jsonb:
    """A statement parameter for a jsonb column."""
    return Jsonb(value)


def sparse(weights: Mapping[int, float]) -> SparseVector:
    """A statement parameter for a sparsevec: `weights` by word, without the words past MOST_WORDS."""
    kept = dict(islice(weights.items(), MOST_WORDS))
    return SparseVector(kept, WORD_DIMENSIONS)


def like(text: str) -> str:
    """`text` as a part of a LIKE pattern: what has a meaning there stands for itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def json_fields(fields: Fields) -> Jsonb:
    """The same for fields of an episode, whose texts the policy made sure are well-formed; several times faster."""
    return Jsonb(fields, dumps=to_json)


def json_rows(values: Sequence[Mapping[str, object]]) -> Jsonb:
    """A statement parameter for `jsonb_to_recordset`: identifiers and instants as PostgreSQL reads them from text.

    The text is made here, by whichever thread calls, and not when the statement is sent.
    """
    text = to_json(values)
    return Jsonb(None, dumps=lambda _: text)


def preference(row: Row) -> Preference:
    """A row of `preferences`."""
    return Preference(
        record_id=row["record_id"],
        key=row["key"],
        value=row["value"],
        version=row["version"],
        purpose=row["purpose"],
        origin=origin(row),
        said_at=utc(row["said_at"]),
        recorded_at=utc(row["recorded_at"]),
        created_at=utc(row["created_at"]),
        expires_at=utc_or_none(row["expires_at"]),
        policy_version=row["policy_version"],
    )


def preference_version(row: Row) -> PreferenceVersion:
    """A row of `preference_versions`."""
    return PreferenceVersion(
        record_id=row["record_id"],
        key=row["key"],
        value=row["value"],
        version=row["version"],
        change=Change(row["change"]),
        origin=origin(row),
        said_at=utc(row["said_at"]),
        recorded_at=utc(row["recorded_at"]),
        valid_from=utc(row["valid_from"]),
        valid_to=utc_or_none(row["valid_to"]),
        policy_version=row["policy_version"],
    )


def episode(row: Row, known: Origin | None = None) -> Episode:
    """A row of `episodes`. known: its origin, where that is at hand."""
    return Episode(
        record_id=row["record_id"],
        definition=row["definition"],
        event_id=row["event_id"],
        case_id=row["case_id"],
        status=row["status"],
        fields=row["fields"],
        language=row["language"],
        purpose=row["purpose"],
        origin=known or origin(row),
        occurred_at=utc(row["occurred_at"]),
        recorded_at=utc(row["recorded_at"]),
        expires_at=utc_or_none(row["expires_at"]),
        policy_version=row["policy_version"],
        untrusted=row["untrusted"],
    )


def message(row: Row) -> Message:
    """A row of `messages`."""
    return Message(
        session_id=row["session_id"],
        sequence=row["sequence"],
        role=Role(row["role"]),
        content=row["content"],
        recorded_at=utc(row["recorded_at"]),
        group=row["group_id"],
    )


def fact(row: Row) -> Fact:
    """A row of `session_facts`."""
    return Fact(
        record_id=row["record_id"],
        content=row["content"],
        messages=tuple(row["messages"]),
        origin=origin(row),
        recorded_at=utc(row["recorded_at"]),
    )


def summary_entry(row: Row) -> SummaryEntry:
    """A row of `summary_sources` joined with its episode."""
    return SummaryEntry(
        record_id=row["episode_id"],
        event_id=row["event_id"],
        status=row["status"],
        occurred_at=utc(row["occurred_at"]),
        origin=origin(row),
    )


def summary(row: Row, entries: Sequence[SummaryEntry]) -> Summary:
    """A row of `summaries` with its entries, oldest first; at least one."""
    statuses = [entry.status for entry in entries if entry.status is not None]
    return Summary(
        record_id=row["record_id"],
        definition=row["definition"],
        case_id=row["case_id"],
        entries=tuple(entries),
        last_reported_status=statuses[-1] if statuses else None,
        origin_class=OriginClass(row["origin_class"]),
        first_at=entries[0].occurred_at,
        last_at=entries[-1].occurred_at,
        expires_at=utc_or_none(row["expires_at"]),
        built_at=utc(row["built_at"]),
    )


def session(row: Row, items: Sequence[Row], facts: Sequence[Row]) -> Session:
    """A row of `sessions` with its rows of `session_items` and `session_facts`."""

    def of(kind: ItemKind) -> tuple[str, ...]:
        return tuple(item["content"] for item in items if item["kind"] == kind)

    return Session(
        record_id=row["record_id"],
        session_id=row["session_id"],
        purpose=row["purpose"],
        goal=row["goal"],
        decisions=of(ItemKind.DECISION),
        constraints=of(ItemKind.CONSTRAINT),
        pending=of(ItemKind.PENDING),
        facts=tuple(fact(found) for found in facts),
        message_count=row["message_count"],
        folded=row["folded_to"],
        opened_at=utc(row["opened_at"]),
        closed_at=utc_or_none(row["closed_at"]),
        expires_at=utc(row["expires_at"]),
        policy_version=row["policy_version"],
    )


def step(row: Row) -> Step:
    """A row of `erasure_steps`."""
    return Step(
        tenant=row["tenant_id"],
        erasure_id=row["erasure_id"],
        step=row["step"],
        level=Level(row["level"]),
        kind=row["kind"],
        holder=row["holder"],
        status=StepStatus(row["status"]),
        attempts=row["attempts"],
        due_at=utc(row["due_at"]),
        deadline=utc_or_none(row["deadline"]),
        blocker=row["blocker"],
        evidence=row["evidence"],
        settled_at=utc_or_none(row["settled_at"]),
    )
