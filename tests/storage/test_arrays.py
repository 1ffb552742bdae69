"""Arrays of the database as arrays of numpy, element by element what PostgreSQL sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from psycopg import sql

from olvido.adapters.embedded import ServerUrls
from olvido.storage import rows
from olvido.storage.arrays import Elements, ElementsDumper, array, half_vectors, sparse_vectors, uuids

DIMENSIONS = 3

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""What PostgreSQL counts the microseconds of an instant from."""

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def connection(cluster: ServerUrls) -> Iterator[Connection]:
    """A connection to any database: nothing is stored."""
    with psycopg.connect(cluster.superuser) as opened:
        yield opened


def sent(connection: Connection, kind: str, values: Sequence[object] | None) -> bytes | None:
    """The values as PostgreSQL sends an array of them, made by `array_agg` as recall makes them."""
    query = sql.SQL("SELECT array_agg(value) FROM unnest(%s::{}[]) AS value").format(sql.Identifier(kind))
    cursor = connection.execute(query, [values], binary=True)
    assert cursor.pgresult is not None
    return cursor.pgresult.get_value(0, 0)


def read(connection: Connection, kind: str, element: str, values: Sequence[object]) -> NDArray[Any]:
    """The values on their way through the server and back."""
    return array(sent(connection, kind, values), element)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_whole_numbers(connection: Connection, values: list[int]) -> None:
    """Every bigint comes back as it is, in the order in which it was, and 4-byte ones do as well."""
    assert read(connection, "int8", ">i8", values).tolist() == values
    small = [value >> 32 for value in values]
    assert read(connection, "int4", ">i4", small).tolist() == small


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.floats(), max_size=40))
def test_floats(connection: Connection, values: list[float]) -> None:
    """Every double comes back to the last bit; what is not a number stays that."""
    found = read(connection, "float8", ">f8", values)
    assert np.array_equal(found, values, equal_nan=True)
    signs = np.array([math.copysign(1, value) for value in values])
    assert np.array_equal(np.copysign(1, found)[~np.isnan(found)], signs[~np.isnan(found)])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.uuids(), max_size=20))
def test_identifiers(connection: Connection, values: list[UUID]) -> None:
    """Every uuid comes back byte by byte, zero bytes at its ends included."""
    values = [*values, UUID(int=0), UUID(int=256), UUID(int=1 << 120)]
    assert [UUID(bytes=value.tobytes()) for value in read(connection, "uuid", "V16", values)] == values


def test_instants(connection: Connection) -> None:
    """An instant is the microseconds since 2000, before it as after it, whatever the time zone of the connection."""
    values = [EPOCH, datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC)]
    connection.execute("SET LOCAL TimeZone TO 'Asia/Tokyo'")
    found = read(connection, "timestamptz", ">i8", values)
    assert [EPOCH + timedelta(microseconds=int(value)) for value in found] == values


def test_nothing_is_an_empty_array(connection: Connection) -> None:
    """No rows, which `array_agg` answers with NULL, and an array without elements are both of shape (0,)."""
    assert sent(connection, "int8", []) is None
    cursor = connection.execute("SELECT '{}'::uuid[]", binary=True)
    assert cursor.pgresult is not None
    for answer in (None, cursor.pgresult.get_value(0, 0)):
        for element in ("V16", ">i8", ">i4", ">f8"):
            found = array(answer, element)
            assert (found.shape, found.dtype) == ((0,), np.dtype(element).newbyteorder("="))


def test_the_result_is_of_this_machine_and_can_be_changed(connection: Connection) -> None:
    """Numbers are in the order of bytes that arithmetic is fast in, and are a copy of what was sent."""
    found = read(connection, "int8", ">i8", [1, 2])
    assert found.dtype == np.dtype(np.int64)
    found += 1
    assert found.tolist() == [2, 3]


@pytest.fixture(scope="module")
def vectors(cluster: ServerUrls) -> Iterator[Connection]:
    """A connection that knows pgvector's types, as those of a pool do; nothing is stored."""
    with psycopg.connect(cluster.superuser) as opened:
        opened.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(opened)
        opened.adapters.register_dumper(Elements, ElementsDumper)
        yield opened
        opened.rollback()


def held(connection: Connection, kind: str, values: object) -> list[object]:
    """The elements of a parameter as PostgreSQL writes them."""
    query = sql.SQL("SELECT value::text FROM unnest(%b::{}[]) AS value").format(sql.Identifier(kind))
    return [text for (text,) in connection.execute(query, [values])]


def one(connection: Connection, kind: str, value: object) -> object:
    """One value as a parameter of its own, as PostgreSQL writes it."""
    cursor = connection.execute(sql.SQL("SELECT %s::{}::text").format(sql.Identifier(kind)), [value])
    (text,) = cursor.fetchone() or (None,)
    return text


_HALVES = st.floats(-65504, 65504, width=32)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.uuids(), max_size=20))
def test_identifiers_of_many_rows(vectors: Connection, values: list[UUID]) -> None:
    """Each arrives as it is, and none of them as the empty array."""
    ids = np.array([value.bytes for value in [*values, UUID(int=256)]], dtype="V16")
    assert held(vectors, "uuid", uuids(ids)) == [str(value) for value in [*values, UUID(int=256)]]
    assert held(vectors, "uuid", uuids(ids[:0])) == []


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=st.lists(st.none() | st.lists(_HALVES, min_size=DIMENSIONS, max_size=DIMENSIONS), max_size=6))
def test_vectors_of_many_rows(vectors: Connection, given: list[list[float] | None]) -> None:
    """Each arrives as it does as a parameter of its own, rounded as pgvector rounds, and None as NULL."""
    values = [None if each is None else np.array(each, dtype=np.float32) for each in given]
    assert held(vectors, "halfvec", half_vectors(values)) == [
        None if each is None else one(vectors, "halfvec", each) for each in values
    ]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=st.lists(st.dictionaries(st.integers(0, 2**28 - 1), st.integers(1, 3), max_size=8), max_size=6))
def test_words_of_many_rows(vectors: Connection, given: list[dict[int, float]]) -> None:
    """Each arrives as it does as a parameter of its own, and no words are a vector of zeros."""
    assert held(vectors, "sparsevec", sparse_vectors(given)) == [
        one(vectors, "sparsevec", rows.sparse(each)) for each in given
    ]


def test_words_past_what_a_vector_holds_are_left_out(vectors: Connection) -> None:
    """The first 16,000 are kept, as for one row."""
    words = dict.fromkeys(range(30000, 0, -1), 1.0)
    assert held(vectors, "sparsevec", sparse_vectors([words])) == [one(vectors, "sparsevec", rows.sparse(words))]
