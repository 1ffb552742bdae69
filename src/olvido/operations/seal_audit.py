"""Seal the audit: chain committed rows in batches, company by company, and write down elsewhere how far it got."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from olvido.domain.audit import (
    GENESIS,
    LATEST,
    QUIET_SHARE,
    ROWS_A_SEAL,
    SOONEST,
    Anchor,
    SealReport,
    row_digests,
    seal_digest,
)
from olvido.domain.identifiers import required_identifier
from olvido.errors import InvalidInput, KeysUnavailable
from olvido.operations.environment import Environment
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

log = logging.getLogger("olvido.audit")

LEASE = timedelta(minutes=1)
"""For how long whoever took a company has it to itself. It is over at once when the batch is sealed."""
COMPANIES_AT_ONCE = 100

_SQL = statements("audit_seals")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Batch:
    """What one transaction sealed. head: the last seal of the company now. full: there may be more rows to seal."""

    rows: int
    head: Anchor
    oldest_at: datetime | None
    full: bool


async def seal_audit(
    environment: Environment,
    *,
    tenant: str | None = None,
    only_due: bool = False,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> SealReport:
    """Put every committed row of the audit under a seal. Several processes may run this at once.

    tenant: of this company only. only_due: leave out companies that were looked at a short while ago, as a worker does,
    who comes again. limit: end after so many rows, or so many companies, 1 or more; None is when nothing is left.
    progress: called with the rows sealed so far. Where no place for keys and anchors is known, seals are not anchored,
    and a removal of the newest ones would not be noticed.
    Raises InvalidScope, InvalidInput, and UnsafeDatabase if the login is not a worker.
    """
    if tenant is not None:
        required_identifier(tenant, "tenant")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput("limit must be a whole number, 1 or more, or None.")
    sealing = _Sealing(environment, limit, progress)
    if tenant is not None:
        await sealing.drain(tenant)
    elif only_due:
        await sealing.take_due()
    else:
        async for company in companies(environment):
            await sealing.drain(company)
            if sealing.is_at_limit:
                break
    return await sealing.report()


async def companies(environment: Environment) -> AsyncIterator[str]:
    """Every company that has an audit to seal, in the order of their names."""
    after = ""
    while True:
        async with environment.database.administer() as transaction:
            found = await transaction.all(_SQL["companies"], after=after, batch=COMPANIES_AT_ONCE)
        for row in found:
            after = row["tenant_id"]
            yield after
        if len(found) < COMPANIES_AT_ONCE:
            return


class _Sealing:
    """One call on its way through the companies."""

    def __init__(self, environment: Environment, limit: int | None, progress: Callable[[int], None] | None) -> None:
        self._environment = environment
        self._limit = limit
        self._progress = progress
        self._companies: set[str] = set()
        self._looks = self._seals = self._rows = self._anchored = self._not_anchored = 0
        self._longest: timedelta | None = None

    @property
    def is_at_limit(self) -> bool:
        """Whether as much was sealed, or looked at, as was to be."""
        return self._limit is not None and max(self._rows, self._looks) >= self._limit

    async def take_due(self) -> None:
        """One batch of each company that is due, in turn, so that a busy one keeps no other waiting."""
        async with self._environment.database.administer() as transaction:
            await transaction.run(_SQL["set_right"], latest=LATEST)
        while not self.is_at_limit:
            async with self._environment.database.administer() as transaction:
                row = await transaction.one(_SQL["claim"], until=transaction.now + LEASE)
            if row is None:
                return
            await self._batch(row["tenant_id"])

    async def drain(self, tenant: str) -> None:
        """Batch after batch of one company."""
        while await self._batch(tenant) and not self.is_at_limit:
            pass

    async def report(self) -> SealReport:
        """What came of it."""
        async with self._environment.database.administer() as transaction:
            now = transaction.now
        if self._rows:
            log.info("sealed", extra={"action": "seal", "seals": self._seals, "rows": self._rows})
        return SealReport(
            seals=self._seals,
            rows=self._rows,
            companies=len(self._companies),
            anchored=self._anchored,
            not_anchored=self._not_anchored,
            longest_unsealed=self._longest,
            limit_reached=self.is_at_limit,
            sealed_at=now,
        )

    async def _batch(self, tenant: str) -> bool:
        """Seal a batch and anchor the head; whether there may be more."""
        async with self._environment.database.administer(tenant) as transaction:
            if await transaction.one(_SQL["lock"]) is None:
                return False
            batch = await _seal(transaction)
            await transaction.run(_SQL["rest"], at_once=batch.full, share=QUIET_SHARE, soonest=SOONEST, latest=LATEST)
        self._looks += 1
        self._companies.add(tenant)
        if batch.rows:
            self._seals += 1
            self._rows += batch.rows
            if batch.oldest_at is not None:
                self._longest = max(self._longest or timedelta(), batch.head.at - batch.oldest_at)
            if self._progress is not None:
                self._progress(self._rows)
        await self._anchor(batch)
        return batch.full

    async def _anchor(self, batch: _Batch) -> None:
        """Write the head down, unless it is: whoever sealed it may have died before that."""
        anchors = self._environment.anchors
        if anchors is None or batch.head.seal == 0:
            return
        try:
            if batch.rows or await anchors.last(batch.head.tenant) < batch.head.seal:
                await anchors.append(batch.head)
                self._anchored += 1
        except KeysUnavailable:
            self._not_anchored += 1
            log.warning("seal not anchored", extra={"action": "seal_not_anchored", "seal": batch.head.seal})


async def _seal(transaction: Transaction) -> _Batch:
    """One batch under one seal, in the caller's transaction, which holds the company."""
    head = await transaction.one(_SQL["head"])
    if head is None:
        raise LookupError  # the statement answers one row, whatever is there
    before = head["digest"] or GENESIS
    found = await transaction.all(_SQL["unsealed"], batch=ROWS_A_SEAL)
    if not found:
        standing = Anchor(tenant=transaction.tenant, seal=head["seal"], digest=before, at=transaction.now)
        return _Batch(rows=0, head=standing, oldest_at=None, full=False)
    seal = head["seal"] + 1
    digests = await asyncio.to_thread(row_digests, [row["row"] for row in found])
    digest = seal_digest(transaction.tenant, seal, before, head["now"], digests)
    await transaction.run(_SQL["insert"], seal=seal, rows=len(found), digest=digest, previous=before)
    await transaction.run(_SQL["mark"], seal=seal, audit_ids=[row["audit_id"] for row in found])
    return _Batch(
        rows=len(found),
        head=Anchor(tenant=transaction.tenant, seal=seal, digest=digest, at=transaction.now),
        oldest_at=min((row["at"] for row in found if row["at"] is not None), default=None),
        full=len(found) == ROWS_A_SEAL,
    )
