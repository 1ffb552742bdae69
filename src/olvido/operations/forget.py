"""Forget one record or one subject: counted, deleted in one transaction, read back after commit (rules 18 to 25)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.identifiers import record_uuid
from olvido.domain.lineage import handed_over
from olvido.domain.report import Chain, ForgetReport, local_copies, outside_copies, overall, plan_hash
from olvido.errors import SubjectForgotten, Unavailable
from olvido.operations.environment import Caller, Environment
from olvido.storage.data_map import FORGOTTEN
from olvido.storage.database import Transaction
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
FROM_SESSIONS = ("sessions", "session_facts", None)
"""Relations of a record that may have been handed over. None: it is there no more, and what it was is not known."""
_REMOVE = {
    "preferences": remove_preferences,
    "episodes": remove_episodes,
    "summaries": remove_summaries,
    "sessions": remove_sessions,
    "session_facts": remove_facts,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """What one forget counted, removed and read back, by relation.

    remaining and verified_at: of the read-back after commit; None if it was not made (a dry run) or failed.
    """

    target: str
    key: str
    planned: Mapping[str, int]
    removed: Mapping[str, int]
    requested_at: datetime
    dry_run: bool
    remaining: Mapping[str, int] | None = None
    verified_at: datetime | None = None
    chain: Chain | None = None
    lives: int = 0
    handed_over: tuple[UUID, ...] = ()


async def forget_subject(environment: Environment, caller: Caller, *, dry_run: bool = False) -> ForgetReport:
    """Forget everything about the subject of this scope, and end this life of it.

    Later writes through handles that knew this life are refused. A second call finds nothing and succeeds.
    Raises SubjectForgotten if this handle's life is over and the person has come back since: what is stored now was
    consented to afterwards, and a new handle forgets it. Raises TenantClosed, Conflict (then
    nothing was removed), and DatabaseUnavailable, whose message says whether that is known; ask again then.
    """
    removed: Mapping[str, int] = {}
    async with environment.database.existing(caller.life) as transaction:
        now, key = transaction.now, transaction.key
        if transaction.over and await transaction.one(_SQL["lives"], external=caller.life.scope.subject) is not None:
            raise SubjectForgotten(RETURNED)
        if dry_run:
            planned = await count_life(transaction)
        else:
            planned, removed = await forget_life(transaction, environment.policy.version)
    scope = caller.life.scope
    remaining, verified_at = (
        (None, None) if dry_run else await read_back(environment, scope.tenant, key, external=scope.subject)
    )
    return report(
        environment,
        Erasure(
            target="subject",
            key="" if key is None else str(key),
            planned=planned,
            removed=removed,
            requested_at=now,
            dry_run=dry_run,
            remaining=remaining,
            verified_at=verified_at,
            lives=int(any(planned.values())),
        ),
    )


async def forget_record(
    environment: Environment, caller: Caller, record_id: UUID | str, *, dry_run: bool = False
) -> ForgetReport:
    """Forget one record, expired or not, with everything derived from it.

    record_id: a preference (its whole chain of versions), an episode, a summary, a session or a fact of one.
    An id that is not in this scope, and one that never was, are answered alike: found is False and nothing happened.
    Episodes that a session was handed over to remain, and the report names them, also after the session is gone.
    Raises InvalidScope, TenantClosed, Conflict, DatabaseUnavailable.
    """
    wanted = record_uuid(record_id, "record_id")
    removed: Mapping[str, int] = {}
    chain = None
    async with environment.database.existing(caller.life, lock=not dry_run) as transaction:
        now, key = transaction.now, transaction.key
        located = await transaction.one(_SQL["locate"], record_id=wanted)
        relation = None if located is None else located["relation"]
        if relation is not None and not dry_run:
            # Held before it is counted, so that what is removed is what was planned.
            await transaction.reorganise()
            if await transaction.one(_SQL[f"hold_{relation}"], record_id=wanted) is None:
                relation = None
        planned = await _count_record(transaction, wanted)
        remaining_episodes = await _handed_over(transaction, wanted) if relation in FROM_SESSIONS else ()
        if relation is not None and not dry_run:
            removed = await _REMOVE[relation](transaction, [wanted])
            chain = Chain.FORGOTTEN if relation == "preferences" else None
            await transaction.audit(
                "forget",
                "record",
                policy_version=environment.policy.version,
                record_id=wanted,
                counts=removed,
            )
    remaining, verified_at = (
        (None, None) if dry_run else await read_back(environment, caller.life.scope.tenant, key, record_id=wanted)
    )
    return report(
        environment,
        Erasure(
            target="record",
            key=str(wanted),
            planned=planned,
            removed=removed,
            requested_at=now,
            dry_run=dry_run,
            remaining=remaining,
            verified_at=verified_at,
            chain=chain,
            lives=int(relation is not None),
            handed_over=remaining_episodes,
        ),
    )


async def forget_life(transaction: Transaction, policy_version: str) -> tuple[dict[str, int], dict[str, int]]:
    """Delete one life by the data map, in the caller's transaction. Rows planned and removed, by relation."""
    if transaction.key is None:
        return dict(NOTHING), {}
    await transaction.queue(_SQL["queue_for_life"])
    if await transaction.one(_DATA_MAP["lock_subject"]) is None:
        return dict(NOTHING), {}
    planned = await count_life(transaction)
    removed = dict(await remove_life(transaction))
    await transaction.audit("forget", "subject", policy_version=policy_version, counts=removed)
    return planned, removed


