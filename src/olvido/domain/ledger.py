"""The erasure ledger beside one database: what each has of the other, and whether the database may be served.

A ledger only grows and a database only gains marks, so whichever lacks something that the other has is an older copy
that somebody put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

NEWEST = 256
"""How many of the newest applied entries a new connection is compared with: a copy put back lacks the newest of all."""
TARGETS = frozenset({"record", "selection", "subject", "tenant", "hold"})
"""What a request may be about; the database takes no other words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The request to forget that an entry belongs to, so that it is known by its id wherever it is applied again.

    requested_at: when it was asked (UTC), from which the times of copies outside count. target: what it is about, one
    of TARGETS, as its report has it.
    """

    erasure_id: UUID
    requested_at: datetime
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What one entry says was removed, or is to be. number: 1 or more.

    key: the life; None is the whole company, which stays closed. record_ids: None is all of the life. version: of the
    one record, only this version of it. request: None for the closing of a company, and in entries of releases before
    it was written down. took_in: of a whole life, the lives whose exports it took in, as far as that is known: an
    import of one of those asks for consent, wherever the entry is applied again.
    """

    number: int
    tenant: str
    key: UUID | None
    record_ids: tuple[UUID, ...] | None = None
    version: int | None = None
    request: Request | None = None
    took_in: tuple[UUID, ...] = ()

    @property
    def target(self) -> tuple[str, UUID | None, frozenset[UUID] | None, int | None]:
        """What it is about, whatever its number and its request: two entries of one target remove the same."""
        return (self.tenant, self.key, None if self.record_ids is None else frozenset(self.record_ids), self.version)


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerState:
    """How far a ledger is.

    replaces: the ledgers that were lost and that this one was made for. last: its highest number, 0 if it has none.
    unapplied: numbers up to `last` that stand for no removal: withdrawn, or skipped. in_flight: intended, with no
    outcome yet, oldest first. newest: up to `NEWEST` applied ones, in the order in which they were applied.
    """

    ledger_id: UUID
    replaces: frozenset[UUID]
    last: int
    unapplied: frozenset[int]
    in_flight: tuple[int, ...]
    newest: tuple[int, ...]

    @property
    def applied(self) -> int:
        """How many entries are applied."""
        return self.last - len(self.unapplied) - len(self.in_flight)

    def is_applied(self, number: int) -> bool:
        """Whether this entry is applied."""
        return 1 <= number <= self.last and number not in self.unapplied and number not in self.in_flight


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """What a database has of a ledger.

    ledgers: those that it belongs to. applied: how many of the entries that the ledger calls applied. newest: the
    highest number that it has of this ledger, 0 if it has none.
    """

    ledgers: frozenset[UUID]
    applied: int
    newest: int


class Standing(StrEnum):
    """How a database and a ledger go together; only `fits` is served.

    adopt: the database belongs to no ledger yet and may belong to this one: nothing was forgotten there, or nobody is
    remembered here, and all entries are applied first. unmarked: it belongs to none, although the ledger has entries
    and it holds memory, or nobody knows that it does not. restored: it lacks entries that are applied. older_ledger: it
    has entries that the ledger lacks. no_ledger: it belongs to one that is not there. other_ledger: it belongs to
    another one. replaced_ledger: it belongs to one that this one replaces.
    """

    FITS = "fits"
    ADOPT = "adopt"
    UNMARKED = "unmarked"
    RESTORED = "restored"
    OLDER_LEDGER = "older_ledger"
    NO_LEDGER = "no_ledger"
    OTHER_LEDGER = "other_ledger"
    REPLACED_LEDGER = "replaced_ledger"


def judge(state: LedgerState | None, marks: Marks, *, last: int, inhabited: bool | None) -> Standing:
    """How they go together. Entries in flight count for neither side: whoever opens the database finishes them.

    state: as it was before `marks` were read, so that what is applied in it was committed by then; None if there is no
    ledger. last: its highest number after they were read, which covers them. inhabited: whether anybody is remembered;
    None is not known.
    """
    if not marks.ledgers:
        may_belong = state is None or state.last == 0 or inhabited is False
        return Standing.ADOPT if may_belong else Standing.UNMARKED
    if state is None:
        return Standing.NO_LEDGER
    if marks.ledgers - {state.ledger_id} - state.replaces:
        return Standing.OTHER_LEDGER
    if state.ledger_id not in marks.ledgers:
        return Standing.REPLACED_LEDGER
    if marks.newest > last:
        return Standing.OLDER_LEDGER
    return Standing.RESTORED if marks.applied < state.applied else Standing.FITS


