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
from psycopg import sql

from olvido.adapters.embedded import ServerUrls
from olvido.storage.arrays import array

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