async def count_life(transaction: Transaction) -> dict[str, int]:
    """Rows of the scope in each relation that a forget empties."""
    return {row["relation"]: row["rows"] for row in await transaction.all(_DATA_MAP["counts"])}


async def read_back(
    environment: Environment,
    tenant: str,
    key: UUID | None,
    *,
    external: str | None = None,
    record_id: UUID | None = None,
    worker: bool = False,
) -> tuple[dict[str, int] | None, datetime | None]:
    """Count again after the commit, in a transaction of its own: rows by relation, and when. None if it failed."""
    try:
        async with environment.database.remains(tenant, key, external=external, worker=worker) as transaction:
            if record_id is None:
                return await count_life(transaction), transaction.now
            return await _count_record(transaction, record_id), transaction.now
    except Unavailable:
        log.warning("read-back failed", extra={"action": "forget_unverified"})
        return None, None


def report(environment: Environment, erasure: Erasure) -> ForgetReport:
    """Put the measured counts together; the outside copies come from the policy and are open."""
    copies = local_copies(erasure.planned, erasure.removed, erasure.remaining, dry_run=erasure.dry_run)
    log.info(
        "forget",
        extra={"action": "forget", "target": erasure.target, "rows": sum(erasure.removed.values())},
    )
    return ForgetReport(
        target=erasure.target,
        found=erasure.lives > 0,
        dry_run=erasure.dry_run,
        status=overall(copies, dry_run=erasure.dry_run),
        plan_hash=plan_hash(erasure.target, erasure.key, erasure.planned),
        lives=erasure.lives,
        copies=copies,
        outside=outside_copies(environment.policy.copies, erasure.requested_at),
        requested_at=erasure.requested_at,
        verified_at=erasure.verified_at,
        chain=erasure.chain,
        handed_over=erasure.handed_over,
    )


async def _handed_over(transaction: Transaction, record_id: UUID) -> tuple[UUID, ...]:
    """The episodes that the session by this id, or the session of the fact by this id, was handed over to."""
    fact_of = await transaction.all(_SESSIONS["of_fact"], record_id=record_id)
    events = [handed_over(session) for session in (record_id, *(row["record_id"] for row in fact_of))]
    found = await transaction.all(_SESSIONS["handed_over"], event_ids=events)
    return tuple(row["record_id"] for row in found)


async def _count_record(transaction: Transaction, record_id: UUID) -> dict[str, int]:
    found = await transaction.all(_SQL["count_record"], record_id=record_id)
    return {row["relation"]: row["rows"] for row in found}
