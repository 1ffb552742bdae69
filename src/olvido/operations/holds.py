"""Legal holds: place one on a person or a record, see what it keeps, and release it. For a worker's login only.

A hold never keeps anything in a read: what it names is forgotten and expires like everything else, and only then it
is kept apart (`storage.holds`). So a life always ends wholly, and whoever is refused is told why and until when.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.erasure import HOLD
from olvido.domain.holds import HOLD_KEEPS, HeldContent, Hold, HoldReleased, KeptRow, require_basis, require_review
from olvido.domain.identifiers import record_uuid, required_identifier
from olvido.domain.report import HeldRecord
from olvido.errors import InvalidInput, NotFound, Unavailable
from olvido.operations.admission import refuse_secret
from olvido.operations.environment import Environment
from olvido.operations.erasure_requests import Asked, Removed, noted, remove, settle_rows
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.holds import drop_holds
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

log = logging.getLogger("olvido.holds")

_SQL = statements("holds")
_ERASURES = statements("erasures")
_REMOVAL = statements("removal")
_DATA_MAP = statements("data_map")
KEPT = "held_records"

NOBODY = "Nobody by this id has anything stored at this company, so there is nothing that a hold could keep."
NO_RECORD = "No record by this id is stored for this person, so there is nothing that a hold could keep."
NO_HOLD = "No hold by this id at this company."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Standing:
    """A hold with the life that it is of."""

    hold: Hold
    life: UUID


async def place_hold(
    environment: Environment,
    tenant: str,
    *,
    subject: str,
    basis: str,
    review_at: datetime,
    record_id: UUID | str | None = None,
) -> Hold:
    """Keep what is stored of a person, or one record of theirs, until the hold is released.

    record_id: a preference, an episode, a session or a fact of one; None is all that this life of the person has.
    basis: one line of up to 500 characters, such as a file number. Reports show it: it should quote nothing stored.
    Raises NotFound if there is nothing to keep, InvalidScope, InvalidValue, InvalidTime, InvalidInput (a summary),
    SecretRefused, and UnsafeDatabase without a worker's login.
    """
    required_identifier(tenant, "tenant")
    required_identifier(subject, "subject")
    wanted = None if record_id is None else record_uuid(record_id, "record_id")
    reason = require_basis(basis)
    refuse_secret(reason, "basis")
    database = environment.database
    async with database.administer(tenant) as transaction:
        known = await transaction.one(_REMOVAL["lives"], external=subject)
    if known is None:
        raise NotFound(NOBODY)
    async with database.work(tenant, known["subject_key"], lock=False) as transaction:
        # Alone with the life: whoever removes something of it is done, or will see this hold.
        await transaction.queue(_REMOVAL["queue_for_life"])
        if await transaction.one(_DATA_MAP["lock_subject"]) is None:
            raise NotFound(NOBODY)
        review = require_review(review_at, transaction.now)
        if wanted is not None:
            await _require_record(transaction, wanted)
        hold_id = new_record_id()
        await transaction.run(_SQL["place"], hold_id=hold_id, record_id=wanted, basis=reason, review_at=review)
        await transaction.audit("hold_placed", "hold", policy_version=environment.policy.version, record_id=hold_id)
        placed_at = rows.utc(transaction.now)
    log.info("hold placed", extra={"action": "hold_placed", "hold": str(hold_id)})
    return Hold(
        hold_id=hold_id,
        subject=subject,
        record_id=wanted,
        basis=reason,
        review_at=review,
        placed_at=placed_at,
        kept=0,
    )


async def list_holds(environment: Environment, tenant: str) -> tuple[Hold, ...]:
    """The holds of a company, those to be reviewed first. Raises InvalidScope, UnsafeDatabase."""
    required_identifier(tenant, "tenant")
    async with environment.database.administer(tenant) as transaction:
        return tuple(_hold(row) for row in await transaction.all(_SQL["all"], hold_id=None))


async def get_hold(environment: Environment, tenant: str, hold_id: UUID | str) -> Hold:
    """One hold. Raises NotFound, InvalidScope, UnsafeDatabase."""
    return (await _standing(environment, tenant, hold_id)).hold


async def hold_content(environment: Environment, tenant: str, hold_id: UUID | str) -> HeldContent:
    """What one hold keeps of records that are forgotten or purged. That somebody looked is written in the audit log.

    What the hold names and is still stored as usual is not in it. Raises NotFound, InvalidScope, UnsafeDatabase.
    """
    found = await _standing(environment, tenant, hold_id)
    async with environment.database.remains(tenant, found.life, worker=True) as transaction:
        content = await transaction.all(_SQL["content"], hold_id=found.hold.hold_id)
        await transaction.audit(
            "hold_read",
            "hold",
            policy_version=environment.policy.version,
            record_id=found.hold.hold_id,
            counts={KEPT: len(content)},
        )
    return HeldContent(hold=found.hold, rows=tuple(_row(row) for row in content))


async def release_hold(environment: Environment, tenant: str, hold_id: UUID | str) -> HoldReleased:
    """End a hold and delete what it kept. What it named and is still stored stays, and can be forgotten from now on.

    This is a request of its own: its entry in the ledger names the hold, so that a database which is put back does not
    keep by it either, and a worker follows it up in files, log and backups. So it does at once with what was forgotten
    under the hold. What another hold keeps as well is not gone by this, and the request is open until that one ends.
    Raises NotFound, InvalidScope, LedgerUnavailable (the hold stands then), UnsafeDatabase.
    """
    found = await _standing(environment, tenant, hold_id)
    wanted, version = found.hold.hold_id, environment.policy.version
    async with environment.database.remains(tenant, found.life, worker=True) as transaction:
        # As for placing one: whoever removes something of this life is done, or will find the hold gone.
        await transaction.queue(_REMOVAL["queue_for_life"])
        standing = await transaction.one(_SQL["all"], hold_id=wanted)
        if standing is None:
            raise NotFound(NO_HOLD)
        kept = int(standing["kept"])

        async def act() -> Mapping[str, int]:
            also = await transaction.all(_SQL["kept_elsewhere"], hold_id=wanted)
            # Whose the records were is no record, and counts only where it is all that another hold keeps.
            transaction.held.extend(map(_held, [row for row in also if row["record_id"] != found.life] or also))
            dropped = {KEPT: await drop_holds(transaction, [wanted])}
            await transaction.run(_ERASURES["unblock"], reason=HOLD_KEEPS)
            await transaction.audit("hold_released", "hold", policy_version=version, record_id=wanted, counts=dropped)
            return dropped

        asked = Asked(target=HOLD, named=str(wanted), record_ids=(wanted,), audited=False, inside=True)
        removed = await remove(environment, transaction, asked, {KEPT: kept}, act)
        released_at = rows.utc(transaction.now)
    await noted(environment, removed)
    remaining = await _read_back(environment, tenant, found.life, wanted, removed)
    log.info("hold released", extra={"action": "hold_released", "hold": str(wanted), "rows": kept})
    return HoldReleased(
        hold_id=wanted,
        removed=kept,
        remaining=remaining,
        released_at=released_at,
        erasure_id=removed.erasure_id,
    )


async def _require_record(transaction: Transaction, record_id: UUID) -> None:
    found = await transaction.one(_REMOVAL["locate"], record_ids=[record_id])
    if found is None:
        raise NotFound(NO_RECORD)
    if found["relation"] == "summaries":
        raise InvalidInput("A summary is derived from episodes. Place the hold on those, or on the person.")


async def _standing(environment: Environment, tenant: str, hold_id: UUID | str) -> _Standing:
    required_identifier(tenant, "tenant")
    wanted = record_uuid(hold_id, "hold_id")
    async with environment.database.administer(tenant) as transaction:
        row = await transaction.one(_SQL["all"], hold_id=wanted)
    if row is None:
        raise NotFound(NO_HOLD)
    return _Standing(hold=_hold(row), life=row["subject_key"])


async def _read_back(environment: Environment, tenant: str, life: UUID, hold_id: UUID, removed: Removed) -> int | None:
    try:
        async with environment.database.remains(tenant, life, worker=True) as transaction:
            left = await _kept(transaction, hold_id)
            await settle_rows(transaction, removed, {KEPT: left})
            return left
    except Unavailable:
        log.warning("read-back failed", extra={"action": "hold_unverified", "hold": str(hold_id)})
        return None


async def _kept(transaction: Transaction, hold_id: UUID) -> int:
    row = await transaction.one(_SQL["count_kept"], hold_id=hold_id)
    return 0 if row is None else int(row["rows"])


def _hold(row: rows.Row) -> Hold:
    return Hold(
        hold_id=row["hold_id"],
        subject=row["external_id"],
        record_id=row["record_id"],
        basis=row["basis"],
        review_at=rows.utc(row["review_at"]),
        placed_at=rows.utc(row["placed_at"]),
        kept=int(row["kept"]),
    )


def _held(row: rows.Row) -> HeldRecord:
    return HeldRecord(
        record_id=row["record_id"],
        hold_id=row["hold_id"],
        basis=row["basis"],
        review_at=rows.utc(row["review_at"]),
    )


def _row(row: rows.Row) -> KeptRow:
    return KeptRow(
        relation=row["relation"],
        record_id=row["record_id"],
        kept_at=rows.utc(row["kept_at"]),
        content=row["content"],
    )
