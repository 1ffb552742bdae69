"""What looks like an identifier in a text: order and case numbers, addresses, codes. Compared without separators.

A record keeps its identifiers in one text, lower case, folded, each once as written and once without separators, those
written in groups ("AB 1234 5678") as one word too; a fragment of a question hits if it is part of that text.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from olvido.domain.characters import UNSPACED, fold
from olvido.domain.identifier_groups import DIGITS_OF_A_PHONE, Chunk, Run, may_have_runs, runs
from olvido.domain.stop_words import ANY_STOP_WORD
from olvido.domain.time_words import MONTHS, SHORT_MONTHS, UNITS

MIN_LENGTH = 4
MAX_FRAGMENTS = 16
_SPACED_LETTERS = range(2, 5)
_OF_A_CLOCK = 2

_LETTER = f"[^\\W_{UNSPACED[1:]}"
_CHUNK = re.compile(f"{_LETTER}+(?:[-_./:#@+]{{1,3}}{_LETTER}+)*")
_SPACED_CHUNK = re.compile(r"[^\W_]+(?:[-_./:#@+]{1,3}[^\W_]+)*")
_ASCII_CHUNK = re.compile("[0-9A-Za-z]+(?:[-_./:#@+]{1,3}[0-9A-Za-z]+)*")
"""The same for text of scripts with spaces before _MAY_BE_UNSPACED, and for ASCII: several times faster."""

_MAY_BE_UNSPACED = re.compile(f"[{UNSPACED[1]}-\U0010ffff]")
"""From the first script without spaces on."""

_JOINTS = re.compile(r"[^\w]|_")
_DIGIT = re.compile(r"\d")
_HYPHENS = re.compile("[\u2010\u2011]")

# Years, ordinals, decades, dates, times, amounts and measures name no single thing.
_NO_NAME = re.compile(
    r"(?:19|20)\d\d(?:s|[-/](?:\d\d|(?:19|20)\d\d))?|\d+(?:st|nd|rd|th|s|[ao])"
    r"|\d{1,2}[-/.]\d{1,2}(?:[-/.](?:\d\d){1,2})?|\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2}(?:t[\d:.]+(?:[-+][\d:]+|z)?)?)?"
    r"|\d{1,2}[:h.]\d\d(?::\d\d)?(?:[ap]m)?"
    r"|\d+\.\d\d?|[\d.]+(?:[ap]m|hs?|min|sec|[kmg]b|[kcm]?m|k?g|kmh|mph|mg|ml|usd|eur|brl|px|hz|x)"
)


def _chunks(composed: str) -> list[str]:
    """The runs of letters and digits in order, with what joins them; the case stays."""
    if composed.isascii():
        return _ASCII_CHUNK.findall(composed)
    return (_CHUNK if _MAY_BE_UNSPACED.search(composed) else _SPACED_CHUNK).findall(composed)


def _composed(text: str) -> str:
    return text if text.isascii() else _HYPHENS.sub("-", unicodedata.normalize("NFC", text))


def is_identifier(chunk: str) -> bool:
    """Whether a chunk looks like the name of one thing.

    It has a digit, an @ or an underscore, or is written with dots (crm.lookup), or as an address, or in joined capitals
    (WXM-AIR). Words with a hyphen or a slash are words.
    """
    if chunk.isalpha():
        return False
    plain = _plain(chunk)
    if len(plain) < MIN_LENGTH or _NO_NAME.fullmatch(plain):
        return False
    if "@" in chunk or "_" in chunk or "://" in chunk or _DIGIT.search(chunk):
        return True
    parts = _JOINTS.split(chunk)
    if "." in chunk:
        return "" not in parts and any(len(part) > 1 for part in parts)
    return len(parts) > 1 and chunk == chunk.upper() and any(len(part) > 1 for part in parts)


def identifiers(text: str, case_id: str | None) -> str:
    """The identifiers in the text of a record, and its case, separated by single spaces; "" if there are none.

    A few letters and the digits after them ("zxn 876") are one as well, without the space.
    """
    composed = _composed(text)
    read = _chunks(composed)
    found: dict[str, None] = {}
    for run in _groups(composed, in_question=False):
        found |= dict.fromkeys(run.joined)
    spaced: list[str] = []
    before = ""
    for chunk in read:
        if not chunk.isalpha():  # most are words, and asking costs a call
            if is_identifier(chunk):
                found |= dict.fromkeys(_forms(chunk))
            follows = chunk.isdecimal() and before.isalpha() and len(before) in _SPACED_LETTERS
            if follows and not (_is_ordinary(before) or _is_ordinary(chunk)):
                spaced.append(_plain(before + chunk))
        before = chunk
    found |= dict.fromkeys(spaced)
    if case_id is not None:
        found |= dict.fromkeys(_forms(case_id))
    return " ".join(filter(None, found))


def fragments(text: str) -> tuple[str, ...]:
    """What of a question may be a part of an identifier: to be looked for inside `identifiers`, most telling first.

    At least 4 characters each, at most 16. The only word of a question may be one. Two words of which one
    has a digit may be one identifier ("wxm 7").
    """
    composed = _composed(text)
    asked = _chunks(composed)
    shouted = text == text.upper()
    found: dict[str, None] = {}
    parts: set[int] = set()
    for run in _groups(composed, in_question=True):
        found |= dict.fromkeys(run.joined)
        parts |= set(range(run.first, run.until)) if run.is_sure else set()
    for place, chunk in enumerate(asked):
        if place in parts:
            continue  # a part of it alone would find what has nothing else in common
        capitals = not shouted and chunk.isalpha() and chunk == chunk.upper() != chunk.lower()
        if capitals or is_identifier(chunk) or (len(asked) == 1 and not _NO_NAME.fullmatch(_plain(chunk))):
            found |= dict.fromkeys(_forms(chunk))
            if chunk.isdecimal() and len(chunk) >= DIGITS_OF_A_PHONE:
                found[chunk.lstrip("0")] = None  # the record may have the code of the country in their place
    for place, pair in enumerate(pairwise(asked)):
        if not any(map(_DIGIT.search, pair)) or {place, place + 1} <= parts:
            continue
        if all(map(str.isdecimal, pair)) and max(map(len, pair)) <= _OF_A_CLOCK:
            continue  # "10 30" is a time
        if not any(is_identifier(chunk) or _is_ordinary(chunk) for chunk in pair):
            found["".join(_forms(chunk)[-1] for chunk in pair)] = None
    return tuple(form for form in found if len(form) >= MIN_LENGTH)[:MAX_FRAGMENTS]


def _groups(composed: str, *, in_question: bool) -> list[Run]:
    """What is written in groups."""
    if not may_have_runs(composed):
        return []
    read = [Chunk(found[0], *found.span()) for found in _CHUNK.finditer(composed)]
    return list(runs(composed, read, _is_ordinary, in_question=in_question))


def _is_ordinary(chunk: str) -> bool:
    """Whether it is no part of a name: "to", "2026", "May" of "May 23", "years" of "4 years"."""
    plain = _plain(chunk)
    units = plain in UNITS or plain.removesuffix("s") in UNITS
    return (
        units or plain in MONTHS or plain in SHORT_MONTHS or plain in ANY_STOP_WORD or bool(_NO_NAME.fullmatch(plain))
    )


def _plain(chunk: str) -> str:
    return "".join(fold(chunk).split())


def _forms(chunk: str) -> tuple[str, ...]:
    """As written and, last, without separators; they may be one."""
    plain = _plain(chunk)
    return tuple(form for form in dict.fromkeys((plain, _JOINTS.sub("", plain))) if form) or ("",)
