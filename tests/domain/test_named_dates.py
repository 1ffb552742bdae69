"""Dates named in a question, in three languages, and texts that tell a time."""

from __future__ import annotations

import math
from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.domain.question import Steps, dates, tells_time

NOW = datetime(2026, 6, 17, 10, tzinfo=UTC)  # a Wednesday


def weight(text: str, day: str, now: datetime = NOW) -> float | None:
    """The weight of noon of a day, rounded; None if the question names no date."""
    steps = dates(text, now)
    if steps is None:
        return None
    at = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    return round(steps.weights[bisect_right(steps.bounds, at)], 3)


@pytest.mark.parametrize(
    "text",
    [
        "What did she paint in May 2023?",
        "what did she paint in may 2023",
        "o que pintou em maio de 2023?",
        "¿Qué pintó en mayo de 2023?",
        "¿Qué pintó en mayo del 2023?",
        "pinturas 05/2023",
        "pinturas 2023-05",
        "paintings of May, 2023",
        "paintings mai/2023",
        "in 2023, was it in May?",
    ],
)
def test_month_and_year(text: str) -> None:
    """A month of a year weighs 1, the month after 0.4, any other day nothing."""
    assert [weight(text, day) for day in ("2023-05-01", "2023-05-31")] == [1, 1]
    assert weight(text, "2023-06-15") == 0.4
    assert [weight(text, day) for day in ("2023-04-30", "2022-05-15", "2024-05-15")] == [0, 0, 0]


def test_year_alone() -> None:
    """A year without a month weighs half."""
    assert weight("What happened in 2022?", "2022-01-01") == weight("o que houve em 2022", "2022-12-31") == 0.5
    assert weight("What happened in 2022?", "2023-01-01") == 0


@pytest.mark.parametrize(
    "text",
    ["What happened in March?", "o que houve em março?", "¿Qué pasó en marzo?", "the March invoice", "durante março"],
)
def test_month_without_year(text: str) -> None:
    """A month alone is that month of the ten years before, of this one and of the next."""
    assert [weight(text, f"{year}-03-10") for year in range(2016, 2028)] == [1] * 12
    assert [weight(text, day) for day in ("2015-03-10", "2028-03-10", "2020-05-10")] == [0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-06-02",
        "on 2026-06-02T10:30:00Z",
        "em 02/06/2026 o que houve?",
        "el 2/6/2026 qué pasó",
        "el 02-06-2026",
        "on 2 June 2026",
        "on 2nd of June 2026",
        "On June 2, 2026",
        "on june 2nd 2026",
        "em 2 de junho de 2026",
        "el 2 de junio de 2026",
        "2 jun 2026",
        "on 02/06/2026",
    ],
)
def test_full_date(text: str) -> None:
    """A full date weighs less day by day: two days before, fourteen after."""
    for away in range(-2, 15):
        day = (datetime(2026, 6, 2, tzinfo=UTC) + timedelta(days=away)).date().isoformat()
        assert weight(text, day) == round(math.exp(-abs(away) / 7), 3)
    assert weight(text, "2026-05-30") == weight(text, "2026-06-17") == 0


@pytest.mark.parametrize(
    "text, day",
    [
        ("o que houve em 2 de junho?", "2024-06-02"),
        ("1º de março", "2025-03-01"),
        ("el primero de mayo", "2025-05-01"),
        ("on June 2", "2020-06-02"),
        ("on may 5", "2026-05-05"),
        ("May 5th", "2026-05-05"),
    ],
)
def test_day_without_year(text: str, day: str) -> None:
    """A day without a year is that day of each year around."""
    assert weight(text, day) == 1


def test_numbers_are_day_first_unless_english() -> None:
    """02/06 is the second of June in Portuguese and Spanish; in English it may be the sixth of February as well."""
    assert weight("on 02/06/2026", "2026-02-06") == 1
    assert weight("em 02/06/2026 o que houve?", "2026-02-06") == 0
    assert weight("on 25/06/2026", "2026-06-25") == weight("el 06/25/2026", "2026-06-25") == 1


