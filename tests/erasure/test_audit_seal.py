"""The audit is sealed in a chain: whatever a superuser of the database changes in it, or takes away, is found."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg import sql

import olvido
from olvido.adapters import embedded
from olvido.adapters.anchors import FILE
from olvido.adapters.languages import Languages
from olvido.bootstrap import LEDGER
from olvido.domain.audit import Breach
from olvido.errors import AuditNotAccepted, NotFound
from olvido.testing import ManualClock
from tests.adapters.forgery import part
from tests.cases.support import START
from tests.conftest import Clone, cloned
from tests.erasure.audited import TAMPERING, World, act, rewrite_chain, row_ids, tamper
from tests.storage.support import administer, rows

SECOND = timedelta(seconds=1)
OLDER, DIFFERS = Breach.OLDER_THAN_ANCHOR, Breach.DIFFERS_FROM_ANCHOR


@dataclass(frozen=True, kw_only=True, slots=True)
class Sealed:
    """What was sealed: the database, and the directories of its ledger and of its keys. Copied, and never opened."""

    database: str
    ledger: Path
    keys: Path


@pytest.fixture(scope="module")
def chains(
    cluster: embedded.ServerUrls, template: str, detector: Languages, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sealed]:
    """Two companies with three seals each."""
    place = tmp_path_factory.mktemp("sealed")

    async def fill(world: World) -> None:
        async with world.open() as memory:
            for _ in range(3):
                for tenant in ("acme", "zeta"):
                    await act(memory, tenant)
                await memory.seal_audit()

    with cloned(cluster, template) as clone, pytest.MonkeyPatch.context() as patch:
        patch.setenv(LEDGER, str(place / "ledger"))
        asyncio.run(fill(World(clone, ManualClock(START), detector, place / "keys")))
        yield Sealed(database=clone.name, ledger=place / "ledger", keys=place / "keys")


@pytest.fixture
async def memory(world: World) -> AsyncIterator[olvido.Memory]:
    """An open memory that knows a place for its keys."""
    async with world.open() as opened:
        yield opened


@pytest.fixture
def clone(request: pytest.FixtureRequest, cluster: embedded.ServerUrls, template: str) -> Iterator[Clone]:
    """A fresh database of this test: one with chains where it asks for them."""
    source = request.getfixturevalue("chains").database if "sealed" in request.fixturenames else template
    with cloned(cluster, source) as database:
        yield database


@pytest.fixture
async def sealed(chains: Sealed, ledger: Path, world: World) -> AsyncIterator[olvido.Memory]:
    """A copy of the chains, opened."""
    shutil.copytree(chains.ledger, ledger)
    shutil.copytree(chains.keys, world.keys)
    async with world.open() as opened:
        yield opened


async def breaches(memory: olvido.Memory) -> list[tuple[str, int]]:
    """What is wrong with the chain of acme, and where; every other company's is whole."""
    report = await memory.verify_audit()
    found = {chain.tenant: [(str(one.breach), one.seal) for one in chain.problems] for chain in report.chains}
    assert {name for name, problems in found.items() if problems} <= {"acme"}
    assert report.intact == (not found["acme"])
    alone = await memory.verify_audit("acme")
    assert alone.chains == tuple(chain for chain in report.chains if chain.tenant == "acme")
    return found["acme"]


