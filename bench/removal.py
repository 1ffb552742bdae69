"""Rows of forgetting: a whole person, counted, deleted and read back."""

from __future__ import annotations

from bench.measure import Aim, Row, say, timed, times_row
from bench.store import Store

FORGET_AIM = Aim(field="median", limit=100)
INDEPENDENT_AIM = Aim(field="ratio", limit=1.5)


async def forget(store: Store, size: int, *, rounds: int, name: str) -> Row:
    """Forget people of `size` records each; the floor deletes the episodes of as many others."""
    ours: list[float] = []
    floors: list[float] = []
    say(f"preparing {2 * rounds} people of {size:,} records")
    for turn in range(rounds):
        for kind in ("mine", "floor"):
            await store.fill("acme", f"{name}-{kind}-{turn}", size)
    store.administer("settle")

    for turn in range(rounds):
        person = store.person("acme", f"{name}-mine-{turn}")
        other = f"{name}-floor-{turn}"

        async def delete(_: int, other: str = other) -> None:
            await store.floor.forget("acme", other)

        floors.append(await timed(delete, turn))
        ours.append(await timed(lambda _, person=person: person.forget_all(), turn))  # type: ignore[misc]
        await store.person("acme", other).forget_all()
    return times_row(name, ours, floors, aim=FORGET_AIM if size == 1000 else None)  # noqa: PLR2004 - the size that the aim is for


async def independence(store: Store, small: Store, size: int, *, rounds: int) -> Row:
    """The same forget in the filled store and in one that holds nothing else, in turn: the floor is the small store."""
    ours: list[float] = []
    floors: list[float] = []
    say(f"preparing {rounds} people of {size:,} records in each of two stores")
    for each in (small, store):
        for turn in range(rounds):
            await each.fill("acme", f"independent-{turn}", size)
        each.administer("settle")
    for turn in range(rounds):
        pair = [(small, floors), (store, ours)]
        for each, times in pair if turn % 2 else reversed(pair):
            person = each.person("acme", f"independent-{turn}")
            times.append(await timed(lambda _, person=person: person.forget_all(), turn))  # type: ignore[misc]
    return times_row(f"forget_{size}_beside_a_small_store", ours, floors, aim=INDEPENDENT_AIM)
