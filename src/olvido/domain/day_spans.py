"""Weights over days, and the step function they make together.

Days are ordinals of the proleptic calendar (`date.toordinal`), in UTC. What would be before the year 1 or after 9999
ends there.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time

NEARBY = 0.4
"""The month after a named month (what happened is often told later), and the days around a relative date."""

YEAR_ALONE = 0.5
FADING_DAYS = 7
DAYS_BEFORE = 2
DAYS_AFTER = 14

FIRST_DAY, LAST_DAY = date.min.toordinal(), date.max.toordinal()
_LONGEST_MARGIN = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """A step function of time.

    bounds: UTC, ascending. weights: one more than bounds, each from 0 to 1; weights[i] holds from bounds[i - 1],
    included, to bounds[i]. alone: the question asks for nothing but what happened then.
    """

    bounds: tuple[datetime, ...]
    weights: tuple[float, ...]
    alone: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A weight from day `start` on, until day `until` begins."""

    start: int
    until: int
    weight: float


def first_of(year: int, month: int = 1) -> int:
    """The first day of a month; months beyond 1 to 12 count on into the years around."""
    months = year * 12 + month - 1
    if months // 12 < MINYEAR:
        return FIRST_DAY
    if months // 12 > MAXYEAR:
        return LAST_DAY
    return date(months // 12, months % 12 + 1, 1).toordinal()


def day(year: int, month: int, number: int) -> Iterator[Span]:
    """A full date: exp(-|days| / 7), from 2 days before to 14 after. Nothing if there is no such day."""
    try:
        named = date(year, month, number).toordinal()
    except ValueError:
        return
    for away in range(-DAYS_BEFORE, DAYS_AFTER + 1):
        yield Span(start=named + away, until=named + away + 1, weight=math.exp(-abs(away) / FADING_DAYS))


def month_of(year: int, month: int) -> Iterator[Span]:
    """A month of a year, and the month after."""
    yield Span(start=first_of(year, month), until=first_of(year, month + 1), weight=1.0)
    yield Span(start=first_of(year, month + 1), until=first_of(year, month + 2), weight=NEARBY)


def year_alone(year: int) -> Iterator[Span]:
    """A year of which no month is named."""
    yield Span(start=first_of(year), until=first_of(year + 1), weight=YEAR_ALONE)


def around(start: int, until: int) -> Iterator[Span]:
    """The days from `start` until `until`, and less so half as many before and after: at least one, at most 15."""
    margin = max(1, min((until - start) // 2, _LONGEST_MARGIN))
    yield Span(start=start - margin, until=until + margin, weight=NEARBY)
    yield Span(start=start, until=until, weight=1.0)


def core(spans: Iterable[Span]) -> Span:
    """What `spans` of one date are about: from the first to the last of those that weigh most, without what is near."""
    held = sorted(spans, key=lambda each: (-each.weight, each.start))
    of_it = [each for each in held if each.weight == held[0].weight]
    return Span(start=of_it[0].start, until=of_it[-1].until, weight=held[0].weight)


def years_on(span: Span, years: int) -> Span:
    """The same so many years later, or earlier if they are negative, to the day where there is one."""
    return Span(start=_years_on(span.start, years), until=_years_on(span.until, years), weight=span.weight)


def _years_on(at: int, years: int) -> int:
    this = date.fromordinal(min(max(at, FIRST_DAY), LAST_DAY))
    return min(first_of(this.year + years, this.month) + this.day - 1, LAST_DAY)


def steps(spans: Iterable[Span], *, alone: bool = False) -> Steps:
    """All `spans` together: where some overlap, the highest weight holds. alone: as `Steps` has it."""
    inside = [(max(each.start, FIRST_DAY), min(each.until, LAST_DAY), each.weight) for each in spans]
    bounds = sorted({bound for start, until, _ in inside if start < until for bound in (start, until)})
    weights = [0.0] * (len(bounds) + 1)
    for start, until, weight in sorted(inside, key=lambda each: each[2]):
        if start < until:
            first, last = bisect_left(bounds, start) + 1, bisect_left(bounds, until) + 1
            weights[first:last] = [weight] * (last - first)
    changes = [at for at in range(len(bounds)) if weights[at] != weights[at + 1]]
    return Steps(
        bounds=tuple(datetime.combine(date.fromordinal(bounds[at]), time.min, UTC) for at in changes),
        weights=(0.0, *(weights[at + 1] for at in changes)),
        alone=alone,
    )
