"""Ranges between the dates that a question names: "from January to March", "since yesterday", "antes de 2025".

In the text each date stands as one character, its mark, so that the words beside it can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from olvido.domain.day_spans import FIRST_DAY, LAST_DAY, NEARBY, Span, core, years_on
from olvido.domain.time_words import WEEKDAYS

MARK = "[\ue000-\uf8ff]"
"""Characters that no text is written with."""

_FIRST_MARK = 0xE000
MOST_MARKS = 1000
RANGE_WORDS = frozenset(
    ("from", "between", "since", "until", "till", "before", "after", "de", "desde", "entre", "ate", "hasta")
)
"""Words that are kept where they stand before a date, because they may make a range of it."""

_TOLD_LATER = 15
"""What happened near the end of a range is often told some days after it."""

_ARTICLE = "the|of|el|la|los|las|o|a|os|as|de|del|do|da|dos|das|dias?|days?|mes|month|semana|week|ano|year"
_ARTICLES = rf"(?:\s|\b(?:{_ARTICLE})\b){{0,10}}"  # so few that no text takes long
TO = r"(?:to|until|till|through|thru|up to|a|al|ao|ate|hasta|-)"
_NEAR = """
    day days night morning evening week weeks weekend weekends month months year just right soon shortly
    dia dias noche noite semana semanas mes meses ano poco pouco justo logo
"""
_NEAR_WORDS = frozenset(_NEAR.split()) | WEEKDAYS.keys()
"""The day after a date is a day, not all that comes after."""

_WORD_BEFORE = re.compile(rf"(?:(?P<word>\w+)|{MARK}) ?$")


def mark(place: int) -> str:
    """The character that stands for the date of this place, from 0 to MOST_MARKS - 1."""
    return chr(_FIRST_MARK + place)


def _dated(name: str) -> str:
    return rf"{_ARTICLES}(?P<{name}>{MARK})"


_FROM_TO = (
    re.compile(rf"\b(?:between|entre){_dated('first')}\s*(?:and|y|e|to|a)\b{_dated('last')}"),
    re.compile(rf"(?:\b(?:from|since|desde|de|del|do|da)\b)?{_dated('first')}\s*{TO}(?!\w){_dated('last')}"),
)
_SINCE = (
    re.compile(rf"\b(?:since|desde|a partir d(?:e|el|o|a)|as of)\b{_dated('date')}"),
    re.compile(
        rf"\b(?:from|de|del|do|da){_dated('date')}\s+"
        r"(?:on|onwards?|en adelante|em diante|(?:until|till|up to) now|to date|hasta ahora|ate agora)\b(?!\s*\d)"
    ),
)
_AFTER = re.compile(rf"\b(?:after|despues de|despues del|depois d[eoa]|apos|tras)\b{_dated('date')}")
_BEFORE = re.compile(rf"\b(?P<word>before|prior to|antes d(?:e|el|o|a))\b{_dated('date')}")
_UNTIL = re.compile(rf"\b(?P<word>until|till|up to|hasta|ate)\b{_dated('date')}")


class Ranges:
    """The ranges of one text.

    dates: what each mark stands for, once for each year that may be meant. of_other_years: the marks whose year stands
    elsewhere in the question. today: an ordinal. in_english: "ate" is a verb.
    """

    def __init__(
        self, dates: Sequence[Sequence[Sequence[Span]]], *, of_other_years: Container[int], today: int, in_english: bool
    ) -> None:
        self._dates = dates
        self._of_other_years = of_other_years
        self._today = today
        self._in_english = in_english
        self.spans: dict[int, list[Span]] = {}
        """What each mark that begins or ends a range stands for now; the second of two for nothing."""

    def take(self, text: str) -> str:
        """Read the ranges of `text` and leave a mark of each, "until" before one without a beginning."""
        if len(self._dates) > 1:
            for pattern in _FROM_TO:
                text = pattern.sub(self._from_to, text)
        for pattern in _SINCE:
            text = pattern.sub(self._since, text)
        text = _AFTER.sub(self._after, text)
        text = _BEFORE.sub(self._before, text)
        return _UNTIL.sub(self._until, text)

    def _from_to(self, match: re.Match[str]) -> str:
        first, last = _place(match["first"]), _place(match["last"])
        if self.spans.keys() & {first, last}:
            return match[0]
        starts, ends = self._named(first), self._named(last)
        pairs = _pairs(starts, ends)
        if not pairs and last in self._of_other_years:
            pairs = _pairs(starts, [years_on(each, 1) for each in ends])  # "from November 2025 to February"
        if not pairs and first in self._of_other_years:
            pairs = _pairs([years_on(each, -1) for each in starts], ends)
        if not pairs:
            return match[0]
        self.spans[last] = []
        self.spans[first] = []
        for start, end in pairs:
            weight = min(start.weight, end.weight)
            self.spans[first] += [
                Span(start=end.until, until=end.until + _TOLD_LATER, weight=NEARBY * weight),
                Span(start=start.start, until=end.until, weight=weight),
            ]
        return f" {match['first']} "

    def _since(self, match: re.Match[str]) -> str:
        named = self._newest(match)
        return match[0] if named is None else self._on_from(match, named.start, named.weight)

    def _after(self, match: re.Match[str]) -> str:
        named = self._newest(match)
        if named is None or _is_near(match):
            return match[0]
        return self._on_from(match, named.until, named.weight)

    def _on_from(self, match: re.Match[str], start: int, weight: float) -> str:
        """Until now, or on and on if it has not begun."""
        until = self._today + 1 if start <= self._today else LAST_DAY
        self.spans[_place(match["date"])] = [Span(start=start, until=until, weight=weight)]
        return f" {match['date']} "

    def _before(self, match: re.Match[str]) -> str:
        named = self._newest(match)
        if named is None or _is_near(match):
            return match[0]
        return self._up_to(match, named.start, named.weight)

    def _until(self, match: re.Match[str]) -> str:
        named = self._newest(match)
        if named is None or (match["word"] == "ate" and self._in_english):
            return match[0]
        return self._up_to(match, named.until, named.weight)

    def _up_to(self, match: re.Match[str], until: int, weight: float) -> str:
        self.spans[_place(match["date"])] = [Span(start=FIRST_DAY, until=until, weight=weight)]
        return f" until {match['date']} "

    def _newest(self, match: re.Match[str]) -> Span | None:
        """The date itself; of several years the last one in which it has begun. None where it is read already."""
        place = _place(match["date"])
        dates = [] if place in self.spans else sorted(self._named(place), key=lambda each: each.start)
        begun = [each for each in dates if each.start <= self._today]
        return begun[-1] if begun else next(iter(dates), None)

    def _named(self, place: int) -> list[Span]:
        return [core(spans) for spans in self._dates[place]]


def _is_near(match: re.Match[str]) -> bool:
    """Whether "before" and "after" say on which day, and not since when: "the Sunday before 2 June"."""
    found = _WORD_BEFORE.search(match.string, max(match.start() - 30, 0), match.start())
    return found is not None and (found["word"] is None or found["word"] in _NEAR_WORDS)


def _place(found: str) -> int:
    return ord(found) - _FIRST_MARK


def _pairs(starts: Sequence[Span], ends: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Each start with the end that comes next, if no other start lies between."""
    pairs = []
    for end in ends:
        start = max((each for each in starts if each.start <= end.start), key=lambda each: each.start, default=None)
        between = () if start is None else (each for each in ends if start.start <= each.start < end.start)
        if start is not None and not any(between):
            pairs.append((start, end))
    return pairs
