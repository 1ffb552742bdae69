"""JSON as one sequence of bytes: what is signed or chained has no second spelling (RFC 8785)."""

from __future__ import annotations

import json
from typing import Any

import rfc8785

_LARGEST = 2**53 - 1
"""The largest whole number that every reader of JSON reads alike (RFC 8785, appendix D)."""
_DIGITS = 16


def canonical(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """The one spelling of a JSON value. Raises ValueError for what has none, such as NaN or a number over 2^53."""
    return rfc8785.dumps(value)


def read_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    """JSON of any origin, as a value that `canonical` takes: numbers beyond its range become text.

    Raises ValueError for what is not JSON.
    """
    return json.loads(text, parse_int=_whole, parse_float=_fraction, parse_constant=str)


def _whole(digits: str) -> int | str:
    if len(digits) > _DIGITS + 1:
        return digits
    number = int(digits)
    return number if abs(number) <= _LARGEST else digits


def _fraction(digits: str) -> float | str:
    number = float(digits)
    return number if abs(number) <= _LARGEST else digits
