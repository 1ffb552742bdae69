"""What the operations on sessions have in common: the state, and the lock of one that takes writes."""

from __future__ import annotations

from olvido.domain.records import Session
from olvido.errors import NotFound, SessionClosed
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.rows import Row

_SQL = statements("sessions")

MISSING = "No session by this id in this scope. Open it first."
CLOSED = "This session is closed. Open another one to go on."


async def state(transaction: Transaction, session_id: str) -> Session:
    """One live session with its items and facts. Raises NotFound."""
    row = await transaction.one(_SQL["get"], session_id=session_id)
    if row is None:
        raise NotFound(MISSING)
    return rows.session(
        row,
        await transaction.all(_SQL["items"], session_id=session_id),
        await transaction.all(_SQL["facts"], session_id=session_id),
    )


async def lock(transaction: Transaction, session_id: str) -> Row:
    """Hold one live session against other writers. Raises NotFound, and SessionClosed if it takes no more writes."""
    row = await transaction.one(_SQL["for_update"], session_id=session_id)
    if row is None or row["expires_at"] <= transaction.now:
        raise NotFound("No open session by this id. Open it first.")
    if row["closed_at"] is not None:
        raise SessionClosed(CLOSED)
    return row


async def border(transaction: Transaction, session_id: str, cut: int) -> int:
    """The last place at or before `cut` (a sequence number, 0 or more) that parts no group of messages."""
    row = await transaction.one(_SQL["border"], session_id=session_id, cut=cut)
    return cut if row is None else int(row["at"])
