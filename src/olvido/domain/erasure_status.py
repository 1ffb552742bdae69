"""Where a whole request to forget stands, from where its steps stand. There is no bare "complete" (rule 21)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from olvido.domain.erasure import COPY, FILES, LOG, ROWS, StepStatus


class ErasureStatus(StrEnum):
    """How far a request is.

    rows_absent: read back as absent, and nothing further is verified yet. local_verified: out of the files, the
    write-ahead log and every replica too, and no copy outside is open. local_verified_external_open: the same here, and
    at least one copy outside is still open. incomplete: what matters first is not known, or something is still there
    or needs attention. failed: the rows were read back, and some are there.
    """

    ROWS_ABSENT = "rows_absent"
    LOCAL_VERIFIED = "local_verified"
    LOCAL_VERIFIED_EXTERNAL_OPEN = "local_verified_external_open"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


NOT_OPEN = frozenset({StepStatus.VERIFIED, StepStatus.CONFIRMED, StepStatus.EXPIRED})
"""Where a copy outside is done with: looked at, or said to be gone by its holder or by its declared retention."""


class StepState(Protocol):
    """What is asked of a step."""

    @property
    def step(self) -> str:
        """Its name."""

    @property
    def status(self) -> StepStatus:
        """Where it stands."""


def erasure_status(steps: Iterable[StepState]) -> ErasureStatus:
    """The status of the whole. A step that is not there counts as not done."""
    by_name = {step.step: step.status for step in steps}
    rows = by_name.get(ROWS)
    if rows is StepStatus.REMAINING:
        return ErasureStatus.FAILED
    if rows is not StepStatus.ROWS_ABSENT or {StepStatus.REMAINING, StepStatus.NEEDS_ATTENTION} & {*by_name.values()}:
        return ErasureStatus.INCOMPLETE
    if not all(by_name.get(name) is StepStatus.VERIFIED for name in (FILES, LOG)):
        return ErasureStatus.ROWS_ABSENT
    outside = [status for name, status in by_name.items() if name.startswith(COPY)]
    if all(status in NOT_OPEN for status in outside):
        return ErasureStatus.LOCAL_VERIFIED
    return ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