async def test_every_committed_row_comes_under_one_seal(memory: olvido.Memory, world: World) -> None:
    """Sealing covers what is there and says so; what comes after it is told as not sealed, with its age."""
    await act(memory, "acme")
    world.clock.advance(90 * SECOND)
    report = await memory.seal_audit()
    with administer(world.clone) as connection:
        stored = rows(connection, "SELECT count(*), count(seal) FROM olvido.audit_log")
    assert stored == [(report.rows, report.rows)]
    assert (report.seals, report.companies, report.anchored, report.not_anchored) == (1, 1, 1, 0)
    assert report.longest_unsealed == 90 * SECOND
    (chain,) = (await memory.verify_audit()).chains
    assert (chain.rows, chain.seals, chain.anchors, chain.anchored_seal, chain.problems) == (report.rows, 1, 1, 1, ())
    assert (chain.last_sealed_at, chain.unsealed_rows, chain.oldest_unsealed_at) == (world.clock.now(), 0, None)
    await memory.scope(tenant="acme", subject="bea").remember("prefers windows")
    (chain,) = (await memory.verify_audit("acme")).chains
    assert (chain.unsealed_rows, chain.oldest_unsealed_at) == (1, world.clock.now())
    assert (await memory.seal_audit()).rows == 1
    assert (await memory.seal_audit()).rows == 0
    assert await breaches(memory) == []


EDITS = {
    "subject_key": "gen_random_uuid()",
    "action": "'other'",
    "kind": "'other'",
    "record_id": "gen_random_uuid()",
    "counts": "'{\"rows\": 7}'",
    "policy_version": "'other'",
    "at": "at + interval '1 microsecond'",
}
BEYOND = {"counts": "jsonb_build_object('rows', repeat('9', 5000)::numeric)", "at": "'infinity'"}
"""Values that no row has and that a program may stumble over."""


@pytest.mark.parametrize(
    "column, value",
    [*EDITS.items(), *BEYOND.items()],
    ids=[*EDITS, *(f"{name} beyond its range" for name in BEYOND)],
)
async def test_an_edited_row_is_found(sealed: olvido.Memory, world: World, column: str, value: str) -> None:
    """One column of one row under the second seal: that seal is broken, and no other one."""
    with administer(world.clone) as connection:
        connection.execute(
            sql.SQL("UPDATE olvido.audit_log SET {} = {} WHERE audit_id = %s").format(
                sql.Identifier(column), sql.SQL(value)
            ),
            (row_ids(world.clone, "acme", 2)[1],),
        )
    assert await breaches(sealed) == [(Breach.ROW_CHANGED, 2)]


FOUND = {
    "rows_of_two_seals_exchanged": [(Breach.ROW_CHANGED, 1), (Breach.ROW_CHANGED, 2)],
    "order_within_a_seal_reversed": [(Breach.ROW_CHANGED, 2)],
    "row_removed": [(Breach.ROWS_MISSING, 2)],
    "row_taken_out_of_its_seal": [(Breach.ROWS_MISSING, 2)],
    "row_added": [(Breach.ROWS_ADDED, 2)],
    "rows_moved_to_another_company": [(Breach.ROWS_MISSING, 2)],
    "seal_and_its_rows_removed": [(Breach.SEAL_MISSING, 2)],
    "seal_removed": [(Breach.SEAL_MISSING, 2), (Breach.UNKNOWN_SEAL, 2)],
    "seal_removed_and_the_gap_closed": [
        (Breach.SEAL_CHANGED, 2),
        (Breach.ROW_CHANGED, 2),
        (OLDER, 3),
        (DIFFERS, 2),
    ],
    "seals_exchanged": [
        (Breach.SEAL_CHANGED, 2),
        (Breach.ROW_CHANGED, 2),
        (Breach.SEAL_CHANGED, 3),
        (Breach.ROW_CHANGED, 3),
        (DIFFERS, 2),
    ],
    "instant_of_a_seal_changed": [(Breach.ROW_CHANGED, 2)],
    "instant_of_a_seal_without_end": [(Breach.ROW_CHANGED, 2)],
    "rows_of_a_seal_counted_otherwise": [(Breach.ROWS_MISSING, 2)],
    "digest_of_a_seal_changed": [(Breach.ROW_CHANGED, 2), (Breach.SEAL_CHANGED, 3), (DIFFERS, 2)],
    "newest_seal_and_its_rows_removed": [(OLDER, 3)],
    "newest_seal_removed": [(Breach.UNKNOWN_SEAL, 3), (OLDER, 3)],
    "newest_seal_undone": [(OLDER, 3)],
    "everything_removed": [(OLDER, 3)],
}


