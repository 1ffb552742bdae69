"""Rows of reading: one preference, and recall at several sizes of a person inside a store of many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import numpy as np

import olvido
from bench import crowd
from bench.data import recall_of
from bench.measure import Aim, Row, in_turn, rates_row, say
from bench.store import Store
from bench.writes import SAID

GET_AIM = Aim(field="ratio", limit=2.0)
RECALL_AIMS = {
    100: Aim(field="ratio", limit=4.0),
    1_000: Aim(field="ratio", limit=4.0),
    10_000: Aim(field="ratio", limit=6.0),
}
"""By the records of the person. Ratios are to the exact vector search alone."""

AT_ONCE_AIM = Aim(field="median", limit=600, at_least=True)
OTHERS = 500
"""Records of each person beside those that are asked."""

CALLERS = 8

BEST = 10


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
    people = [crowd.Person(tenant="acme", subject=subject, size=size) for size, subject in sizes.items()]
    left = total - sum(sizes)
    for number, start in enumerate(range(0, left, OTHERS)):
        tenant = "acme" if number % 2 == 0 else f"tenant-{number % 20}"
        people.append(crowd.Person(tenant=tenant, subject=f"other-{number}", size=min(OTHERS, left - start)))
    await crowd.fill(store, people)
    for subject in sizes.values():
        person = store.person("acme", subject)
        await person.set_preference("language", "pt", origin=SAID)
        await person.set_preference("contact_channel", "email", origin=SAID)


async def recall(store: Store, model: olvido.Memory, sizes: Mapping[int, str], n: int) -> list[Row]:
    """The ten best, by words, meaning and all else, of people of several sizes; and many at once.

    model: a memory of the same store with the real embedder.
    """
    rows = [await _recall(store, size, subject, max(8, n // max(1, size // 2_500))) for size, subject in sizes.items()]
    size = sorted(sizes)[1]
    embedding = model.scope(tenant="acme", subject=sizes[size])

    # Questions of its own: the real embedder keeps the vectors of recent ones.
    async def embedded(number: int) -> None:
        _answered(await embedding.recall(recall_of(number, among=min(size, crowd.MODEL))))

    rows.append(await in_turn(f"recall_{size}_embedding_included", None, embedded, n=max(8, n // 4), warm=8))
    return [*rows, await _at_once(store, rounds=max(2, n // 30), calls=max(5, n // 5))]


async def _recall(store: Store, size: int, subject: str, n: int) -> Row:
    ana = store.person("acme", subject)
    matrix = await asyncio.to_thread(crowd.vectors, store, "acme", subject)
    asked = partial(recall_of, among=min(size, crowd.MODEL))

    async def floor(number: int) -> None:
        await store.floor.nearest("acme", subject, await store.embedder.embed_query(asked(number)))

    async def ours(number: int) -> None:
        _answered(await ana.recall(asked(number)))

    async def in_memory(number: int) -> None:
        scores = matrix @ await store.embedder.embed_query(asked(number))
        best = np.argpartition(-scores, min(BEST, len(scores) - 1))[:BEST]
        best[np.argsort(-scores[best])]

    return await in_turn(f"recall_{size}", floor, ours, n=n, warm=8, numpy=in_memory, aim=RECALL_AIMS.get(size))


async def _at_once(store: Store, *, rounds: int, calls: int) -> Row:
    """Recalls a second of several callers at once, each with a person of its own and `calls` questions a round."""
    subjects = [f"other-{2 * number}" for number in range(CALLERS)]
    people = [store.person("acme", subject) for subject in subjects]

    async def floor(caller: int) -> None:
        for number in range(calls):
            vector = await store.embedder.embed_query(recall_of(number, among=OTHERS))
            await store.floor.nearest("acme", subjects[caller], vector)

    async def ours(caller: int) -> None:
        for number in range(calls):
            _answered(await people[caller].recall(recall_of(number, among=OTHERS)))

    rates: dict[Callable[[int], Awaitable[None]], list[float]] = {floor: [], ours: []}
    for turn in range(rounds + 1):
        for call, into in rates.items():
            start = time.perf_counter()
            await asyncio.gather(*(call(caller) for caller in range(CALLERS)))
            if turn:  # in the first, connections are opened and statements prepared
                into.append(CALLERS * calls / (time.perf_counter() - start))
    name = f"recall_{OTHERS}_by_{CALLERS}_callers"
    return rates_row(name, rates[ours], rates[floor], unit="recalls/s", aim=AT_ONCE_AIM)


def _answered(found: olvido.Recall) -> None:
    """Raises RuntimeError if nothing came back: that would be faster, and no answer to these questions."""
    if not found.items:
        raise RuntimeError("A question of the benchmark found nothing. Change the questions, or look what recall lost.")
