"""The file of the ledger. Blocking, and for one thread at a time; other threads and processes have a journal each.

It is opened for each use, so that one which was moved away or exchanged is noticed, and read on from where the last use
ended. Whoever appends holds it alone: an unfinished last line is then of a writer that died, before anybody was
answered, and is cut off.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Final
from uuid import UUID, uuid4

from olvido.adapters.files import sync_directory
from olvido.adapters.ledger import checkpoint
from olvido.adapters.ledger.lines import APPLIED, SKIPPED, Content, Header, announced, encode, entries, header_content
from olvido.adapters.ledger.place import Place, check, create, prepare
from olvido.adapters.ledger.tally import Tally
from olvido.domain.ledger import Entry, LedgerState, Request
from olvido.errors import LedgerUnavailable

WAIT_SECONDS: Final = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """A removal to be announced. done: it is committed already."""

    tenant: str
    key: UUID | None
    record_ids: tuple[UUID, ...] | None
    version: int | None
    request: Request | None = None
    took_in: tuple[UUID, ...] = ()
    done: bool = False

    def entry(self, number: int) -> Entry:
        """The entry that it becomes."""
        return Entry(
            number=number,
            tenant=self.tenant,
            key=self.key,
            record_ids=self.record_ids,
            version=self.version,
            request=self.request,
            took_in=self.took_in,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of an entry. word: `APPLIED`, `WITHDRAWN`, or `SKIPPED`: no entry gets a number up to this one."""

    word: str
    number: int


