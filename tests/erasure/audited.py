"""An audit to seal: what is done at two companies, and ways to change it as a superuser of the database could."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import olvido
from olvido.adapters.languages import Languages
from olvido.bootstrap import Opening
from olvido.domain.audit import row_digest, seal_digest
from olvido.storage.queries import named, statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder
from tests.storage.support import CONFIRMED, administer

CHAIN = statements("audit_seals")["chain"].text
TAMPERING = {
    name: statement.text
    for name, statement in named(Path(__file__).with_name("tampering.sql").read_text(), "tampering").items()
}
"""Statements of a superuser who changes the audit of acme, which has three seals, by name."""


class World:
    """The database of a test, and how to open a memory on it. keys: the directory of the keys."""

    def __init__(self, clone: Clone, clock: ManualClock, detector: Languages, keys: Path) -> None:
        self.clone = clone
        self.clock = clock
        self.keys = keys
        self._detector = detector

    def open(self, *, clone: Clone | None = None, keys: Path | None = None) -> Opening:
        """A memory, on this database and with these keys unless others are named."""
        place = clone or self.clone
        return olvido.open(
            place.app,
            worker_url=place.worker,
            clock=self.clock,
            embedder=WordEmbedder(),
            detector=self._detector,
            keys=keys or self.keys,
        )


async def act(memory: olvido.Memory, tenant: str, *, times: int = 2) -> None:
    """Something of one person, each thing with a row in the audit."""
    person = memory.scope(tenant=tenant, subject="ana")
    for number in range(times):
        await person.remember(f"prefers aisle seats {number}")
    await person.set_preference("language", "pt", origin=CONFIRMED)


def tamper(clone: Clone, statement: bytes) -> None:
    """Run statements past every policy."""
    with administer(clone) as connection:
        connection.execute(statement)


def fill(clone: Clone, tenant: str, number: int, *, at: str = "2026-01-01T00:00:00Z") -> None:
    """So many more rows in the audit of a company."""
    with administer(clone) as connection:
        connection.execute(
            """INSERT INTO olvido.audit_log (tenant_id, audit_id, action, kind, counts, policy_version, at)
               SELECT %s, gen_random_uuid(), 'written', 'note', '{"rows": 1}', 'p', %s FROM generate_series(1, %s)""",
            (tenant, at, number),
        )


def rewrite_chain(clone: Clone, tenant: str) -> None:
    """Make a chain consistent again after a change, as whoever has the code and the database can."""
    with administer(clone) as connection:
        connection.execute("SET timezone = 'UTC'")
        head = "0" * 64
        parameters = {"tenant": tenant, "after": 0, "batch": 1000}
        for seal, count, _, _, sealed_at, sealed in connection.execute(CHAIN, parameters).fetchall():
            digest = seal_digest(tenant, seal, head, sealed_at, [row_digest(row) for row in sealed])
            assert count == len(sealed)
            connection.execute(
                "UPDATE olvido.audit_seals SET digest = %s, previous = %s WHERE tenant_id = %s AND seal = %s",
                (digest, head, tenant, seal),
            )
            head = digest


def row_ids(clone: Clone, tenant: str, seal: int | None) -> list[UUID]:
    """The rows under one seal, in their order; None: those under none."""
    with administer(clone) as connection:
        found = connection.execute(
            "SELECT audit_id FROM olvido.audit_log WHERE tenant_id = %s AND seal IS NOT DISTINCT FROM %s ORDER BY 1",
            (tenant, seal),
        )
        return [row[0] for row in found.fetchall()]
