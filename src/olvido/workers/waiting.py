"""For how long something is left alone: longer each time that it fails, and never as long as by another worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

LEAST_PART = 0.5
"""A wait is a random part of what it could be, from here up to all of it, so that workers do not come back together."""


class Backoff:
    """A wait that doubles with each failure in a row.

    first, longest: seconds. monotonic: where the time is from. chance: what draws the random part.
    """

    def __init__(
        self,
        *,
        first: float,
        longest: float,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Random | None = None,
    ) -> None:
        self._first = first
        self._longest = longest
        self._monotonic = monotonic
        self._chance = chance or Random()  # noqa: S311 - it keeps workers apart, and no secret
        self._failures = 0
        self._over_at = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the wait."""
        return self._monotonic() >= self._over_at

    def failed(self) -> float:
        """Begin the next wait, and say how many seconds it takes."""
        seconds = min(self._longest, self._first * 2.0 ** min(self._failures, 30))
        seconds *= self._chance.uniform(LEAST_PART, 1.0)
        self._failures += 1
        self._over_at = self._monotonic() + seconds
        return seconds

    def succeeded(self) -> None:
        """Wait no more, and begin with the shortest wait the next time."""
        self._failures = 0
        self._over_at = 0.0