_WHY = {
    Standing.FITS: "This database fits its erasure ledger at {place}.",
    Standing.ADOPT: (
        "This database has no erasure ledger yet; the one at {place} becomes its own when it is opened with the login "
        "of a worker. What that says was forgotten is applied to it first."
    ),
    Standing.UNMARKED: (
        "The erasure ledger at {place} has entries and this database none of them, so it is an older copy, another "
        "database, or a new one that only the login of a worker can open. Run `olvido restore replay`, or give it a "
        "ledger of its own with OLVIDO_LEDGER."
    ),
    Standing.RESTORED: (
        "This database lacks {lacking} of the {applied} removals that its erasure ledger at {place} says were carried "
        "out, so it is an older copy that was put back. Run `olvido restore replay`: it removes again what was "
        "forgotten, and opens the store. If another database uses the same ledger, give each its own."
    ),
    Standing.OLDER_LEDGER: (
        "The erasure ledger at {place} lacks entries that this database has, so it is an older copy that was put back. "
        "Put the newest one back, or run `olvido restore replay`: it writes down what the database knows."
    ),
    Standing.NO_LEDGER: (
        "There is no erasure ledger at {place}, and this database belongs to {ids}. Put it back, or name its place "
        "with OLVIDO_LEDGER. If it is lost, run `olvido restore replay --new-ledger`: nobody then knows any more of "
        "erasures that this database does not know of."
    ),
    Standing.OTHER_LEDGER: (
        "The erasure ledger at {place} is {own}, and this database belongs to {ids}. Name its own with OLVIDO_LEDGER."
    ),
    Standing.REPLACED_LEDGER: (
        "This database belongs to the erasure ledger {ids}, which the one at {place} replaces, so it is an older copy "
        "that was put back. Run `olvido restore replay`."
    ),
}


def explain(standing: Standing, state: LedgerState | None, marks: Marks, place: str) -> str:
    """How they go together, and what to do about it, in words. place: where the ledger is looked for."""
    known = frozenset[UUID]() if state is None else {state.ledger_id} | state.replaces
    ids = (marks.ledgers - known) or marks.ledgers
    return _WHY[standing].format(
        place=place,
        own="" if state is None else state.ledger_id,
        ids=", ".join(sorted(str(ledger) for ledger in ids)),
        lacking=0 if state is None else state.applied - marks.applied,
        applied=0 if state is None else state.applied,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreReport:
    """How a database and its erasure ledger go together.

    locked: whether the database is not served. explanation: why, and what to do. ledger: where it is looked for.
    belongs_to: the ledgers that the database says it belongs to. entries: applied ones in the ledger. missing_here:
    those of them that the database lacks. missing_in_ledger: entries of the database that the ledger lacks. withdrawn:
    numbers that stand for no removal: taken back, or skipped when an older ledger was put back. in_flight: intended,
    and finished by whoever opens the database next.
    still_here: lives that the ledger calls forgotten and that are in the database all the same.
    """

    locked: bool
    standing: Standing
    explanation: str
    ledger: str
    ledger_id: UUID | None
    belongs_to: tuple[UUID, ...]
    entries: int
    withdrawn: int
    in_flight: int
    missing_here: int
    missing_in_ledger: int
    still_here: int
    checked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayReport:
    """What applying a ledger again did.

    applied: entries of which something was here and was removed. absent: entries of which nothing was here.
    written_back: erasures that the database knew of and the ledger did not. removed: rows, by relation. new_ledger:
    whether one was made. after: how the two go together now. requests: how many of the entries say whose request they
    are, so that it goes on under its id.
    """

    applied: int
    absent: int
    written_back: int
    removed: Mapping[str, int]
    new_ledger: bool
    after: RestoreReport
    requests: int = 0
