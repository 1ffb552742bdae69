"""Endpoints that speak the OpenAI protocol, and embedders for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from olvido.embedders import OpenAICompatible
from tests.adapters.endpoint import DIMENSIONS, Endpoint

Make = Callable[..., OpenAICompatible]


@pytest.fixture(autouse=True)
def _no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests names no endpoint and no key."""
    for name in [name for name in os.environ if name.startswith("OLVIDO_EMBEDDER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A server that does what the test says."""
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def make(endpoint: Endpoint) -> Iterator[Make]:
    """Makes embedders for that server; their waits between tries are noted in `waits` and take no time."""
    made: list[OpenAICompatible] = []

    def making(**options: Any) -> OpenAICompatible:  # noqa: ANN401 - any option of the constructor
        embedder = OpenAICompatible(**{"base_url": endpoint.url, "model": "m", "dimensions": DIMENSIONS, **options})
        made.append(embedder)
        return embedder

    yield making
    for embedder in made:
        embedder.close()


class Waits(list[float]):
    """Stands in for asyncio.sleep between tries: notes the seconds and goes on at once."""

    async def __call__(self, seconds: float) -> None:
        """Wait for nothing."""
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    """The seconds that an embedder would have waited, if the test sets this as its sleep."""
    return Waits()
