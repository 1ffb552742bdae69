"""Cutting texts for an endpoint: nothing is lost, nothing is too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olvido.adapters.batches import batches, pieces


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(1, 50))
def test_pieces_are_the_whole_text(text: str, size: int) -> None:
    """Joined they are the text, and none is too long or, but for an empty text, empty."""
    parts = pieces(text, size)
    assert "".join(parts) == text
    assert all(len(part) <= size for part in parts)
    assert all(parts) or parts == [""]


def test_pieces_end_between_words() -> None:
    """Words stay whole where there is white space to cut at; one that fills half a piece is cut."""
    assert pieces("one two three four", 9) == ["one two ", "three ", "four"]
    assert pieces("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert pieces("a bcdefghij", 6) == ["a bcde", "fghij"]


@given(st.lists(st.text(max_size=12), max_size=40), st.integers(1, 8), st.integers(1, 40))
def test_batches_hold_every_text_once(texts: list[str], most: int, characters: int) -> None:
    """In order, and none has too many texts or, but for a single long text, too many characters."""
    ranges = list(batches(texts, most=most, characters=characters))
    assert [place for places in ranges for place in places] == list(range(len(texts)))
    for places in ranges:
        assert 1 <= len(places) <= most
        assert len(places) == 1 or sum(len(texts[place]) for place in places) <= characters
