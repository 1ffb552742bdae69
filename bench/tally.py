"""Counts of what a check asked and what came back, one tally a measure, and whether each came out as it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from bench.measure import say

SHOWN = 5
"""Failures of one measure that are told; the rest are counted."""


class Wanted(Enum):
    """How much of what was asked has to be served."""

    ALL = "all"
    NONE = "none"


@dataclass(kw_only=True, slots=True)
class Measure:
    """asked: how often something was looked for. served: how often it came back. shown: failures told so far."""

    wanted: Wanted
    asked: int = 0
    served: int = 0
    shown: int = 0

    @property
    def passed(self) -> bool:
        """Whether all, or none, came back. A measure that asked nothing shows nothing, so it does not pass."""
        return self.asked > 0 and self.served == (self.asked if self.wanted is Wanted.ALL else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The measures of one run, by name."""

    measures: Mapping[str, Measure] = field(default_factory=dict)

    def ask(self, name: str, where: str, *, served: bool) -> None:
        """Count one lookup. where: told if it is a failure; names and places only, no stored text."""
        self.count(name, where, asked=1, served=int(served))

    def count(self, name: str, where: str, *, asked: int, served: int) -> None:
        """Count several lookups in one place."""
        measure = self.measures[name]
        measure.asked += asked
        measure.served += served
        wrong = asked - served if measure.wanted is Wanted.ALL else served
        if wrong and measure.shown < SHOWN:
            measure.shown += 1
            say(f"  FAILED {name}: {where}")

    @property
    def passed(self) -> bool:
        """Whether every measure passed."""
        return all(measure.passed for measure in self.measures.values())

    def document(self) -> dict[str, dict[str, object]]:
        """As it is printed."""
        return {
            name: {
                "asked": measure.asked,
                "served": measure.served,
                "wanted": measure.wanted.value,
                "passed": measure.passed,
            }
            for name, measure in self.measures.items()
        }
