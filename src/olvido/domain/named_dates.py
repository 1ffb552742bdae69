"""Dates that a question names, in English, Spanish and Portuguese, as weights over the time of a record.

    month and year   1 in that month, 0.4 in the month after
    year alone       0.5 in that year
    full date        exp(-|days| / 7) from 2 days before to 14 days after
    without a year   the same in each year from ten years ago to the next
    relative         1 in that interval, 0.4 shortly before and after ("yesterday", "la semana pasada", "há dois dias")
    range            the weight of its ends all through ("from January to March", "since May" until now, "before May")

The shapes of the first three were measured on the development part of LoCoMo. Where several dates are named, the
highest weight holds. Days are UTC days; weeks begin on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial

from olvido.domain.asking import asks_for_whatever, is_english, whole_months, words_of
from olvido.domain.characters import fold
from olvido.domain.date_ranges import MARK, MOST_MARKS, RANGE_WORDS, TO, Ranges, mark
from olvido.domain.day_spans import Span, Steps, around, day, first_of, month_of, steps, year_alone
from olvido.domain.relative_dates import READERS, RELATIVE_WORDS, Reader, offset, relative_unit
from olvido.domain.time_words import DOUBTFUL_MONTHS, DOUBTFUL_SHORT_MONTHS, MONTHS, SHORT_MONTHS, TIME_WORDS, UNITS

YEARS_BACK = 10
"""A month or day without a year is looked for in so many years before this one, and in the next."""

MAX_DATES = 8
"""Dates of one question that count."""

_ALL_MONTHS = {**SHORT_MONTHS, **MONTHS}
_TWO_DIGIT_YEARS = 2000
_LEAP_YEAR = 2000  # has every day that a month may have
_DAY_FIRST_YEARS = 100


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


# A date is not a part of something longer, such as an order number.
_START, _END = r"(?<![\w@#/.:-])", r"(?![\w@]|[-./:#]\w)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = rf"(?P<month>{_any(_ALL_MONTHS)})\b\.?"
_LINK = r"(?:\s*,)?(?:\s+(?P<link>of|de|del|do))?"

_ISO = re.compile(
    rf"{_START}(?P<year>\d{{4}})([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)(?:t[\d:.]+(?:z|[+-][\d:]+)?)?{_END}"
)
_NUMERIC = re.compile(rf"{_START}(?P<first>\d\d?)([-/.])(?P<second>\d\d?)\2(?P<year>\d{{4}}|(?<=/)\d\d){_END}")
_YEAR_MONTH = re.compile(rf"{_START}{_YEAR}[-/](?P<month>\d\d?){_END}")
_MONTH_YEAR = re.compile(rf"{_START}(?P<month>\d\d?)[-/]{_YEAR}{_END}")
_DAY_MONTH = re.compile(
    rf"{_START}(?:(?P<day>\d\d?)(?P<ordinal>st|nd|rd|th|\.?o)?|primeiro|primero)"
    rf"(?:\s+(?P<before>of|de))?[\s./-]{{1,3}}{_MONTH}(?:{_LINK}[\s/-]{{1,3}}{_YEAR})?{_END}"
)
_MONTH_DAY = re.compile(
    rf"{_START}(?:(?P<before>on|by|since|until|till|before|after)\s+)?{_MONTH}\s+(?:the\s+)?(?P<day>\d\d?)(?P<ordinal>st|nd|rd|th)?(?:\s*,?\s*{_YEAR})?{_END}"
)
_NAMED_MONTH_YEAR = re.compile(rf"{_START}{_MONTH}{_LINK}[\s/-]{{1,3}}{_YEAR}{_END}")
_MONTH_ALONE = re.compile(
    rf"{_START}(?:(?P<before>in|of|from|between|since|until|till|by|during|early|late|mid|em|de|desde|entre|ate|en|hasta)\s+)?"
    rf"(?P<month>{_any(MONTHS)}){_END}"
)
_YEAR_ALONE = re.compile(rf"{_START}{_YEAR}{_END}")
_RELATIVE_YEAR = relative_unit("year|ano")

# Two days of a month that is said once: "from 2 to 4 June", "entre el 2 y el 4 de junio", "June 2-4".
_DAY = r"(?:\d\d?(?:st|nd|rd|th|\.?o)?|primeiro|primero)"
_BETWEEN = r"(?P<opening>(?:(?P<between>between|entre) (?:(?:the|el|os?|los|dias?|days?) ){0,2})?)"
_TWO_DAYS = (
    rf"(?P<first>{_DAY})(?P<joint> {TO} | ?- ?| (?P<and>and|y|e) )"
    rf"(?P<article>(?:(?:the|el|al|ao?|o|dia|day) ){{0,2}})(?P<last>{_DAY})"
)
_DAYS_MONTH = re.compile(
    rf"{_START}{_BETWEEN}(?P<before>){_TWO_DAYS}"
    rf"(?P<after>(?: (?:of|de))?[ ./-]{{1,3}}{_MONTH}(?:{_LINK}[ /-]{{1,3}}{_YEAR})?){_END}(?! \d\d?\b)"
)
_COUNTED = rf"[ap]\.?m|hs?|hrs?|hours?|horas?|o.?clock|euros?|dollars?|reais|pesos|(?:{_any(UNITS)})(?:e?s)?"
_MONTH_DAYS = re.compile(
    rf"{_START}{_BETWEEN}(?P<before>{_MONTH} (?:the )?){_TWO_DAYS}(?P<after>(?: ?,? ?{_YEAR})?){_END}"
    rf"(?! ?[$%]|,\d| (?:{_COUNTED})\b)"
)
_NUMBERED = """
    at as las das order invoice ticket case room number version
    pedido encomenda factura fatura caso numero habitacion quarto sala
