"""Stating a preference: one look at what stands, in the statement that enters the scope, and a second one at need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from olvido import Memory, Origin
from olvido.errors import VersionConflict
from tests.conftest import Clone
from tests.contract.support import Outside, until_waiting

SAID = Origin.declared("user-confirmation")

# What another writer does: the first value of a key, with its version.
FIRST = """
WITH head AS (
    INSERT INTO olvido.preferences (
        tenant_id, subject_key, key, record_id, version, value, purpose, origin_class, origin_source, said_at,
        recorded_at, created_at, policy_version)
    SELECT tenant_id, subject_key, 'language', gen_random_uuid(), 1, '"es"', 'support', 'declared', 'form', created_at,
           created_at, created_at, 'p' FROM olvido.subjects
    RETURNING *)
INSERT INTO olvido.preference_versions (
    tenant_id, subject_key, record_id, version, key, value, change, origin_class, origin_source, said_at, recorded_at,
    valid_from, policy_version)
SELECT tenant_id, subject_key, record_id, version, key, value, 'set', origin_class, origin_source, said_at, recorded_at,
       recorded_at, policy_version FROM head
"""


async def test_a_statement_costs_two_answers_and_a_commit(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value that stands comes with entering, so a first value and a correction each send one more statement."""
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.remember("prefers aisle seats")
    sent: list[bytes] = []
    right: Callable[..., Awaitable[object]] = psycopg.AsyncCursor.execute

    async def counting(self: object, query: bytes, *rest: object, **how: object) -> object:
        sent.append(query)
        return await right(self, query, *rest, **how)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counting)
    await ana.set_preference("language", "pt", origin=SAID)
    assert [b"enter_scope" in query for query in sent] == [True, False]
    sent.clear()
    await ana.correct_preference("language", "en", origin=SAID)
    assert [b"enter_scope" in query for query in sent] == [True, False]


async def test_a_first_value_stored_meanwhile_is_judged(memory: Memory, clone: Clone, outside: Outside) -> None:
    """Who entered before another first value was committed waits for it, looks again, and follows it or is refused."""
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.remember("prefers aisle seats")
    with psycopg.connect(clone.superuser) as other:
        other.execute(FIRST.encode())
        expecting_none = asyncio.create_task(ana.set_preference("language", "en", origin=SAID, expected_version=0))
        await until_waiting(outside, 1)
        follows = asyncio.create_task(ana.set_preference("language", "pt", origin=SAID))
        await until_waiting(outside, 2)
        other.commit()
    with pytest.raises(VersionConflict):
        await expecting_none
    written = await follows
    assert (written.record.value, written.record.version) == ("pt", 2)
    assert [version.value for version in await ana.history("language")] == ["es", "pt"]


async def test_a_correction_waits_for_the_one_before_it(memory: Memory, clone: Clone, outside: Outside) -> None:
    """Who enters while another writer holds the value sees what that one made of it."""
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.set_preference("language", "pt", origin=SAID)
    with psycopg.connect(clone.superuser) as other:
        other.execute("UPDATE olvido.preferences SET version = 2, value = '\"es\"'")
        other.execute("UPDATE olvido.preference_versions SET version = 2")
        waits = asyncio.create_task(ana.correct_preference("language", "en", origin=SAID, expected_version=2))
        await until_waiting(outside, 1)
        other.commit()
    assert (await waits).record.version == 3
