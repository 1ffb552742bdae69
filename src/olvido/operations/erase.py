"""Follow up requests to forget, step by step: what a worker does until nothing is due.

A step is taken for a while, so that no other worker takes it meanwhile and one that dies gives it back. What came of it
is stored with its evidence; what is in the way is named, and looked at again later, each time later. Nothing is done
that could not be done twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from olvido.domain.erasure import COPY, FILES, HOLD, LOG, WHOLE_LIVES, Level, Outcome, Step, StepStatus
from olvido.domain.erasure_report import EraseReport
from olvido.errors import InvalidInput, LedgerUnavailable, UnsafeDatabase
from olvido.operations.apply_again import settle
from olvido.operations.copies import copy_target, let_identifier_go
from olvido.operations.environment import Environment
from olvido.operations.erase_copies import work_on_copy
from olvido.operations.erase_files import work_on_files
from olvido.operations.erase_log import work_on_log
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.rewriting import LONGEST_LOCK, EraserTurn

log = logging.getLogger("olvido.erase")

LEASE = timedelta(minutes=10)
"""For how long a step belongs to whoever took it: longer than a round of rewriting or the calls of a connector take.
Turning the log over may take longer, and whoever is at that has the turn, without which nobody takes files or log."""
TOGETHER = 500
"""Requests that share one rewrite of a relation, or one turn of the log, at most."""
AT_ONCE = 8
"""Copies outside that are worked on at the same time."""
FIRST, LONGEST = timedelta(seconds=30), timedelta(hours=1)
"""How long a step is left alone after a try that came to nothing, at first and at most; it doubles with each try."""
REASONS = 20
"""What was in the way, in so many different words at most, of one call."""
TRIES = 8
RARELY = timedelta(hours=6)
"""After so many tries in a row that came to nothing a step needs attention, and is tried this often."""
LEAST_PART = 0.5
"""A wait is a random part of what it could be, from here up to all of it, so that workers do not come back together."""

NO_ERASER = "no login of olvido_eraser is known; give the worker one, as eraser_url, --eraser-url or OLVIDO_ERASER_URL"

_SQL = statements("erasures")
_REMOVAL = statements("removal")
_DATA_MAP = statements("data_map")
_PREFERENCES = statements("preferences")
_HOLDS = statements("holds")
_REWRITING = statements("rewriting")
_chance = Random()  # noqa: S311 - it keeps workers apart, and no secret


async def erase_pending(
    environment: Environment,
    *,
    limit: int | None = None,
    longest_lock: float = LONGEST_LOCK,
    progress: Callable[[int], None] | None = None,
) -> EraseReport:
    """Work on every step that is due, in every company, until none is. Several processes may run this at once.

    limit: end once so many steps were worked on, 1 or more; None is when nothing is due. longest_lock: for how many
    seconds one relation may be kept from its readers while it is rewritten, more than 0. progress: called with how many
    steps were worked on so far. Without a login of olvido_eraser, steps of files and log stay open and say so.
    Raises InvalidInput, UnsafeDatabase if the login is not a worker, DatabaseUnavailable.
    """
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput("limit must be a whole number, 1 or more, or None.")
    if longest_lock <= 0:
        raise InvalidInput("longest_lock must be more than 0 seconds.")
    try:
        # Removals that a process which died had intended come first: they have no steps yet.
        await settle(environment)
    except LedgerUnavailable:
        log.warning("the erasure ledger cannot be read", extra={"action": "ledger_unavailable"})
    report = await _Run(environment, limit, longest_lock, progress).run()
    log.info(
        "erased",
        extra={
            "action": "erase",
            "steps": report.worked,
            "settled": sum(report.settled.values()),
            "hindered": report.hindered,
            "attention": report.attention,
        },
    )
    return report


@dataclass(frozen=True, kw_only=True, slots=True)
class _Taken:
    """Steps that are ours until an instant."""

    steps: list[Step]
    until: datetime


class _Run:
    """One call on its way through the steps that are due."""

    def __init__(
        self,
        environment: Environment,
        limit: int | None,
        longest_lock: float,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._environment = environment
        self._database = environment.database
        self._limit = limit
        self._longest_lock = longest_lock
        self._progress = progress
        self._worked = 0
        self._settled: Counter[Level] = Counter()
        self._hindered: set[tuple[UUID, str]] = set()
        self._in_the_way: dict[tuple[UUID, str], str] = {}
        self._left_to_other = False

    async def run(self) -> EraseReport:
        while not self._is_at_limit:
            worked = self._worked
            await self._read_back()
            await self._rewrite()
            await self._copies()
            if self._worked == worked:
                break
        async with self._database.administer() as transaction:
            waiting = await transaction.all(_SQL["waiting"])
        return EraseReport(
            worked=self._worked,
            settled=dict(self._settled),
            hindered=len(self._hindered),
            in_the_way=dict(Counter(self._in_the_way.values()).most_common(REASONS)),
            waiting={Level(row["level"]): row["steps"] for row in waiting},
            attention=sum(row["attention"] for row in waiting),
            next_due_at=min((rows.utc(row["due_at"]) for row in waiting), default=None),
            limit_reached=self._is_at_limit,
            left_to_other=self._left_to_other,
        )

    @property
    def _is_at_limit(self) -> bool:
        return self._limit is not None and self._worked >= self._limit

    def _batch(self, most: int) -> int:
        return most if self._limit is None else max(0, min(most, self._limit - self._worked))

    async def _take(self, levels: Sequence[Level], most: int) -> _Taken:
        # A lock that may be held for longer than is usual comes on top of that.
        lease = LEASE + timedelta(seconds=max(0.0, self._longest_lock - LONGEST_LOCK))
        async with self._database.administer() as transaction:
            until = transaction.now + lease
            found = await transaction.all(_SQL["claim"], levels=list(levels), batch=self._batch(most), until=until)
            return _Taken(steps=[rows.step(row) for row in found], until=until)

    async def _is_due(self, *levels: Level) -> bool:
        async with self._database.administer() as transaction:
            row = await transaction.one(_SQL["due"], levels=list(levels))
            return bool(row and row["due"])

    async def _read_back(self) -> None:
        """Steps of rows: those that nobody could read back in the call that removed them."""
        while (taken := await self._take([Level.E1], AT_ONCE)).steps:
            for step in taken.steps:
                await self._store(taken, [(step, await self._rows(step))])

    async def _rows(self, step: Step) -> Outcome:
        async with self._database.administer(step.tenant) as transaction:
            request = await transaction.one(_SQL["requests"], erasure_ids=[step.erasure_id])
        if request is None:
            raise LookupError  # a step refers to its request
        async with self._database.remains(step.tenant, request["subject_key"], worker=True) as transaction:
            remaining = await _remaining(transaction, request)
            evidence = {**step.evidence, "read_at": transaction.now.isoformat(), "remaining": remaining}
        if any(remaining.values()):
            there = ", ".join(sorted(name for name, count in remaining.items() if count))
            blocker = f"rows of it are in {there}; run `olvido doctor`, then forget it again"
            return Outcome(status=StepStatus.REMAINING, evidence=evidence, settled=False, blocker=blocker)
        return Outcome(status=StepStatus.ROWS_ABSENT, evidence=evidence, settled=True)

    async def _rewrite(self) -> None:
        """Steps of files and of the log, of many requests together."""
        if self._is_at_limit or not await self._is_due(Level.E2, Level.E3):
            return
        eraser = self._environment.eraser
        if eraser is None:
            await self._hinder(NO_ERASER)
            return
        try:
            async with eraser.turn(longest_lock=self._longest_lock) as turn:
                self._left_to_other = turn is None
                if turn is not None:
                    await self._shared(Level.E2, turn)
                    await self._shared(Level.E3, turn)
        except UnsafeDatabase as unsafe:
            await self._hinder(" ".join(str(unsafe).split()))

    async def _shared(self, level: Level, turn: EraserTurn) -> None:
        work = work_on_files if level is Level.E2 else work_on_log
        while not self._is_at_limit and (taken := await self._take([level], TOGETHER)).steps:
            outcomes = await work(self._environment, turn, taken.steps)
            await self._store(taken, list(zip(taken.steps, outcomes, strict=True)))

    async def _hinder(self, reason: str) -> None:
        """Say what keeps us from files and log, unless somebody else is at them, however long that takes."""
        async with self._database.administer() as transaction:
            row = await transaction.one(_REWRITING["turn_taken"])
        if row is not None and row["taken"]:
            self._left_to_other = True
            return
        while not self._is_at_limit and (taken := await self._take([Level.E2, Level.E3], TOGETHER)).steps:
            await self._store(
                taken,
                [
                    (
                        step,
                        Outcome(status=StepStatus.OPEN, evidence=step.evidence, settled=False, blocker=reason),
                    )
                    for step in taken.steps
                ],
            )

    async def _copies(self) -> None:
        """Steps of copies outside, some at the same time; each is stored as soon as it is known."""
        while not self._is_at_limit and (taken := await self._take([Level.E4, Level.E5], AT_ONCE)).steps:
            # What fails for one ends the call, once the others have written what they know.
            ended = await asyncio.gather(*(self._copy(taken, step) for step in taken.steps), return_exceptions=True)
            for failure in ended:
                if failure is not None:
                    raise failure

    async def _copy(self, taken: _Taken, step: Step) -> None:
        async with self._database.administer(step.tenant) as transaction:
            target = await copy_target(transaction, step.erasure_id)
        await self._store(taken, [(step, await work_on_copy(self._environment, step, target))])

    async def _store(self, taken: _Taken, done: list[tuple[Step, Outcome]]) -> None:
        """Write down what came of some steps, each company in a transaction of its own."""
        by_tenant: dict[str, list[tuple[Step, Outcome]]] = {}
        for step, outcome in done:
            by_tenant.setdefault(step.tenant, []).append((step, outcome))
        for tenant, theirs in by_tenant.items():
            async with self._database.administer(tenant) as transaction:
                settled = await self._stored(transaction, taken.until, theirs)
            for level in settled:
                self._settled[level] += 1
        self._worked += len(done)
        for step, outcome in done:
            one = (step.erasure_id, step.step)
            is_hindered = not outcome.settled and outcome.again_at is None
            self._hindered.discard(one)
            self._in_the_way.pop(one, None)
            if is_hindered:
                self._hindered.add(one)
            if is_hindered or (outcome.blocker and not outcome.settled):
                self._in_the_way[one] = f"{step.step}: {outcome.blocker or outcome.status}"
        if self._progress is not None:
            self._progress(self._worked)

    async def _stored(self, transaction: Transaction, until: datetime, done: list[tuple[Step, Outcome]]) -> list[Level]:
        levels = {(step.erasure_id, step.step): step.level for step, _ in done}
        outcomes = [_written(step, outcome, transaction.now) for step, outcome in done]
        stored = await transaction.all(_SQL["store"], outcomes=rows.json_rows(outcomes), until=until)
        settled = [(row["erasure_id"], row["step"]) for row in stored if row["settled"]]
        files = [row["erasure_id"] for row in stored if row["step"] == FILES]
        if files:
            await transaction.run(_SQL["follow"], erasure_ids=files)
        logs = [erasure_id for erasure_id, step in settled if step == LOG]
        if logs:
            replicas = await transaction.all(_SQL["settle_replicas"], erasure_ids=logs)
            settled += [(row["erasure_id"], row["step"]) for row in replicas]
        for erasure_id in {erasure_id for erasure_id, step in settled if step.startswith(COPY)}:
            await let_identifier_go(transaction, erasure_id)
        if settled:
            await transaction.run(
                _SQL["write_settled"],
                audit_ids=[new_record_id() for _ in settled],
                kinds=[COPY.rstrip(":") if step.startswith(COPY) else step for _, step in settled],
                erasure_ids=[erasure_id for erasure_id, _ in settled],
                policy_version=self._environment.policy.version,
            )
        return [levels.get(each, Level.E4) for each in settled]


async def _remaining(transaction: Transaction, request: rows.Row) -> dict[str, int]:
    """Rows of a request that are still there, by relation."""
    ids: list[UUID] = request["record_ids"]
    if request["target"] in WHOLE_LIVES:
        found = await transaction.all(_DATA_MAP["counts"])
    elif request["target"] == HOLD:
        kept = [await transaction.one(_HOLDS["count_kept"], hold_id=hold_id) for hold_id in ids]
        return {"held_records": sum(row["rows"] for row in kept if row is not None)}
    elif request["version"] is not None:
        left = await transaction.one(_PREFERENCES["count_version"], record_id=ids[0], version=request["version"])
        return {"preference_versions": 0 if left is None else int(left["rows"])}
    else:
        found = await transaction.all(_REMOVAL["count_records"], record_ids=ids)
    return {row["relation"]: row["rows"] for row in found}


def _written(step: Step, outcome: Outcome, now: datetime) -> Mapping[str, object]:
    """What is stored of an outcome: where the step stands, and when it is looked at again."""
    attempts, due_at, status = step.attempts, now, outcome.status
    if not outcome.settled and outcome.again_at is not None:
        # Nothing went wrong: time has to pass.
        attempts, due_at = 0, max(now, outcome.again_at)
    elif not outcome.settled:
        if 0 < _missing(outcome.evidence) < _missing(step.evidence):
            attempts = 1
        wait = min(LONGEST, FIRST * 2 ** min(attempts - 1, 30))
        if attempts >= TRIES:
            status, wait = StepStatus.NEEDS_ATTENTION, RARELY
        due_at = now + wait * _chance.uniform(LEAST_PART, 1.0)
    return {
        "erasure_id": step.erasure_id,
        "step": step.step,
        "status": status,
        "evidence": dict(outcome.evidence),
        "blocker": outcome.blocker,
        "attempts": attempts,
        "due_at": due_at,
        "deadline": outcome.deadline,
        "settled": outcome.settled,
    }


def _missing(evidence: Mapping[str, object]) -> int:
    missing = evidence.get("missing")
    return len(missing) if isinstance(missing, list) else 0
