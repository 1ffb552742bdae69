"""Plans of what repairs the index, as a worker: each entry is looked up by its key, and a claim reads no other life."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from olvido.domain.words import LEXER
from olvido.storage.queries import statements
from tests.storage.conftest import World
from tests.storage.support import START

PARAMETERS: dict[str, object] = {
    "now": START,
    "after": None,
    "batch": 64,
    "lexer": LEXER,
    "embedder": "another/1",
    "dimensions": 384,
    "indexed_by": f"{LEXER} another/1",
    "half": f"{LEXER} another/1 half",
    "tried": f"{LEXER} another/1 tried",
    "tried_before": START,
    "made_before": START,
    "lexers": '{"note": "another"}',
    "until": START + timedelta(minutes=10),
    "records": None,
    "words": None,
    "embeddings": None,
}


@pytest.fixture(scope="module")
def worker(world: World) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A worker's connection in the life of li at altavela."""
    with psycopg.connect(world.clone.worker) as connection:
        connection.execute("SELECT olvido.enter_life('altavela', NULL, %s, false)", [world.keys["altavela", "li"]])
        yield connection
        connection.rollback()


def nodes(plan: object) -> Iterator[dict[str, Any]]:
    """The nodes of a plan, at any depth."""
    if isinstance(plan, list):
        for part in plan:
            yield from nodes(part)
    elif isinstance(plan, dict):
        if "Node Type" in plan:
            yield plan
        for part in plan.values():
            yield from nodes(part)


def explain(world: World, worker: psycopg.Connection[tuple[Any, ...]], entity: str, name: str) -> list[dict[str, Any]]:
    """The nodes of the plan of a statement."""
    scope = {"tenant": "altavela", "subject": world.keys["altavela", "li"]}
    row = worker.execute(b"EXPLAIN (FORMAT JSON) " + statements(entity)[name].text, {**PARAMETERS, **scope}).fetchone()
    assert row is not None
    return list(nodes(row[0]))


@pytest.mark.parametrize(
    "entity, name",
    [("index_entries", "differing_preferences"), ("index_entries", "differing_episodes"), ("lives", "settle")],
)
def test_an_entry_is_looked_up_by_its_key(
    world: World, worker: psycopg.Connection[tuple[Any, ...]], entity: str, name: str
) -> None:
    """Without it, every record would be compared with every entry of the life."""
    found = [node for node in explain(world, worker, entity, name) if "index_entries" in node.get("Relation Name", "")]
    assert found
    assert all("record_id = " in node["Index Cond"] for node in found)


def test_an_episode_is_held_by_its_key(world: World, worker: psycopg.Connection[tuple[Any, ...]]) -> None:
    """A batch reads its own episodes and no others of the life."""
    plan = explain(world, worker, "index_entries", "repair_episodes")
    found = [node for node in plan if node.get("Relation Name", "").startswith("episodes")]
    assert found
    assert all("record_id = " in node["Index Cond"] for node in found)


@pytest.mark.parametrize("name", ["claim", "waiting"])
def test_lives_that_wait_are_found_without_the_others(
    world: World, worker: psycopg.Connection[tuple[Any, ...]], name: str
) -> None:
    """Each part of the statement goes by an index, however many lives have nothing to repair."""
    with worker.transaction():
        worker.execute("SET LOCAL enable_seqscan = off")
        found = [node for node in explain(world, worker, "lives", name) if node.get("Relation Name") == "lives"]
    assert len(found) >= 3
    assert not [node for node in found if node["Node Type"] == "Seq Scan"]
    assert all("Filter" not in node for node in found)
    assert {node["Index Name"] for node in found if "Index Name" in node} <= {"lives_repair", "lives_pkey"}
