"""Forget records or a subject: counted, deleted in one transaction, read back after commit (rules 18 to 25)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from olvido.domain.copies import RegisteredCopy, declared_copies
from olvido.domain.erasure import RECORDS
from olvido.domain.identifiers import record_uuid
from olvido.domain.lineage import handed_over
from olvido.domain.report import Chain, ForgetReport, HeldRecord, Plan, local_copies, outside_copies, overall, plan_hash
from olvido.domain.selection import named as named_by
from olvido.errors import SubjectForgotten, Unavailable
from olvido.operations.consent import taken_in
from olvido.operations.environment import Caller, Environment
from olvido.operations.erasure_requests import Asked, Removed, noted, remove, settle_rows
from olvido.storage.data_map import FORGOTTEN
from olvido.storage.database import Transaction
from olvido.storage.holds import would_keep
from olvido.storage.queries import statements
from olvido.storage.removal import (
    remove_episodes,
    remove_facts,
    remove_life,
    remove_preferences,
    remove_sessions,
    remove_summaries,
)

log = logging.getLogger("olvido.forget")

_SQL = statements("removal")
_DATA_MAP = statements("data_map")
_SESSIONS = statements("sessions")

RETURNED = (
    "This subject was forgotten after this handle was first used, and has come back since. Nothing was removed. "
    "To forget what is stored now, take a new handle with memory.scope(...)."
)
NOTHING = dict.fromkeys(FORGOTTEN, 0)
_REMOVE = {
    "summaries": remove_summaries,
    "episodes": remove_episodes,
    "preferences": remove_preferences,
    "session_facts": remove_facts,
    "sessions": remove_sessions,
}

Choose = Callable[[Transaction, tuple[UUID, ...] | None], Awaitable[tuple[UUID, ...]]]
"""Which records of a scope to forget. Asked again with its first answer once those are held: which of them still."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """What one forget counted, removed and read back, by relation.

    target, named: what it and its plan are of. rows: removed. kept: of these, rows that a legal hold keeps. erasure_id:
    None if nothing was removed, or by several requests. remaining and verified_at: of the read-back after commit; None
    if it was not made (a dry run) or failed.
    """

    target: str
    named: str
    planned: Mapping[str, int]
    requested_at: datetime
    dry_run: bool
    rows: Mapping[str, int] = field(default_factory=dict)
    held: tuple[HeldRecord, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    erasure_id: UUID | None = None
    remaining: Mapping[str, int] | None = None
    verified_at: datetime | None = None
    chain: Chain | None = None
    lives: int = 0
    handed_over: tuple[UUID, ...] = ()


async def forget_subject(
    environment: Environment, caller: Caller, *, dry_run: bool = False, plan: Plan | None = None
) -> ForgetReport:
    """Forget everything about the subject of this scope, and end this life of it.

    Later writes through handles that knew this life are refused. A second call finds nothing and succeeds.
    plan: of a dry run; nothing happens if it does not hold any more, beyond `limits.plan_drift` of the policy.
    Raises SubjectForgotten if this handle's life is over and the person has come back since: what is stored now was
    consented to afterwards, and a new handle forgets it. Raises PlanChanged, LedgerUnavailable, TenantClosed, Conflict
    (then nothing was removed), and DatabaseUnavailable, whose message says whether that is known; ask again then.
    """
    removed = None
    scope = caller.life.scope
    async with environment.database.existing(caller.life) as transaction:
        now, key = transaction.now, transaction.key
        held: tuple[HeldRecord, ...] = ()
        if transaction.over and await transaction.one(_SQL["lives"], external=scope.subject) is not None:
            raise SubjectForgotten(RETURNED)
        if dry_run:
            planned, held = await count_life(transaction), await would_keep(transaction, None)
        else:
            planned, removed = await forget_life(
                environment, transaction, target="subject", external=scope.subject, plan=plan
            )
    await noted(environment, removed)
    remaining, verified_at = (
        (None, None)
        if dry_run
        else await read_back(environment, scope.tenant, key, removed=removed, external=scope.subject)
    )
    return report(
        environment,
        Erasure(
            target="subject",
            named="" if key is None else str(key),
            planned=planned,
            requested_at=now,
            dry_run=dry_run,
            rows={} if removed is None else removed.rows,
            held=held if removed is None else removed.held,
            kept=transaction.kept,
            erasure_id=None if removed is None else removed.erasure_id,
            remaining=remaining,
            verified_at=verified_at,
            lives=int(any(planned.values())),
        ),
    )


async def forget_record(
    environment: Environment,
    caller: Caller,
    record_id: UUID | str,
    *,
    dry_run: bool = False,
    plan: Plan | None = None,
) -> ForgetReport:
    """Forget one record, expired or not, with everything derived from it.

    record_id: a preference (its whole chain of versions), an episode, a summary, a session or a fact of one.
    An id that is not in this scope, and one that never was, are answered alike: found is False and nothing happened.
    Episodes that a session was handed over to remain, and the report names them, also after the session is gone.
    plan: as `forget_subject` takes it. Raises InvalidScope, PlanChanged, LedgerUnavailable, TenantClosed, Conflict,
    DatabaseUnavailable.
    """
    wanted = record_uuid(record_id, "record_id")

    async def choose(_: Transaction, __: tuple[UUID, ...] | None) -> tuple[UUID, ...]:
        return (wanted,)

    return await forget_records(
        environment, caller, choose, target="record", named=str(wanted), dry_run=dry_run, plan=plan
    )


async def forget_records(
    environment: Environment,
    caller: Caller,
    choose: Choose,
    *,
    target: str,
    named: str | None = None,
    dry_run: bool = False,
    plan: Plan | None = None,
) -> ForgetReport:
    """Forget some records of one scope together, in one transaction and one request.

    target, named: what the report and the plan are of; None is of exactly the records that are chosen. Ids that are not
    in this scope do nothing.
    """
    removed = None
    held: tuple[HeldRecord, ...] = ()
    async with environment.database.existing(caller.life, lock=not dry_run) as transaction:
        now, key = transaction.now, transaction.key
        record_ids = await choose(transaction, None)
        located = await _locate(transaction, record_ids)
        if dry_run:
            held = await would_keep(transaction, record_ids)
        elif located:
            # Held before they are counted, so that what is removed is what was planned.
            await transaction.reorganise()
            for relation, ids in located.items():
                locked = await transaction.all(_SQL[f"hold_{relation}"], record_ids=ids)
                located[relation] = [row["record_id"] for row in locked]
            record_ids = await choose(transaction, record_ids)
            chosen = set(record_ids)
            located = {relation: [each for each in ids if each in chosen] for relation, ids in located.items()}
        found = any(located.values())
        named = named_by(record_ids) if named is None else named
        planned = await _count_records(transaction, record_ids)
        handed = await _handed_over(transaction, record_ids, located)
        if found and not dry_run:

            async def act() -> Counter[str]:
                counts: Counter[str] = Counter()
                for relation, ids in located.items():
                    if ids:
                        counts.update(await _REMOVE[relation](transaction, ids))
                return counts

            asked = Asked(
                target=target,
                named=named,
                record_ids=tuple(each for ids in located.values() for each in ids),
                external=caller.life.scope.subject,
                plan=plan,
            )
            removed = await remove(environment, transaction, asked, planned, act)
    await noted(environment, removed)
    remaining, verified_at = (
        (None, None)
        if dry_run
        else await read_back(environment, caller.life.scope.tenant, key, removed=removed, record_ids=record_ids)
    )
    return report(
        environment,
        Erasure(
            target=target,
            named=named,
            planned=planned,
            requested_at=now,
            dry_run=dry_run,
            rows={} if removed is None else removed.rows,
            held=held if removed is None else removed.held,
            kept=transaction.kept,
            erasure_id=None if removed is None else removed.erasure_id,
            remaining=remaining,
            verified_at=verified_at,
            chain=Chain.FORGOTTEN if removed is not None and located.get("preferences") else None,
            lives=int(found),
            handed_over=handed,
        ),
    )


async def forget_life(
    environment: Environment,
    transaction: Transaction,
    *,
    target: str,
    external: str | None = None,
    plan: Plan | None = None,
    worker: bool = False,
) -> tuple[dict[str, int], Removed | None]:
    """Delete one life by the data map, in the caller's transaction. Rows planned by relation, and what was removed.

    worker: whether the transaction is a worker's.
    """
    if transaction.key is None:
        return dict(NOTHING), None
    await transaction.queue(_SQL["queue_for_life"])
    if await transaction.one(_DATA_MAP["lock_subject"]) is None:
        return dict(NOTHING), None
    planned = await count_life(transaction)
    asked = Asked(
        target=target,
        named=str(transaction.key),
        external=external,
        plan=plan,
        took_in=await taken_in(environment, transaction, worker=worker),
    )

    async def act() -> Counter[str]:
        return await remove_life(transaction)

    return planned, await remove(environment, transaction, asked, planned, act)


async def count_life(transaction: Transaction) -> dict[str, int]:
    """Rows of the scope in each relation that a forget empties."""
    return {row["relation"]: row["rows"] for row in await transaction.all(_DATA_MAP["counts"])}


async def read_back(
    environment: Environment,
    tenant: str,
    key: UUID | None,
    *,
    removed: Removed | None = None,
    external: str | None = None,
    record_ids: tuple[UUID, ...] | None = None,
    worker: bool = False,
) -> tuple[dict[str, int] | None, datetime | None]:
    """Count again after the commit, in a transaction of its own: rows by relation, and when. None if it failed.

    removed: whose evidence this is; None if nothing was.
    """
    try:
        async with environment.database.remains(tenant, key, external=external, worker=worker) as transaction:
            if record_ids is None:
                remaining = await count_life(transaction)
            else:
                remaining = await _count_records(transaction, record_ids)
            if removed is not None:
                await settle_rows(transaction, removed, remaining)
            return remaining, transaction.now
    except Unavailable:
        log.warning("read-back failed", extra={"action": "forget_unverified"})
        return None, None


def report(environment: Environment, erasure: Erasure) -> ForgetReport:
    """Put the measured counts together; the outside copies come from the policy and are open."""
    copies = local_copies(erasure.planned, erasure.rows, erasure.remaining, kept=erasure.kept, dry_run=erasure.dry_run)
    log.info("forget", extra={"action": "forget", "target": erasure.target, "rows": sum(erasure.rows.values())})
    return ForgetReport(
        target=erasure.target,
        found=erasure.lives > 0,
        dry_run=erasure.dry_run,
        status=overall(copies, dry_run=erasure.dry_run),
        plan_hash=plan_hash(erasure.target, erasure.named, erasure.planned),
        lives=erasure.lives,
        copies=copies,
        outside=outside_copies(_declared(environment, erasure), erasure.requested_at),
        requested_at=erasure.requested_at,
        verified_at=erasure.verified_at,
        chain=erasure.chain,
        handed_over=erasure.handed_over,
        held=erasure.held,
        erasure_id=erasure.erasure_id,
    )


def _declared(environment: Environment, erasure: Erasure) -> list[RegisteredCopy]:
    """The copies of the policy. Records are for the holder of one whose connector knows no single ones."""
    copies = declared_copies(environment.policy.copies, erasure.requested_at)
    if erasure.target not in RECORDS:
        return list(copies)
    by_hand = {name for name, connector in environment.connectors.items() if not connector.by_record}
    return [copy.by_hand() if copy.connector in by_hand else copy for copy in copies]


async def _locate(transaction: Transaction, record_ids: tuple[UUID, ...]) -> dict[str, list[UUID]]:
    """The records that are there, by relation, in the order in which relations are emptied."""
    found: dict[str, list[UUID]] = {}
    for row in await transaction.all(_SQL["locate"], record_ids=list(record_ids)):
        found.setdefault(row["relation"], []).append(row["record_id"])
    return {relation: found[relation] for relation in _REMOVE if relation in found}


async def _handed_over(
    transaction: Transaction, record_ids: tuple[UUID, ...], located: Mapping[str, Sequence[UUID]]
) -> tuple[UUID, ...]:
    """The episodes that these sessions, or the sessions of these facts, were handed over to; not those that go too."""
    gone = set(record_ids) - {record_id for ids in located.values() for record_id in ids}
    sessions = gone | set(located.get("sessions", ())) | set(located.get("session_facts", ()))
    if not sessions:
        return ()
    fact_of = await transaction.all(_SESSIONS["of_facts"], record_ids=list(sessions))
    events = [handed_over(session) for session in {*sessions, *(row["record_id"] for row in fact_of)}]
    found = await transaction.all(_SESSIONS["handed_over"], event_ids=events)
    return tuple(row["record_id"] for row in found if row["record_id"] not in record_ids)


async def _count_records(transaction: Transaction, record_ids: tuple[UUID, ...]) -> dict[str, int]:
    found = await transaction.all(_SQL["count_records"], record_ids=list(record_ids))
    return {row["relation"]: row["rows"] for row in found}
