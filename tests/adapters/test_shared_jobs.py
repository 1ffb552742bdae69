"""Vectors that are kept: asked for once, bounded, without text, and not lost with whoever asked first."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from functools import partial

import numpy as np
import pytest

from olvido.adapters.shared_jobs import CACHED_QUERIES, SharedVectors
from olvido.errors import EmbedderProblem, EmbedderUnavailable
from olvido.ports import Vector

ONE = np.ones(3, dtype=np.float32)


class Jobs:
    """Starts jobs that a test ends."""

    def __init__(self) -> None:
        self.started: list[Future[Vector]] = []

    def ask(self) -> Future[Vector]:
        """Start one."""
        self.started.append(Future())
        return self.started[-1]


def done() -> Future[Vector]:
    """A job that is done already."""
    job: Future[Vector] = Future()
    job.set_result(ONE)
    return job


@pytest.fixture
def jobs() -> Jobs:
    """Nothing has been asked for."""
    return Jobs()


async def test_equal_queries_at_once_are_asked_once(jobs: Jobs) -> None:
    """Ten callers with one question wait for one job; another question is a job of its own."""
    shared = SharedVectors()
    waiting = [asyncio.create_task(shared.query("q", jobs.ask)) for _ in range(10)]
    other = asyncio.create_task(shared.query("another", jobs.ask))
    await asyncio.sleep(0)
    assert len(jobs.started) == 2
    for job in jobs.started:
        job.set_result(ONE)
    assert all(vector is ONE for vector in await asyncio.gather(other, *waiting))


async def test_who_gives_up_takes_nothing_from_others(jobs: Jobs) -> None:
    """The first caller is cancelled, the second still gets the vector, and it is kept."""
    shared = SharedVectors()
    first, second = (asyncio.create_task(shared.query("q", jobs.ask)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    jobs.started[0].set_result(ONE)
    assert await second is ONE
    assert await shared.query("q", jobs.ask) is ONE
    assert len(jobs.started) == 1


async def test_a_failure_reaches_all_who_wait_and_is_not_kept(jobs: Jobs) -> None:
    """Everybody who waited gets the error; the next question is a new job."""
    shared = SharedVectors()
    waiting = [asyncio.create_task(shared.query("q", jobs.ask)) for _ in range(3)]
    await asyncio.sleep(0)
    jobs.started[0].set_exception(EmbedderUnavailable("out"))
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(answer) for answer in answers] == [EmbedderUnavailable] * 3
    assert await shared.query("q", done) is ONE


async def test_a_job_that_closing_dropped_is_a_closed_embedder(jobs: Jobs) -> None:
    """The caller does not look cancelled itself."""
    waiting = asyncio.create_task(SharedVectors().query("q", jobs.ask))
    await asyncio.sleep(0)
    jobs.started[0].cancel()
    with pytest.raises(EmbedderUnavailable) as refused:
        await waiting
    assert refused.value.problem is EmbedderProblem.CLOSED


async def test_what_is_kept_is_bounded_and_holds_no_text(jobs: Jobs) -> None:
    """The least recently used query goes first, the centre stays, and names are digests under a key of this object."""
    shared, other = SharedVectors(), SharedVectors()
    await shared.centre(done)
    for number in range(CACHED_QUERIES + 10):
        await shared.query(f"question {number}", done)
        await shared.query("question 0", partial(pytest.fail, "asked again"))
    await other.query("question 0", done)
    assert len(shared._queries) == CACHED_QUERIES
    assert b"question" not in b"".join(shared._queries)
    assert not set(shared._queries) & set(other._queries)
    assert await shared.query("question 0", jobs.ask) is ONE
    assert await shared.centre(jobs.ask) is ONE
    assert jobs.started == []
    gone = asyncio.create_task(shared.query("question 1", jobs.ask))
    await asyncio.sleep(0)
    assert len(jobs.started) == 1
    gone.cancel()


async def test_nothing_is_kept_after_closing(jobs: Jobs) -> None:
    """What was kept is gone, and a job that ends later adds nothing."""
    shared = SharedVectors()
    await shared.query("kept", done)
    late = asyncio.create_task(shared.query("late", jobs.ask))
    await asyncio.sleep(0)
    shared.close()
    jobs.started[0].set_result(ONE)
    await late
    assert (len(shared._queries), shared._asked) == (0, {})


def test_a_loop_that_is_gone_is_no_error(jobs: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    """A job may end after the loop of whoever asked for it was closed."""
    shared = SharedVectors()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(shared.query("q", jobs.ask), timeout=0.01)

    asyncio.run(give_up())
    jobs.started[0].set_result(ONE)
    assert asyncio.run(shared.query("q", partial(pytest.fail, "asked again"))) is ONE
    assert caplog.text == ""