class Journal:
    """One reader and writer of the file."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._tally = Tally()
        self._inode: tuple[int, int] | None = None
        self._kept_to = 0

    def state(self) -> LedgerState | None:
        """The state now; None if there is no ledger. Raises LedgerUnavailable."""
        with self._opened(os.O_RDONLY, fcntl.LOCK_SH) as fd:
            if fd is not None:
                self._catch_up(fd)
        return self._tally.state()

    def begin(self, replaces: Collection[UUID]) -> LedgerState:
        """Make the ledger, unless there is one, and return its state. Raises LedgerUnavailable."""
        with self._speaking():
            prepare(self._place)
            create(self._place)
        with self._opened(os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as fd:
            if fd is None:
                raise self._gone()
            self._catch_up(fd)
            if self._tally.header is None:
                self._write(fd, header_content(Header(ledger_id=uuid4(), replaces=frozenset(replaces))))
                sync_directory(self._place.directory)
        state = self._tally.state()
        if state is None:
            raise self._gone()
        return state

    def entries(self, numbers: Sequence[int]) -> list[Entry]:
        """What these entries say, in their order; numbers that stand for none are passed over.

        Raises LedgerUnavailable, also for one that does not say whom it is about.
        """
        found: dict[int, Entry] = {}
        with self._opened(os.O_RDONLY, fcntl.LOCK_SH) as fd:
            if fd is None:
                return []
            self._catch_up(fd)
            if not all(map(self._tally.knows_start_of, numbers)):
                self._tally = self._read_all(fd)
            starts = {number: self._tally.start_of(number) for number in numbers}
            with _reading(fd) as file:
                # Each line once: a batch that was written back is hundreds of entries in one.
                for start in sorted({start for start in starts.values() if start is not None}):
                    # Its checksum was compared when it was read first.
                    file.seek(start)
                    try:
                        read = entries(file.readline())
                    except (AttributeError, LookupError, TypeError, ValueError):
                        raise self._damaged(start) from None
                    found |= {entry.number: entry for entry in read if starts.get(entry.number) == start}
        return [found[number] for number in numbers if number in found]

    def append(self, news: Sequence[Intent | Outcome]) -> list[int]:
        """Write these down together, durable on return, and return the number of each. Raises LedgerUnavailable."""
        with self._opened(os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as fd:
            if fd is None:
                raise self._gone()
            self._catch_up(fd)
            if self._tally.header is None:
                raise self._gone()
            numbers: list[int] = []
            said: list[Content] = []
            last = self._tally.last
            for event in news:
                if isinstance(event, Outcome):
                    numbers.append(event.number)
                    said += [{event.word: event.number}] if self._is_news(event) else []
                    last = max(last, event.number) if event.word == SKIPPED else last
                else:
                    last += 1
                    numbers.append(last)
                    said.append(announced(event.entry(last)))
                    said += [{APPLIED: last}] if event.done else []
            if said:
                # The hour of this host, for whoever reads the file; nothing is judged by it.
                self._write(fd, {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "events": said})
            return numbers

    def _is_news(self, outcome: Outcome) -> bool:
        if outcome.word == SKIPPED:
            return outcome.number > self._tally.last
        if outcome.word == APPLIED:
            return self._tally.is_there(outcome.number) and not self._tally.is_applied(outcome.number)
        return self._tally.is_in_flight(outcome.number)

    def _catch_up(self, fd: int) -> None:
        """Read what was appended since. Raises LedgerUnavailable."""
        status = os.fstat(fd)
        inode = (status.st_dev, status.st_ino)
        if self._inode is not None and (inode != self._inode or status.st_size < self._tally.offset):
            raise LedgerUnavailable(
                f"The erasure ledger {self._place.file} was exchanged or cut short while it was in use. Put the newest "
                "one back and open again."
            )
        with _reading(fd) as file:
            if self._tally.header is None:
                self._tally = checkpoint.load(self._place, file) or self._tally
                self._kept_to = self._tally.offset
            self._follow(file, self._tally)
        if self._tally.header is not None:
            self._inode = inode
        if self._tally.offset - self._kept_to > checkpoint.EVERY_BYTES:
            checkpoint.keep(self._place, self._tally)
            self._kept_to = self._tally.offset

    def _read_all(self, fd: int) -> Tally:
        """A tally from the first line on. Raises LedgerUnavailable if it is not the one that we have."""
        tally = Tally()
        with _reading(fd) as file:
            self._follow(file, tally)
        if (tally.offset, tally.checksum) != (self._tally.offset, self._tally.checksum):
            raise self._damaged(tally.offset)
        return tally

    def _follow(self, file: BinaryIO, tally: Tally) -> None:
        """Read on to the end, or to an unfinished last line. Raises LedgerUnavailable."""
        file.seek(tally.offset)
        for line in file:
            try:
                whole = tally.take(line)
            except (LookupError, TypeError, ValueError):
                raise self._damaged(tally.offset) from None
            if not whole:
                if file.read(1):
                    raise self._damaged(tally.offset)
                return

    def _write(self, fd: int, content: Content) -> None:
        """Append one line after the last whole one, durably, or leave the file as it was."""
        start = self._tally.offset
        if os.fstat(fd).st_size > start:
            # An unfinished line: cut off once all before it is seen to be what was read before.
            self._read_all(fd)
            os.ftruncate(fd, start)
        line = encode(content, self._tally.checksum)
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, start)
            os.fsync(fd)
            raise
        self._tally.take(line)

    @contextmanager
    def _opened(self, flags: int, lock: int) -> Iterator[int | None]:
        """The file, locked; None if there is none and never was."""
        with self._speaking():
            try:
                fd = os.open(self._place.file, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                if self._inode is not None:
                    raise self._gone() from None
                yield None
                return
            try:
                check(self._place)
                self._lock(fd, lock)
                yield fd
            finally:
                # Closing alone would leave the lock with a forked child that has a copy.
                fcntl.flock(fd, fcntl.LOCK_UN)
                os.close(fd)

    def _lock(self, fd: int, lock: int) -> None:
        deadline, pause = time.monotonic() + WAIT_SECONDS, _FIRST_PAUSE
        while True:
            try:
                fcntl.flock(fd, lock | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LedgerUnavailable(
                        f"Another program has held the erasure ledger {self._place.file} for {WAIT_SECONDS:g} seconds. "
                        "Find it (for example with lsof), end it and try again."
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                return

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Say what is wrong with the place, for whatever the system says."""
        try:
            yield
        except OSError as error:
            raise LedgerUnavailable(
                f"The erasure ledger at {self._place.directory} cannot be used: "
                f"{error.strerror or type(error).__name__}. Let the user who runs this program own the directory, or "
                "name another one with OLVIDO_LEDGER."
            ) from error

    def _gone(self) -> LedgerUnavailable:
        return LedgerUnavailable(f"The erasure ledger {self._place.file} is gone. Put it back and open again.")

    def _damaged(self, offset: int) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"The erasure ledger {self._place.file} is damaged at byte {offset}. Put back a whole copy of it; "
            "`olvido restore check` then says what it lacks."
        )


def _reading(fd: int) -> BinaryIO:
    """The file for a while, without closing it for others."""
    return os.fdopen(os.dup(fd), "rb")
