"""Characters as search compares them: which are folded together, which part a word, which stand alone."""

from __future__ import annotations

import re
import unicodedata

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Bopomofo and Han.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd"
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9fe\uaa60-\uaa7f\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
# Pictures of the symbol blocks; letters and digits in circles became letters and digits before.
_EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_REGIONAL = "\U0001f1e6-\U0001f1ff"

UNSPACED = f"[{_UNSPACED}]"
EMOJI = f"[{_EMOJI}]"
REGIONAL = f"[{_REGIONAL}]"
WORD = f"[^\\x00-\\x2f\\x3a-\\x60\\x7b-\\x7f\u200d{_UNSPACED}{_EMOJI}{_REGIONAL}]"
"""Classes for text that `fold` has been over: it leaves no separator outside ASCII."""

# Points, accents and other marks that a reader may leave out. Marks of other scripts are vowels: they stay.
_OPTIONAL_MARKS = (
    (0x0300, 0x036F),
    (0x0483, 0x0487),
    (0x0591, 0x05C7),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06ED),
    (0x0711, 0x0711),
    (0x0730, 0x074A),
    (0x08CA, 0x08FF),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0x2DE0, 0x2DFF),
    (0xFE00, 0xFE2F),
    (0xE0100, 0xE01EF),
)
_SPELT = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ħ": "h",
    "æ": "ae",
    "œ": "oe",
    "ð": "d",
    "þ": "th",
    "\u0131": "i",  # the dotless one of Turkish
    "\u2018": "'",
    "\u2019": "'",
    "\u02bc": "'",
    "\u2032": "'",
    "\u2010": "-",
    "\u0640": "",  # the Arabic stroke that stretches a word
    "\u05f3": "",  # the Hebrew marks of an abbreviation
    "\u05f4": "",
    "\u200b": " ",  # a place where a line may break
}
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_JOINER = "\u200d"
_LONELY_JOINER = re.compile(f"(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])")
_PICTURE = re.compile(f"[{_EMOJI}{_REGIONAL}](?<![{_SKIN_TONES}])")
_ROOM = 5_000

_MANY_MARKS = re.compile(r"[^\w\x00-\x7f]{31,}")
"""No writing piles up more than 30 marks (Unicode, annex 15). Putting more in order would take quadratic time."""


class _Folding(dict[int, str]):
    """Code point of decomposed, case-folded text -> what stands for it. Filled as characters are met, up to a bound."""

    def __missing__(self, code: int) -> str:
        folded = _folded(chr(code))
        if len(self) < _ROOM:
            self[code] = folded
        return folded


def _folded(character: str) -> str:
    if character in _SPELT:
        return _SPELT[character]
    if character.isascii() or character == _JOINER:
        return character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category[0] in "LN" or _PICTURE.match(character):
        return character
    if category[0] == "M":
        code = ord(character)
        return "" if any(first <= code <= last for first, last in _OPTIONAL_MARKS) else character
    return "" if category == "Cf" or character in _SKIN_TONES else " "


_FOLDING = _Folding()
ACCENTS = re.compile("[\u0300-\u036f]+")
"""The first of _OPTIONAL_MARKS, and all that Latin letters leave beside ASCII when they are decomposed."""


def fold(text: str) -> str:
    """`text` without case, accents, optional points and invisible characters, in compatibility form.

    Latin, Greek and Cyrillic accents, Hebrew points and Arabic vowel marks go; Thai and Indic vowel signs stay. What
    parts words outside ASCII becomes a space. Skin tones go; the joiner inside an emoji stays.
    """
    if text.isascii():
        return text.lower()
    text = _MANY_MARKS.sub(lambda run: "".join(each for each in run[0] if not unicodedata.combining(each)), text)
    # U+00B4 stands for an apostrophe wherever it is typed by itself, but would decompose into a space and an accent.
    decomposed = unicodedata.normalize("NFKD", text.replace("\u00b4", "'")).casefold()
    latin = ACCENTS.sub("", decomposed)
    if latin.isascii():
        return latin
    folded = unicodedata.normalize("NFKD", decomposed).translate(_FOLDING)
    if _JOINER in folded:
        folded = _LONELY_JOINER.sub("", folded)
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)
