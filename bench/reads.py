"""Rows of reading: one preference, and recall at three sizes of a person inside a store of 100,000 records."""

from __future__ import annotations

from collections.abc import Mapping

import olvido
from bench.data import question_of, text_of
from bench.measure import Aim, Row, in_turn, say
from bench.store import Store
from bench.writes import SAID

GET_AIM = Aim(field="ratio", limit=2.0)
OTHERS = 1000
"""Records of each person beside those that are asked."""


async def get(store: Store, n: int) -> list[Row]:
    """One current preference."""
    ana = store.person("acme", "ana")
    await ana.set_preference("language", "pt", origin=SAID)

    async def floor(_: int) -> None:
        await store.floor.get("acme", "ana", "language")

    async def ours(_: int) -> None:
        await ana.get_preference("language")

    async def new_handle(_: int) -> None:
        await store.person("acme", "ana").get_preference("language")

    return [
        await in_turn("get_preference", floor, ours, n=n, aim=GET_AIM),
        await in_turn("get_preference_new_handle", floor, new_handle, n=n, aim=GET_AIM),
    ]


async def fill(store: Store, total: int, sizes: Mapping[int, str]) -> None:
    """Fill the store up to `total` records: people of the given sizes, and others, half of them in their company."""
    say(f"filling up to {total:,} records")
    for size, subject in sizes.items():
        await store.fill("acme", subject, size)
    left = total - sum(sizes)
    for number, start in enumerate(range(0, left, OTHERS)):
        tenant = "acme" if number % 2 else f"tenant-{number % 20}"
        await store.fill(tenant, f"other-{number}", min(OTHERS, left - start), first=start)
    store.administer("settle")


async def recall(store: Store, model: olvido.Memory, sizes: Mapping[int, str], n: int) -> list[Row]:
    """The ten best, by words and by meaning. model: a memory of the same store with the real embedder."""
    rows = []
    for size, subject in sizes.items():
        ana = store.person("acme", subject)
        embedding = model.scope(tenant="acme", subject=subject)

        async def floor(number: int, subject: str = subject) -> None:
            await store.floor.nearest("acme", subject, await store.embedder.embed_query(text_of(number)))

        # Questions of each size are its own: the real embedder keeps the vectors of recent ones.
        async def ours(number: int, size: int = size, ana: olvido.ScopedMemory = ana) -> None:
            await ana.recall(question_of(number + size))

        async def embedded(number: int, size: int = size, embedding: olvido.ScopedMemory = embedding) -> None:
            await embedding.recall(question_of(number + size))

        rows.append(await in_turn(f"recall_{size}", floor, ours, n=n, warm=8))
        rows.append(await in_turn(f"recall_{size}_embedding_included", floor, embedded, n=n, warm=8))
    return rows
