"""What has to be kept for a while after a forget leaves no byte either, once it is not needed any more."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from olvido import Memory
from olvido.domain.erasure import FILES, Level
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.holds import HOLD_KEEPS
from olvido.testing import ManualClock
from tests.erasure.canaries import marker, pieces, relations_with
from tests.erasure.copies_support import CONNECTED, Copy, declaring
from tests.erasure.following import HOUR, LOCAL
from tests.erasure.place import Place, without_copies

EPISODES = "episodes"


async def test_an_external_id_goes_with_the_last_copy_that_needs_it(place: Place, clock: ManualClock) -> None:
    """It is kept to tell the service whom to erase; when that is verified, it is deleted, and its bytes go as well."""
    name = marker("external id")
    crm = Copy(things={name: 1}, verify_script=["not yet"])
    async with place.opening(clock, declaring(CONNECTED), {"crm": crm}) as memory:
        who = memory.scope(tenant="acme", subject=name)
        await who.remember("prefers aisle seats")
        report = await who.forget_all()
        erasure_id = str(report.erasure_id)
        assert (await memory.erase_pending()).settled == LOCAL
        found = await memory.erasure("acme", erasure_id)
        assert (found.status, found.identifier_kept) == (ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN, True)
        assert "erase" in crm.asked
        assert "relation" in place.found(name=pieces(name))["name"]
        clock.advance(HOUR)
        erased = await memory.erase_pending()
        assert erased.settled == {Level.E4: 1, **LOCAL}
        found = await memory.erasure("acme", erasure_id)
        assert (found.status, found.identifier_kept) == (ErasureStatus.LOCAL_VERIFIED, False)
        assert place.found(name=pieces(name)) == {"name": set()}
    # A copy that was declared is remembered; the other tests declare none.
    place.run("DELETE FROM olvido.copies")


async def test_what_a_hold_kept_goes_when_it_is_released(place: Place, clock: ManualClock) -> None:
    """Held records are in no read and in the files; after it both requests are verified, and no byte is left."""
    word = marker("held")
    async with place.opening(clock, without_copies()) as memory:
        who = memory.scope(tenant="acme", subject=f"held {word}")
        await who.remember(f"prefers the {word} seat")
        hold_id = await held(memory, clock, f"held {word}")
        report = await who.forget_all()
        assert (await memory.erase_pending()).settled == {}
        assert "relation" in place.found(word=pieces(word))["word"]
        released = await memory.release_hold("acme", hold_id)
        assert (await memory.erase_pending()).settled == {Level.E2: 2, Level.E3: 2}
        assert await statuses(memory, report.erasure_id, released.erasure_id) == [ErasureStatus.LOCAL_VERIFIED] * 2
        assert place.found(word=pieces(word)) == {"word": set()}


async def test_a_release_reaches_where_a_purge_left_the_bytes(place: Place, clock: ManualClock) -> None:
    """What expired under a hold has no request of its own: that of the release covers the files it was purged from."""
    word = marker("purged")
    async with place.opening(clock, without_copies()) as memory:
        who = memory.scope(tenant="acme", subject="purged")
        await who.remember(f"prefers the {word} seat")
        hold_id = await held(memory, clock, "purged")
        expire(place)
        assert (await memory.purge_expired()).held == 1
        assert EPISODES in leaves(place, word)
        released = await memory.release_hold("acme", hold_id)
        assert EPISODES in leaves(place, word)
        assert (await memory.erase_pending()).settled == LOCAL
        assert await statuses(memory, released.erasure_id) == [ErasureStatus.LOCAL_VERIFIED]
        assert place.found(word=pieces(word)) == {"word": set()}


async def test_a_release_waits_for_another_hold_of_the_same(place: Place, clock: ManualClock) -> None:
    """While another hold keeps the same record its bytes are there, so neither request is verified before that ends."""
    word = marker("twice")
    async with place.opening(clock, without_copies()) as memory:
        who = memory.scope(tenant="acme", subject=f"twice {word}")
        await who.remember(f"prefers the {word} seat")
        first, second = [await held(memory, clock, f"twice {word}") for _ in range(2)]
        report = await who.forget_all()
        released = await memory.release_hold("acme", first)
        assert (await memory.erase_pending()).settled == {}
        found = await memory.erasure("acme", str(released.erasure_id))
        files = next(step for step in found.steps if step.step == FILES)
        assert (found.held, files.settled_at, (files.blocker or "").startswith(HOLD_KEEPS)) == (1, None, True)
        assert "relation" in place.found(word=pieces(word))["word"]
        last = await memory.release_hold("acme", second)
        assert (await memory.erase_pending()).settled == {Level.E2: 3, Level.E3: 3}
        every = await statuses(memory, report.erasure_id, released.erasure_id, last.erasure_id)
        assert every == [ErasureStatus.LOCAL_VERIFIED] * 3
        assert place.found(word=pieces(word)) == {"word": set()}


async def held(memory: Memory, clock: ManualClock, subject: str) -> UUID:
    """Place a hold on everything of a person."""
    review = clock.now() + timedelta(days=400)
    return (await memory.place_hold("acme", subject=subject, basis="court file 7/26", review_at=review)).hold_id


async def statuses(memory: Memory, *erasure_ids: UUID | None) -> list[ErasureStatus]:
    """Where some requests stand."""
    return [(await memory.erasure("acme", str(erasure_id))).status for erasure_id in erasure_ids]


def expire(place: Place) -> None:
    """Let all episodes have expired."""
    place.run(
        "UPDATE olvido.episodes SET expires_at = '2001-01-01Z'", "UPDATE olvido.due SET next_due_at = '2001-01-01Z'"
    )


def leaves(place: Place, word: str) -> set[str]:
    """The relations in whose files the word stands, leaves by the name of their parent."""
    place.run("CHECKPOINT")
    found = relations_with(place.urls.superuser, place.directory, pieces(word))
    return {name.rstrip("_0123456789") for name in found}
