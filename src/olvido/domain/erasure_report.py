"""What is told of requests to forget: how far each is with every copy, and what a worker did about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from olvido.domain.erasure import Level, Step
from olvido.domain.erasure_status import ErasureStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureReport:
    """One request to forget, and how far it is with every copy. It holds no forgotten value and no external id.

    target: "record", "selection", "subject", "tenant" (one person of a company that was forgotten) or "hold".
    record_ids: what it was about; empty for everything of a person. planned, removed: rows by relation. held: records
    that a legal hold kept. identifier_kept: the external id is still stored, for copies outside that are found by it.
    ledger_entry: its number in the erasure ledger that is in use now; None if that does not have it.
    steps: those of this database first, then one for each copy outside; each with its level, status and evidence.
    looked_at: when they stood so (UTC).
    """

    tenant: str
    erasure_id: UUID
    target: str
    record_ids: tuple[UUID, ...]
    requested_at: datetime
    status: ErasureStatus
    planned: Mapping[str, int]
    removed: Mapping[str, int]
    held: int
    identifier_kept: bool
    policy_version: str
    plan_hash: str
    ledger_entry: int | None
    steps: tuple[Step, ...]
    looked_at: datetime

    @property
    def remains(self) -> tuple[Step, ...]:
        """The steps that are not settled: where something may remain, who holds it, and until when."""
        return tuple(step for step in self.steps if step.settled_at is None)

    @property
    def levels(self) -> dict[Level, bool]:
        """By level, whether every step of it is settled; a level without a step is left out."""
        return {
            level: all(step.settled_at is not None for step in self.steps if step.level is level)
            for level in sorted({step.level for step in self.steps})
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class EraseReport:
    """What one round of work on requests to forget did.

    worked: how often a step was worked on. settled: steps that are done by it, by level. hindered: steps that it could
    not do. in_the_way: a step and what hindered it, or what it waits for, such as the review of a legal hold, and of
    how many requests, the most frequent first. waiting: steps that are not settled, in every company, by level, whoever
    is at them. attention: how many of these somebody should look at. next_due_at: when the next of them is looked at
    again (UTC); None if none waits. limit_reached: whether it ended at its limit. left_to_other: another worker is
    rewriting files, so those were left to it.
    """

    worked: int
    settled: Mapping[Level, int]
    hindered: int
    waiting: Mapping[Level, int]
    attention: int
    next_due_at: datetime | None
    limit_reached: bool = False
    left_to_other: bool = False
    in_the_way: Mapping[str, int] = field(default_factory=dict)
