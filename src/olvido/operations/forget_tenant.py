"""Forget a company: close it first, then forget it subject by subject, each in a transaction of its own (rule 18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from olvido.domain.identifiers import required_identifier
from olvido.domain.report import NAMED_REQUESTS, ForgetReport, HeldRecord
from olvido.operations.environment import Environment
from olvido.operations.erasure_requests import Removed, note_applied, noted, take_back
from olvido.operations.forget import NOTHING, Erasure, count_life, forget_life, read_back, report
from olvido.storage.holds import kept_of_tenant, would_keep
from olvido.storage.queries import statements

LIVES_AT_ONCE = 100

_SQL = statements("removal")
_LEDGER = statements("ledger")


async def forget_tenant(
    environment: Environment,
    tenant: str,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ForgetReport:
    """Close `tenant` and forget everyone in it; it stays closed, also if this call is cut short: call again to go on.

    progress: called with the subjects forgotten so far and how many there were. The counts of the report add up those
    of the subjects, and it has the ids of the requests that it left to be followed up; those of a call that was cut
    short are listed with all others of the company. Raises InvalidScope, UnsafeDatabase if the login is not a worker,
    LedgerUnavailable, DatabaseUnavailable.
    """
    required_identifier(tenant, "tenant")
    database = environment.database
    async with database.administer(tenant) as transaction:
        now = transaction.now
    if not dry_run:
        await close_tenant(environment, tenant)
    async with database.administer(tenant) as transaction:
        size = await transaction.one(_SQL["tenant_size"])
    total = 0 if size is None else size["lives"]
    planned, removed, remaining = Counter(NOTHING), Counter[str](), Counter[str]()
    held: list[HeldRecord] = []
    erasure_ids: list[UUID] = []
    kept = Counter[str]()
    unverified, lives = False, 0
    after = None
    while True:
        async with database.administer(tenant) as transaction:
            batch = await transaction.all(_SQL["tenant_lives"], after=after, batch=LIVES_AT_ONCE)
        if not batch:
            break
        for row in batch:
            after = row["subject_key"]
            async with database.work(tenant, after, lock=False) as transaction:
                gone: Removed | None = None
                if dry_run:
                    counted = await count_life(transaction)
                    held.extend(await would_keep(transaction, None))
                else:
                    counted, gone = await forget_life(environment, transaction, target="tenant", worker=True)
                planned.update(counted)
                kept.update(transaction.kept)
            await noted(environment, gone)
            if gone is not None:
                removed.update(gone.rows)
                held.extend(gone.held)
                erasure_ids.append(gone.erasure_id)
            if not dry_run:
                left, _ = await read_back(environment, tenant, after, removed=gone, worker=True)
                remaining.update(left or {})
                unverified = unverified or left is None
            lives += int(any(counted.values()))
            if progress is not None:
                progress(lives, total)
    held = await _with_those_of_before(environment, tenant, held)
    verified_at = None
    if not dry_run and not unverified:
        async with database.administer(tenant) as transaction:
            size, verified_at = await transaction.one(_SQL["tenant_size"]), transaction.now
        remaining["subjects"] = 0 if size is None else size["lives"]
    found = report(
        environment,
        Erasure(
            target="tenant",
            named=tenant,
            planned=planned,
            rows=removed,
            held=tuple(held),
            kept=kept,
            requested_at=now,
            dry_run=dry_run,
            remaining=None if verified_at is None else remaining,
            verified_at=verified_at,
            lives=lives,
        ),
    )
    return replace(found, erasure_ids=tuple(erasure_ids[:NAMED_REQUESTS]), requests=len(erasure_ids))


async def _with_those_of_before(environment: Environment, tenant: str, held: list[HeldRecord]) -> list[HeldRecord]:
    """Of whoever was forgotten earlier, too: a company is not gone while a hold keeps something of it."""
    async with environment.database.administer(tenant) as transaction:
        return list(dict.fromkeys([*held, *await kept_of_tenant(transaction)]))


async def close_tenant(environment: Environment, tenant: str) -> None:
    """Let no life begin in a company any more, here and wherever its database is put back. Closing twice is harmless.

    Raises LedgerUnavailable, UnsafeDatabase, DatabaseUnavailable.
    """
    entry = None
    async with environment.database.administer(tenant) as transaction:
        await transaction.queue(_SQL["queue_for_tenant"])
        await transaction.run(_SQL["know_tenant"])
        await transaction.one(_SQL["lock_tenant"])
        if await transaction.one(_LEDGER["is_closed"]) is None:
            entry = await environment.ledger.intend(tenant, None, None)
        try:
            await transaction.run(_SQL["close_tenant"])
            if entry is not None:
                await transaction.run(_LEDGER["mark"], ledger=environment.ledger.ledger_id, entries=[entry])
            await transaction.audit("closed", "tenant", policy_version=environment.policy.version)
        except BaseException as error:
            if entry is not None:
                await take_back(environment, entry, error)
            raise
    if entry is not None:
        await note_applied(environment, entry)
