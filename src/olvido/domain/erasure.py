"""How far a request to forget is with every copy: steps with a level, a status, evidence, and what stands in the way.

A step is settled when nothing more is to be done about it. Only what was looked at afterwards is ever `verified`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Level(StrEnum):
    """How far an erasure reaches (design, section 6).

    E1: deleted, committed and read back as absent. E2: files rewritten, so that the bytes are in no heap and no index.
    E3: out of the write-ahead log and past every replica. E4: a copy elsewhere, confirmed by a look at it or by its
    holder. E5: the last backup that holds it has expired.
    """

    E1 = "E1"
    E2 = "E2"
    E3 = "E3"
    E4 = "E4"
    E5 = "E5"


class StepStatus(StrEnum):
    """Where one step stands.

    open: not done yet, or time has to pass. requested: a copy's holder was asked and nobody has looked since.
    rows_absent: the read-back found no row. verified: looked at afterwards, and gone. remaining: looked at afterwards,
    and still there. unverified: the look failed. manual: a person has to act by the deadline. confirmed: a person said
    so, with a reference to what shows it. expired: gone by the retention that its holder declared; nobody looked.
    needs_attention: tried so often, or waited for so long, that somebody should look at the blocker; it is still tried,
    rarely.
    """

    OPEN = "open"
    REQUESTED = "requested"
    ROWS_ABSENT = "rows_absent"
    VERIFIED = "verified"
    REMAINING = "remaining"
    UNVERIFIED = "unverified"
    MANUAL = "manual"
    CONFIRMED = "confirmed"
    EXPIRED = "expired"
    NEEDS_ATTENTION = "needs_attention"


ROWS, FILES, LOG = "rows", "files", "log"
"""The steps inside this database; those of copies outside are called `copy:` and the name of the copy."""
COPY = "copy:"
WHOLE_LIVES, RECORDS = frozenset({"subject", "tenant"}), frozenset({"record", "selection"})
"""Targets of requests that are about everything of a life, and about records of any kind."""
HOLD = "hold"
"""The target of a request that released a legal hold: what this had kept."""
AGAIN, ABSENT = "applied_again_at", "absent"
"""In the evidence of the step `rows`: when the request was applied again to an older copy of the database, which was
put back, and that nothing of it was in that copy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Whom or what a copy outside is to erase.

    subject: the external id. key: that of the life that is over, or that the records were of. record_ids: None is
    everything. erasure_id: the same whenever this is asked again. before: what came into being after this instant
    belongs to a later consent. asked_at: when a worker asks this, which is after what was forgotten was gone here: who
    read earlier may have seen it. None is not known.
    """

    tenant: str
    subject: str
    key: UUID
    record_ids: tuple[UUID, ...] | None
    erasure_id: UUID
    before: datetime
    asked_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of one request. evidence: what was measured, with instants as ISO 8601; never content."""

    tenant: str
    erasure_id: UUID
    step: str
    level: Level
    kind: str
    holder: str
    status: StepStatus
    attempts: int
    due_at: datetime
    deadline: datetime | None
    blocker: str | None
    evidence: Mapping[str, object]
    settled_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What working on a step came to. settled: nothing more is to be done. blocker: what stands in the way, in words.

    again_at: when to look again, if it is not settled; None leaves it to the backoff of the worker. deadline: a later
    one than the step has; None leaves it.
    """

    status: StepStatus
    evidence: Mapping[str, object]
    settled: bool
    blocker: str | None = None
    again_at: datetime | None = None
    deadline: datetime | None = None
