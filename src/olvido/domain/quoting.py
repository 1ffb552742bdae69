"""Stored text inside a prompt: one JSON string that can end neither its line, its quotes nor the block around it."""

from __future__ import annotations

import functools
import json
import unicodedata

from olvido.domain.policy_values import JOINERS

# Cc: control. Cf: format, among them the marks that reorder text and the invisible tag letters. Cn, Co: without a look
# that everybody agrees on. Cs: unpaired surrogates. Zl, Zp: line and paragraph separators.
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

# What the categories do not tell of Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties): a joiner of
# graphemes, fillers of Hangul, vowels of Khmer, and the variation selectors, which can carry a hidden message.
_IGNORED = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_SELECTORS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_MARKUP = "<>&"


def quoted(text: str) -> str:
    """`text` as a JSON string on one line, with markup characters and invisible ones as escapes.

    The joiners and selectors that emoji and some scripts are written with stay, each where it joins what can be seen.
    """
    body = json.dumps(text, ensure_ascii=False)
    if body.isascii() and not any(character in body for character in f"{_MARKUP}\x7f"):
        return body
    return "".join(
        _escaped(character) if character in _MARKUP or (_hidden(character) and not _belongs(body, place)) else character
        for place, character in enumerate(body)
    )


@functools.lru_cache(maxsize=4096)
def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or any(
        first <= ord(character) <= last for first, last in _IGNORED
    )


def _belongs(body: str, place: int) -> bool:
    """Whether a hidden character has its ordinary use here. `body` begins and ends with a quote."""
    character, after = body[place], body[place + 1 : place + 2]
    if character in _SELECTORS:
        return _seen(body[place - 1]) or after == _KEYCAP
    before = body[place - 2] if body[place - 1] in _SELECTORS else body[place - 1]
    return character in JOINERS and _seen(before) and _seen(after)


def _seen(character: str) -> bool:
    return not (character.isascii() or _hidden(character))


def _escaped(character: str) -> str:
    digits = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{digits[first : first + 4]}" for first in range(0, len(digits), 4))
