"""What a duty or a forget did: counts measured in the database, a status for each copy, never a bare "complete"."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from olvido.domain.copies import RegisteredCopy, first_step
from olvido.domain.erasure import Level, StepStatus
from olvido.errors import InvalidInput, PlanChanged


class Status(StrEnum):
    """Where a copy, or the whole, stands.

    planned: a dry run counted it. rows_absent: the read-back after commit found no row. remaining: it found some.
    unverified: the read-back could not be made. open: outside this database, where its holder has to act or time has
    to pass. incomplete: at least one local copy is remaining or unverified.
    """

    PLANNED = "planned"
    ROWS_ABSENT = "rows_absent"
    REMAINING = "remaining"
    UNVERIFIED = "unverified"
    OPEN = "open"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyReport:
    """One local copy, which is one relation.

    planned: rows counted before. removed: rows that the deletion reported. kept: of these (in a dry run, of the planned
    ones), rows that a legal hold keeps apart, out of every read; the others are deleted for good. remaining: rows that
    the read-back after commit found; None if it could not be made or was not due (a dry run).
    """

    copy: str
    planned: int
    removed: int
    remaining: int | None
    level: Level
    status: Status
    kept: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class OutsideCopy:
    """One copy outside this database, as the policy declares it. Nothing about it was verified.

    due_at: when it is gone by its retention alone; None if that never removes it. deadline: by when its holder has to
    act; None if nobody has to. connected: a connector erases it and looks, as soon as a worker has run.
    """

    copy: str
    kind: str
    holder: str
    level: Level
    status: Status
    retention: timedelta | None
    due_at: datetime | None
    deadline: datetime | None
    connected: bool


class Chain(StrEnum):
    """What became of a preference whose current version was forgotten (rule 25)."""

    FORGOTTEN = "forgotten"
    REOPENED = "reopened"


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldRecord:
    """A record that was not forgotten, because a legal hold keeps it out of every read until it is released.

    basis: why, in the words of whoever placed the hold. review_at: when the hold is to be looked at again.
    """

    record_id: UUID
    hold_id: UUID
    basis: str
    review_at: datetime


NAMED_REQUESTS = 1000
"""Requests that the report of a company names; `Memory.erasures` lists all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetReport:
    """What forgetting some records, one subject or one tenant did.

    target: "record", "selection", "subject" or "tenant". found: whether there was anything; a second forget finds
    nothing and succeeds all the same. plan_hash: SHA-256 of what was counted, to compare a dry run with what follows.
    handed_over: of a session, or of a fact of one, the record ids of the episodes that the session was handed over to.
    They remain, each to be forgotten by its own id. overlapping: of a span of time, the record ids of the sessions that
    have something in it and something outside it; they remain as well. lives: subjects concerned. chain: what became
    of a preference's earlier values, where that is the question.
    verified_at: when the read-back was made. held: what a legal hold kept. erasure_id: under which the request goes on
    with files, log and copies elsewhere; None if nothing was removed, and for a company: each of its subjects has a
    request, `requests` of them in all, and erasure_ids are those of the first NAMED_REQUESTS, the oldest first.
    """

    target: str
    found: bool
    dry_run: bool
    status: Status
    plan_hash: str
    lives: int
    copies: tuple[CopyReport, ...]
    outside: tuple[OutsideCopy, ...]
    requested_at: datetime
    verified_at: datetime | None
    chain: Chain | None = None
    handed_over: tuple[UUID, ...] = ()
    overlapping: tuple[UUID, ...] = ()
    held: tuple[HeldRecord, ...] = ()
    erasure_id: UUID | None = None
    erasure_ids: tuple[UUID, ...] = ()
    requests: int = 0

    @property
    def removed(self) -> dict[str, int]:
        """Rows removed, by relation; relations with none are left out. What a legal hold keeps apart counts too."""
        return {copy.copy: copy.removed for copy in self.copies if copy.removed}

    @property
    def kept(self) -> dict[str, int]:
        """Rows that a legal hold keeps apart, of the removed ones, by relation; relations with none are left out."""
        return {copy.copy: copy.kept for copy in self.copies if copy.kept}


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgeReport:
    """What a purge removed. Removal of expired rows here; copies elsewhere are not touched by it.

    removed: rows by relation. A preference counts once; its versions are counted apart.
    lives: scopes in which something was removed. left_locked: whether writers held some, which the next purge takes.
    limit_reached: whether it ended at its limit, so that more may be due. held: how many of the removed records a legal
    hold keeps, out of every read.
    """

    removed: Mapping[str, int]
    lives: int
    left_locked: bool
    purged_at: datetime
    limit_reached: bool = False
    held: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What a repair of the index did.

    lives: how many were looked at; settled: of these, how many have nothing left that differs. repaired: index entries
    that it wrote. failed: records that have their words and still no vector, because the embedder gave none.
    waiting: lives of this database that may have something to repair now, those that another worker is at included.
    contested: of these, lives that a repair with another embedder, policy or version finished or left unfinished since
    `made_before`, and that were left to it: workers of one database have to be alike, and one that is started anew
    takes them.
    limit_reached: whether it ended at its limit. started_at: pass it as `tried_before` to go on with what it had not
    come to, without trying again what failed.
    """

    lives: int
    settled: int
    repaired: int
    failed: int
    waiting: int
    contested: int
    limit_reached: bool
    started_at: datetime


def local_copies(
    planned: Mapping[str, int],
    removed: Mapping[str, int],
    remaining: Mapping[str, int] | None,
    *,
    kept: Mapping[str, int],
    dry_run: bool,
) -> tuple[CopyReport, ...]:
    """One report a relation of `planned`. remaining: None when the read-back could not be made."""

    def status(copy: str) -> Status:
        if dry_run:
            return Status.PLANNED
        if remaining is None:
            return Status.UNVERIFIED
        return Status.REMAINING if remaining.get(copy, 0) else Status.ROWS_ABSENT

    return tuple(
        CopyReport(
            copy=copy,
            planned=rows,
            removed=removed.get(copy, 0),
            remaining=None if remaining is None else remaining.get(copy, 0),
            level=Level.E1,
            status=status(copy),
            kept=kept.get(copy, 0),
        )
        for copy, rows in planned.items()
    )


def outside_copies(copies: Iterable[RegisteredCopy], requested_at: datetime) -> tuple[OutsideCopy, ...]:
    """Copies as a request of `requested_at` begins with them: all open."""
    found = []
    for copy in copies:
        first = first_step(copy, requested_at)
        found.append(
            OutsideCopy(
                copy=copy.name,
                kind=first.kind,
                holder=first.holder,
                level=first.level,
                status=Status.OPEN,
                retention=copy.retention,
                due_at=None if copy.retention is None else requested_at + copy.retention,
                deadline=first.deadline if first.status is StepStatus.MANUAL else None,
                connected=copy.connector is not None,
            )
        )
    return tuple(found)


def overall(copies: tuple[CopyReport, ...], *, dry_run: bool) -> Status:
    """The status of the whole: rows_absent only if every local copy was read back as absent."""
    if dry_run:
        return Status.PLANNED
    absent = all(copy.status is Status.ROWS_ABSENT for copy in copies)
    return Status.ROWS_ABSENT if absent else Status.INCOMPLETE


Plan = ForgetReport | str
"""What was planned: the report of a dry run, or its plan hash, which allows no difference."""


def refuse_another_plan(plan: Plan | None, *, target: str, named: str, planned: Mapping[str, int], drift: int) -> None:
    """Raise PlanChanged if what would be removed differs from the plan by more than `drift` rows.

    target, named, planned: as `plan_hash` takes them, of what would be removed now. Raises InvalidInput for no plan.
    """
    if plan is None:
        return
    if not isinstance(plan, Plan):
        raise InvalidInput("plan is the report of a dry run, or its plan_hash.")
    if isinstance(plan, str):
        same = plan == plan_hash(target, named, planned)
    else:
        counted = {copy.copy: copy.planned for copy in plan.copies}
        differing = sum(abs(counted.get(name, 0) - planned.get(name, 0)) for name in counted.keys() | planned.keys())
        same = plan.plan_hash == plan_hash(target, named, counted) and differing <= drift
    if not same:
        raise PlanChanged("What would be forgotten is not what was planned any more. Plan again with dry_run=True.")


def plan_hash(target: str, key: str, counts: Mapping[str, int]) -> str:
    """SHA-256 (hexadecimal) of what a forget would remove: target, opaque key and rows by relation."""
    plan = json.dumps([target, key, dict(sorted(counts.items()))], separators=(",", ":"))
    return hashlib.sha256(plan.encode()).hexdigest()
