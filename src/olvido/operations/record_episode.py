"""Record that something happened, once per event id; a note is the simplest episode (rule 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.identifiers import optional_identifier, required_identifier
from olvido.domain.instants import KEEP, KeepType, is_expired, require_utc
from olvido.domain.lifecycle import require_past
from olvido.domain.origin import Origin
from olvido.domain.policy import EpisodeRule, Policy, expiry
from olvido.domain.question import speaker
from olvido.domain.records import PRODUCT, Episode, Fields, NewEpisode, Written
from olvido.domain.redaction import WITH_MASKS, is_clean
from olvido.errors import Conflict, EventConflict, InvalidInput, InvalidValue
from olvido.operations.admission import mask_fields, refuse_credential, require_accepted
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare
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
class Report:
    """An episode that passed admission and is ready to be prepared and stored.

    text: what is indexed of it. language: None is to be detected. dropped, masked: as in Written.
    """

    rule: EpisodeRule
    record_id: UUID
    event_id: str
    case_id: str | None
    status: str | None
    fields: Fields
    occurred_at: datetime | None
    expires_at: datetime | KeepType | None
    origin: Origin
    text: str
    language: str | None
    dropped: tuple[str, ...]
    masked: tuple[str, ...]

    def written(self, row: rows.Row, prepared: Prepared, *, changed: bool) -> Written[Episode]:
        """What the caller gets. row: of the episode as it is stored; one that is new has this origin."""
        return Written(
            record=rows.episode(row, self.origin if changed else None),
            changed=changed,
            dropped=self.dropped,
            masked=self.masked,
            index_state=prepared.state,
        )


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
    origin's time, then now. Raises InvalidInput (no origin), NotInPolicy, LiveState, InvalidValue, InvalidTime,
    InvalidScope, OriginNotGranted, OriginNotAccepted, SecretRefused (an id or the origin carries a credential),
    EventConflict, Conflict, SubjectForgotten, TenantClosed.
    """
    report = admit(
        environment,
        caller,
        NewEpisode(
            definition=definition,
            event_id=event_id,
            fields=fields,
            case_id=case_id,
            status=status,
            occurred_at=occurred_at,
            origin=origin,
            expires_at=expires_at,
            language=language,
        ),
    )
    return await record_report(environment, caller, report)


async def record_report(
    environment: Environment,
    caller: Caller,
    report: Report,
    *,
    require: Callable[[Transaction], Awaitable[None]] | None = None,
) -> Written[Episode]:
    """Prepare and store one episode that passed admission.

    require: looks in the transaction that stores it at what it was made from, and raises if that is not so any more.
    """
    await environment.database.pin(caller.life)
    prepared = await prepare(
        environment,
        report.text,
        language=report.language,
        case_id=report.case_id,
        definition=report.rule.definition,
    )
    async with environment.database.write(caller.life, inserting=True) as transaction:
        if require is not None:
            await require(transaction)
        row, changed = await store(environment, transaction, report, prepared)
    return report.written(row, prepared, changed=changed)


def admit(environment: Environment, caller: Caller, new: NewEpisode) -> Report:
    """What the rules let through of `new`; nothing is read or written. Raises as `record_episode` does."""
    if not isinstance(new, NewEpisode):
        raise InvalidInput("Pass NewEpisode values.")
    environment.policy.episode(new.definition)  # refused as not in the policy, whatever else is missing
    source = caller.origin(new.origin, fallback=REQUESTED if new.definition == NOTE else None)
    return admit_report(environment.policy, source, new)


def admit_report(policy: Policy, source: Origin, new: NewEpisode) -> Report:
    """The same for an origin whose class is known to be granted."""
    rule = policy.episode(new.definition)
    admitted = rule.admit(new.fields, new.status)
    named = (source.source, source.ref, source.actor, new.event_id, new.case_id)
    clean = is_clean((*named, *admitted.fields.values()))
    kept, masked = (admitted.fields, ()) if clean else mask_fields(admitted.fields)
    if masked:
        kept = rule.check(kept, WITH_MASKS)
    clean = clean or is_clean(named)
    require_accepted(rule, source, f"episode {rule.definition}", clean=clean)
    text = rule.indexed_text(kept, admitted.status, source.actor)
    if rule.untrusted and not text:
        raise InvalidValue(f"A {rule.definition} is its text. Pass one of the fields: {', '.join(rule.searchable)}.")
    record_id = new_record_id()
    unnamed = new.event_id is None and rule.definition == NOTE
    event_id = str(record_id) if unnamed else required_identifier(new.event_id, "event_id")
    case_id = optional_identifier(new.case_id, "case_id")
    if not clean:
        refuse_credential(event_id=event_id, case_id=case_id)
    return Report(
        rule=rule,
        record_id=record_id,
        event_id=event_id,
        case_id=case_id,
        status=admitted.status,
        fields=kept,
        occurred_at=source.at if new.occurred_at is None else require_utc(new.occurred_at, "occurred_at"),
        expires_at=new.expires_at,
        origin=source,
        text=text,
        language=new.language,
        dropped=admitted.dropped,
        masked=masked,
    )


async def store(
    environment: Environment, transaction: Transaction, report: Report, prepared: Prepared
) -> tuple[rows.Row, bool]:
    """The row of the episode as it is stored, and whether this call stored it.

    Raises EventConflict, InvalidTime, Conflict.
    """
    now = transaction.now
    version = environment.policy.version
    columns = row_of(report, prepared, now, version)
    # Two rounds: an expired episode of the same event makes way, as if it had been purged a moment ago.
    for _ in range(2):
        row = await transaction.one(
            _SQL["record"],
            **{**columns, **prepared.columns(), "fields": rows.json_fields(report.fields)},
        )
        if row is not None:
            return columns, True
        await transaction.reorganise()
        row = await transaction.one(_SQL["by_event"], definition=report.rule.definition, event_id=report.event_id)
        if row is not None:
            if not is_expired(row["expires_at"], now):
                return same_body(row, report), False
            await remove_episodes(transaction, [row["record_id"]])
            await transaction.audit("purge", "episode", policy_version=version, record_id=row["record_id"])
    raise Conflict("Other writers record and forget this event at the same moment. Read it again and decide.")


def row_of(report: Report, prepared: Prepared, now: datetime, policy_version: str) -> dict[str, object]:
    """The row of one new episode, with the id of its audit row and the JSON of its index entry. Raises InvalidTime."""
    return {
        "record_id": report.record_id,
        "audit_id": new_record_id(),
        "definition": report.rule.definition,
        "event_id": report.event_id,
        "case_id": report.case_id,
        "status": report.status,
        "fields": dict(report.fields),
        "purpose": report.rule.purpose,
        "untrusted": report.rule.untrusted,
        "occurred_at": require_past(report.occurred_at or now, now, "occurred_at"),
        "recorded_at": now,
        "expires_at": expiry(report.rule.retention, now, report.expires_at),
        "policy_version": policy_version,
        "product": None if (product := report.fields.get(PRODUCT)) is None else str(product),
        "speaker": speaker(report.origin.actor),
        **prepared.values(),
        **rows.origin_columns(report.origin),
    }


def same_body(row: rows.Row, report: Report) -> rows.Row:
    """The stored row of the event that is reported again. Raises EventConflict if it has another body."""
    existing = rows.episode(row)
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
    return row
