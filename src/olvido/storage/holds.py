"""Legal holds inside a removal: what a hold names is copied out of every read before it is deleted.

`storage.removal` calls this before each deletion, so that no way to remove a record can pass a hold by. A life that
nothing holds costs one look at an index a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from olvido.domain.report import HeldRecord
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

_SQL = statements("holds")


async def preserve(transaction: Transaction, record_ids: Sequence[UUID] | None) -> tuple[HeldRecord, ...]:
    """Keep what holds name of these records (None: of the whole life), which the caller is about to delete.

    The caller holds the records, or the life, against writers. What is kept is noted in `transaction.held`, and
    how many rows that is, by relation, in `transaction.kept`.
    """
    return await _keep(transaction, record_ids, store=True)


async def preserve_versions(transaction: Transaction, versions: Sequence[tuple[UUID, int]]) -> tuple[HeldRecord, ...]:
    """The same of single versions of preferences, by record id and number."""
    holds = await _of_life(transaction)
    if not holds or not versions:
        return ()
    found = await transaction.all(
        _SQL["keep_versions"],
        record_ids=[record_id for record_id, _ in versions],
        versions=[version for _, version in versions],
        removal_id=new_record_id(),
    )
    return _noted(transaction, holds, found)


async def would_keep(transaction: Transaction, record_ids: Sequence[UUID] | None) -> tuple[HeldRecord, ...]:
    """What `preserve` would keep, noted alike; nothing is written. For a dry run."""
    return await _keep(transaction, record_ids, store=False)


async def _keep(transaction: Transaction, record_ids: Sequence[UUID] | None, *, store: bool) -> tuple[HeldRecord, ...]:
    holds = await _of_life(transaction)
    if not holds:
        return ()
    found = await transaction.all(
        _SQL["keep"],
        record_ids=None if record_ids is None else list(record_ids),
        removal_id=new_record_id(),
        store=store,
    )
    return _noted(transaction, holds, found)


async def kept_of_tenant(transaction: Transaction) -> tuple[HeldRecord, ...]:
    """What holds keep of a company already, of whoever was forgotten before; for a worker."""
    found = await transaction.all(_SQL["kept_of_tenant"])
    return _records({row["hold_id"]: row for row in found}, found)


async def has_holds(transaction: Transaction) -> bool:
    """Whether anything of this life is held."""
    return bool(await _of_life(transaction))


async def standing_in_the_way(
    transaction: Transaction, life: UUID, record_ids: Sequence[UUID], *, with_facts: bool
) -> list[rows.Row]:
    """The holds that still keep something of an erasure, each with hold_id and review_at; for a worker.

    record_ids: what was erased, empty for the whole life. with_facts: sessions went with facts that these do not name,
    so that any held fact of that life may be one. While there is one, the bytes are in this database.
    """
    found = await transaction.all(
        _SQL["standing_in_the_way"], life=life, record_ids=list(record_ids), with_facts=with_facts
    )
    return [*found]


async def drop_holds(transaction: Transaction, hold_ids: Sequence[UUID]) -> int:
    """End these holds and delete what they kept; how many rows that was. Ids that are no holds do nothing."""
    ids = list(hold_ids)
    kept = await transaction.run(_SQL["drop_kept"], hold_ids=ids)
    await transaction.run(_SQL["drop"], hold_ids=ids)
    return kept


async def _of_life(transaction: Transaction) -> Mapping[UUID, rows.Row]:
    """The holds of this life by id, asked once a transaction: nobody places one while it holds the life."""
    if transaction.holds is None:
        found = await transaction.all(_SQL["of_life"]) if transaction.key is not None else []
        transaction.holds = {row["hold_id"]: row for row in found}
    return transaction.holds


def _noted(
    transaction: Transaction, holds: Mapping[UUID, rows.Row], found: Sequence[rows.Row]
) -> tuple[HeldRecord, ...]:
    kept = _records(holds, found)
    # Two holds that keep a record keep the same rows of it.
    rows_of = {(row["relation"], row["record_id"]): row["rows"] for row in found}
    for (relation, _), number in rows_of.items():
        transaction.kept[relation] += number
    noted = set(transaction.held)
    transaction.held.extend(each for each in kept if each not in noted)
    return kept


def _records(holds: Mapping[UUID, rows.Row], found: Sequence[rows.Row]) -> tuple[HeldRecord, ...]:
    ordered = sorted({(row["hold_id"], row["record_id"]) for row in found if row["relation"] != "subjects"})
    return tuple(
        HeldRecord(
            record_id=record_id,
            hold_id=hold_id,
            basis=holds[hold_id]["basis"],
            review_at=rows.utc(holds[hold_id]["review_at"]),
        )
        for hold_id, record_id in ordered
    )
