"""A forget looks each record up by its key: it takes time with the number of records, not with the square of it."""

from __future__ import annotations

from typing import Any

import psycopg

import olvido
from olvido import NewEpisode, Origin
from olvido.adapters.languages import Languages
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder

RECORDS = 600
LOOKED_AT_EACH = 20
"""Index entries that the removal of one record may read in all indexes; the square would be some hundreds."""


async def test_a_forget_in_a_database_without_statistics_is_linear(
    clone: Clone, clock: ManualClock, detector: Languages
) -> None:
    """Nothing was analysed, cases are consolidated, and every removed record reads a few index entries."""
    origin = Origin.observed("crm.lookup")
    reports = [
        NewEpisode(
            definition="support-case",
            event_id=f"e{number}",
            case_id=f"case {number // 2}",
            status="reported",
            fields={"summary": f"report number {number}"},
            origin=origin,
        )
        for number in range(RECORDS)
    ]
    parts: dict[str, Any] = {"clock": clock, "embedder": WordEmbedder(), "detector": detector}
    async with olvido.open(clone.app, worker_url=clone.worker, **parts) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        await ana.record_episodes(reports)
        await ana.consolidate()
    before = _read(clone)
    async with olvido.open(clone.app, worker_url=clone.worker, **parts) as memory:
        report = await memory.scope(tenant="acme", subject="ana").forget_all()
    assert report.removed["summary_sources"] == RECORDS
    assert _read(clone) - before < LOOKED_AT_EACH * RECORDS


def _read(clone: Clone) -> int:
    """How many index entries were read so far. Only its end makes a session report for certain, so all end first."""
    with psycopg.connect(clone.superuser) as connection:
        connection.execute(
            """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
        )
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute("SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes").fetchone()
    assert row is not None
    assert row[0] > 0
    return int(row[0])
