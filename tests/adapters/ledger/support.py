"""A ledger for tests that do one thing after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from olvido.adapters.ledger import FileLedger
from olvido.adapters.ledger.journal import Journal
from olvido.domain.ledger import Entry, LedgerState, Request
from olvido.errors import LedgerUnavailable


class Ledger:
    """A ledger for callers that do one thing after the other."""

    def __init__(self, place: Path, *, beside: Path | None = None) -> None:
        self._ledger = FileLedger(place, beside=beside)

    @property
    def ledger_id(self) -> UUID:
        """Which one it is."""
        return self._ledger.ledger_id

    def state(self) -> LedgerState | None:
        """How far it is."""
        return asyncio.run(self._ledger.state())

    def begin(self, replaces: Collection[UUID] = ()) -> LedgerState:
        """Make it."""
        return asyncio.run(self._ledger.begin(replaces))

    def entries(self, numbers: Sequence[int]) -> list[Entry]:
        """What these entries say."""
        return asyncio.run(self._ledger.entries(numbers))

    def intend(
        self,
        tenant: str,
        key: UUID | None,
        record_ids: Sequence[UUID] | None,
        version: int | None = None,
        request: Request | None = None,
        *,
        took_in: Sequence[UUID] = (),
    ) -> int:
        """Announce an entry."""
        return asyncio.run(self._ledger.intend(tenant, key, record_ids, version, request, took_in=took_in))

    def applied(self, entry: int) -> None:
        """Note that an entry is applied."""
        asyncio.run(self._ledger.applied(entry))

    def withdrawn(self, entry: int) -> None:
        """Take an entry back."""
        asyncio.run(self._ledger.withdrawn(entry))

    def write_back(self, removals: Sequence[Entry], *, above: int) -> list[int]:
        """Write down what was removed long ago."""
        return asyncio.run(self._ledger.write_back(removals, above=above))


def begun(place: Path) -> Ledger:
    """A ledger at this place."""
    ledger = Ledger(place)
    ledger.begin()
    return ledger


def filled(place: Path, *, entries: int = 3) -> Ledger:
    """A ledger with some applied entries."""
    ledger = begun(place)
    for _ in range(entries):
        ledger.applied(ledger.intend("acme", uuid4(), None))
    return ledger


def fail_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be written but what announces an entry."""
    append = Journal.append

    def full(self: Journal, news: Any) -> list[int]:  # noqa: ANN401 - as the journal takes it
        if any(hasattr(event, "word") for event in news):
            raise LedgerUnavailable("The disk is full.")
        return append(self, news)

    monkeypatch.setattr(Journal, "append", full)
