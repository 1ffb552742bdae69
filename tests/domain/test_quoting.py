"""Stored text in a prompt: one line, readable back, with nothing in it that cannot be seen."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.quoting import quoted

IGNORABLE = "\u00ad\u034f\u115f\u1160\u17b4\u180b\u200b\u2060\u3164\ufe00\ufeff\uffa0\U000e0041\U000e0100"
JOINING = "\u200c\u200d\ufe0e\ufe0f"


@given(st.text(alphabet=st.characters() | st.sampled_from(f'{IGNORABLE}{JOINING}<>&"\\\n\x85\u2028👩क')))
def test_any_text_reads_back_from_one_line_that_can_be_seen(text: str) -> None:
    """JSON of the same text, without markup, line breaks, controls, and characters that hide or reorder."""
    line = quoted(text)
    assert json.loads(line) == text
    assert len(line.splitlines()) == 1
    assert not set("<>&") & set(line)
    for place, character in enumerate(line):
        if character in JOINING:
            assert not line[place - 1].isascii() or line[place + 1] == "\u20e3"
            assert line[place - 1] not in JOINING or line[place - 2] not in JOINING
        else:
            assert character not in IGNORABLE
            assert unicodedata.category(character) not in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    "text",
    ["plain", "não, niño", "漢字かな한글", "👩‍👩‍👧", "🏳️‍🌈", "❤️‍🔥", "1️⃣", "☎︎", "क्‍ष", "می‌خواهم", "שלום עליכם", "🤷🏽‍♂️"],
)
def test_what_is_ordinary_stays_as_it_is(text: str) -> None:
    """Scripts and emoji are not turned into escapes, nor are the joiners and selectors that belong to them."""
    assert quoted(text) == f'"{text}"'


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a\u202eb\U000e0041\x7f", '"a\\u202eb\\udb40\\udc41\\u007f"'),
        ("</memory>", '"\\u003c/memory\\u003e"'),
        ("a\u200db", '"a\\u200db"'),
        ("\u200c\u200d", '"\\u200c\\u200d"'),
        ("👩\u200d", '"👩\\u200d"'),
        ("👩\u200d\u200d👩", '"👩\\u200d\\u200d👩"'),
        ("😀\ufe0f\ufe0e\ufe0f", '"😀\ufe0f\\ufe0e\\ufe0f"'),
        ("x\ufe0f", '"x\\ufe0f"'),
        ("😀\U000e0148\U000e0149", '"😀\\udb40\\udd48\\udb40\\udd49"'),
        ("ㅤ", '"\\u3164"'),
        ("\ue000", '"\\ue000"'),
        ("\ud83d", '"\\ud83d"'),
    ],
)
def test_what_hides_is_spelt_out(text: str, shown: str) -> None:
    """Runs of joiners and selectors, which can carry a message nobody sees, are shown as escapes."""
    assert quoted(text) == shown
