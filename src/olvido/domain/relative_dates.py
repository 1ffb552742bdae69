"""Dates that a question names from where it stands: "yesterday", "el martes pasado", "há duas semanas"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date

from olvido.domain.day_spans import Span, around, first_of
from olvido.domain.time_words import NUMBERS, TENS, UNITS, WEEKDAYS

Reader = Callable[["re.Match[str]", int], Iterable[Span]]
"""A match and today -> the spans it names; none if it names no date after all."""

_WEEK = 7
_PORTUGUESE_ORDINALS = frozenset({"segunda", "terca", "quarta", "quinta", "sexta"})

_DAYS = {
    "day before yesterday": -2,
    "antes de ontem": -2,
    "anteontem": -2,
    "antes de ayer": -2,
    "anteayer": -2,
    "antier": -2,
    "yesterday": -1,
    "last night": -1,
    "ontem": -1,
    "ayer": -1,
    "anoche": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "hoje": 0,
    "hoy": 0,
    "esta manha": 0,
    "esta manana": 0,
    "esta tarde": 0,
    "esta noite": 0,
    "esta noche": 0,
    "tomorrow": 1,
    "manana": 1,
    "amanha": 1,
    "day after tomorrow": 2,
    "depois de amanha": 2,
    "pasado manana": 2,
}
_OFFSETS = {
    "this": 0,
    "current": 0,
    **dict.fromkeys(("este", "esta", "esse", "essa", "neste", "nesta", "nesse", "nessa", "atual", "actual"), 0),
    **dict.fromkeys(("last", "past", "previous", "ultimo", "ultima", "passado", "passada", "pasado", "pasada"), -1),
    "anterior": -1,
    **dict.fromkeys(("next", "proximo", "proxima", "que vem", "que viene"), 1),
}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_OFFSET = _any(_OFFSETS)
_NUMBER = (
    rf"(?:an?\s+)?(?:(?P<tens>{_any(TENS)})[\s-](?:[ey]\s)?)?"
    rf"(?P<number>\d{{1,3}}|{_any(NUMBERS)})(?:\s+(?:of|de))?"
)
# The end of a number is not the number.
_NO_HUNDRED = r"(?<!hundred )(?<!hundred and )(?<!ciento )(?<!cento e )"
_UNIT = rf"(?P<unit>{_any(UNITS)})(?:e?s)?\b"
_WEEKDAY = rf"(?P<weekday>{_any(WEEKDAYS)})(?P<feira>[\s-]feira)?\b"


def relative_unit(units: str) -> re.Pattern[str]:
    """Matches "last <unit>" and "<unit> pasada" for the alternatives `units`; `offset` reads the match."""
    return re.compile(rf"\b(?:(?P<before>{_OFFSET})\s+(?P<unit>{units})|(?P<word>{units})\s+(?P<after>{_OFFSET}))\b")


def offset(match: re.Match[str]) -> int:
    """-1 for last, 0 for this, 1 for next."""
    return _OFFSETS[match["before"] or match["after"]]


def _day(match: re.Match[str], today: int) -> Iterable[Span]:
    at = today + _DAYS[match[0]]
    return around(at, at + 1)


def _unit(match: re.Match[str], today: int) -> Iterable[Span]:
    unit, by = match["unit"] or match["word"], offset(match)
    if unit in {"month", "mes"}:
        return _months(today, by)
    return _weekend(today, by) if unit == "weekend" else around(_monday(today, by), _monday(today, by + 1))


def _ago(match: re.Match[str], today: int) -> Iterable[Span]:
    number, unit = _counted(match)
    if unit == "month":
        return _months(today, -number)
    if unit == "year":
        this = date.fromordinal(today).year
        return around(first_of(this - number), first_of(this - number + 1))
    if unit == "weekend":
        return _weekend(today, -number)
    if unit == "week":
        return around(today - number * _WEEK - 3, today - number * _WEEK + 4)
    return around(today - number, today - number + 1)


def _within(match: re.Match[str], today: int) -> Iterable[Span]:
    number, unit = _counted(match)
    days = {"day": 1, "week": _WEEK, "weekend": _WEEK, "month": 31, "year": 366}[unit]
    return around(today - number * days, today + 1)


def _weekday(match: re.Match[str], today: int) -> Iterable[Span]:
    groups = match.groupdict()
    direction = groups.get("before") or groups.get("after")
    if direction is None and groups["weekday"] in _PORTUGUESE_ORDINALS and not groups["feira"]:
        return ()
    since = (today - 1 - WEEKDAYS[groups["weekday"]]) % _WEEK
    by = 0 if direction is None else _OFFSETS[direction]
    if by < 0 and since == 0:
        since = _WEEK
    at = today - since + (_WEEK if by > 0 else 0)
    return around(at, at + 1)


def _months(today: int, by: int) -> Iterable[Span]:
    this = date.fromordinal(today)
    return around(first_of(this.year, this.month + by), first_of(this.year, this.month + by + 1))


def _monday(today: int, by: int) -> int:
    return today - (today - 1) % _WEEK + by * _WEEK


def _weekend(today: int, by: int) -> Iterable[Span]:
    return around(_monday(today, by) + 5, _monday(today, by) + 7)


def _counted(match: re.Match[str]) -> tuple[int, str]:
    number = match["number"]
    last = int(number) if number.isdecimal() else NUMBERS[number]
    return TENS.get(match["tens"], 0) + last, UNITS[match["unit"]]


READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(rf"{_NO_HUNDRED}\b{_NUMBER}\s+{_UNIT}\s+(?:ago|atras)\b"), _ago),
    (re.compile(rf"\b(?:ha|hace|faz)\s+{_NUMBER}\s+{_UNIT}"), _ago),
    (re.compile(rf"\b(?:last|past|previous|(?:ultim|passad|pasad)[oa]s)\s+{_NUMBER}\s+{_UNIT}"), _within),
    (re.compile(rf"\b(?:{_any(_DAYS.keys() - {'manana'})}|(?<!\bla )manana)\b"), _day),
    (relative_unit("weekend|week|month|semana|mes"), _unit),
    (re.compile(rf"\b(?P<before>last|past|previous|ultim[oa]|next|proxim[oa])\s+{_WEEKDAY}"), _weekday),
    (re.compile(rf"\b{_WEEKDAY}\s+(?P<after>passad[oa]|pasad[oa]|proxim[oa]|que vem|que viene)\b"), _weekday),
    (re.compile(rf"\b(?:on|el|no|na)\s+{_WEEKDAY}"), _weekday),
)
"""Applied in this order, each to what the ones before have left. For folded text."""

RELATIVE_WORDS = frozenset(
    (
        *("ago", "atras", "ha", "hace", "faz"),
        *("ultimos", "ultimas", "passados", "passadas", "pasados", "pasadas"),
        *(phrase.split()[-1] for phrase in (*_DAYS, *_OFFSETS)),
        *WEEKDAYS,
    )
)
"""One of these stands in whatever one of READERS or a pattern of `relative_unit` matches."""
