"""The ledger as operations use it: off the event loop, and many callers' entries in one write."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from olvido.adapters.ledger.journal import Intent, Journal, Outcome
from olvido.adapters.ledger.lines import APPLIED, SKIPPED, WITHDRAWN
from olvido.adapters.ledger.place import Place
from olvido.domain.ledger import Entry, LedgerState, Request
from olvido.errors import LedgerUnavailable

MOST_AT_ONCE: Final = 256
"""Entries in one write, so that a line stays of a size that is read at once."""

Answer = TypeVar("Answer")


class FileLedger:
    """The erasure ledger in a directory. Whoever makes one closes it; it may be used from several event loops.

    One thread does all of its work in turn. Entries that arrive while it makes others durable wait for the next write,
    and share that one.
    """

    def __init__(self, directory: Path, *, beside: Path | None = None) -> None:
        """directory: where it lies; it is made by `begin`. beside: the data directory whose owner is to own it."""
        self._place = Place(directory=directory.absolute(), beside=beside)
        self._journal = Journal(self._place)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="olvido-ledger")
        self._arriving = threading.Lock()
        self._waiting: list[tuple[Intent | Outcome, Future[int]]] = []
        self._state: LedgerState | None = None
        # By entry, the outcome that could not be written down yet.
        self._owed: dict[int, str] = {}

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return str(self._place.directory)

    @property
    def ledger_id(self) -> UUID:
        """Which ledger this is. Raises LedgerUnavailable before it was read."""
        if self._state is None:
            raise LedgerUnavailable(f"There is no erasure ledger at {self.place}. Open the store anew.")
        return self._state.ledger_id

    async def state(self) -> LedgerState | None:
        """How far it is now; None if there is none. Raises LedgerUnavailable."""
        self._state = await self._run(self._settled_state)
        return self._state

    async def begin(self, replaces: Collection[UUID] = ()) -> LedgerState:
        """Make it, unless there is one. replaces: lost ledgers that it stands for. Raises LedgerUnavailable."""
        self._state = await self._run(partial(self._journal.begin, replaces))
        return self._state

    async def entries(self, numbers: Sequence[int]) -> list[Entry]:
        """What these entries say, in their order; numbers that stand for none are passed over."""
        return await self._run(partial(self._journal.entries, numbers))

    async def intend(
        self,
        tenant: str,
        key: UUID | None,
        record_ids: Sequence[UUID] | None,
        version: int | None = None,
        request: Request | None = None,
        *,
        took_in: Sequence[UUID] = (),
    ) -> int:
        """Write down durably what is about to be removed, and return the number of the entry. See the port."""
        written = self._write(
            Intent(
                tenant=tenant,
                key=key,
                record_ids=None if record_ids is None else tuple(record_ids),
                version=version,
                request=request,
                took_in=tuple(took_in),
            )
        )
        try:
            return await asyncio.shield(asyncio.wrap_future(written))
        except asyncio.CancelledError:
            # Nobody learns the number, so nothing is removed for it.
            written.add_done_callback(self._unheard)
            raise

    async def applied(self, entry: int) -> None:
        """Write down that the removal of this entry is committed.

        From now on it is not taken back here any more, whatever failed before. If this fails, it is written later, as a
        withdrawal is.
        """
        with self._arriving:
            self._owed.pop(entry, None)
        await asyncio.wrap_future(self._say(Outcome(word=APPLIED, number=entry)))

    async def withdrawn(self, entry: int) -> None:
        """Write down that nothing was removed for this entry, and that nothing is to be.

        If that fails, it is written as soon as the ledger can be, before anything else is read or written here, and
        until then the entry counts as withdrawn here. Another process may have carried it out by then.
        """
        await asyncio.wrap_future(self._say(Outcome(word=WITHDRAWN, number=entry)))

    async def write_back(self, removals: Sequence[Entry], *, above: int) -> list[int]:
        """Write down removals that were committed long ago, under new numbers, which are higher than `above`."""
        news: list[Intent | Outcome] = [
            Intent(
                tenant=one.tenant,
                key=one.key,
                record_ids=one.record_ids,
                version=one.version,
                request=one.request,
                took_in=one.took_in,
                done=True,
            )
            for one in removals
        ]
        await self._run(partial(self._journal.append, [Outcome(word=SKIPPED, number=above)]))
        numbers: list[int] = []
        for start in range(0, len(news), MOST_AT_ONCE):
            numbers += await self._run(partial(self._journal.append, news[start : start + MOST_AT_ONCE]))
        return numbers

    def close(self) -> None:
        """Finish what is being written. Closing twice is harmless."""
        self._thread.shutdown()

    def _settled_state(self) -> LedgerState | None:
        self._pay()
        state = self._journal.state()
        if state is None:
            return None
        with self._arriving:
            withdrawn = {entry for entry, word in self._owed.items() if word == WITHDRAWN}
        # What could not be withdrawn in the file must not be carried out here, by whoever finishes what is in flight.
        withdrawn.intersection_update(state.in_flight)
        if not withdrawn:
            return state
        return replace(
            state,
            unapplied=state.unapplied | withdrawn,
            in_flight=tuple(entry for entry in state.in_flight if entry not in withdrawn),
        )

    def _pay(self) -> None:
        """Write down what could not be when it was to be, if it can be now."""
        with self._arriving:
            owed = dict(self._owed)
        if not owed:
            return
        with suppress(LedgerUnavailable):
            self._journal.append([Outcome(word=word, number=entry) for entry, word in owed.items()])
            with self._arriving:
                self._owed = {entry: word for entry, word in self._owed.items() if owed.get(entry) != word}

    def _write(self, event: Intent | Outcome) -> Future[int]:
        written: Future[int] = Future()
        with self._arriving:
            self._waiting.append((event, written))
        self._submit(self._write_waiting)
        return written

    def _write_waiting(self) -> None:
        """Write what has arrived, unless an earlier turn has written it."""
        with self._arriving:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        batch = [(event, written) for event, written in batch if written.set_running_or_notify_cancel()]
        if not batch:
            return
        try:
            self._pay()
            numbers = self._journal.append([event for event, _ in batch])
        except LedgerUnavailable as error:
            for _, written in batch:
                written.set_exception(LedgerUnavailable(str(error)))
        except BaseException as error:
            for _, written in batch:
                written.set_exception(error)
            raise
        else:
            for (_, written), number in zip(batch, numbers, strict=True):
                written.set_result(number)

    def _unheard(self, written: Future[int]) -> None:
        if not written.cancelled() and written.exception() is None:
            self._say(Outcome(word=WITHDRAWN, number=written.result()))

    def _say(self, outcome: Outcome) -> Future[int]:
        def owe(written: Future[int]) -> None:
            if written.cancelled() or isinstance(written.exception(), LedgerUnavailable):
                with self._arriving:
                    if self._owed.get(outcome.number) != APPLIED:
                        self._owed[outcome.number] = outcome.word

        written = self._write(outcome)
        written.add_done_callback(owe)
        return written

    async def _run(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.wrap_future(self._submit(work))

    def _submit(self, work: Callable[[], Answer]) -> Future[Answer]:
        try:
            return self._thread.submit(work)
        except RuntimeError:
            raise LedgerUnavailable("This memory is closed. Open it again with olvido.open(...).") from None