"""
_NO_DAY = re.compile(
    rf"(?:\$ ?|\d,|\b(?:{_any(_NUMBERED.split())}) (?:no\.? )?|\b(?:{_any(_ALL_MONTHS)})\.? (?:the )?)$"
)
"""What stands before the number of something else, or before a day that has a month of its own."""

# Folding takes away what tells these from the verbs, the noun and the name: so they are looked for before.
_CAPITAL = re.compile(r"(?:[^\s.?!:]\s+(?P<month>May|March)|\b(?P<dated>May)\s+\d\d?)\b")
_CEDILLA = re.compile(r"\bmar(?:\u00e7|c\u0327)o\b", re.IGNORECASE)
# It would make spaces of these, too.
_SIGNS = str.maketrans({"\u2013": " - ", "\u2014": " - ", "\u20ac": "$", "\u00a3": "$"})

_WORD = re.compile(r"[a-z]+")
_DIGIT = re.compile(r"\d")
_MARKS = re.compile(MARK)
_CLOCK = re.compile(r"\b\d\d?(?::\d\d|\s?[ap]\.?m\b|\s?h\d\d\b)")
_LIKE_A_TIME = re.compile(r"\d(?:[-/.:]\d|\s?[aph])|(?:19|20)\d\d")
"""In every year, date and time of day. It is many times faster than looking for these, and most texts have none."""


def _completed(match: re.Match[str]) -> str:
    """Two days of a month, each with the month; unchanged if the month has no such days in this order."""
    groups = match.groupdict("")
    before, after = groups["before"], groups["after"]
    if not groups["between"]:
        place = match.start()
        if groups["and"] or (not before and _NO_DAY.search(match.string, max(place - 20, 0), place)):
            return match[0]
    first, last = (int("".join(filter(str.isdecimal, groups[name])) or 1) for name in ("first", "last"))
    if first >= last or not any(day(int(groups["year"] or _LEAP_YEAR), _ALL_MONTHS[groups["month"]], last)):
        return match[0]
    start, end = f"{before}{groups['first']}{after}", f"{groups['article']}{before}{groups['last']}{after}"
    return f"{groups['opening']}{start} {groups['joint'].strip()} {end}"


class _Reading:
    """What one question has named so far. Its text shrinks, so that no part of a date is read once more."""

    def __init__(self, text: str, folded: str, words: Sequence[str], now: datetime) -> None:
        self.in_english = is_english(words)
        self.text = whole_months(folded)
        self.today = now.astimezone(UTC).date()
        self.dates: list[list[list[Span]]] = []
        self.months: dict[int, int] = {}
        self.years: dict[int, int] = {}
        self.relative_years: dict[int, int] = {}
        self.years_of_dates: list[int] = []
        self.sure = {found[0].split()[0 if found["dated"] else -1].lower() for found in _CAPITAL.finditer(text)}
        if text.strip(" \n?!.") in {"March", "May"}:
            self.sure.add(text.strip(" \n?!.").lower())
        if _CEDILLA.search(text):
            self.sure.add("marco")

    def complete(self, pattern: re.Pattern[str]) -> None:
        """Put the month and the year of every match of `pattern` beside both its days."""
        self.text = pattern.sub(_completed, self.text)

    def take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], bool]) -> None:
        """Replace every match that `read` takes for a date by its mark."""

        def taken(match: re.Match[str]) -> str:
            if len(self.dates) >= MOST_MARKS or not read(match):
                return match[0]
            before = match.groupdict().get("before")
            return f" {before if before in RANGE_WORDS else ''} {mark(len(self.dates) - 1)} "

        self.text = pattern.sub(taken, self.text)

    def add(self, readings: Iterable[Iterable[Span]]) -> bool:
        """Whether there is any date in `readings`, each a date that is meant or may be; keeps them as one."""
        found = [spans for spans in map(list, readings) if spans]
        if found:
            self.dates.append(found)
        return bool(found)

    def later(self, kept: dict[int, int], value: int) -> bool:
        """Keep a month or a year, whose days depend on the rest of the question."""
        kept[len(self.dates)] = value
        self.dates.append([])
        return True

    def each_year(self) -> range:
        """The years in which a date without a year may be."""
        return range(self.today.year - YEARS_BACK, self.today.year + 2)

    def iso(self, match: re.Match[str]) -> bool:
        return self.add([day(int(match["year"]), int(match["month"]), int(match["day"]))])

    def numeric(self, match: re.Match[str]) -> bool:
        first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
        if year < _DAY_FIRST_YEARS:
            year += _TWO_DIGIT_YEARS
        found = [list(day(year, second, first))]
        if not found[0] or (first != second and self.in_english is not False):
            found.append(list(day(year, first, second)))
        return self.add(found)

    def month_of_year(self, match: re.Match[str]) -> bool:
        month = _ALL_MONTHS.get(match["month"]) or int(match["month"])
        self.years_of_dates.append(int(match["year"]))
        return 1 <= month <= 12 and self.add([month_of(int(match["year"]), month)])  # noqa: PLR2004 - months

    def day_of_month(self, match: re.Match[str]) -> bool:
        groups = match.groupdict()
        name, number, year = groups["month"], int(groups["day"] or 1), groups["year"]
        plain = not (year or groups["ordinal"] or groups["before"] or name in self.sure)
        if plain and (name in DOUBTFUL_SHORT_MONTHS or name == "may"):
            return False
        years = [int(year)] if year else self.each_year()
        return self.add(day(each, _ALL_MONTHS[name], number) for each in years)

    def month_alone(self, match: re.Match[str]) -> bool:
        name = match["month"]
        if name in DOUBTFUL_MONTHS and name not in self.sure and not match["before"]:
            return False
        return self.later(self.months, MONTHS[name])

    def year_alone(self, match: re.Match[str]) -> bool:
        return self.later(self.years, int(match["year"]))

    def relative(self, read: Reader, match: re.Match[str]) -> bool:
        return self.add([read(match, self.today.toordinal())])

    def relative_year(self, match: re.Match[str]) -> bool:
        return self.later(self.relative_years, self.today.year + offset(match))

    def all(self) -> list[Span]:
        """Every span. A month without a year belongs to the years that the question names, if there are any."""
        named = [*self.years.values(), *self.relative_years.values(), *self.years_of_dates]
        if self.months:
            for place, month in self.months.items():
                self.dates[place] = [list(month_of(year, month)) for year in named or self.each_year()]
        else:
            for place, year in self.years.items():
                self.dates[place] = [list(year_alone(year))]
            for place, year in self.relative_years.items():
                self.dates[place] = [list(around(first_of(year), first_of(year + 1)))]
        ranges = Ranges(
            self.dates,
            of_other_years=self.months if named else (),
            today=self.today.toordinal(),
            in_english=self.in_english is True,
        )
        self.text = " ".join(ranges.take(" ".join(self.text.split())).split())
        spans = [
            ranges.spans.get(place, [span for each in readings for span in each])
            for place, readings in enumerate(self.dates)
        ]
        return [span for each in [each for each in spans if each][:MAX_DATES] for span in each]

    def is_alone(self) -> bool:
        """Whether the question, without its dates, names no topic."""
        return asks_for_whatever(self.text)


def dates(text: str, now: datetime) -> Steps | None:
    """When the question `text`, asked at `now`, says it was; None if it names no date.

    Numbers alone are read day first, in a question without Spanish or Portuguese words both ways where both are dates.
    """
    folded = " ".join(_MARKS.sub(" ", fold(text.translate(_SIGNS))).split())
    words = words_of(folded)
    # Most questions name no date, which is cheap to see.
    is_relative = not RELATIVE_WORDS.isdisjoint(words)
    if not is_relative and _ALL_MONTHS.keys().isdisjoint(words) and _DIGIT.search(folded) is None:
        return None
    reading = _Reading(text, folded, words, now)
    reading.take(_ISO, reading.iso)
    reading.take(_NUMERIC, reading.numeric)
    reading.take(_YEAR_MONTH, reading.month_of_year)
    reading.take(_MONTH_YEAR, reading.month_of_year)
    reading.complete(_DAYS_MONTH)
    reading.take(_DAY_MONTH, reading.day_of_month)
    reading.complete(_MONTH_DAYS)
    reading.take(_MONTH_DAY, reading.day_of_month)
    reading.take(_NAMED_MONTH_YEAR, reading.month_of_year)
    if is_relative:
        for pattern, read in READERS:
            reading.take(pattern, partial(reading.relative, read))
        reading.take(_RELATIVE_YEAR, reading.relative_year)
    reading.take(_MONTH_ALONE, reading.month_alone)
    reading.take(_YEAR_ALONE, reading.year_alone)
    spans = reading.all()
    return steps(spans, alone=reading.is_alone()) if spans else None


def tells_time(text: str) -> bool:
    """Whether a record holds a word for a time (en, es, pt), a year, a date or a time of day."""
    folded = fold(text)
    if not TIME_WORDS.isdisjoint(_WORD.findall(folded)):
        return True
    if _LIKE_A_TIME.search(folded) is None:
        return False
    return any(pattern.search(folded) for pattern in (_YEAR_ALONE, _CLOCK, _ISO, _NUMERIC))
