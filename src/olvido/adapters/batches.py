"""Cut texts to what an endpoint takes: long ones into pieces, and pieces into requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def pieces(text: str, size: int) -> list[str]:
    """`text` in pieces of at most `size` characters, cut at white space where there is some in the second half.

    Joined they are `text`; an empty text is one empty piece.
    """
    parts = []
    start = 0
    while len(text) - start > size:
        end = start + size
        cut = next((at for at in range(end, start + size // 2, -1) if text[at - 1].isspace()), end)
        parts.append(text[start:cut])
        start = cut
    return [*parts, text[start:]]


def batches(texts: Sequence[str], *, most: int, characters: int) -> Iterator[range]:
    """Ranges of places in `texts`, in order, each of at most `most` texts and `characters`, or of one text."""
    first = taken = 0
    for place, text in enumerate(texts):
        if place > first and (place - first == most or taken + len(text) > characters):
            yield range(first, place)
            first, taken = place, 0
        taken += len(text)
    if first < len(texts):
        yield range(first, len(texts))
