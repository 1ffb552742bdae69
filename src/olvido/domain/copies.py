"""Copies outside, as the database knows them, and how a request to forget begins with each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from olvido.domain.erasure import COPY, Level, StepStatus
from olvido.domain.policy_document import CopyKind, OutsideCopy

BACKUPS = frozenset({CopyKind.BACKUP, CopyKind.ARCHIVE})
"""Kinds that are made of the files or the log of this database, so that they go on getting what is still in there."""
WHOLE_COPIES = frozenset({*BACKUPS, CopyKind.REPLICA})
"""Kinds that have the database as it is, whatever is in it."""
DEADLINE = timedelta(days=30)
"""For a holder who acts by hand, where the policy gives no other: the month of GDPR article 12(3), rounded down."""
FRESH = timedelta(hours=1)
"""How old the note may be that a copy is declared, so that requests do not all write the same row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredCopy:
    """One copy that a policy of this database declares, or did.

    kind: a `CopyKind`, or what an older release called one. retention: after how long it is gone by itself; None is
    never. connector: under which name its connector is known; None if nothing can erase it for us. deadline: of a
    holder who acts by hand. last_declared_at: when a policy that names it was last in use, to within an hour.
    """

    name: str
    kind: str
    holder: str
    retention: timedelta | None
    connector: str | None
    deadline: timedelta | None
    last_declared_at: datetime

    @property
    def step(self) -> str:
        """The name of its step in a request."""
        return f"{COPY}{self.name}"

    def by_hand(self) -> RegisteredCopy:
        """As it is for what its connector cannot erase: its holder has until it goes by itself, or the usual time."""
        return replace(self, connector=None, deadline=self.retention or DEADLINE)

    def may_hold(self, at: datetime) -> bool:
        """Whether it can still have something of before it was last declared."""
        return self.retention is None or self.last_declared_at + FRESH + self.retention > at


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstStep:
    """How a request begins with one copy. deadline: when it is gone by itself, or by when its holder has to act."""

    step: str
    level: Level
    kind: str
    holder: str
    status: StepStatus
    due_at: datetime
    deadline: datetime | None


def declared_copies(copies: Iterable[OutsideCopy], at: datetime) -> tuple[RegisteredCopy, ...]:
    """The copies of a policy that is in use at `at`, in its order."""
    return tuple(
        RegisteredCopy(
            name=copy.name,
            kind=str(copy.kind),
            holder=copy.holder,
            retention=copy.retention,
            connector=copy.connected,
            deadline=copy.deadline,
            last_declared_at=at,
        )
        for copy in copies
    )


def needs_note(copy: RegisteredCopy, noted: RegisteredCopy | None) -> bool:
    """Whether what is noted of a declared copy is no longer what is to be noted, or old."""
    if noted is None or noted.last_declared_at + FRESH <= copy.last_declared_at:
        return True
    now, then = ((one.kind, one.holder, one.retention, one.connector) for one in (copy, noted))
    return now != then


def concerned(copies: Iterable[RegisteredCopy], *, inside: bool) -> tuple[RegisteredCopy, ...]:
    """The copies that may have what a request is about. inside: it never was anywhere but in this database."""
    return tuple(copy for copy in copies if not inside or copy.kind in WHOLE_COPIES)


def first_step(copy: RegisteredCopy, requested_at: datetime, removed_at: datetime | None = None) -> FirstStep:
    """How a request of `requested_at` begins with this copy.

    What a connector can erase is due at once. What goes by itself is due when it is gone. Everything else is for its
    holder, and due when the holder's time is over.
    removed_at: when it left this database, if that was later, as where an older copy of it was put back: whatever is
    made of this database had got it until then. None is at the same time.
    """
    had_until = requested_at if removed_at is None or copy.kind not in BACKUPS else max(requested_at, removed_at)
    gone_at = None if copy.retention is None else had_until + copy.retention
    if copy.connector is not None:
        status, due_at, deadline = StepStatus.OPEN, requested_at, gone_at
    elif gone_at is not None and copy.deadline is None:
        status, due_at, deadline = StepStatus.OPEN, gone_at, gone_at
    else:
        due_at = deadline = requested_at + (copy.deadline or DEADLINE)
        status = StepStatus.MANUAL
    return FirstStep(
        step=copy.step,
        level=Level.E5 if copy.kind in BACKUPS else Level.E4,
        kind=copy.kind,
        holder=copy.holder,
        status=status,
        due_at=due_at,
        deadline=deadline,
    )
