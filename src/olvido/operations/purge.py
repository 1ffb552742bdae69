"""Remove what has expired: found through the `due` relation, life by life, in bounded batches (rule 15)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.report import PurgeReport
from olvido.errors import InvalidInput
from olvido.operations.environment import Environment
from olvido.storage.database import Transaction
from olvido.storage.queries import Statement, statements
from olvido.storage.removal import remove_episodes, remove_expired_versions, remove_preferences, remove_sessions

log = logging.getLogger("olvido.purge")

MAX_BATCH = 10_000
LIVES_AT_ONCE = 100

_SQL = statements("removal")
_PREFERENCES = statements("preferences")

_Life = tuple[str, UUID]
_Remove = Callable[[Transaction, list[UUID]], Awaitable[Counter[str]]]
_KINDS: tuple[tuple[Statement, _Remove], ...] = (
    (_PREFERENCES["expired"], remove_preferences),
    (statements("episodes")["expired"], remove_episodes),
    (statements("sessions")["expired"], remove_sessions),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """What one transaction removed. more: the batch was full. settled: nothing overdue is left in this life.

    held: the records among it that a legal hold keeps.
    """

    removed: Counter[str]
    more: bool
    settled: bool
    held: frozenset[UUID] = frozenset()


async def purge_expired(
    environment: Environment,
    *,
    batch_size: int = 1000,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> PurgeReport:
    """Purge every life that is due. Several processes may run this at once.

    batch_size: most records of one kind in one transaction, 1 to 10,000. limit: end after the transaction in which so
    many rows have been removed in all, 1 or more; None is when nothing is due. progress: called with the rows removed
    so far. Raises InvalidInput, and UnsafeDatabase if the login is not a worker.
    """
    if type(batch_size) is not int or not 1 <= batch_size <= MAX_BATCH:
        raise InvalidInput(f"batch_size must be a whole number between 1 and {MAX_BATCH}.")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput("limit must be a whole number, 1 or more, or None.")
    purge = _Purge(environment, batch_size, limit, progress)
    purged_at = await purge.run()
    log.info("purged", extra={"action": "purge", "rows": purge.removed.total(), "lives": len(purge.lives)})
    return PurgeReport(
        removed=dict(purge.removed),
        lives=len(purge.lives),
        left_locked=purge.left_locked,
        purged_at=purged_at,
        limit_reached=purge.is_at_limit,
        held=len(purge.held),
    )


class _Purge:
    """One purge on its way through the lives that are due."""

    def __init__(
        self, environment: Environment, batch_size: int, limit: int | None, progress: Callable[[int], None] | None
    ) -> None:
        self._environment = environment
        self._batch_size = batch_size
        self._limit = limit
        self._progress = progress
        self.removed: Counter[str] = Counter()
        self.lives: set[_Life] = set()
        self.held: set[UUID] = set()
        self.left_locked = False

    @property
    def is_at_limit(self) -> bool:
        """Whether as much was removed as was to be."""
        return self._limit is not None and self.removed.total() >= self._limit

    async def run(self) -> datetime:
        """Purge all that is due, or up to the limit, and return when it was last looked for."""
        busy: dict[_Life, None] = {}
        while True:
            now, waiting = await self._due(busy)
            if not waiting:
                break
            for life in waiting:
                if not await self._drain(life, wait=False):
                    busy[life] = None
                if self.is_at_limit:
                    return now
        # Those that somebody held a moment ago: now in turn with the others, so that a busy life is purged as well.
        for life in busy:
            if not await self._drain(life, wait=True):
                self.left_locked = True
            if self.is_at_limit:
                return now
        return now

    async def _due(self, busy: Collection[_Life]) -> tuple[datetime, list[_Life]]:
        async with self._environment.database.administer() as transaction:
            found = await transaction.all(_SQL["due"], batch=LIVES_AT_ONCE + len(busy))
            lives = [(row["tenant_id"], row["subject_key"]) for row in found]
            return transaction.now, [life for life in lives if life not in busy]

    async def _drain(self, life: _Life, *, wait: bool) -> bool:
        """Batch after batch in one life; whether nothing overdue is left in it."""
        while True:
            step = await _purge_batch(self._environment, life, self._batch_size, wait=wait)
            if step.removed:
                self.removed.update(step.removed)
                self.lives.add(life)
                self.held |= step.held
                if self._progress is not None:
                    self._progress(self.removed.total())
            if not step.more or self.is_at_limit:
                return step.settled


async def _purge_batch(environment: Environment, life: _Life, batch_size: int, *, wait: bool) -> _Step:
    """One batch in one life. wait: queue for it, instead of passing over one that somebody else has."""
    async with environment.database.work(*life) as transaction:
        if transaction.key is None:
            return _Step(removed=Counter(), more=False, settled=True)
        if wait:
            await transaction.reorganise()
        if await transaction.one(_SQL["claim_waiting" if wait else "claim"]) is None:
            return _Step(removed=Counter(), more=False, settled=wait)
        removed: Counter[str] = Counter()
        more = False
        for expired, remove in _KINDS:
            found = [row["record_id"] for row in await transaction.all(expired, batch=batch_size)]
            if found:
                removed += await remove(transaction, found)
            more = more or len(found) == batch_size
        versions = await remove_expired_versions(transaction, batch_size)
        removed += Counter(preference_versions=versions)
        more = more or versions == batch_size
        row = await transaction.one(_SQL["next_due"])
        due_at = None if row is None else row["due_at"]
        if due_at is None:
            await transaction.run(_SQL["unschedule"])
        else:
            await transaction.run(_SQL["reschedule"], due_at=due_at)
        if removed:
            await transaction.audit("purge", "subject", policy_version=environment.policy.version, counts=removed)
        return _Step(
            removed=removed,
            more=more,
            settled=due_at is None or due_at > transaction.now,
            held=frozenset(record.record_id for record in transaction.held),
        )
