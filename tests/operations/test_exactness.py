"""Recall is exact within one person, and nobody else's records show in its answer or in the work it takes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from psycopg import sql

import olvido
from olvido import NewEpisode
from olvido.adapters.languages import Languages
from olvido.domain.eligibility import eligibility
from olvido.operations.search import ask, scan_parameters
from olvido.storage.queries import statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.brute_force import Asking, expected, shelve
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import DAY, WordEmbedder
from tests.storage.support import administer, leaf, rows

QUERY = "printer error in the office"
RECORDS = 300
"""More than the centre is made from."""

FOREIGN = 25_000
VOCABULARY = (
    *("printer", "error", "office", "toner", "login", "course", "page", "seat", "flight", "meal", "window", "Friday"),
    *("meeting", "coupon", "refund", "screen", "cable", "network", "password", "email", "garden", "ticket", "train"),
)


def notes(clock: ManualClock) -> list[NewEpisode]:
    """Notes of two to seven words in a fixed random order, every third in a case of its own kind."""
    chosen = random.Random(85)
    return [
        NewEpisode(
            definition="support-case" if number % 3 == 0 else "note",
            event_id=f"e{number}",
            case_id=f"at{number % 7}" if number % 3 == 0 else None,
            status="open" if number % 3 == 0 else None,
            fields={
                "summary"
                if number % 3 == 0
                else "text": f"{' '.join(chosen.sample(VOCABULARY, 2 + number % 6))} {number}"
            },
            origin=olvido.Origin.observed("crm.lookup"),
            occurred_at=clock.now() - number * DAY / 3,
            language="en",
        )
        for number in range(RECORDS)
    ]


# case 85, case 95
async def test_neighbours_change_neither_the_answer_nor_the_work(
    clone: Clone, clock: ManualClock, open_with: OpenWith, detector: Languages
) -> None:
    """25,000 foreign records on the very point of the question leave every item, score and page read as they were.

    They belong to another tenant of the same leaf and to another person of the same tenant. The pages that are read
    stand for the time: they are what a neighbour could make more of.
    """
    words = WordEmbedder(dimensions=64)
    policy = olvido.default_policy()
    policy = replace(policy, ranking=policy.ranking.model_copy(update={"omit_below": 0}))
    async with open_with(words, policy) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        written = await ana.record_episodes(notes(clock))
        shelf = shelve(clone, words, tuple(each.record for each in written))
        asking = Asking(query=QUERY, policy=policy, now=clock.now(), embedder=words, detector=detector)
        order, scores = await expected(shelf, asking)

        strangers = [
            memory.scope(tenant=same_leaf(clone, "acme"), subject="ana"),
            memory.scope(tenant="acme", subject="b"),
        ]
        for stranger in strangers:
            await stranger.remember(QUERY, language="en")
        multiply(clone, strangers, 1_000)
        before = await ana.recall(QUERY, limit=50, explain=True)
        pages, _ = await work(ana)
        multiply(clone, strangers, FOREIGN)
        after = await ana.recall(QUERY, limit=50, explain=True)

        assert after == before
        assert [item.record_id for item in after.items] == order[:50]
        assert after.omitted == RECORDS - 50
        for item in after.items:
            assert item.parts is not None
            for name, value in scores[item.record_id].items():
                assert getattr(item.parts, name) == pytest.approx(value, abs=1e-6), name
        now, rejected = await work(ana)
        # A deeper index costs a page for each of the two descents.
        assert pages <= now <= pages + 4
        assert rejected == 0


def same_leaf(clone: Clone, tenant: str) -> str:
    """Another tenant whose records lie in the same leaf."""
    with administer(clone) as connection:
        return next(other for other in map(str, range(99)) if leaf(connection, other) == leaf(connection, tenant))


def multiply(clone: Clone, strangers: Sequence[olvido.ScopedMemory], copies: int) -> None:
    """Store the index entry of each of `strangers` so often that they have `copies` more in all."""
    with administer(clone) as connection:
        columns = rows(
            connection,
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = 'olvido.index_entries'::regclass AND attnum > 0 AND NOT attisdropped",
        )
        names = [sql.Identifier(name) for (name,) in columns]
        values = [sql.SQL("gen_random_uuid()") if name == ("record_id",) else sql.Identifier(*name) for name in columns]
        for stranger in strangers:
            connection.execute(
                sql.SQL(
                    "INSERT INTO olvido.index_entries ({}) SELECT {} FROM generate_series(1, %s), ("
                    "SELECT * FROM olvido.index_entries WHERE tenant_id = %s AND subject_key = %s LIMIT 1) AS one"
                ).format(sql.SQL(", ").join(names), sql.SQL(", ").join(values)),
                [copies // len(strangers), stranger.scope.tenant, stranger._caller.life.key],
            )


async def work(ana: olvido.ScopedMemory) -> tuple[int, int]:
    """How many pages ranking looks at, and how many records it reads in vain."""
    environment = ana._environment
    question = await ask(environment, QUERY, eligibility(environment.policy))
    scan = statements("recall")["scan"]
    async with environment.database.snapshot(ana._caller.life) as transaction:
        (row,) = await transaction.all(
            replace(scan, text=b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + scan.text),
            **scan_parameters(environment, question),
        )
    plan = row["QUERY PLAN"][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], _rejected(plan)


def _rejected(plan: dict[str, object]) -> int:
    below = plan.get("Plans", [])
    assert isinstance(below, list)
    return int(str(plan.get("Rows Removed by Filter", 0))) + sum(map(_rejected, below))
