"""Record that something happened, once per event id; a note is the simplest episode (rule 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.identifiers import optional_identifier, required_identifier
from olvido.domain.instants import KEEP, KeepType, is_expired, require_utc
from olvido.domain.lifecycle import require_past
from olvido.domain.origin import Origin
from olvido.domain.policy import EpisodeRule, expiry
from olvido.domain.records import Episode, Fields, Kind, Written
from olvido.errors import Conflict, EventConflict
from olvido.operations.admission import mask_fields, require_accepted
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Entry, Prepared, prepare, put
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_episodes

NOTE = "note"
REQUESTED = Origin.declared("remember-request")
"""The origin of a note that names none: someone asked to remember it."""

_SQL = statements("episodes")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Report:
    """An episode that passed admission and is ready to be stored."""

    rule: EpisodeRule
    record_id: UUID
    event_id: str
    case_id: str | None
    status: str | None
    fields: Fields
    occurred_at: datetime | None
    expires_at: datetime | KeepType | None
    origin: Origin
    prepared: Prepared


async def record_episode(
    environment: Environment,
    caller: Caller,
    definition: str,
    *,
    event_id: str | None,
    fields: Mapping[str, object],
    case_id: str | None = None,
    status: str | None = None,
    occurred_at: datetime | None = None,
    origin: Origin | None = None,
    expires_at: datetime | KeepType | None = KEEP,
    language: str | None = None,
) -> Written[Episode]:
    """Store one episode. The same event id with the same body is a no-op, with another body a conflict.

    event_id: None, for a note only, makes a new one, so that a retry would store it twice. occurred_at: None takes the
    origin's time, then now. Raises NotInPolicy, LiveState, InvalidValue, InvalidTime, InvalidScope, OriginNotGranted,
    OriginNotAccepted, EventConflict, SubjectForgotten, TenantClosed.
    """
    rule = environment.policy.episode(definition)
    admitted = rule.admit(fields, status)
    kept, masked = mask_fields(admitted.fields)
    source = caller.origin(origin, fallback=REQUESTED if definition == NOTE else None)
    require_accepted(rule, source, f"episode {rule.definition}")
    await environment.database.pin(caller.life)
    record_id = new_record_id()
    unnamed = event_id is None and rule.definition == NOTE
    report = _Report(
        rule=rule,
        record_id=record_id,
        event_id=str(record_id) if unnamed else required_identifier(event_id, "event_id"),
        case_id=optional_identifier(case_id, "case_id"),
        status=status,
        fields=kept,
        occurred_at=source.at if occurred_at is None else require_utc(occurred_at, "occurred_at"),
        expires_at=expires_at,
        origin=source,
        prepared=await prepare(environment, rule.text(kept, status), language=language),
    )
    async with environment.database.write(caller.life) as transaction:
        episode, changed = await _store(environment, transaction, report)
    return Written(
        record=episode,
        changed=changed,
        dropped=admitted.dropped,
        masked=masked,
        index_state=report.prepared.state,
    )


async def _store(environment: Environment, transaction: Transaction, report: _Report) -> tuple[Episode, bool]:
    now = transaction.now
    occurred_at = require_past(report.occurred_at or now, now, "occurred_at")
    version = environment.policy.version
    # Two rounds: an expired episode of the same event makes way, as if it had been purged a moment ago.
    for _ in range(2):
        row = await transaction.one(
            _SQL["record"],
            record_id=report.record_id,
            definition=report.rule.definition,
            event_id=report.event_id,
            case_id=report.case_id,
            status=report.status,
            fields=rows.json_value(dict(report.fields)),
            language=report.prepared.language,
            purpose=report.rule.purpose,
            untrusted=report.rule.untrusted,
            occurred_at=occurred_at,
            expires_at=expiry(report.rule.retention, now, report.expires_at),
            policy_version=version,
            **rows.origin_columns(report.origin),
        )
        if row is not None:
            episode = rows.episode(row)
            async with transaction.together():
                await put(transaction, entry_of(episode), report.prepared)
                await transaction.touch_due(episode.expires_at)
                await transaction.audit("recorded", "episode", policy_version=version, record_id=episode.record_id)
            return episode, True
        await transaction.reorganise()
        row = await transaction.one(_SQL["by_event"], definition=report.rule.definition, event_id=report.event_id)
        if row is not None:
            existing = rows.episode(row)
            if not is_expired(existing.expires_at, now):
                return _same_body(existing, report), False
            await remove_episodes(transaction, [existing.record_id])
            await transaction.audit("purge", "episode", policy_version=version, record_id=existing.record_id)
    raise Conflict("Other writers record and forget this event at the same moment. Read it again and decide.")


def _same_body(existing: Episode, report: _Report) -> Episode:
    same = (
        existing.case_id == report.case_id
        and existing.status == report.status
        and dict(existing.fields) == dict(report.fields)
        and (report.occurred_at is None or existing.occurred_at == report.occurred_at)
    )
    if not same:
        raise EventConflict(
            "This event id is already recorded with another body. An episode is history and does not change; "
            "record what happened next under an event id of its own."
        )
    return existing


def entry_of(episode: Episode) -> Entry:
    """The index facts of an episode."""
    return Entry(
        record_id=episode.record_id,
        kind=Kind.EPISODE,
        definition=episode.definition,
        purpose=episode.purpose,
        origin_class=episode.origin.origin_class,
        occurred_at=episode.occurred_at,
        expires_at=episode.expires_at,
        case_id=episode.case_id,
        status=episode.status,
    )
