"""Identifiers that are written in groups ("AB 1234 5678", "1234 5678 9012"), as the one word that they are.

The same is done to a record and to a question, so that it does not matter which of the two has the spaces. A group that
is a year, a date or a time of day begins none, and two or three loose digits make none: "10 30", "room 4, 12 people".
A question is read more freely: what it takes for an identifier in vain finds nothing, what a record does may be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from olvido.domain.characters import fold
from olvido.domain.stop_words import ANY_STOP_WORD
from olvido.domain.time_words import UNITS

MAX_GROUPS = 10
"""More than any number that is read out in groups has, such as that of a bank account."""

SEVERAL = 2
LETTERS = range(2, 5)
SHORTEST_GROUP = 2
LONG_GROUP = 3
VERY_LONG_GROUP = 7
DIGITS, DIGITS_OF_SHORT_GROUPS, DIGITS_OF_A_PHONE = 6, 8, 9
"""Fewest digits of a number without letters: "123 456" may be one and "11 2345 6789" as well, "12 05" is not."""

NEIGHBOURS = 100
"""Numbers of three digits that go up or down by no more at a time are a list: "101 102 103"."""

BANK = 4
"""Letters that stand for a bank in the number of an account: "GB29 NWBK", "GB 29 NWBK"."""

_MEASURING = """
    g kg lb oz mm cm m km mi ft ml l mg gb mb kb w kw v eur euro usd dollar dolar dolare brl real reai gbp pound peso
"""
_MEASURES = frozenset(_MEASURING.split())
"""Without the s of the plural. Numbers before one are amounts."""

# One or two spaces, or a dash or a slash that stands between spaces, or a bracket: "(11) 91234-5678".
_BETWEEN = (
    r"[ \t\u00a0\u2007\u2009\u202f]{1,2}|[ \u00a0][-\u2013\u2014/][ \u00a0]|[\u2013\u2014]|\)[ \u00a0]?|[ \u00a0]\("
)
_GAP = re.compile(_BETWEEN)
_DIGIT_AFTER_GAP = re.compile(rf"\w(?:{_BETWEEN})\d")
_DIGIT_AFTER_BLANK = re.compile(r"[ \t\u00a0\u2007\u2009\u202f\u2013\u2014()]\d")
"""In whatever has a digit after a gap; looking for it is many times faster."""

_JOINTS = re.compile(r"[^\w]|_")
_ACCOUNT = re.compile(r"[A-Z]{2}\d\d")


class Chunk(NamedTuple):
    """A run of letters and digits in a text, with what joins it, and where it stands."""

    raw: str
    start: int
    end: int

    @property
    def plain(self) -> str:
        """Folded."""
        return self.raw.lower() if self.raw.isascii() else "".join(fold(self.raw).split())

    @property
    def bare(self) -> str:
        """Folded, without separators."""
        return self.raw.lower() if self.raw.isalnum() and self.raw.isascii() else _JOINTS.sub("", self.plain)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Chunks that are one identifier. first, until: their places among all chunks. is_sure: they are nothing else.

    joined: as one word, and other words that they may be.
    """

    first: int
    until: int
    joined: tuple[str, ...]
    is_sure: bool


def may_have_runs(text: str) -> bool:
    """Whether anything in `text` may be a run: most texts have no such thing, which is cheap to see."""
    return _DIGIT_AFTER_BLANK.search(text) is not None and _DIGIT_AFTER_GAP.search(text) is not None


def runs(text: str, chunks: Sequence[Chunk], is_ordinary: Callable[[str], bool], *, in_question: bool) -> Iterator[Run]:
    """Every run of chunks, from left to right, none in two runs. is_ordinary: whether a chunk names no single thing."""
    reader = _Reader(text, chunks, is_ordinary, in_question)
    place = 0
    while place < len(chunks):
        until = reader.until(place)
        if until > place and chunks[place].raw.isalpha() and not _is_code(chunks[place]):
            # After a word, shorter groups are a number if they are one without it: "call 612 34 56 78".
            further = reader.until(place + 1)
            until = further if further > until and reader.run(place + 1, further) is not None else until
        run = None if until - place < SEVERAL else reader.run(place, until)
        if run is not None and run.joined:
            yield run
        place = place + 1 if run is None else until


