"""Masking of secrets before anything is stored, embedded or logged (rule 27).

A secret is known by the shape of its value: a provider's token prefix, a card number that passes its checksum, the
password inside a URL, the word after "password:". Names and entropy decide nothing, so "There is no API key in this
build", a git hash, an order number and a UUID stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olvido.domain.secret_shapes import MASK, Span, may_hold, spans

UNNAMED = "<unnamed>"
WITH_MASKS = ", with its secrets masked,"
"""In messages about the limit of a text: a mask may be longer than what it stands for."""

_NAME = re.compile(r"[^\W\d][\w.-]{0,59}")
_PASSES = 8
"""A secret glued to another shows where it starts only once the other is masked, so masking is repeated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Screened:
    """A text without its secrets.

    text: the same text, each secret replaced by `[masked:<kind>]`, such as `[masked:card_number]`.
    masked: the kinds that were masked, each once; empty when nothing was.
    """

    text: str
    masked: tuple[str, ...]


def screen(text: str) -> Screened:
    """Mask the secrets in `text`. Screening the result again changes nothing."""
    kinds: dict[str, None] = {}
    for _ in range(_PASSES):
        found = sorted(spans(text))
        if not found:
            break
        parts: list[str] = []
        position = 0
        for start, end, kind in _merged(found):
            parts += (text[position:start], f"{MASK}{kind}]")
            kinds[kind] = None
            position = end
        text = "".join((*parts, text[position:]))
    return Screened(text=text, masked=tuple(kinds))


def is_clean(values: Iterable[object]) -> bool:
    """Whether `screen` would find nothing in any text among `values`: seen at once, and many times faster.

    False says nothing: each has to be screened then.
    """
    return not may_hold("\n".join([value for value in values if isinstance(value, str)]))


def safe_name(name: object) -> str:
    """`name` if it can be shown in a message or report, else `<unnamed>`.

    What callers pass as a name may be content: only up to 60 letters, digits, `_`, `.` and `-` that hold no secret are
    shown.
    """
    if isinstance(name, str) and _NAME.fullmatch(name) and not screen(name).masked:
        return name
    return UNNAMED


def _merged(found: Iterable[Span]) -> Iterator[Span]:
    """Overlapping spans joined into one, under the kind that starts first. `found` is sorted."""
    current: Span | None = None
    for start, end, kind in found:
        if current is not None and start < current[1]:
            current = (current[0], max(current[1], end), current[2])
            continue
        if current is not None:
            yield current
        current = (start, end, kind)
    if current is not None:
        yield current
