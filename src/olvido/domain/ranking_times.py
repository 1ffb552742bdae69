"""What ranking takes of instants: how near a record is to a date that a question names, and how new it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

import numpy as np
from numpy.typing import NDArray

from olvido.domain.day_spans import Steps

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


def dated_by(occurred_at: Whole, steps: Steps | None) -> Numbers:
    """How far each lies in the time that a question names, from 0 to 1."""
    if steps is None:
        return np.zeros(occurred_at.shape)
    bounds = np.array([microseconds(bound) for bound in steps.bounds])
    return np.array(steps.weights)[np.searchsorted(bounds, occurred_at, side="right")]


def most(steps: Steps | None) -> float:
    """The weight of a day within the time that is all a question asks for; infinite if it asks for something else."""
    return max(steps.weights) or inf if steps is not None and steps.alone else inf


def recency(occurred_at: Whole, now: datetime, half_life: timedelta) -> Numbers:
    """Halved with every `half_life` of age; 1 for what is new."""
    age = np.maximum(microseconds(now) - occurred_at, 0) / (half_life / timedelta(microseconds=1))
    return 0.5 ** np.minimum(age, 1000)


def microseconds(instant: datetime) -> int:
    """Microseconds from the beginning of 2000 (UTC), as PostgreSQL counts."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
