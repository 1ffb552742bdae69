"""Identifiers that are written in groups ("AB 1234 5678", "1234 5678 9012"), as the one word that they are.

The same is done to a record and to a question, so that it does not matter which of the two has the spaces. A group that
is a year, a date or a time of day begins none, and two or three loose digits make none: "10 30", "room 4, 12 people".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from olvido.domain.characters import fold

MAX_GROUPS = 10
"""More than any number that is read out in groups has, such as that of a bank account."""

SEVERAL = 2
LETTERS = range(2, 5)
SHORTEST_GROUP = 2
LONG_GROUP = 3
VERY_LONG_GROUP = 7
DIGITS, DIGITS_OF_SHORT_GROUPS = 6, 8
"""Fewest digits of a number without letters: "123 456" may be one and "11 2345 6789" as well, "12 05" is not."""

# One or two spaces, or a dash or a slash that stands between spaces.
_BETWEEN = r"[ \t\u00a0\u2007\u2009\u202f]{1,2}|[ \u00a0][-\u2013\u2014/][ \u00a0]|[\u2013\u2014]"
_GAP = re.compile(_BETWEEN)
_DIGIT_AFTER_GAP = re.compile(rf"\w(?:{_BETWEEN})\d")
_JOINTS = re.compile(r"[^\w]|_")


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
    """Chunks that are one identifier. first, until: their places among all chunks. is_sure: they are nothing else."""

    first: int
    until: int
    joined: tuple[str, ...]
    is_sure: bool


def may_have_runs(text: str) -> bool:
    """Whether anything in `text` may be a run: most texts have no such thing, which is cheap to see."""
    return _DIGIT_AFTER_GAP.search(text) is not None


def runs(text: str, chunks: Sequence[Chunk], is_ordinary: Callable[[str], bool]) -> Iterator[Run]:
    """Every run of chunks, from left to right, none in two runs. is_ordinary: whether a chunk names no single thing."""
    place = 0
    while place < len(chunks):
        until = _until(text, chunks, place, is_ordinary)
        run = None if until - place < SEVERAL else _run(chunks, place, until, is_ordinary)
        if run is not None:
            yield run
        place = place + 1 if run is None else until


def _until(text: str, chunks: Sequence[Chunk], first: int, is_ordinary: Callable[[str], bool]) -> int:
    """Where the groups end that begin at `first`; `first` itself if none begins there."""
    head = chunks[first]
    # What rules out nearly every word is asked first.
    following = chunks[first + 1].raw if first + 1 < len(chunks) else ""
    if not (following[:1].isdecimal() or following.isupper()) or not _begins(head) or is_ordinary(head.raw):
        return first
    shortest = LONG_GROUP if head.raw.isalpha() and not _is_code(head) else SHORTEST_GROUP
    until = first + 1
    while until < min(len(chunks), first + MAX_GROUPS):
        before, group = chunks[until - 1], chunks[until]
        if _GAP.fullmatch(text, before.end, group.start) is None:
            break
        bare = group.bare
        is_second = until == first + 1 and head.raw.isalpha()
        if bare.isdecimal():
            may_be_ordinary = group.plain == bare and not is_second  # "AB 1234 2019"
            if len(bare) < (1 if is_second else shortest) or (is_ordinary(group.raw) and not may_be_ordinary):
                break
        elif not (_is_code(head) and _is_code(group) and len(bare) <= max(LETTERS)):
            break
        until += 1
    while until > first + 1 and chunks[until - 1].raw.isalpha():
        until -= 1
    return until


def _begins(head: Chunk) -> bool:
    if head.raw.isalpha():
        return len(head.raw) in LETTERS
    return any(map(str.isdecimal, head.bare))


def _is_code(chunk: Chunk) -> bool:
    """Letters that are capitals, or letters with digits: no word of a sentence."""
    return not chunk.bare.isdecimal() and (chunk.raw == chunk.raw.upper() != chunk.raw.lower())


def _run(chunks: Sequence[Chunk], first: int, until: int, is_ordinary: Callable[[str], bool]) -> Run | None:
    parts = chunks[first:until]
    numbers = [part for part in parts if part.bare.isdecimal()]
    if not numbers:
        return None
    head = parts[0]
    has_number = _is_number(numbers, is_ordinary)
    if head.bare.isdecimal() and not has_number:
        return None
    whole = "".join(part.bare for part in parts)
    joined = [whole]
    if len(parts) > SEVERAL and is_ordinary(parts[-1].raw):
        joined.append(whole.removesuffix(parts[-1].bare))  # it may be the year of something else
    if has_number and head.raw.isalpha() and not _is_code(head):
        joined.append("".join(part.bare for part in numbers))  # "call 123 456 789"
    is_sure = _is_code(head) and len(numbers) + (not head.raw.isalpha()) > 1
    return Run(first=first, until=until, joined=tuple(dict.fromkeys(joined)), is_sure=is_sure)


def _is_number(groups: Sequence[Chunk], is_ordinary: Callable[[str], bool]) -> bool:
    """Whether groups of digits are one number without letters."""
    lengths = [len(group.bare) for group in groups]
    long = [len(group.bare) for group in groups if len(group.bare) >= LONG_GROUP and not is_ordinary(group.raw)]
    fewest = DIGITS if min(lengths) >= LONG_GROUP else DIGITS_OF_SHORT_GROUPS
    return (
        len(lengths) >= SEVERAL
        and sum(lengths) >= fewest
        and (len(long) >= SEVERAL or max(long, default=0) >= VERY_LONG_GROUP)
    )