@dataclass(frozen=True, slots=True)
class _Reader:
    """What `runs` reads in one text."""

    text: str
    chunks: Sequence[Chunk]
    is_ordinary: Callable[[str], bool]
    in_question: bool

    def until(self, first: int) -> int:
        """Where the groups end that begin at `first`; `first` itself if none begins there."""
        chunks, head = self.chunks, self.chunks[first]
        # What rules out nearly every word is asked first.
        following = chunks[first + 1].raw if first + 1 < len(chunks) else ""
        if not (following[:1].isdecimal() or following.isupper()) or not _begins(head) or self.is_ordinary(head.raw):
            return first
        until = first + 1
        while until < min(len(chunks), first + MAX_GROUPS) and self._goes_on(first, until):
            until += 1
        while until > first + 1 and chunks[until - 1].raw.isalpha():
            until -= 1
        return until

    def _goes_on(self, first: int, place: int) -> bool:
        """Whether the chunk at `place` is the next group of what begins at `first`."""
        head, group = self.chunks[first], self.chunks[place]
        if not self._is_gap(place):
            return False
        if not group.bare.isdecimal():
            return _is_code(head) and _is_code(group) and self._is_group_with_letters(first, place)
        is_second = place == first + 1
        shortest = LONG_GROUP if head.raw.isalpha() and not _is_code(head) else SHORTEST_GROUP
        if is_second and (head.raw.isalpha() or self._is_international(head)):
            shortest = 1
        if len(group.bare) < shortest:
            return False
        if not self.is_ordinary(group.raw):
            return True
        if group.plain != group.bare:
            return False  # a date, or a time of day
        return not is_second or not head.raw.isalpha() or self._is_numbered_by_year(head, place)  # "AB 1234 2019"

    def _is_gap(self, place: int) -> bool:
        return _GAP.fullmatch(self.text, self.chunks[place - 1].end, self.chunks[place].start) is not None

    def _is_numbered_by_year(self, head: Chunk, place: int) -> bool:
        """Whether a number follows the year at `place`, as in "INV 2024 001"."""
        if place + 1 == len(self.chunks) or not self._is_gap(place + 1):
            return False
        number = self.chunks[place + 1].bare
        return number.isdecimal() and len(number) >= (SHORTEST_GROUP if _is_code(head) else LONG_GROUP)

    def _is_group_with_letters(self, first: int, place: int) -> bool:
        """Whether a group with letters belongs to what begins at `first`, and is not the head of something else."""
        head, group, before = self.chunks[first], self.chunks[place], self.chunks[place - 1]
        if len(group.bare) > max(LETTERS):
            return False
        if not group.raw.isalpha():
            return group.bare[0].isdecimal() or not head.raw.isalpha()
        if place == first + 1 and head.raw.isalpha():
            return True  # "TKT AB 1234"
        account = head.bare if place == first + 1 else head.bare + before.bare if place == first + 2 else ""
        return len(group.bare) == BANK and _ACCOUNT.fullmatch(account.upper()) is not None

    def _is_international(self, head: Chunk) -> bool:
        """Whether it is the beginning of "+33 6 12 34 56 78"."""
        return head.bare.isdecimal() and self.text[max(head.start - 1, 0) : head.start] == "+"

    def run(self, first: int, until: int) -> Run | None:
        """What these groups are together, joined to nothing if they are a list; None if none begins here."""
        parts = self.chunks[first:until]
        numbers = [part for part in parts if part.bare.isdecimal()]
        if not numbers:
            return None
        head = parts[0]
        has_number = self._is_number(numbers)
        if head.bare.isdecimal() and not has_number:
            return None
        if has_number and not self.in_question and not _is_code(head) and self._is_list(until - len(numbers), until):
            return Run(first=first, until=until, joined=(), is_sure=False)
        whole = "".join(part.bare for part in parts)
        joined = [whole]
        if len(parts) > SEVERAL and self.is_ordinary(parts[-1].raw):
            joined.append(whole.removesuffix(parts[-1].bare))  # it may be the year of something else
        if head.raw.isalpha() and parts[1].raw.isalpha():
            joined.append(whole.removeprefix(head.bare))  # "CASE AB 1234"
        if has_number and (self.in_question or not _is_code(head)):
            joined += _numbers(numbers) if self.in_question else _numbers(numbers)[:1]
        is_sure = _is_code(head) and len(numbers) + (not head.raw.isalpha()) > 1
        return Run(first=first, until=until, joined=tuple(dict.fromkeys(joined)), is_sure=is_sure)

    def _is_number(self, groups: Sequence[Chunk]) -> bool:
        """Whether groups of digits are one number without letters."""
        lengths = [len(group.bare) for group in groups]
        if len(lengths) < SEVERAL:
            return False
        ordinary = [self.is_ordinary(group.raw) for group in groups]
        long = [
            length
            for length, is_ordinary in zip(lengths, ordinary, strict=True)
            if length >= LONG_GROUP and not is_ordinary
        ]
        if ordinary[0] and sum(lengths[1:]) >= LONG_GROUP:
            return True  # "INV 2024 001"
        if sum(lengths) >= DIGITS_OF_A_PHONE and len(lengths) > SEVERAL and not any(ordinary):
            # Many short groups are a number in a question, and elsewhere if they look like that of a telephone.
            first = groups[0]
            if self.in_question or long or first.bare.startswith("0") or self._is_international(first):
                return True
        fewest = DIGITS if min(lengths) >= LONG_GROUP else DIGITS_OF_SHORT_GROUPS
        return sum(lengths) >= fewest and (len(long) >= SEVERAL or max(long, default=0) >= VERY_LONG_GROUP)

    def _is_list(self, first: int, until: int) -> bool:
        """Whether numbers without letters are several: "rooms 101 102 103", "100 150 200 kg"."""
        end = self.chunks[until - 1].end
        if self.text[end : end + 2].lstrip()[:1] in {"%", "$", "\u20ac", "\u00a3"}:
            return True
        if until < len(self.chunks):
            following = self.chunks[until].plain
            if {following, following.removesuffix("s")} & (_MEASURES | UNITS.keys()):
                return True
        if first > 0 and self._is_gap(first):
            before = self.chunks[first - 1].plain
            if before.isalpha() and before.endswith("s") and not before.endswith("ss") and before not in ANY_STOP_WORD:
                return True  # a plural
        groups = self.chunks[first:until]
        if {len(group.bare) for group in groups} != {LONG_GROUP}:
            return False
        steps = [int(after.bare) - int(before.bare) for before, after in pairwise(groups)]
        return all(0 < step <= NEIGHBOURS for step in steps) or all(0 < -step <= NEIGHBOURS for step in steps)


def _begins(head: Chunk) -> bool:
    if head.raw.isalpha():
        return len(head.raw) in LETTERS
    return any(map(str.isdecimal, head.bare))


def _is_code(chunk: Chunk) -> bool:
    """Letters that are capitals, or letters with digits: no word of a sentence."""
    return not chunk.bare.isdecimal() and (chunk.raw == chunk.raw.upper() != chunk.raw.lower())


def _numbers(groups: Sequence[Chunk]) -> list[str]:
    """The number that groups of digits are, and without the code of a country or an area or zeros at its beginning."""
    left = [group.bare for group in groups]
    found = ["".join(left)]
    while len(left) > 1 and len(left[0]) <= LONG_GROUP and sum(map(len, left[1:])) >= DIGITS_OF_SHORT_GROUPS:
        left = left[1:]
        found.append("".join(left))
    return [form for number in found for form in dict.fromkeys((number, number.lstrip("0"))) if form]
