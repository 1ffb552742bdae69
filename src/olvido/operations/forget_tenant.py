"""Forget a company: close it first, then forget it subject by subject, each in a transaction of its own (rule 18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from olvido.domain.identifiers import required_identifier
from olvido.domain.report import ForgetReport
from olvido.operations.environment import Environment
from olvido.operations.forget import NOTHING, Erasure, count_life, forget_life, read_back, report
from olvido.storage.queries import statements

LIVES_AT_ONCE = 100

_SQL = statements("removal")


async def forget_tenant(
    environment: Environment,
    tenant: str,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ForgetReport:
    """Close `tenant` and forget everyone in it; it stays closed, also if this call is cut short: call again to go on.

    progress: called with the subjects forgotten so far and how many there were. The counts of the report add up those
    of the subjects. Raises InvalidScope, UnsafeDatabase if the login is not a worker, DatabaseUnavailable.
    """
    required_identifier(tenant, "tenant")
    database = environment.database
    async with database.administer(tenant) as transaction:
        now = transaction.now
        if not dry_run:
            await transaction.queue(_SQL["queue_for_tenant"])
            await transaction.run(_SQL["know_tenant"])
            await transaction.one(_SQL["lock_tenant"])
            await transaction.run(_SQL["close_tenant"])
            await transaction.audit("closed", "tenant", policy_version=environment.policy.version)
        size = await transaction.one(_SQL["tenant_size"])
    total = 0 if size is None else size["lives"]
    planned, removed, remaining = Counter(NOTHING), Counter[str](), Counter[str]()
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
                gone: dict[str, int] = {}
                if dry_run:
                    counted = await count_life(transaction)
                else:
                    counted, gone = await forget_life(transaction, environment.policy.version)
                planned.update(counted)
                removed.update(gone)
            if not dry_run:
                left, _ = await read_back(environment, tenant, after, worker=True)
                remaining.update(left or {})
                unverified = unverified or left is None
            lives += int(any(counted.values()))
            if progress is not None:
                progress(lives, total)
    verified_at = None
    if not dry_run and not unverified:
        async with database.administer(tenant) as transaction:
            size, verified_at = await transaction.one(_SQL["tenant_size"]), transaction.now
        remaining["subjects"] = 0 if size is None else size["lives"]
    return report(
        environment,
        Erasure(
            target="tenant",
            key=tenant,
            planned=planned,
            removed=removed,
            requested_at=now,
            dry_run=dry_run,
            remaining=None if verified_at is None else remaining,
            verified_at=verified_at,
            lives=lives,
        ),
    )
