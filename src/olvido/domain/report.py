"""What a duty or a forget did: counts measured in the database, a status for each copy, never a bare "complete"."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID


class Level(StrEnum):
    """How far an erasure reaches (design, section 6).

    E1: deleted, committed and read back as absent. E4: a copy elsewhere, confirmed by its holder.
    E5: the last backup that holds it has expired.
    """

    E1 = "E1"
    E4 = "E4"
    E5 = "E5"


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

    planned: rows counted before. removed: rows that the deletion reported. remaining: rows that the read-back after
    commit found; None if it could not be made or was not due (a dry run).
    """

    copy: str
    planned: int
    removed: int
    remaining: int | None
    level: Level
    status: Status


@dataclass(frozen=True, kw_only=True, slots=True)
class OutsideCopy:
    """One copy outside this database, as the policy declares it. Nothing about it was verified.

    due_at: when it is gone by its retention alone; None if only its holder can remove it.
    """

    copy: str
    kind: str
    holder: str
    level: Level
    status: Status
    retention: timedelta | None
    due_at: datetime | None


class Chain(StrEnum):
    """What became of a preference whose current version was forgotten (rule 25)."""

    FORGOTTEN = "forgotten"
    REOPENED = "reopened"


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetReport:
    """What forgetting one record or one subject did.

    target: "record", "subject" or "tenant". found: whether there was anything; a second forget finds nothing and
    succeeds all the same. plan_hash: SHA-256 of what was counted, to compare a dry run with what follows.
    handed_over: of a session, or of a fact of one, the record ids of the episodes that the session was handed over to.
    They remain, each to be forgotten by its own id. lives: subjects concerned. chain: what became of a preference's
    earlier values, where that is the question.
    verified_at: when the read-back was made.
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

    @property
    def removed(self) -> dict[str, int]:
        """Rows removed, by relation; relations with none are left out."""
        return {copy.copy: copy.removed for copy in self.copies if copy.removed}


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgeReport:
    """What a purge removed. Removal of expired rows here; copies elsewhere are not touched by it.

    removed: rows by relation. A preference counts once; its versions are counted apart.
    lives: scopes in which something was removed. left_locked: whether writers held some, which the next purge takes.
    limit_reached: whether it ended at its limit, so that more may be due.
    """

    removed: Mapping[str, int]
    lives: int
    left_locked: bool
    purged_at: datetime
    limit_reached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What a repair of the index did.

    lives: how many were looked at; settled: of these, how many have nothing left that differs. repaired: index entries
    that it wrote. failed: records that have their words and still no vector, because the embedder gave none.
    waiting: lives of this database that may have something to repair now, those that another worker is at included.
    limit_reached: whether it ended at its limit. started_at: pass it as `tried_before` to go on with what it had not
    come to, without trying again what failed.
    """

    lives: int
    settled: int
    repaired: int
    failed: int
    waiting: int
    limit_reached: bool
    started_at: datetime


class DeclaredCopy(Protocol):
    """A copy outside, as the policy declares it."""

    @property
    def name(self) -> str:
        """Its name in the policy."""

    @property
    def kind(self) -> StrEnum:
        """What kind of place it is."""

    @property
    def holder(self) -> str:
        """Who holds it."""

    @property
    def retention(self) -> timedelta | None:
        """After how long it is gone by itself."""


def local_copies(
    planned: Mapping[str, int], removed: Mapping[str, int], remaining: Mapping[str, int] | None, *, dry_run: bool
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
        )
        for copy, rows in planned.items()
    )


def outside_copies(declared: tuple[DeclaredCopy, ...], now: datetime) -> tuple[OutsideCopy, ...]:
    """The copies that the policy declares, all open."""
    return tuple(
        OutsideCopy(
            copy=copy.name,
            kind=str(copy.kind),
            holder=copy.holder,
            level=Level.E5 if copy.kind == "backup" else Level.E4,
            status=Status.OPEN,
            retention=copy.retention,
            due_at=None if copy.retention is None else now + copy.retention,
        )
        for copy in declared
    )


def overall(copies: tuple[CopyReport, ...], *, dry_run: bool) -> Status:
    """The status of the whole: rows_absent only if every local copy was read back as absent."""
    if dry_run:
        return Status.PLANNED
    absent = all(copy.status is Status.ROWS_ABSENT for copy in copies)
    return Status.ROWS_ABSENT if absent else Status.INCOMPLETE


def plan_hash(target: str, key: str, counts: Mapping[str, int]) -> str:
    """SHA-256 (hexadecimal) of what a forget would remove: target, opaque key and rows by relation."""
    plan = json.dumps([target, key, dict(sorted(counts.items()))], separators=(",", ":"))
    return hashlib.sha256(plan.encode()).hexdigest()
