"""Where the erasure ledger that is used has a request: under another number if it was made anew, or replaced, since."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from olvido.domain.ledger import Entry
from olvido.ports import Ledger
from olvido.storage.rows import Row

BATCH = 500


async def ledger_entries(ledger: Ledger, tenant: str, requests: Sequence[Row]) -> dict[UUID, int]:
    """The numbers that some requests of a company have in the ledger now, by their ids; without those that it lacks.

    requests: rows of `erasures`, with the number that each had when it was written down. The ledger is looked through
    only for those of which it has something else there. Raises LedgerUnavailable.
    """
    numbers = sorted({row["ledger_entry"] for row in requests})
    written = {entry.number: entry for entry in await ledger.entries(numbers)}
    found: dict[UUID, int] = {}
    alike: dict[UUID, int] = {}
    for row in requests:
        entry = written.get(row["ledger_entry"])
        if entry is None or entry.target != _target(tenant, row):
            continue
        if entry.request is None or entry.request.erasure_id == row["erasure_id"]:
            found[row["erasure_id"]] = entry.number
        else:
            # Its own, if it was asked anew for an entry that is of another request.
            alike[row["erasure_id"]] = entry.number
    missing = {row["erasure_id"] for row in requests} - found.keys()
    return alike | found | await _looked_through(ledger, missing)


async def _looked_through(ledger: Ledger, wanted: set[UUID]) -> dict[UUID, int]:
    """The numbers of these requests, by all that the ledger has."""
    state = await ledger.state() if wanted else None
    found: dict[UUID, int] = {}
    for start in range(1, 1 if state is None else state.last + 1, BATCH):
        for entry in await ledger.entries(range(start, start + BATCH)):
            if entry.request is not None and entry.request.erasure_id in wanted:
                found[entry.request.erasure_id] = entry.number
    return found


def _target(tenant: str, row: Row) -> object:
    return Entry(
        number=row["ledger_entry"],
        tenant=tenant,
        key=row["subject_key"],
        record_ids=tuple(row["record_ids"]) or None,
        version=row["version"],
    ).target
