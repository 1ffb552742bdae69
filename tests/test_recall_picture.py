"""The picture of docs/recall.md shows what recall answers."""

from __future__ import annotations

import re

import pytest

from tools.draw_recall import PICTURE, QUESTION, bars, drawn

_PIECE = re.compile(r"<title>([a-z]+) (\d\.\d{3})</title>")
_TITLE = re.compile(r'fill="#222">([^<]*[a-z][^<]*)</text>')


async def test_the_picture_is_what_recall_answers() -> None:
    """Drawn again it has the same episodes in the same order, and pieces of the same size but for rounding."""
    kept, again = PICTURE.read_text(encoding="utf-8"), drawn(await bars())
    assert QUESTION in kept
    assert _TITLE.findall(kept) == _TITLE.findall(again)
    pieces, fresh = _PIECE.findall(kept), _PIECE.findall(again)
    assert [name for name, _ in pieces] == [name for name, _ in fresh]
    assert [float(value) for _, value in pieces] == pytest.approx([float(value) for _, value in fresh], abs=0.01)
    assert pieces
