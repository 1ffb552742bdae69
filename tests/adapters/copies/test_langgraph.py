"""The connector for LangGraph, against its own checkpointers on PostgreSQL and SQLite: every row of a thread counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from olvido.connectors import Connector, CopyProblem, CopyUnavailable, LangGraphThreads, Target
from olvido.errors import InvalidInput
from tests.adapters.copies.support import target
from tests.conftest import Clone

Saver = BaseCheckpointSaver[Any]
ENGINES = ["postgres", "postgres pool", "sqlite"]
LISTS = b"a value that is long enough to have a row of its own"


@pytest.fixture(params=ENGINES)
async def saver(request: pytest.FixtureRequest, clone: Clone, tmp_path: Path) -> AsyncIterator[Saver]:
    """A checkpointer with two threads of Ana, one of her namesake at another company, and one of nobody known."""
    async with opened(request.param, clone, tmp_path) as made:
        await talk(made, "t1", "ana", "acme")
        await talk(made, "t2", "ana", "acme")
        await talk(made, "t3", "ana", "globex")
        await talk(made, "t4", "bo", "acme")
        yield made


@asynccontextmanager
async def opened(engine: str, clone: Clone, directory: Path) -> AsyncIterator[Saver]:
    """A checkpointer of an engine, set up as its documentation says."""
    if engine == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(directory / "checkpoints.sqlite")) as sqlite:
            yield sqlite
    elif engine == "postgres":
        async with AsyncPostgresSaver.from_conn_string(clone.superuser) as postgres:
            await postgres.setup()
            yield postgres
    else:
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        async with AsyncConnectionPool(clone.superuser, kwargs=options, min_size=1, max_size=2, open=False) as pool:
            postgres = AsyncPostgresSaver(pool)  # type: ignore[arg-type]
            await postgres.setup()
            yield postgres


async def talk(saver: Saver, thread: str, user: str, tenant: str) -> None:
    """Three checkpoints of a thread, with a value and a pending write each."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    for step in range(3):
        checkpoint = empty_checkpoint()
        version = f"{step + 1:032}.0"
        checkpoint["channel_values"] = {"messages": [f"said by {user} in {thread}", LISTS]}
        checkpoint["channel_versions"] = {"messages": version}
        metadata: Any = {"source": "loop", "step": step, "user_id": user, "tenant": tenant}
        config = await saver.aput(config, checkpoint, metadata, {"messages": version})
        await saver.aput_writes(config, [("messages", f"written by {user}")], task_id=f"task-{step}")


async def threads_of(about: Target) -> Sequence[str]:
    """What host code knows: the threads that a person ever had."""
    return {("acme", "ana"): ["t1", "t2", "t1"], ("acme", "bo"): ["t4"]}.get((about.tenant, about.subject), [])


def metadata_of(about: Target) -> dict[str, str]:
    """What host code puts into the metadata of every run."""
    return {"user_id": about.subject, "tenant": about.tenant}


def connectors(saver: Saver) -> list[Connector]:
    """One for each way to find threads."""
    return [LangGraphThreads(saver, threads=threads_of), LangGraphThreads(saver, metadata=metadata_of)]


def rows_of_a_thread(saver: Saver) -> int:
    """Three checkpoints and three writes, and on PostgreSQL three values apart from them."""
    return 9 if isinstance(saver, AsyncPostgresSaver) else 6


@pytest.mark.parametrize("way", [0, 1], ids=["threads", "metadata"])
async def test_the_threads_of_one_person_go(saver: Saver, way: int) -> None:
    """Checkpoints, values and writes of both threads; those of the namesake and of others stay."""
    connector = connectors(saver)[way]
    each = rows_of_a_thread(saver)
    assert await connector.find(target()) == 2 * each
    await connector.erase(target())
    assert (await connector.find(target()), await connector.verify(target())) == (0, 0)
    left = LangGraphThreads(saver, threads=lambda _: _threads("t3", "t4"))
    assert await left.find(target()) == 2 * each
    await connector.erase(target())


