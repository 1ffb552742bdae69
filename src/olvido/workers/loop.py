"""The loop of a worker: every duty at its own pace, until it is told to stop; then each ends the piece it is at.

What happens is told by the logger `olvido.worker` as events: `action`, `duty`, and numbers. None of it is content.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random

from olvido.errors import OlvidoError, UnsafeDatabase
from olvido.workers.duties import Did, Duty, DutyName
from olvido.workers.waiting import Backoff

log = logging.getLogger("olvido.worker")

INTERVAL = 30.0
JITTER = 0.2
"""Workers look for work at intervals that differ by up to this part of it."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
"""Seconds before a duty that raised an error is tried again."""


class Worker:
    """Runs duties side by side. What one of them raises stops no other.

    interval: seconds between two looks of a duty that found nothing to do.
    """

    def __init__(self, duties: Sequence[Duty], *, interval: float = INTERVAL, chance: Random | None = None) -> None:
        self._duties = duties
        self._interval = interval
        self._chance = chance or Random()  # noqa: S311 - it keeps workers apart, and no secret
        self._stopping = asyncio.Event()
        self._incomplete: set[str] = set()

    def stop(self) -> None:
        """End each duty after the piece it is at, or at once where it rests. Call it in the loop of the worker."""
        self._stopping.set()

    async def run(self, *, once: bool = False) -> frozenset[str]:
        """Work until `stop`, or with `once` until nothing is left to do. Which duties could not do all that they found.

        Raises UnsafeDatabase, which waiting does not mend.
        """
        self._tell("worker_started", duties=[str(duty.name) for duty in self._duties])
        try:
            ended = []
            for turn in self._turns(once=once):
                ended += await asyncio.gather(*(self._serve(duty, once=once) for duty in turn), return_exceptions=True)
        finally:
            self._tell("worker_stopped")
        for failure in ended:
            if failure is not None:
                raise failure
        return frozenset(self._incomplete)

    def _turns(self, *, once: bool) -> Sequence[Sequence[Duty]]:
        """Which duties run side by side. With `once`, what the others write into the audit is sealed after them."""
        if not once:
            return [self._duties]
        first = [duty for duty in self._duties if duty.name != DutyName.SEAL]
        return [first, [duty for duty in self._duties if duty.name == DutyName.SEAL]]

    async def _serve(self, duty: Duty, *, once: bool) -> None:
        backoff = Backoff(first=FIRST_WAIT, longest=LONGEST_WAIT, chance=self._chance)
        rested = False
        try:
            while not self._stopping.is_set():
                try:
                    async with asyncio.timeout(duty.time_limit):
                        did = await duty.run_once()
                except UnsafeDatabase:
                    raise
                except Exception as error:  # noqa: BLE001 - a worker outlives whatever one duty meets
                    self._incomplete.add(duty.name)
                    seconds = backoff.failed()
                    self._tell("duty_failed", duty, level=logging.WARNING, problem=_problem(error), again_in=seconds)
                else:
                    backoff.succeeded()
                    self._told(duty, did)
                    if did.more:
                        rested = False
                        continue
                    if did.counts or not rested:
                        self._tell("duty_rests", duty)
                    rested = True
                    seconds = self._interval * self._chance.uniform(1 - JITTER, 1 + JITTER)
                if once:
                    return
                await self._rest(seconds)
        except BaseException:
            self.stop()
            raise

    def _told(self, duty: Duty, did: Did) -> None:
        if did.incomplete:
            self._incomplete.add(duty.name)
        else:
            self._incomplete.discard(duty.name)
        if did.counts:
            self._tell("duty_done", duty, **did.counts)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _tell(self, action: str, duty: Duty | None = None, *, level: int = logging.INFO, **facts: object) -> None:
        about = {} if duty is None else {"duty": str(duty.name)}
        log.log(level, action.replace("_", " "), extra={"action": action, **about, **facts})


@contextmanager
def stopped_by_signals(worker: Worker) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop a worker of the main thread. The second one of either ends the process at once."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)

    def stop() -> None:
        log.info("worker stopping", extra={"action": "worker_stopping"})
        restore()
        worker.stop()

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        restore()


def _problem(error: Exception) -> str:
    """A word of ours, or the name of the class: neither can repeat what is stored."""
    return error.code if isinstance(error, OlvidoError) else type(error).__name__
