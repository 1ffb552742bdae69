"""What spares most texts the slower expressions finds the same as these: words, identifiers and times."""

from __future__ import annotations

import re
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from olvido.domain import identifier_groups, identifier_shapes, named_dates, words
from olvido.domain.characters import fold
from olvido.domain.identifier_shapes import fragments, identifiers
from olvido.domain.named_dates import tells_time
from olvido.domain.words import tokens

PIECES = (
    "course", "don't", "AKIAN-2231", "T-1000", "x_7", "a.b@x.example", "e.g.", "AB", "ab", "zxn", "876", "1234", "5678",
    "(11)", "91234-5678", "2026", "19", "May 3", "3.5.26", "2026-05-03", "12:30", "3 p.m.", "10h30", "7 pm",
    "informação", "l\u2019eau", "\u0661\u0662\u0663\u0664", "\uff12\uff10\uff12\uff16", "👍🏽", "中文", "\u2011",
)  # fmt: skip
GAPS = (" ", "  ", "\u00a0", "\u2009", " - ", "\u2013", "-", "/", "", "\n", ", ")

some_text = st.lists(
    st.tuples(st.sampled_from(PIECES) | st.text(max_size=4), st.sampled_from(GAPS)).map("".join), max_size=8
).map("".join)

EVERYWHERE = re.compile("")


@given(some_text)
def test_words_of_text_that_is_ascii_once_folded(text: str) -> None:
    """The shorter expression for ASCII splits it as the one for all writing does."""
    found = tokens(text)
    with patch.object(words, "_ASCII_TOKEN", words._TOKEN):
        assert tokens(text) == found


@given(some_text)
def test_identifiers(text: str) -> None:
    """No expression for some writing only, nor the look for a digit after a blank, loses an identifier."""
    found = identifiers(text, None), fragments(text)
    with (
        patch.object(identifier_shapes, "_ASCII_CHUNK", identifier_shapes._CHUNK),
        patch.object(identifier_shapes, "_SPACED_CHUNK", identifier_shapes._CHUNK),
        patch.object(identifier_groups, "_DIGIT_AFTER_BLANK", EVERYWHERE),
    ):
        assert (identifiers(text, None), fragments(text)) == found


@given(some_text)
def test_times(text: str) -> None:
    """What has nothing like a time names none."""
    found = tells_time(text)
    with patch.object(named_dates, "_LIKE_A_TIME", EVERYWHERE):
        assert tells_time(text) is found


@given(some_text | st.text())
def test_what_is_ascii_once_folded_is_folded(text: str) -> None:
    """So that a text is folded once for all that read it."""
    folded = fold(text)
    assert not folded.isascii() or fold(folded) == folded
