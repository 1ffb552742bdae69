"""What has to be kept for a while after a forget leaves no byte either, once it is not needed any more."""

from __future__ import annotations

from datetime import timedelta

from olvido.domain.erasure import Level
from olvido.domain.erasure_status import ErasureStatus
from olvido.testing import ManualClock
from tests.erasure.canaries import marker, pieces
from tests.erasure.copies_support import CONNECTED, Copy, declaring
from tests.erasure.following import HOUR, LOCAL
from tests.erasure.place import Place, without_copies


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
    """Held records are in no read and in the files; after the release, no byte of them is left."""
    word = marker("held")
    async with place.opening(clock, without_copies()) as memory:
        who = memory.scope(tenant="acme", subject=f"held {word}")
        await who.remember(f"prefers the {word} seat")
        hold = await memory.place_hold(
            "acme", subject=f"held {word}", basis="court file 7/26", review_at=clock.now() + timedelta(days=400)
        )
        report = await who.forget_all()
        assert (await memory.erase_pending()).settled == {}
        assert "relation" in place.found(word=pieces(word))["word"]
        await memory.release_hold("acme", hold.hold_id)
        clock.advance(timedelta(days=1))
        await memory.erase_pending()
        assert (await memory.erasure("acme", str(report.erasure_id))).status is ErasureStatus.LOCAL_VERIFIED
        assert place.found(word=pieces(word)) == {"word": set()}
