"""What a worker does: each duty does a bounded piece of one operation at a time, and says whether there is more."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from olvido.workers.waiting import Backoff

if TYPE_CHECKING:
    from olvido.memory import Memory

log = logging.getLogger("olvido.worker")

BATCHES_A_PIECE = 2
"""So few that a worker which is told to stop has soon ended what it is at, also with an embedder on a busy machine."""
FIRST_WAIT, LONGEST_WAIT = 30.0, 900.0
"""Seconds before records are tried again for which the embedder gave no vector."""
CONTESTED = (
    "another worker indexes with another embedder, policy or version, and its work is left alone; "
    "run all workers alike, and start this one anew to take these lives over"
)


class DutyName(StrEnum):
    """The duties that there are."""

    PURGE = "purge"
    EMBED = "embed"
    ERASE = "erase"
    SEAL = "seal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Did:
    """What one piece did.

    counts: numbers to tell of it; empty if there was nothing to do. more: there is more to do at once. incomplete: some
    of it could not be done and is tried again later.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    incomplete: bool = False


class Duty(Protocol):
    """Work that is done a piece at a time and is never over. Several workers may have the same duty."""

    @property
    def name(self) -> str:
        """As events name it."""

    @property
    def time_limit(self) -> float:
        """Seconds after which a piece is given up. What it was about is rolled back and done again."""

    async def run_once(self) -> Did:
        """Do one piece. Whatever it raises is told, and the duty is tried again later."""


class Purge:
    """Remove what has expired."""

    name: str = DutyName.PURGE
    time_limit = 300.0

    def __init__(self, memory: Memory, *, batch_size: int = 1000) -> None:
        """batch_size: most records of one kind in one transaction, and about the rows of one piece."""
        self._memory = memory
        self._batch_size = batch_size

    async def run_once(self) -> Did:
        """Remove a batch, the longest overdue first."""
        report = await self._memory.purge_expired(batch_size=self._batch_size, limit=self._batch_size)
        if not report.removed:
            return Did(incomplete=report.left_locked)
        return Did(
            counts={"lives": report.lives, "rows": sum(report.removed.values())},
            more=report.limit_reached,
            incomplete=report.left_locked,
        )


class Embed:
    """Repair the index: what has no entry, no vector or one of another model."""

    name: str = DutyName.EMBED
    time_limit = 900.0

    def __init__(
        self, memory: Memory, *, batch_size: int = 64, recheck: bool = False, backoff: Backoff | None = None
    ) -> None:
        """batch_size: most records in one call of the embedder; a piece is a few of them.

        recheck: look at every life once, whatever it is noted to be indexed by.
        """
        self._memory = memory
        self._recheck = recheck
        self._batch_size = batch_size
        self._backoff = backoff or Backoff(first=FIRST_WAIT, longest=LONGEST_WAIT)
        # A round looks at every life that waits, once. Between rounds what was tried in the last one is left out.
        self._in_round = False
        self._round_began: datetime | None = None
        self._failed = False
        # What another worker finished or left half done since then with another embedder is left to it: this ends so.
        self._began: datetime | None = None
        self._contested = 0

    async def run_once(self) -> Did:
        """Repair a piece. What failed is left out until its wait is over; what is new meanwhile is not."""
        if not self._in_round and self._backoff.is_over:
            self._in_round, self._round_began, self._failed = True, None, False
        report = await self._memory.repair_index(
            batch_size=self._batch_size,
            limit=BATCHES_A_PIECE * self._batch_size,
            tried_before=self._round_began,
            made_before=self._began,
            recheck=self._recheck,
        )
        self._recheck = False
        self._round_began = self._round_began or report.started_at
        self._began = self._began or report.started_at
        self._failed = self._failed or report.failed > 0
        if report.contested > self._contested:
            facts = {"action": "index_contested", "duty": str(self.name), "lives": report.contested}
            log.warning(CONTESTED, extra=facts)
        self._contested = report.contested
        # An embedder that is out is not asked once for every life that waits.
        more = report.limit_reached and (report.failed == 0 or report.repaired > 0)
        if self._in_round and not more:
            self._in_round = False
            if self._failed:
                self._backoff.failed()
            else:
                self._backoff.succeeded()
        incomplete = self._failed or report.contested > 0
        if not report.lives:
            return Did(incomplete=incomplete)
        counts = {"lives": report.lives, "rows": report.repaired, "failed": report.failed, "waiting": report.waiting}
        if report.contested:
            counts["contested"] = report.contested
        return Did(counts=counts, more=more, incomplete=incomplete)


class Erase:
    """Follow up requests to forget: files, log, and copies outside."""

    name: str = DutyName.ERASE
    time_limit = 3_600.0

    def __init__(self, memory: Memory, *, limit: int = 100) -> None:
        """limit: steps of one piece; those that share a rewrite of files count one by one."""
        self._memory = memory
        self._limit = limit

    async def run_once(self) -> Did:
        """Work on a piece of what is due. What is in the way is said in each request, and tried again later."""
        report = await self._memory.erase_pending(limit=self._limit)
        incomplete = report.hindered > 0 or report.attention > 0
        if not report.worked:
            return Did(incomplete=incomplete)
        counts = {
            "steps": report.worked,
            "settled": sum(report.settled.values()),
            "hindered": report.hindered,
            "waiting": sum(report.waiting.values()),
            "attention": report.attention,
        }
        return Did(counts=counts, more=report.limit_reached, incomplete=incomplete)


class Seal:
    """Chain what the audit says."""

    name: str = DutyName.SEAL
    time_limit = 300.0

    def __init__(self, memory: Memory, *, limit: int = 5_000, once: bool = False) -> None:
        """limit: rows of one piece, and companies that it looks at.

        once: nobody comes again soon, so companies that are not due are sealed as well, after those that are.
        """
        self._memory = memory
        self._limit = limit
        self._once = once

    async def run_once(self) -> Did:
        """Seal a piece of what is due. What could not be anchored is tried again when its company is due again."""
        report = await self._memory.seal_audit(only_due=True, limit=self._limit)
        if self._once and not report.limit_reached:
            due, report = report, await self._memory.seal_audit()
            report = replace(
                report,
                seals=due.seals + report.seals,
                rows=due.rows + report.rows,
                # What could not be anchored was tried again just now.
                not_anchored=report.not_anchored,
            )
        incomplete = report.not_anchored > 0
        if not report.rows:
            return Did(more=report.limit_reached, incomplete=incomplete)
        counts = {"seals": report.seals, "rows": report.rows, "companies": report.companies}
        return Did(counts=counts, more=report.limit_reached, incomplete=incomplete)


def duties(memory: Memory, names: Iterable[DutyName], *, recheck: bool = False, once: bool = False) -> list[Duty]:
    """The duties of these names, each once, in the order in which they are declared.

    recheck: as `Embed` takes it. once: as `Seal` takes it.
    """
    made: dict[DutyName, Duty] = {
        DutyName.PURGE: Purge(memory),
        DutyName.EMBED: Embed(memory, recheck=recheck),
        DutyName.ERASE: Erase(memory),
        DutyName.SEAL: Seal(memory, once=once),
    }
    wanted = set(names)
    return [duty for name, duty in made.items() if name in wanted]
