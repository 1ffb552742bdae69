"""How many tokens a text is, without the tokenizer of any model: a high estimate."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

_WORD = re.compile("[A-Z]?[a-zÀ-ɏ]+|[A-Z]+")
_WORD_OR_GAP = re.compile("[A-Za-zÀ-ɏ]+| (?=[A-Za-zÀ-ɏ])")
_ACCENTED = re.compile("[À-ɏ]")
_GLUED = re.compile("[a-z](?=[A-Z])|[A-Z]{2}(?=[a-z])")
_HARD = re.compile("[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{4,}")
_GREEK_TO_ARABIC = re.compile("[\u0370-\u06ff]")
_BIG_SCRIPTS = re.compile("[\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def estimate_tokens(text: str) -> int:
    """A high estimate for the byte-level tokenizers in use, which never make more tokens than there are bytes.

    A word of Latin letters with the space before it is a third of its letters, rounded up, and one more for each
    accented letter, each capital inside it and each consonant after three in a row. A letter is 4/3 in Greek, Cyrillic,
    Hebrew and Arabic, 2 in Devanagari, Thai, Japanese, Chinese and Korean. All else is its bytes in UTF-8: 1 for a
    digit, 4 for an emoji. It is not your model's count: pass `count_tokens` for that.
    """
    return _sum(_tokens_of_line, text)


def estimator() -> Callable[[str], int]:
    """`estimate_tokens` that counts no line twice. It keeps the lines, so make one for a block and let it go."""
    return functools.partial(_sum, functools.cache(_tokens_of_line))


def _sum(count: Callable[[str], int], text: str) -> int:
    lines = text.split("\n")
    return sum(map(count, lines)) + len(lines) - 1


def _tokens_of_line(line: str) -> int:
    rest = _WORD_OR_GAP.sub("", line)
    tokens = sum(-(-len(word) // 3) for word in _WORD.findall(line))
    tokens += len(_ACCENTED.findall(line)) + len(_GLUED.findall(line))
    tokens += sum(len(consonants) - 3 for consonants in _HARD.findall(line))
    two, three = len(_GREEK_TO_ARABIC.findall(rest)), len(_BIG_SCRIPTS.findall(rest))
    tokens += -(-4 * two // 3) + 2 * three + _bytes(rest) - 2 * two - 3 * three
    return min(tokens, _bytes(line))


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