@pytest.mark.parametrize("way", [0, 1], ids=["threads", "metadata"])
async def test_a_deletion_that_keeps_writes_and_values_is_found_out(
    saver: Saver, way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpointer that only deletes checkpoints answers as if all were gone; its other rows are counted."""
    connector = connectors(saver)[way]
    monkeypatch.setattr(saver, "adelete_thread", lambda thread: _delete_checkpoints(saver, thread))
    with pytest.raises(CopyUnavailable) as kept:
        await connector.erase(target())
    assert kept.value.problem is CopyProblem.FAILED
    left = await connector.verify(target())
    assert left is not None
    assert left > 0


async def test_a_thread_that_comes_back_is_found_again(saver: Saver) -> None:
    """A late run writes under the old thread id: the next look sees it."""
    for connector in connectors(saver):
        await connector.erase(target())
        assert await connector.verify(target()) == 0
        await talk(saver, "t1", "ana", "acme")
        assert await connector.verify(target()) == rows_of_a_thread(saver)


async def test_no_known_thread_proves_nothing(saver: Saver) -> None:
    """Whoever maps people to threads has to say that it knows everybody; otherwise nothing is claimed, at any call."""
    stranger = target("carl")
    connector = LangGraphThreads(saver, threads=threads_of)
    for ask in (connector.find, connector.erase, connector.verify):
        with pytest.raises(CopyUnavailable) as refused:
            await ask(stranger)
        assert refused.value.problem is CopyProblem.NOBODY_KNOWN
    complete = LangGraphThreads(saver, threads=threads_of, complete=True)
    assert await complete.find(stranger) == 0
    await complete.erase(stranger)
    assert await complete.verify(stranger) == 0
    assert await complete.find(target()) == 2 * rows_of_a_thread(saver)
    with pytest.raises(InvalidInput, match="complete goes with threads"):
        LangGraphThreads(saver, metadata=metadata_of, complete=True)


SAYING_NOTHING: tuple[object, ...] = (None, [], {}, (), {"id": {}}, [[]], [{}], [None])


@pytest.mark.parametrize("metadata", [{}, *({"tenant": "acme", "user_id": value} for value in SAYING_NOTHING)])
async def test_metadata_that_says_nothing_means_nobody(saver: Saver, metadata: dict[str, Any]) -> None:
    """An empty filter would find the threads of all, and None those that name nobody: they are of others (rule 22)."""
    anonymous: Any = {"configurable": {"thread_id": "t5", "checkpoint_ns": ""}}
    await saver.aput(anonymous, empty_checkpoint(), {"tenant": "acme"}, {})  # type: ignore[typeddict-unknown-key]
    connector = LangGraphThreads(saver, metadata=lambda _: metadata)
    for ask in (connector.find, connector.erase, connector.verify):
        with pytest.raises(CopyUnavailable) as refused:
            await ask(target())
        assert refused.value.problem is CopyProblem.UNSAFE
    assert {one.config["configurable"]["thread_id"] async for one in saver.alist(None)} == {
        "t1",
        "t2",
        "t3",
        "t4",
        "t5",
    }


async def test_a_key_with_a_dot_is_no_path(saver: Saver) -> None:
    """SQLite reads it as one, and would find nothing, or what another has there; PostgreSQL finds the key itself."""
    config: Any = {"configurable": {"thread_id": "t5", "checkpoint_ns": ""}}
    await saver.aput(config, empty_checkpoint(), {"user.id": "ana"}, {})  # type: ignore[typeddict-unknown-key]
    connector = LangGraphThreads(saver, metadata=lambda about: {"user.id": about.subject})
    if isinstance(saver, AsyncSqliteSaver):
        with pytest.raises(CopyUnavailable) as refused:
            await connector.find(target())
        assert refused.value.problem is CopyProblem.UNSAFE
    else:
        assert await connector.find(target()) == 1


@pytest.mark.parametrize("answer", ["t1", b"t2", None, 1, [None], [b"t1"], [["t1"]]])
async def test_an_answer_that_is_no_list_of_threads_is_no_look(saver: Saver, answer: Any) -> None:  # noqa: ANN401
    """One text would be looked for letter by letter, and nothing be found (rule 21)."""

    async def threads(_: Target) -> Sequence[str]:
        found: Sequence[str] = answer
        return found

    connector = LangGraphThreads(saver, threads=threads, complete=True)
    for ask in (connector.find, connector.erase, connector.verify):
        with pytest.raises(CopyUnavailable) as refused:
            await ask(target())
        assert refused.value.problem is CopyProblem.NOT_UNDERSTOOD


async def test_a_database_that_is_gone_is_told_without_ids(clone: Clone) -> None:
    """The driver's error quotes what was asked; ours does not."""
    async with AsyncPostgresSaver.from_conn_string(clone.superuser) as saver:
        connector = LangGraphThreads(saver, threads=threads_of)
        with pytest.raises(CopyUnavailable) as refused:
            await connector.find(target())
    assert "t1" not in str(refused.value)
    assert "UndefinedTable" in str(refused.value)


def test_only_what_can_be_counted_is_taken() -> None:
    """A checkpointer whose rows nobody can count cannot be verified; and there has to be one way to find threads."""
    with pytest.raises(InvalidInput, match="AsyncPostgresSaver"):
        LangGraphThreads(InMemorySaver(), threads=threads_of)


async def test_there_is_one_way_to_find_threads(tmp_path: Path) -> None:
    """Not none, and not two that could differ."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        for ways in ({}, {"threads": threads_of, "metadata": metadata_of}):
            with pytest.raises(InvalidInput, match="one of the two"):
                LangGraphThreads(saver, **ways)  # type: ignore[arg-type]


async def _threads(*names: str) -> Sequence[str]:
    return names


async def _delete_checkpoints(saver: Any, thread: str) -> None:  # noqa: ANN401 - either of two
    if isinstance(saver, AsyncSqliteSaver):
        await saver.conn.execute("DELETE FROM checkpoints WHERE thread_id = ?", (thread,))
        await saver.conn.commit()
        return
    url = saver.conn.conninfo if isinstance(saver.conn, AsyncConnectionPool) else saver.conn.info.dsn
    password = "" if isinstance(saver.conn, AsyncConnectionPool) else f" password={saver.conn.info.password}"
    async with await psycopg.AsyncConnection.connect(f"{url}{password}", autocommit=True) as connection:
        await connection.execute("DELETE FROM checkpoints WHERE thread_id = %s", (thread,))
