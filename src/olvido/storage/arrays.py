"""Arrays of the database as arrays of numpy, from the binary format, without a Python object for each element."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEADER = 20
"""Bytes before the first element: dimensions, a flag, the type, and size and lower bound of the one dimension."""

_LENGTH = 4
"""Bytes before each element: its size, or -1 for NULL."""


def array(sent: bytes | None, element: str) -> NDArray[Any]:
    """An array of one dimension without NULLs, of shape (n,), as PostgreSQL sends it in the binary format.

    sent: None, as `array_agg` answers for no rows, is the empty array. element: its numpy type, big-endian.
    """
    framed, native = _types(element)
    if sent is None or len(sent) <= _HEADER:
        return np.zeros(0, dtype=native)
    values: NDArray[Any] = np.frombuffer(sent, dtype=framed, offset=_HEADER)["value"]
    return values.astype(native)


@cache
def _types(element: str) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Of an element with its length before it, and of the element as this machine holds it."""
    return np.dtype([("length", f"V{_LENGTH}"), ("value", element)]), np.dtype(element).newbyteorder("=")
