"""Whether a database may be served: it has everything that its erasure ledger says was forgotten (rule 23)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from olvido.domain.ledger import LedgerState, Marks, Standing, explain, judge
from olvido.errors import StoreLocked
from olvido.ports import Ledger
from olvido.storage.inspection import Looking, connect, look
from olvido.storage.ledger_marks import adopt, has, is_inhabited, read_marks
from olvido.storage.translation import translated

log = logging.getLogger("olvido.ledger")

PATIENCE = 5.0
"""Seconds for which an erasure may be under way in another process before it counts as cut short."""
LOOK_AGAIN = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """How a database and its ledger go together. state: None if there is no ledger."""

    standing: Standing
    state: LedgerState | None
    marks: Marks


async def look_at(ledger: Ledger, connection: Looking, *, worker: bool) -> Seen:
    """Compare the two, while others may go on forgetting. worker: whether the login of the connection is one."""
    before = await ledger.state()
    marks = await read_marks(connection, before)
    # Read once more: what was committed when the database was read is in the ledger by now.
    after = await ledger.state() if before is not None else None
    inhabited = await is_inhabited(connection) if worker and not marks.ledgers else None
    standing = judge(before, marks, last=0 if after is None else after.last, inhabited=inhabited)
    return Seen(standing=standing, state=before, marks=marks)


async def let_in(
    ledger: Ledger, url: str, *, worker: bool, seconds: int, take_over: Callable[[], Awaitable[object]]
) -> None:
    """Return if the database may be served. One that belongs to no ledger yet is given to this one.

    worker: whether the login of the URL is one. take_over: replays a ledger that has entries, for a database in which
    nobody is: companies stay closed and imports ask for consent by what is applied, not by what is marked. Raises
    StoreLocked, which says what to do, LedgerUnavailable, DatabaseUnavailable, and what `take_over` raises.
    """
    async with look(url, seconds=seconds) as connection:
        seen = await look_at(ledger, connection, worker=worker)
    if seen.standing is Standing.ADOPT:
        if seen.state is not None and seen.state.last:
            await take_over()
            facts = {"action": "ledger_adopted", "ledger": str(seen.state.ledger_id), "entries": seen.state.last}
            log.warning("an empty database took over a ledger that has entries", extra=facts)
        else:
            await ledger.begin()
        connection = await connect(url, seconds=seconds)
        async with translated(), connection:
            await adopt(connection, ledger.ledger_id)
            seen = await look_at(ledger, connection, worker=worker)
    if seen.standing is not Standing.FITS:
        raise StoreLocked(explain(seen.standing, seen.state, seen.marks, ledger.place))


async def refuse_unsettled(ledger: Ledger) -> None:
    """Return once every erasure that was under way has an outcome: a login that is no worker's cannot finish one.

    The processes that are at them have PATIENCE seconds. Raises StoreLocked, LedgerUnavailable.
    """
    state = await ledger.state()
    under_way = frozenset(() if state is None else state.in_flight)
    until = time.monotonic() + PATIENCE
    while under_way:
        if time.monotonic() > until:
            raise StoreLocked(
                f"{len(under_way)} erasures were begun and nobody knows whether they were finished. Run "
                "`olvido worker`, or open the database with a worker's login: that finishes them."
            )
        await asyncio.sleep(LOOK_AGAIN)
        state = await ledger.state()
        under_way &= frozenset(() if state is None else state.in_flight)


async def refuse_restored(ledger: Ledger, connection: Any) -> None:  # noqa: ANN401 - the driver's type is storage's
    """Look whether the server behind a new connection still has the newest entries: one put back meanwhile lacks them.

    Raises StoreLocked, LedgerUnavailable.
    """
    state = await ledger.state()
    if state is None or not await has(connection, state.ledger_id, (0, *state.newest)):
        log.error("connection refused", extra={"action": "store_locked"})
        raise StoreLocked(
            f"The database lacks what its erasure ledger at {ledger.place} has applied, so an older copy was put back "
            "while it was in use. Run `olvido restore check`."
        )
