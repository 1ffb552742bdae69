"""The words for time in English, Spanish and Portuguese, folded: months, days of the week, units, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count


def _numbered(lines: Iterable[str], start: int, step: int = 1) -> dict[str, int]:
    return {word: number for number, line in zip(count(start, step), lines) for word in line.split()}


MONTHS: Mapping[str, int] = _numbered(
    (
        "january enero janeiro",
        "february febrero fevereiro",
        "march marzo marco",
        "april abril",
        "may mayo maio",
        "june junio junho",
        "july julio julho",
        "august agosto",
        "september septiembre setiembre setembro",
        "october octubre outubro",
        "november noviembre novembro",
        "december diciembre dezembro",
    ),
    1,
)
"""Name to number, 1 to 12. DOUBTFUL_MONTHS are other words as well."""

SHORT_MONTHS: Mapping[str, int] = _numbered(
    (
        "jan ene",
        "feb fev",
        "mar",
        "apr abr",
        "mai",
        "jun",
        "jul",
        "aug ago",
        "sep sept set",
        "oct out",
        "nov",
        "dec dic dez",
    ),
    1,
)
"""Abbreviation to number. They are months only beside a day or a year."""

DOUBTFUL_MONTHS = frozenset({"may", "march", "marco"})
"""Months that, without their accent or capital letter, are more often something else."""

DOUBTFUL_SHORT_MONTHS = frozenset({"mai", "mar", "ago", "set", "out", "dec"})
"""Abbreviations that are months only beside a year: "12 out of 20", "3 set"."""

WEEKDAYS: Mapping[str, int] = _numbered(
    (
        "monday lunes segunda",
        "tuesday martes terca",
        "wednesday miercoles quarta",
        "thursday jueves quinta",
        "friday viernes sexta",
        "saturday sabado",
        "sunday domingo",
    ),
    0,
)
"""Name to number, 0 is Monday. In Portuguese the first five are ordinals too: the second, the third."""

TENS: Mapping[str, int] = _numbered(
    (
        "twenty veinte vinte",
        "thirty treinta trinta",
        "forty cuarenta quarenta",
        "fifty cincuenta cinquenta",
        "sixty sesenta sessenta",
        "seventy setenta",
        "eighty ochenta oitenta",
        "ninety noventa",
    ),
    20,
    10,
)
"""Numbers that another may follow: "twenty-five", "treinta y un"."""

_SMALL_NUMBERS = _numbered(
    (
        "a an one un una uno um uma",
        "couple two dos dois duas",
        "few three tres",
        "four cuatro quatro",
        "five cinco",
        "six seis",
        "seven siete sete",
        "eight ocho oito",
        "nine nueve nove",
        "ten diez dez",
        "eleven once onze",
        "twelve doce doze",
        "thirteen trece treze",
        "fourteen catorce quatorze catorze",
        "fifteen quince quinze",
        "sixteen dieciseis dezesseis dezasseis",
        "seventeen diecisiete dezessete dezassete",
        "eighteen dieciocho dezoito",
        "nineteen diecinueve dezenove dezanove",
        "",  # of TENS
        "veintiun veintiuna veintiuno",
        "veintidos",
        "veintitres",
        "veinticuatro",
        "veinticinco",
        "veintiseis",
        "veintisiete",
        "veintiocho",
        "veintinueve",
    ),
    1,
)
NUMBERS: Mapping[str, int] = {**_SMALL_NUMBERS, **TENS}
"""Numbers in words. "a few" is about three."""

UNITS: Mapping[str, str] = {
    "day": "day",
    "dia": "day",
    "night": "day",
    "noche": "day",
    "noite": "day",
    "week": "week",
    "semana": "week",
    "weekend": "weekend",
    "month": "month",
    "mes": "month",
    "year": "year",
    "ano": "year",
}
"""The unit that a word, in the singular, counts."""

_TIME_WORDS = """
    today tonight yesterday tomorrow ago week weeks weekend weekends month months year years day days morning afternoon
    evening night midnight noon last next
    monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter
    january february april june july august september october november december

    hoy ayer anteayer antier anoche dia dias semana semanas mes meses ano anos tarde noche madrugada mediodia
    pasado pasada proximo proxima hora horas lunes martes miercoles jueves viernes sabado domingo
    primavera verano otono invierno enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre
    noviembre diciembre

    hoje ontem anteontem amanha manha noite passado passada atras feira verao outono inverno janeiro
    fevereiro maio junho julho setembro outubro novembro dezembro
"""

TIME_WORDS = frozenset(_TIME_WORDS.split())
"""What a record that tells when something happened is likely to hold, beside years, dates and clock times."""
