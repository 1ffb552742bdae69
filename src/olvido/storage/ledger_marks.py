"""What a database has of the erasure ledger: read and written before anything is served from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from olvido.domain.ledger import LedgerState, Marks
from olvido.storage.inspection import Looking, all_rows, first_row
from olvido.storage.queries import statements

_SQL = statements("ledger")
_NONE = UUID(int=0)


def _known(state: LedgerState) -> dict[str, object]:
    """The entries of a ledger as parameters. besides: those that are not applied."""
    return {
        "ledger": state.ledger_id,
        "last": state.last,
        "besides": sorted({*state.unapplied, *state.in_flight}),
    }


async def read_marks(connection: Looking, state: LedgerState | None) -> Marks:
    """What the database has of a ledger; None: there is none."""
    known = {"ledger": _NONE, "last": 0, "besides": []} if state is None else _known(state)
    row = await first_row(connection, _SQL["marks"], **known)
    return Marks(ledgers=frozenset(row["ledgers"]), applied=row["applied"], newest=row["newest"])


async def is_inhabited(connection: Looking) -> bool:
    """Whether anybody is remembered. connection: of a worker."""
    return bool((await first_row(connection, _SQL["inhabited"]))["inhabited"])


async def adopt(connection: Looking, ledger_id: UUID) -> None:
    """Let the database belong to this ledger, unless it belongs to one already. It has what it has of its entries."""
    async with connection.transaction():
        # Two statements: the second has to see what the one before in the queue has committed.
        await all_rows(connection, _SQL["adoption_queue"])
        await connection.execute(_SQL["adopt"].text, {"ledger": ledger_id})


async def missing(connection: Looking, state: LedgerState, *, after: int, batch: int) -> list[int]:
    """Numbers of applied entries that the database lacks, in their order, after a number."""
    rows = await all_rows(connection, _SQL["missing"], after=after, batch=batch, **_known(state))
    return [row["entry"] for row in rows]


async def has(connection: psycopg.AsyncConnection[Any], ledger_id: UUID, entries: Sequence[int]) -> bool:
    """Whether the database has all of these entries, which differ. connection: with rows as dicts."""
    row = await first_row(connection, _SQL["has"], ledger=ledger_id, entries=list(entries))
    return bool(row["applied"] == len(entries))
