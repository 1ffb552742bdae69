"""What was forgotten here and may not come back without a new consent, as far as it can be known (rules 20 and 24).

The audit log knows it by random keys only. An export says which life it is of, so that a forget of that life, or of one
that took the export in, is found. Lines of a file name a person; whether a forget was of that person cannot be found
out afterwards, only that it was before their life here began.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from olvido.errors import ConsentNeeded, UnsafeDatabase
from olvido.operations.environment import Caller, Environment
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.rows import utc_or_none

_SQL = statements("audit_log")


async def forgotten_until(environment: Environment, caller: Caller) -> datetime | None:
    """The last forget that may have been of this person (UTC), or None if none can have been.

    That is any forget of a subject of this tenant from before this person's present life began, and any forget inside
    this life. A record whose event is later is not among what was forgotten then.
    Raises UnsafeDatabase without a worker's login, TenantClosed.
    """
    await environment.database.pin(caller.life)
    return await last_forget(environment, caller.life.scope.tenant, caller.life.key)


async def last_forget(environment: Environment, tenant: str, life: UUID | None) -> datetime | None:
    """The same of the person whose life this is, None if none has begun or its transaction has not ended."""
    async with _audit(environment, tenant) as transaction:
        row = await transaction.one(_SQL["forgotten_until"], life=life)
        return None if row is None else utc_or_none(row["at"])


async def refuse_ended(environment: Environment, tenant: str, life: UUID) -> None:
    """Raise ConsentNeeded if `life`, or a life that took an export of it in, was forgotten in this tenant."""
    async with _audit(environment, tenant) as transaction:
        if await transaction.one(_SQL["ended_life"], life=life) is not None:
            raise ConsentNeeded(
                "Whom this export is of was forgotten here since. Nothing was stored. "
                "If the person consented again, import it with new_consent=True."
            )


async def taken_in(environment: Environment, transaction: Transaction, *, worker: bool) -> tuple[UUID, ...]:
    """The lives whose exports the life of this transaction, which is held, took in. worker: whether it is a worker's.

    A request may not read the audit log: without a worker's login beside it, none is known.
    """
    life = transaction.key
    if worker:
        found = await transaction.all(_SQL["taken_in"], life=life)
    elif environment.database.has_worker:
        async with environment.database.administer(transaction.tenant, asking=True) as beside:
            found = await beside.all(_SQL["taken_in"], life=life)
    else:
        return ()
    return tuple(row["record_id"] for row in found)


async def forgotten_records(
    environment: Environment, tenant: str, lives: Collection[UUID], record_ids: Collection[UUID], *, after: datetime
) -> frozenset[UUID]:
    """Which of `record_ids` were forgotten in one of `lives`, or had a version forgotten from `after` on."""
    async with _audit(environment, tenant) as transaction:
        found = await transaction.all(
            _SQL["forgotten_records"], lives=list(lives), record_ids=list(record_ids), after=after
        )
        return frozenset(row["record_id"] for row in found)


async def revoked_records(environment: Environment, tenant: str, record_ids: Collection[UUID]) -> frozenset[UUID]:
    """Which of `record_ids` were forgotten in whatever life of this tenant, and taken in by none since.

    A record keeps its id through exports and imports, so it is known again in the export of somebody who took it in.
    """
    async with _audit(environment, tenant) as transaction:
        found = await transaction.all(_SQL["revoked"], record_ids=list(record_ids))
        return frozenset(row["record_id"] for row in found)


@asynccontextmanager
async def _audit(environment: Environment, tenant: str) -> AsyncIterator[Transaction]:
    try:
        async with environment.database.administer(tenant, asking=True) as transaction:
            yield transaction
    except UnsafeDatabase:
        raise UnsafeDatabase(
            "An import asks the audit log what was forgotten, which a request may not read. Open with the worker_url "
            "of a login that is a member of olvido_worker, or say new_consent (--new-consent) if the person consented "
            "again."
        ) from None
