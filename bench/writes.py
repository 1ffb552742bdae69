"""Rows of writing: one record at a time beside the same transaction by hand and a bare insert, and many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import olvido
from bench.data import LANGUAGES, moment_of, text_of
from bench.measure import WARM, Aim, Row, in_turn, rates_row
from bench.same import Same
from bench.store import BATCH, Store, note
from olvido import Origin
from olvido.domain.scope import Scope

WRITE_AIM = Aim(field="ratio", limit=1.5)
IMPORT_AIM = Aim(field="median", limit=3000, at_least=True)
SAID = Origin.declared("user-confirmation")
SEEN = Origin.observed("crm.lookup")
CONCURRENT = 16


async def single(store: Store, n: int) -> list[Row]:
    """One record a call, through one handle, without a model: what the rules cost."""
    await store.person("acme", "floor").remember("first")
    await store.person("acme", "same").remember("first")
    same = await Same.of(store.memory, store.floor.pool, Scope(tenant="acme", subject="same"))
    return [*await _episodes(store, same, n), *await _preferences(store, same, n)]


async def _episodes(store: Store, same: Same, n: int) -> list[Row]:
    ana = store.person("acme", "ana")

    async def bare(number: int) -> None:
        await store.floor.record("acme", "floor", number)

    async def remember(number: int) -> None:
        await ana.remember(text_of(number), language="en")

    async def detecting(number: int) -> None:
        await ana.remember(text_of(number))

    async def new_handle(number: int) -> None:
        await store.person("acme", "ana").remember(text_of(number), language="en")

    async def record(number: int) -> None:
        await ana.record_episode(
            "support-case",
            event_id=f"case-event-{number}",
            case_id=f"case-{number % 9}",
            status="open",
            occurred_at=moment_of(number),
            origin=SEEN,
            fields={"summary": text_of(number), "product": "course", "channel": "web"},
            language="en",
        )

    return [
        await in_turn("remember", same.record, remember, bare=bare, n=n, aim=WRITE_AIM),
        await in_turn("remember_language_detected", same.record, detecting, bare=bare, n=n),
        await in_turn("remember_new_handle", same.record, new_handle, bare=bare, n=n),
        await in_turn("record_episode", same.record, record, bare=bare, n=n, aim=WRITE_AIM),
    ]


async def _preferences(store: Store, same: Same, n: int) -> list[Row]:
    ana = store.person("acme", "ana")
    await ana.set_preference("language", "pt", origin=SAID)
    # The first preference of each of these; to the floor's table, a new key is as new.
    people = [store.person("acme", f"new-{number}") for number in range(n + WARM)]
    for person in people:
        await person.remember("first", language="en")

    async def same_first(number: int) -> None:
        await same.state(number, f"k{number}")

    async def same_next(number: int) -> None:
        await same.state(number, "k0")

    async def bare_first(number: int) -> None:
        await store.floor.set("acme", "floor", f"k{number}", "pt")

    async def first(number: int) -> None:
        await people[number].set_preference("language", "pt", origin=SAID)

    async def bare_next(number: int) -> None:
        await store.floor.set("acme", "floor", "k0", LANGUAGES[number % 2])

    async def correct(number: int) -> None:
        await ana.correct_preference("language", LANGUAGES[number % 2], origin=SAID)

    return [
        await in_turn("set_preference", same_first, first, bare=bare_first, n=n, aim=WRITE_AIM),
        await in_turn("correct_preference", same_next, correct, bare=bare_next, n=n, aim=WRITE_AIM),
    ]


async def bulk(store: Store, rounds: int) -> list[Row]:
    """Many records, without a model: in batches of 1,000 for one person, and one by one for many people at once."""
    batches: list[float] = []
    detected: list[float] = []
    floors: list[float] = []
    singles: list[float] = []
    await store.person("acme", "floor").remember("first")
    people = [store.person("acme", f"busy-{number}") for number in range(CONCURRENT)]
    for turn in range(rounds):
        numbers = range(turn * BATCH, (turn + 1) * BATCH)
        texts = [text_of(number) for number in numbers]
        start = time.perf_counter()
        await store.floor.import_many("acme", "floor", texts)
        floors.append(BATCH / (time.perf_counter() - start))
        for rates, subject, detect in ((batches, "many", False), (detected, "detected", True)):
            given = [note(number, detect=detect) for number in numbers]
            start = time.perf_counter()
            await store.person("acme", subject).record_episodes(given)
            rates.append(BATCH / (time.perf_counter() - start))
        start = time.perf_counter()
        queue = iter(numbers)
        await asyncio.gather(*(_write(person, queue) for person in people))
        singles.append(BATCH / (time.perf_counter() - start))
    return [
        rates_row("import_record_episodes_1000", batches, floors, aim=IMPORT_AIM),
        rates_row("import_language_detected", detected, floors),
        rates_row(f"import_remember_{CONCURRENT}_people", singles, floors),
    ]


async def _write(person: olvido.ScopedMemory, queue: Iterator[int]) -> None:
    for number in queue:
        await person.remember(text_of(number), language="en")