@pytest.mark.parametrize(
    "text, inside, outside",
    [
        ("today", "2026-06-17", "2026-06-14"),
        ("¿qué pedí hoy?", "2026-06-17", "2026-06-14"),
        ("yesterday", "2026-06-16", "2026-06-18"),
        ("o que pedi ontem?", "2026-06-16", "2026-06-18"),
        ("anteontem", "2026-06-15", "2026-06-17"),
        ("lo de anteayer", "2026-06-15", "2026-06-17"),
        ("two days ago", "2026-06-15", "2026-06-17"),
        ("há dois dias", "2026-06-15", "2026-06-17"),
        ("hace 2 días", "2026-06-15", "2026-06-17"),
        ("last week", "2026-06-08", "2026-06-18"),
        ("na semana passada", "2026-06-14", "2026-06-18"),
        ("la semana pasada", "2026-06-08", "2026-06-18"),
        ("this week", "2026-06-15", "2026-06-10"),
        ("a couple of weeks ago", "2026-06-03", "2026-06-12"),
        ("há três semanas", "2026-05-27", "2026-06-12"),
        ("last Tuesday", "2026-06-16", "2026-06-12"),
        ("last Wednesday", "2026-06-10", "2026-06-17"),
        ("na terça passada", "2026-06-16", "2026-06-12"),
        ("na segunda-feira", "2026-06-15", "2026-06-12"),
        ("el martes pasado", "2026-06-16", "2026-06-12"),
        ("el jueves", "2026-06-11", "2026-06-17"),
        ("no fim da semana passada", "2026-06-08", "2026-06-18"),
        ("the last weekend of March 2026", "2026-03-29", "2026-06-13"),
        ("la última semana de marzo", "2026-03-29", "2026-06-09"),
        ("last month", "2026-05-20", "2026-07-01"),
        ("o mês passado", "2026-05-01", "2026-07-01"),
        ("el mes pasado", "2026-05-31", "2026-07-01"),
        ("three months ago", "2026-03-15", "2026-05-01"),
        ("last year", "2025-08-01", "2026-06-01"),
        ("el año pasado", "2025-01-01", "2026-06-01"),
        ("hace dos años", "2024-06-01", "2026-06-01"),
        ("in the last 3 days", "2026-06-15", "2026-06-10"),
        ("nos últimos 3 meses", "2026-04-15", "2026-01-01"),
        ("mañana", "2026-06-18", "2026-06-15"),
        ("June last year", "2025-06-20", "2026-06-20"),
        ("em junho do ano passado", "2025-06-20", "2024-06-20"),
    ],
)
def test_relative_dates(text: str, inside: str, outside: str) -> None:
    """What is named from now weighs 1 in its interval and nothing well outside."""
    assert weight(text, inside) == 1
    assert weight(text, outside) == 0


@pytest.mark.parametrize(
    "saturday, texts",
    [
        ("2026-06-13", "last weekend; el fin de semana pasado; el último fin de semana; el finde pasado"),
        ("2026-06-13", "no fim de semana passado; no último fim de semana; o fim-de-semana passado"),
        ("2026-06-20", "this weekend; este fin de semana; neste fim de semana"),
        ("2026-06-06", "two weekends ago; hace dos fines de semana; há dois fins de semana"),
    ],
)
def test_weekends(saturday: str, texts: str) -> None:
    """A weekend is its Saturday and Sunday, and no end of a week."""
    days = [(date.fromisoformat(saturday) + timedelta(days=away)).isoformat() for away in range(-2, 4)]
    for text in texts.split("; "):
        assert [weight(text, day) for day in days] == [0, 0.4, 1, 1, 0.4, 0], text


@pytest.mark.parametrize(
    "ago, texts",
    [
        (15, "fifteen days ago; hace quince días; há quinze dias"),
        (16, "sixteen days ago; hace dieciséis días; há dezasseis dias; dezesseis dias atrás"),
        (20, "twenty days ago; hace veinte días; há vinte dias"),
        (35, "thirty-five days ago; hace treinta y cinco días; trinta e cinco dias atrás"),
    ],
)
def test_numbers_in_words(ago: int, texts: str) -> None:
    """Numbers count the same in words as in digits."""
    day = (NOW - timedelta(days=ago)).date().isoformat()
    for text in (f"{ago} days ago", *texts.split("; ")):
        assert (weight(text, day), weight(text, "2026-06-12")) == (1, 0), text


