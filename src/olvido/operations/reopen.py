"""Forget only the current version of a preference and make the value before it current again (rule 25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from olvido.domain.identifiers import record_uuid
from olvido.domain.lifecycle import is_same
from olvido.domain.records import Change, NewPreference, Preference, PreferenceVersion
from olvido.domain.report import Chain, ForgetReport, Plan
from olvido.errors import Conflict, NotFound, Unavailable
from olvido.operations.environment import Caller, Environment
from olvido.operations.erasure_requests import Asked, Removed, noted, remove, settle_rows
from olvido.operations.forget import Erasure, report
from olvido.operations.indexing import prepare
from olvido.operations.state_preference import admit_statement
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.holds import would_keep
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_version

_SQL = statements("preferences")
_DROPPED = "preference_versions"
PLANNED = {_DROPPED: 1}


async def reopen_previous(
    environment: Environment,
    caller: Caller,
    record_id: UUID | str,
    *,
    dry_run: bool = False,
    plan: Plan | None = None,
) -> ForgetReport:
    """Forget the current version of the preference `record_id`; the value before it becomes a new version.

    The chain keeps its expiry and its numbering: the new version is the forgotten one plus 1, so that whoever expects
    the forgotten version gets a conflict. The report's chain is "reopened". plan: of a dry run, which is of one
    version. Raises NotFound if there is no such preference, no earlier value is kept, or the version before has the
    same value (it was reopened, or stated again with another end), Conflict if it changed meanwhile, PlanChanged, and
    what a write raises if the policy does not take the earlier value any more; InvalidScope, TenantClosed.
    """
    wanted = record_uuid(record_id, "record_id")
    database, version = environment.database, environment.policy.version
    async with database.existing(caller.life, lock=True) as transaction:
        now = transaction.now
        seen, previous = await _chain(transaction, wanted)
        held = await would_keep(transaction, [wanted])
    admit_statement(environment.policy, previous.origin, NewPreference(key=previous.key, value=previous.value))
    if dry_run:
        planned = _erasure(_named(wanted, seen.version), now, dry_run=True)
        return report(environment, replace(planned, held=held, kept=PLANNED if held else {}))
    prepared = await prepare(environment, f"{previous.key}: {previous.value}", language="other")
    async with database.existing(caller.life, lock=True) as transaction:
        now = transaction.now
        head, previous = await _chain(transaction, wanted)
        if head.version != seen.version:
            raise Conflict("The preference changed meanwhile. Read its history again and decide.")

        async def act() -> dict[str, int]:
            dropped = await remove_version(transaction, wanted, head.version)
            row = await transaction.one(
                _SQL["supersede"],
                record_id=wanted,
                current_version=head.version,
                change=Change.REOPENED,
                retain_until=None,
                key=head.key,
                value=rows.json_value(previous.value),
                purpose=head.purpose,
                said_at=previous.said_at,
                expires_at=head.expires_at,
                policy_version=version,
                audit_id=new_record_id(),
                counts=rows.json_value({_DROPPED: dropped}),
                **prepared.columns(),
                **rows.origin_columns(previous.origin),
            )
            if row is None:
                raise Conflict("The preference changed meanwhile. Read its history again and decide.")
            if environment.again is not None and environment.again.request is not None:
                await transaction.run(
                    _SQL["date_back"],
                    record_id=wanted,
                    version=head.version + 1,
                    requested_at=environment.again.request.requested_at,
                )
            return {_DROPPED: dropped}

        asked = Asked(
            target="record",
            named=_named(wanted, head.version),
            record_ids=(wanted,),
            version=head.version,
            external=caller.life.scope.subject,
            plan=plan,
            audited=False,
        )
        removed = await remove(environment, transaction, asked, PLANNED, act)
    await noted(environment, removed)
    remaining, verified_at = await _read_back(environment, caller, removed, wanted, head.version)
    return report(
        environment,
        replace(
            _erasure(_named(wanted, head.version), now, dry_run=False),
            rows=removed.rows,
            held=removed.held,
            kept=removed.kept,
            erasure_id=removed.erasure_id,
            remaining=remaining,
            verified_at=verified_at,
        ),
    )


async def forget_superseded(
    environment: Environment, caller: Caller, record_id: UUID, version: int
) -> Mapping[str, int]:
    """Forget a version of a preference that is not the current one any more, which stays. Rows removed, by relation.

    Nothing happens where it is the current one, or is not there. Raises LedgerUnavailable, TenantClosed.
    """
    async with environment.database.existing(caller.life, lock=True) as transaction:
        head = await transaction.one(_SQL["head_by_record"], record_id=record_id)
        there = await transaction.one(_SQL["count_version"], record_id=record_id, version=version)
        if head is None or head["version"] <= version or there is None or not there["rows"]:
            return {}

        async def act() -> dict[str, int]:
            dropped = {_DROPPED: await remove_version(transaction, record_id, version)}
            await transaction.audit(
                "reopened",
                "preference",
                policy_version=environment.policy.version,
                record_id=record_id,
                counts=dropped,
            )
            return dropped

        asked = Asked(
            target="record",
            named=_named(record_id, version),
            record_ids=(record_id,),
            version=version,
            external=caller.life.scope.subject,
            audited=False,
        )
        removed = await remove(environment, transaction, asked, PLANNED, act)
    await noted(environment, removed)
    await _read_back(environment, caller, removed, record_id, version)
    return removed.rows


async def _read_back(
    environment: Environment, caller: Caller, removed: Removed, record_id: UUID, version: int
) -> tuple[dict[str, int] | None, datetime | None]:
    try:
        async with environment.database.read(caller.life) as transaction:
            left = await transaction.one(_SQL["count_version"], record_id=record_id, version=version)
            if left is None:
                return None, transaction.now
            remaining = {_DROPPED: int(left["rows"])}
            await settle_rows(transaction, removed, remaining)
            return remaining, transaction.now
    except Unavailable:
        return None, None


def _named(record_id: UUID, version: int) -> str:
    """What the plan is of."""
    return f"{record_id} {version}"


def _erasure(named: str, now: datetime, *, dry_run: bool) -> Erasure:
    """One version goes, whatever else the chain has."""
    return Erasure(
        target="record",
        named=named,
        planned=PLANNED,
        requested_at=now,
        dry_run=dry_run,
        chain=Chain.REOPENED,
        lives=1,
    )


async def _chain(transaction: Transaction, record_id: UUID) -> tuple[Preference, PreferenceVersion]:
    """The current value, locked, and the version before it."""
    head = await transaction.one(_SQL["head_by_record"], record_id=record_id)
    if head is None:
        raise NotFound("No preference by this id in this scope.")
    previous = await transaction.one(_SQL["previous"], record_id=record_id, version=head["version"])
    if previous is None:
        raise NotFound("No earlier value of this preference is kept. Use forget to remove the preference.")
    if is_same(previous["value"], head["value"]):
        raise NotFound(
            "The version before says the same, so that this value would not be gone. Use forget to remove the "
            "preference with its history, then state the value that is to hold."
        )
    return rows.preference(head), rows.preference_version(previous)
