"""What the lines of a ledger add up to, followed as they are read."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Self
from uuid import UUID

from olvido.adapters.ledger.lines import APPLIED, ENTRY, SKIPPED, WITHDRAWN, Event, Header, checked, events, read_header
from olvido.domain.ledger import NEWEST, LedgerState


class Tally:
    """The state of a ledger up to `offset`, in memory of a size that hardly grows with it: 8 bytes an entry.

    header: None until the first line is read. offset: bytes read. checksum: of the last line read. last_line: where
    that starts, and the checksum before it.
    """

    def __init__(self) -> None:
        self.header: Header | None = None
        self.offset = 0
        self.checksum = 0
        self.last_line = (0, 0)
        # Entries up to `_base` were read by somebody else; of those only the ones in flight have a known start.
        self._base = 0
        self._starts = array("Q")
        self._in_flight: dict[int, int] = {}
        self._unapplied: set[int] = set()
        self._newest: deque[int] = deque(maxlen=NEWEST)
        self._state: LedgerState | None = None
        self._follow = {
            ENTRY.encode(): self._announce,
            APPLIED.encode(): self._apply,
            WITHDRAWN.encode(): self._withdraw,
            SKIPPED.encode(): self._skip,
        }

    @property
    def last(self) -> int:
        """The highest number."""
        return self._base + len(self._starts)

    def start_of(self, number: int) -> int | None:
        """Where the line of an entry starts in the file; None if there is no such entry, or see `knows_start_of`."""
        if number in self._in_flight:
            return self._in_flight[number]
        return self._starts[number - self._base - 1] or None if self._base < number <= self.last else None

    def knows_start_of(self, number: int) -> bool:
        """Whether it is known where this entry starts, or that there is none."""
        return not 1 <= number <= self._base or number in self._in_flight

    def is_there(self, number: int) -> bool:
        """Whether there is such an entry, as far as is known: a number skipped before a checkpoint counts as one."""
        if not 1 <= number <= self.last:
            return False
        return not self.knows_start_of(number) or self.start_of(number) is not None

    def is_in_flight(self, number: int) -> bool:
        """Whether an entry has no outcome yet."""
        return number in self._in_flight

    def is_applied(self, number: int) -> bool:
        """Whether an entry is applied."""
        return 1 <= number <= self.last and number not in self._unapplied and number not in self._in_flight

    def state(self) -> LedgerState | None:
        """The state so far; None without a first line."""
        if self._state is None and self.header is not None:
            self._state = LedgerState(
                ledger_id=self.header.ledger_id,
                replaces=self.header.replaces,
                last=self.last,
                unapplied=frozenset(self._unapplied),
                in_flight=tuple(self._in_flight),
                newest=tuple(self._newest),
            )
        return self._state

    def take(self, line: bytes) -> bool:
        """Count the next line, and say whether it is whole and the next one.

        Raises LookupError, TypeError or ValueError for one that says what cannot be.
        """
        checksum = checked(line, self.checksum)
        if checksum is None:
            return False
        if self.header is None:
            self.header = read_header(line)
        else:
            self._count(events(line))
        self.last_line = (self.offset, self.checksum)
        self.offset, self.checksum = self.offset + len(line), checksum
        return True

    def kept(self) -> dict[str, Any]:
        """All of it but where entries that have an outcome start, in plain JSON types."""
        header = self.header
        if header is None:
            raise LookupError
        return {
            "ledger_id": str(header.ledger_id),
            "replaces": [str(ledger) for ledger in header.replaces],
            "offset": self.offset,
            "checksum": self.checksum,
            "last_line": list(self.last_line),
            "last": self.last,
            "in_flight": list(self._in_flight.items()),
            "unapplied": sorted(self._unapplied),
            "newest": list(self._newest),
        }

    @classmethod
    def of_kept(cls, kept: Mapping[str, Any]) -> Self:
        """The reverse of `kept`. Raises LookupError, TypeError or ValueError for what is not that."""
        tally = cls()
        tally.header = Header(
            ledger_id=UUID(kept["ledger_id"]), replaces=frozenset(UUID(ledger) for ledger in kept["replaces"])
        )
        tally.offset, tally.checksum, tally._base = kept["offset"], kept["checksum"], kept["last"]
        start, before = kept["last_line"]
        tally.last_line = (start, before)
        tally._in_flight = dict(kept["in_flight"])
        tally._unapplied = set(kept["unapplied"])
        tally._newest.extend(kept["newest"])
        return tally

    def _count(self, events: Iterable[Event]) -> None:
        for word, number in events:
            self._follow[word](number)
        self._state = None

    def _announce(self, number: int) -> None:
        if number != self.last + 1:
            raise LookupError(number)
        self._starts.append(self.offset)
        self._in_flight[number] = self.offset

    def _skip(self, number: int) -> None:
        while self.last < number:
            self._starts.append(0)
            self._unapplied.add(self.last)

    def _apply(self, number: int) -> None:
        """Also after it was withdrawn: what is removed somewhere is removed everywhere."""
        self._require(number)
        if not self.is_applied(number):
            self._in_flight.pop(number, None)
            self._unapplied.discard(number)
            self._newest.append(number)

    def _withdraw(self, number: int) -> None:
        self._require(number)
        if self._in_flight.pop(number, None) is not None:
            self._unapplied.add(number)

    def _require(self, number: int) -> None:
        if not self.is_there(number):
            raise LookupError(number)
