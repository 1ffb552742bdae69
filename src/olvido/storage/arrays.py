"""Arrays of the database in the binary format: as arrays of numpy, and as parameters of statements for many rows.

Neither way has a Python object for each element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from struct import pack
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

from olvido.ports import Vector

WORD_DIMENSIONS = 1 << 28
"""Of the words of a text as a vector: what `index_entries.words` is declared with."""

MOST_WORDS = 16_000
"""As many non-zero elements as pgvector stores in one sparsevec."""

_HEADER = 20
"""Bytes before the first element: dimensions, a flag, the type, and size and lower bound of the one dimension."""

_NULL = b"\xff\xff\xff\xff"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Elements:
    """An array of one dimension as a statement parameter.

    kind: the type of its elements, by name. count: how many there are. sent: each with its length before it.
    """

    kind: str
    count: int
    sent: bytes


class ElementsDumper(Dumper):
    """Puts the header before `Elements`; the statement says which type the array is."""

    format = Format.BINARY

    def dump(self, obj: Elements) -> bytes:
        """The array as PostgreSQL takes it. The flag says that there may be NULLs."""
        adapters = self.connection.adapters if self.connection else psycopg.adapters
        return pack(">iiIii", 1, 1, adapters.types[obj.kind].oid, obj.count, 1) + obj.sent


def uuids(ids: NDArray[np.void]) -> Elements:
    """A parameter for `uuid[]`, of ids of 16 bytes each, shape (n,)."""
    framed = np.empty(ids.shape, dtype=[("length", ">i4"), ("value", "V16")])
    framed["length"], framed["value"] = 16, ids
    return Elements(kind="uuid", count=ids.size, sent=framed.tobytes())


def sparse_vectors(weights: Sequence[Mapping[int, float]]) -> Elements:
    """A parameter for `sparsevec[]`, of what `rows.sparse` makes one of at a time."""
    return Elements(kind="sparsevec", count=len(weights), sent=b"".join(map(_sparse, weights)))


def _sparse(weights: Mapping[int, float]) -> bytes:
    if len(weights) > MOST_WORDS:
        weights = dict(islice(weights.items(), MOST_WORDS))
    size = len(weights)
    places = sorted(weights)
    values = map(weights.__getitem__, places)
    return pack(f">iiii{size}i{size}f", 12 + 8 * size, WORD_DIMENSIONS, size, 0, *places, *values)


def half_vectors(vectors: Sequence[Vector | None]) -> Elements:
    """A parameter for `halfvec[]`, of vectors of as many dimensions; None is NULL."""
    given = [vector for vector in vectors if vector is not None]
    sent: list[bytes] = []
    if given:
        values = np.stack(given).astype(">f2")
        size = values.shape[1]
        framed = np.empty(
            len(given), dtype=[("length", ">i4"), ("size", ">u2"), ("zero", ">u2"), ("value", ">f2", size)]
        )
        framed["length"], framed["size"], framed["zero"], framed["value"] = 4 + 2 * size, size, 0, values
        if len(given) == len(vectors):
            return Elements(kind="halfvec", count=len(vectors), sent=framed.tobytes())
        sent = [one.tobytes() for one in framed]
    following = iter(sent)
    found = b"".join(_NULL if vector is None else next(following) for vector in vectors)
    return Elements(kind="halfvec", count=len(vectors), sent=found)