def test_relative_dates_fade() -> None:
    """The days next to a relative date weigh something: people are not exact."""
    assert [weight("yesterday", f"2026-06-{day}") for day in (14, 15, 16, 17, 18)] == [0, 0.4, 1, 0.4, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "How does it work?",
        "You may march to the sea",
        "May I return it?",
        "March on!",
        "12 out of 20",
        "Marco disse que sim",
        "un set de copas, por la mañana",
        "na segunda vez",
        "order AKIAN-2023 and #2024-17",
        "version 1.2.3 or 10/10",
        "on 31/31/2026 and 2026-02-31",
        "ha quanto tempo",
    ],
)
def test_no_date(text: str) -> None:
    """Words and numbers that only look like dates name none."""
    assert dates(text, NOW) is None


def test_several_dates() -> None:
    """Of several dates each counts, and where they overlap the highest weight."""
    text = "between 2 June 2026 and July 2026, or in 2024"
    assert [weight(text, day) for day in ("2026-06-02", "2026-07-10", "2024-10-10")] == [1, 1, 0.5]


@pytest.mark.parametrize(
    "text, first, last",
    [
        ("from January to March 2026", "2026-01-01", "2026-03-31"),
        ("from may to July 2023", "2023-05-01", "2023-07-31"),
        ("de enero a marzo de 2026", "2026-01-01", "2026-03-31"),
        ("entre janeiro e março de 2026", "2026-01-01", "2026-03-31"),
        ("from November to February 2026", "2025-11-01", "2026-02-28"),
        ("from November 2025 until February", "2025-11-01", "2026-02-28"),
        ("from June 2 to 4 July 2026", "2026-06-02", "2026-07-04"),
        ("from November to February", "2019-11-01", "2020-02-29"),
        ("between 2 June 2026 and 5 June", "2026-06-02", "2026-06-05"),
        ("2026-06-02 - 2026-06-05", "2026-06-02", "2026-06-05"),
        ("from March to today", "2026-03-01", "2026-06-17"),
        ("from 2 June 2026 on", "2026-06-02", "2026-06-17"),
        ("since yesterday", "2026-06-16", "2026-06-17"),
        ("since 2 June 2026", "2026-06-02", "2026-06-17"),
        ("since the end of March", "2026-03-01", "2026-06-17"),
        ("desde março", "2026-03-01", "2026-06-17"),
        ("desde el lunes", "2026-06-15", "2026-06-17"),
        ("a partir de mañana", "2026-06-18", "9999-12-30"),
        ("after March 2026", "2026-04-01", "2026-06-17"),
        ("después del 2 de junio de 2026", "2026-06-03", "2026-06-17"),
        ("before March 2026", "0001-01-01", "2026-02-28"),
        ("antes del 2 de junio de 2026", "0001-01-01", "2026-06-01"),
        ("antes de março", "0001-01-01", "2026-02-28"),
        ("until March 2026", "0001-01-01", "2026-03-31"),
        ("hasta ayer", "0001-01-01", "2026-06-16"),
        ("até março de 2026", "0001-01-01", "2026-03-31"),
    ],
)
def test_ranges(text: str, first: str, last: str) -> None:
    """What lies between two dates is meant like these, "since" up to today, and "before" all that came before."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    inside = [start, start + (end - start) / 2, end]
    assert [weight(text, day.isoformat()) for day in inside] == [1] * 3
    assert start == date.min or weight(text, (start - timedelta(days=1)).isoformat()) == 0
    assert weight(text, (end + timedelta(days=1)).isoformat()) in {0, 0.4}


@pytest.mark.parametrize(
    "texts, link",
    [
        ("from 2 to 4 June; between 2 and 4 June; 2-4 June; 2 \u2013 4 Jun.; the June 2-4", " "),
        ("from the 2nd to the 4th of June; from June 2 to 4; between June 2 and 4; June 2nd to 4th", ", "),
        ("del 2 al 4 de junio; entre el 2 y el 4 de junio; entre los días 2 y 4 de junio", " de "),
        ("de 2 a 4 de junho; entre 2 e 4 de junho; do dia 2 ao dia 4 de junho; entre os dias 2 e 4 de junho", " de "),
    ],
)
def test_days_of_one_month(texts: str, link: str) -> None:
    """Both days of a range have the month and the year that are said once."""
    days = [f"2026-06-0{day}" for day in range(1, 6)]
    for text in texts.split("; "):
        assert [weight(f"{text}{link}2026", day) for day in days] == [0, 1, 1, 1, 0.4], text
        assert [weight(text, day) for day in (*days, "2025-06-03")] == [0, 1, 1, 1, 0.4, 1], text


@pytest.mark.parametrize(
    "text",
    [
        "from 28 to 4 June 2026, de 28 a 4 de junho de 2026",
        "order 3 - 4 June 2026, pedido n\u00ba 3 - 4 de junho de 2026",
        "refund of \u20ac3 - 4 June 2026 or 12,3 - 4 June 2026",
        "lost 2-3 June 4, 2026; a las 2 - 4 de junio de 2026, 10 a 12 h",
        "June 4 - 6 \u20ac or June 4 to 6 pm in 2026",
    ],
)
def test_numbers_beside_a_day(text: str) -> None:
    """A later day, an order, an amount, a score or an hour beside a day makes no range: the day counts alone."""
    assert [weight(text, f"2026-06-0{day}") for day in (3, 4, 5)] == [0.867, 1, 0.867]


def test_ranges_of_years() -> None:
    """A year that ends a range weighs what a year weighs."""
    years = ("2021", "2022", "2023", "2024", "2025")
    assert [weight("entre 2022 e 2024", f"{year}-06-01") for year in years] == [0, 0.5, 0.5, 0.5, 0]
    assert [weight("before 2023", f"{year}-06-01") for year in years] == [0.5, 0.5, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "the day after 2 June 2026",
        "two days before 2 June 2026",
        "just after 2 June 2026",
        "the Sunday before June 2, 2026",
        "el fin de semana antes del 2 de junio de 2026",
    ],
)
def test_days_beside_a_date_are_no_range(text: str) -> None:
    """What is near a date is read as that date, which fades."""
    assert [weight(text, f"2026-06-0{day}") for day in (1, 2, 3)] == [0.867, 1, 0.867]
    assert weight(text, "2026-05-20") == 0


def test_what_is_no_range() -> None:
    """Ends in the wrong order are two dates, and "ate" is a verb in English."""
    text = "from March 2026 to January 2026"
    assert [weight(text, f"2026-0{month}-20") for month in (1, 2, 3, 4)] == [1, 0.4, 1, 0.4]
    assert weight("what I ate yesterday", "2026-06-10") == 0
    assert weight("an\ue000d in \ue001 March 2026", "2026-03-10") == 1


def test_days_are_utc() -> None:
    """Now is taken in UTC whatever its zone."""
    late = datetime(2026, 6, 17, 22, tzinfo=timezone(timedelta(hours=-5)))
    assert weight("today", "2026-06-18", late) == 1


@pytest.mark.parametrize("day", [date.min, date.max], ids=["first", "last"])
def test_ends_of_the_calendar(day: date) -> None:
    """No instant is too early or too late to be asked at."""
    now = datetime.combine(day, NOW.timetz())
    for text in (
        "999 years ago",
        "in March",
        "tomorrow",
        "yesterday",
        "next month",
        "last week",
        "June 2",
        "next year",
    ):
        assert isinstance(dates(text, now), Steps)


@given(
    st.text(st.characters(codec=None), max_size=100)
    | st.lists(
        st.sampled_from(
            ["2", "31", "may", "May", "marzo", "2023", "de", "in", "last", "week", "hace", "/", "-", ",", "02/06/2026"]
        ),
        max_size=12,
    ).map(" ".join),
    st.datetimes(timezones=st.just(UTC)),
)
@settings(deadline=None)
def test_any_question_gives_steps_or_none(text: str, now: datetime) -> None:
    """Any text gives None or a step function: ascending bounds in UTC, weights from 0 to 1, one more than bounds."""
    steps = dates(text, now)
    if steps is not None:
        assert list(steps.bounds) == sorted(set(steps.bounds))
        assert all(bound.tzinfo is UTC for bound in steps.bounds)
        assert len(steps.weights) == len(steps.bounds) + 1
        assert all(0 <= weight <= 1 for weight in steps.weights)


@pytest.mark.parametrize(
    "text",
    [
        "I went yesterday",
        "Fui ontem",
        "Fui el martes",
        "in the summer",
        "since 2021",
        "on 02/06/2026",
        "at 10:30",
        "at 5 pm",
        "às 14h30",
        "há dois meses",
        "el año pasado",
    ],
)
def test_records_that_tell_a_time(text: str) -> None:
    """A time word, a year, a date or a time of day tells when."""
    assert tells_time(text)


@pytest.mark.parametrize(
    "text", ["", "Good to see you!", "Order AKIAN-2023", "It may march on", "Obrigado", "44 boxes"]
)
def test_records_that_tell_none(text: str) -> None:
    """Other records do not."""
    assert not tells_time(text)
