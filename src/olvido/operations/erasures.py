"""Look at requests to forget: how far each is with every copy, by what stands in the database."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from olvido.domain.erasure import Step
from olvido.domain.erasure_report import ErasureReport
from olvido.domain.erasure_status import erasure_status
from olvido.domain.identifiers import record_uuid, required_identifier
from olvido.domain.records import Page
from olvido.errors import InvalidCursor, InvalidInput, NotFound
from olvido.operations.environment import Environment
from olvido.operations.ledger_entries import ledger_entries
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.rows import Row

MOST = 1_000

_SQL = statements("erasures")


async def get_erasure(environment: Environment, tenant: str, erasure_id: UUID | str) -> ErasureReport:
    """One request to forget of a company.

    Raises NotFound, InvalidScope, LedgerUnavailable, and UnsafeDatabase if the login is not a worker.
    """
    required_identifier(tenant, "tenant")
    wanted = record_uuid(erasure_id, "erasure_id")
    async with environment.database.administer(tenant) as transaction:
        found = await transaction.all(_SQL["page"], only=wanted, before=None, size=1)
        if not found:
            raise NotFound("There is no request to forget by this id at this company.")
        steps, looked_at = await _steps(transaction, found), transaction.now
    return (await _reports(environment, tenant, found, steps, looked_at))[0]


async def list_erasures(
    environment: Environment, tenant: str, *, limit: int = 100, cursor: str | None = None
) -> Page[ErasureReport]:
    """The requests to forget of a company, the newest first.

    limit: 1 to 1,000. cursor: `next_cursor` of the page before. Raises InvalidScope, InvalidInput, InvalidCursor,
    LedgerUnavailable, and UnsafeDatabase if the login is not a worker.
    """
    required_identifier(tenant, "tenant")
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise InvalidInput(f"limit must be a whole number between 1 and {MOST}.")
    before = None if cursor is None else _position(cursor)
    async with environment.database.administer(tenant) as transaction:
        found = await transaction.all(_SQL["page"], only=None, before=before, size=limit + 1)
        steps, looked_at = await _steps(transaction, found[:limit]), transaction.now
    reports = await _reports(environment, tenant, found[:limit], steps, looked_at)
    return Page(items=tuple(reports), next_cursor=_cursor(reports[-1]) if len(found) > limit else None)


async def _steps(transaction: Transaction, found: Sequence[Row]) -> dict[UUID, list[Step]]:
    """The steps of each of these requests, by its id."""
    ids = [row["erasure_id"] for row in found]
    steps: dict[UUID, list[Step]] = {erasure_id: [] for erasure_id in ids}
    for row in await transaction.all(_SQL["of_requests"], erasure_ids=ids):
        steps[row["erasure_id"]].append(rows.step(row))
    return steps


async def _reports(
    environment: Environment,
    tenant: str,
    found: Sequence[Row],
    steps: Mapping[UUID, Sequence[Step]],
    looked_at: datetime,
) -> list[ErasureReport]:
    entries = await ledger_entries(environment.ledger, tenant, found)
    return [
        _report(row, tuple(steps[row["erasure_id"]]), entries.get(row["erasure_id"]), looked_at=looked_at)
        for row in found
    ]


def _report(row: Row, steps: tuple[Step, ...], entry: int | None, *, looked_at: datetime) -> ErasureReport:
    return ErasureReport(
        tenant=row["tenant_id"],
        erasure_id=row["erasure_id"],
        target=row["target"],
        record_ids=tuple(row["record_ids"]),
        requested_at=rows.utc(row["requested_at"]),
        status=erasure_status(steps),
        planned=row["planned"],
        removed=row["removed"],
        held=row["held"],
        identifier_kept=row["identifier_kept"],
        policy_version=row["policy_version"],
        plan_hash=row["plan_hash"],
        ledger_entry=entry,
        steps=steps,
        looked_at=rows.utc(looked_at),
    )


def _cursor(last: ErasureReport) -> str:
    return base64.urlsafe_b64encode(last.erasure_id.bytes).decode()


def _position(cursor: str) -> UUID:
    try:
        return UUID(bytes=base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise InvalidCursor("This cursor was not handed out here. Start again without one.") from None
