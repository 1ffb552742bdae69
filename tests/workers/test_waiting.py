"""A wait that grows with each failure in a row, and never is the same for two workers."""

from __future__ import annotations

from random import Random

import pytest

from olvido.workers.waiting import Backoff


class Hand:
    """A monotonic time that a test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.at


@pytest.mark.parametrize("seed", range(5))
def test_a_wait_doubles_up_to_the_longest(seed: int) -> None:
    """Each is between half and all of its bound, also after more failures than a float has digits."""
    backoff = Backoff(first=1.0, longest=60.0, chance=Random(seed))
    waits = [backoff.failed() for _ in range(2000)]
    for number, seconds in enumerate(waits):
        bound = min(60.0, 2.0 ** min(number, 10))
        assert bound / 2 <= seconds <= bound


def test_workers_do_not_come_back_together() -> None:
    """Of a hundred that fail at one moment, no two wait equally long."""
    assert len({Backoff(first=1.0, longest=60.0).failed() for _ in range(100)}) == 100


def test_it_is_over_when_its_time_has_passed() -> None:
    """At first there is nothing to wait for; a success ends a wait and begins with the shortest again."""
    hand = Hand()
    backoff = Backoff(first=8.0, longest=60.0, monotonic=hand)
    seen = [backoff.is_over]
    seconds = backoff.failed()
    hand.at += seconds - 0.5
    seen.append(backoff.is_over)
    hand.at += 1.0
    seen.append(backoff.is_over)
    assert backoff.failed() >= 8.0
    seen.append(backoff.is_over)
    backoff.succeeded()
    seen.append(backoff.is_over)
    assert backoff.failed() <= 8.0
    assert seen == [True, False, True, False, True]
