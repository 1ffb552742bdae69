"""The loop of a worker: duties side by side, each at its own pace, an error kept to its duty, and a clean stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from olvido.errors import DatabaseUnavailable, UnsafeDatabase
from olvido.workers.duties import Did
from olvido.workers.loop import Worker

CANARY = "canary-91c4"
NEVER = 3600.0
"""An interval that no test waits for."""


class Stub:
    """A duty that does what a test says, and tells how often it was asked."""

    def __init__(self, name: str, piece: Callable[[int], Awaitable[Did]], *, time_limit: float = 60.0) -> None:
        self.name = name
        self.time_limit = time_limit
        self.pieces = 0
        self.asked = asyncio.Event()
        self._piece = piece

    async def run_once(self) -> Did:
        """One piece."""
        self.pieces += 1
        self.asked.set()
        return await self._piece(self.pieces)


async def nothing(_: int) -> Did:
    """There was nothing to do."""
    return Did()


async def lost(_: int) -> Did:
    """The database went away; the message quotes what no log may hold."""
    raise DatabaseUnavailable(CANARY)


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The events of the worker, in order."""
    return [vars(record) for record in caplog.records if record.name == "olvido.worker"]


@pytest.fixture(autouse=True)
def _hear(caplog: pytest.LogCaptureFixture) -> None:
    """Events are told at INFO."""
    caplog.set_level(logging.INFO, logger="olvido.worker")


async def test_an_error_of_one_duty_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """It is told as an event with a code, without what the error says, and tried again; the other one goes on."""

    async def ten(number: int) -> Did:
        await asyncio.sleep(0)
        return Did(counts={"rows": 1}, more=number < 10)

    broken, sound = Stub("purge", lost), Stub("embed", ten)
    worker = Worker([broken, sound], interval=NEVER)
    running = asyncio.create_task(worker.run())
    await broken.asked.wait()
    while sound.pieces < 10:
        await sound.asked.wait()
        sound.asked.clear()
    worker.stop()
    assert await running == {"purge"}
    (failed,) = [event for event in told(caplog) if event["action"] == "duty_failed"]
    assert (failed["duty"], failed["problem"], failed["levelname"]) == ("purge", "database_unavailable", "WARNING")
    assert 0.5 <= failed["again_in"] <= 1.0
    assert CANARY not in caplog.text
    assert CANARY not in repr(told(caplog))
    assert [event["rows"] for event in told(caplog) if event["action"] == "duty_done"] == [1] * 10


async def test_a_duty_that_failed_is_tried_again_and_then_forgives() -> None:
    """After its wait it runs, and a piece that works takes it off the list of those that could not do all."""
    done = asyncio.Event()

    async def second_time(number: int) -> Did:
        if number == 1:
            raise DatabaseUnavailable(CANARY)
        done.set()
        return Did()

    class Least(Random):
        def uniform(self, a: float, b: float) -> float:
            return a * b * 0.01

    worker = Worker([Stub("embed", second_time)], interval=NEVER, chance=Least())
    running = asyncio.create_task(worker.run())
    await done.wait()
    worker.stop()
    assert await running == frozenset()


async def test_a_stop_ends_a_rest_at_once_and_looks_come_back_after_it(caplog: pytest.LogCaptureFixture) -> None:
    """With a short interval a duty looks again and again; with a long one a stop does not wait for it."""
    often, seldom = Stub("purge", nothing), Stub("embed", nothing)
    brisk, calm = Worker([often], interval=0.001), Worker([seldom], interval=NEVER)
    running = [asyncio.create_task(worker.run()) for worker in (brisk, calm)]
    while often.pieces < 3:
        often.asked.clear()
        await often.asked.wait()
    async with asyncio.timeout(10):
        brisk.stop()
        calm.stop()
        await asyncio.gather(*running)
    assert seldom.pieces == 1
    # A rest is told once, not each time that there was nothing to do.
    assert [event["action"] for event in told(caplog)].count("duty_rests") == 2


async def test_a_stop_lets_the_piece_end() -> None:
    """Each duty ends what it is at, and begins nothing else, although there would be more."""
    go, ended = asyncio.Event(), []

    async def long(number: int) -> Did:
        await go.wait()
        ended.append(number)
        return Did(counts={"rows": 1}, more=True)

    duty = Stub("embed", long)
    worker = Worker([duty], interval=NEVER)
    running = asyncio.create_task(worker.run())
    await duty.asked.wait()
    worker.stop()
    assert not running.done()
    go.set()
    await running
    assert ended == [1]


async def test_a_piece_that_takes_too_long_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """It is cancelled, told, and tried again later; the worker lives on."""
    cancelled = asyncio.Event()

    async def hangs(_: int) -> Did:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Did()

    worker = Worker([Stub("embed", hangs, time_limit=0.01)], interval=NEVER)
    running = asyncio.create_task(worker.run())
    await cancelled.wait()
    worker.stop()
    assert await running == {"embed"}
    assert [event["problem"] for event in told(caplog) if event["action"] == "duty_failed"] == ["TimeoutError"]


async def test_once_ends_when_nothing_is_left(caplog: pytest.LogCaptureFixture) -> None:
    """Pieces follow each other while there are more; what has to be tried again later is in the answer."""

    async def three(number: int) -> Did:
        return Did(counts={"rows": number}, more=number < 3, incomplete=number == 3)

    duties = [Stub("embed", three), Stub("purge", nothing), Stub("erase", lost)]
    assert await Worker(duties, interval=NEVER).run(once=True) == {"embed", "erase"}
    assert [duty.pieces for duty in duties] == [3, 1, 1]
    events = told(caplog)
    assert (events[0]["action"], events[0]["duties"]) == ("worker_started", ["embed", "purge", "erase"])
    assert events[-1]["action"] == "worker_stopped"
    assert [event["rows"] for event in events if event["action"] == "duty_done"] == [1, 2, 3]


async def test_once_seals_after_what_the_others_did() -> None:
    """What they write into the audit is there when it is sealed, however long they take."""
    order: list[str] = []

    def slow(name: str, turns: int) -> Callable[[int], Awaitable[Did]]:
        async def piece(number: int) -> Did:
            await asyncio.sleep(0)
            order.append(name)
            return Did(more=number < turns)

        return piece

    duties = [Stub("seal", slow("seal", 1)), Stub("erase", slow("erase", 3)), Stub("purge", slow("purge", 1))]
    await Worker(duties, interval=NEVER).run(once=True)
    assert order[-1] == "seal"
    assert sorted(order) == ["erase", "erase", "erase", "purge", "seal"]


async def test_what_waiting_does_not_mend_ends_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    """A login that may not do this is told to whoever started the worker; the other duties end their piece first."""
    go, ended = asyncio.Event(), []

    async def long(number: int) -> Did:
        await go.wait()
        ended.append(number)
        return Did(more=True)

    async def refused(_: int) -> Did:
        raise UnsafeDatabase("pass worker_url")

    other = Stub("embed", long)
    worker = Worker([other, Stub("purge", refused)], interval=NEVER)
    running = asyncio.create_task(worker.run())
    await other.asked.wait()
    go.set()
    with pytest.raises(UnsafeDatabase):
        await running
    assert ended == [1]
    assert told(caplog)[-1]["action"] == "worker_stopped"