@pytest.mark.parametrize("name", TAMPERING)
async def test_a_chain_that_was_tampered_with_is_found(sealed: olvido.Memory, world: World, name: str) -> None:
    """Exchanged, removed and added rows and seals are found where they are; other companies stay whole."""
    assert await breaches(sealed) == []
    tamper(world.clone, TAMPERING[name])
    assert await breaches(sealed) == FOUND[name]
    # Only what a restore leaves as well can be accepted; anything else stays what it is.
    if {breach for breach, _ in FOUND[name]} <= {OLDER, DIFFERS}:
        assert (await sealed.accept_audit("acme")).accepted
        assert await breaches(sealed) == []
    else:
        with pytest.raises(AuditNotAccepted, match="changed where it lies"):
            await sealed.accept_audit("acme")
        assert await breaches(sealed) == FOUND[name]


async def test_a_company_of_which_there_is_nothing_is_not_found(sealed: olvido.Memory) -> None:
    """A mistyped name is no audit that is whole; nor is there anything to accept of one that is."""
    for call in (sealed.verify_audit("acmee"), sealed.accept_audit("acmee")):
        with pytest.raises(NotFound, match="No audit of such a company"):
            await call
    with pytest.raises(AuditNotAccepted, match="nothing to accept"):
        await sealed.accept_audit("acme")


async def test_a_chain_that_was_written_anew_differs_from_its_anchors(sealed: olvido.Memory, world: World) -> None:
    """A chain has no secret: whoever rewrites it whole is found by what lies outside the database, and only by that."""
    with administer(world.clone) as connection:
        edited = row_ids(world.clone, "acme", 2)[0]
        connection.execute("UPDATE olvido.audit_log SET action = 'other' WHERE audit_id = %s", (edited,))
    rewrite_chain(world.clone, "acme")
    assert await breaches(sealed) == [(DIFFERS, 2)]
    async with world.open(keys=world.keys.with_name("other-keys")) as elsewhere:
        chains = (await elsewhere.verify_audit()).chains
    assert [(chain.problems, chain.anchors) for chain in chains] == [((), 0), ((), 0)]


async def test_a_restored_older_database_is_told_from_its_anchor(world: World, cluster: embedded.ServerUrls) -> None:
    """It is older than its anchor, also after it went on; taken as it is, it is whole again and stays watched."""
    async with world.open() as memory:
        await act(memory, "acme")
        await memory.seal_audit()
    with cloned(cluster, world.clone.name) as restored:
        async with world.open() as memory:
            for _ in range(2):
                await act(memory, "acme")
                await memory.seal_audit()
        async with world.open(clone=restored) as memory:
            assert await breaches(memory) == [(OLDER, 3)]
            await act(memory, "acme", times=1)
            await memory.seal_audit()
            assert await breaches(memory) == [(OLDER, 3), (DIFFERS, 2)]
            world.clock.advance(SECOND)
            accepted = await memory.accept_audit("acme")
            assert (accepted.seal, accepted.accepted) == (2, True)
            assert await breaches(memory) == []
            (chain,) = (await memory.verify_audit()).chains
            assert chain.accepted_at == world.clock.now()
            world.clock.advance(SECOND)
            await act(memory, "acme", times=1)
            await memory.seal_audit()
            assert await breaches(memory) == []
            tamper(restored, TAMPERING["newest_seal_and_its_rows_removed"])
            assert await breaches(memory) == [(OLDER, 3)]
            # What says so is signed with its instant: copied to the end, it hides nothing that came after it.
            lines = (world.keys / FILE).read_text().splitlines()
            (line,) = [line for line in lines if b'"accepted":true' in part(line, 1)]
            with (world.keys / FILE).open("a") as file:
                file.write(f"{line}\n")
            assert await breaches(memory) == [(OLDER, 3)]
