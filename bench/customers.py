"""Customers of the support data, what each of them says over some days, and what must be served of it.

Every text that a customer stores carries a mark (`k00042`) that no other text has, so that whoever finds it in an
answer knows whose it is and which version. Customers of the same name, and pairs of one company, live through the same
plan at the same instants: their histories differ in the marks and in one choice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

from olvido import KEEP, Origin, Preference, Scope, ScopedMemory
from olvido.errors import OlderStatement, WeakerOrigin

NAME = "display_name"
CHOICES = {"language": ("pt", "en", "es"), "contact_channel": ("email", "phone", "chat", "whatsapp", "sms")}
KEYS = (NAME, *CHOICES)
CONSTRAINT = "answer in writing only, never by phone, ticket"
SESSION = "chat-1"
DAY = timedelta(days=1)
LIVES = (DAY, 2 * DAY, None)
"""How long a preference or a report may be kept. One day ends at the very instant of the next look."""

CONFIRMED = Origin.declared("user-confirmation", ref="turn-7")
SEEN = Origin.observed("crm.lookup", ref="call-3")
COMPLAINTS = (
    "says the payment of 30 went through and the refund was promised",
    "dice que el saldo de la cuenta es de 200 y que ya pagó la cuota",
    "diz que o pedido foi enviado e que a entrega atrasou",
)
"""Reports about live state, which tempt a memory to answer for the present."""


@dataclass(kw_only=True, slots=True)
class Standing:
    """What stands of one preference."""

    value: str
    version: int
    record_id: UUID
    expires_at: datetime | None


@dataclass(kw_only=True, slots=True)
class Report:
    """An episode that was recorded under a mark."""

    mark: str
    record_id: UUID
    expires_at: datetime | None
    forgotten: bool = False


@dataclass(kw_only=True, slots=True, eq=False)
class Customer:
    """One customer and the truth about them.

    plan: decides what happens; the same for those of the same name and for the twin. turn: where this one starts in
    each list of choices. superseded, refused, expired, forgotten: marks by what became of them; none of the first
    three may be served, except by history and export: they may show what was superseded while the preference lives.
    """

    scope: Scope
    number: int
    plan: random.Random
    marks: Iterator[int]
    turn: int
    standing: dict[str, Standing] = field(default_factory=dict)
    past: dict[str, set[str]] = field(default_factory=lambda: {key: set() for key in KEYS})
    reports: list[Report] = field(default_factory=list)
    session_marks: set[str] = field(default_factory=set)
    session_until: datetime | None = None
    own: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)

    def mark(self) -> str:
        """A word that stands in one text of this customer and nowhere else."""
        mark = f"k{next(self.marks):05d}"
        self.own.add(mark)
        return mark

    async def live_through(self, person: ScopedMemory, now: datetime, day: int) -> None:
        """What this customer says, corrects and reports on one day, and what must not have been believed."""
        for key in KEYS:
            await self._state(person, key, now)
            for _ in range(self.plan.randint(1, 2)):
                await self._correct(person, key)
        await self._say_what_is_refused(person, now)
        for number in range(2):
            await self._report(person, now, day, number)
        await person.consolidate()

    async def _state(self, person: ScopedMemory, key: str, now: datetime) -> None:
        """Set what has no live value, for a day, two days or as long as the policy says; one key at first for a day."""
        old = self.standing.get(key)
        kept = DAY if old is None and key == "contact_channel" else self.plan.choice(LIVES)
        if old is not None and live(old.expires_at, now):
            return
        value = self._next_value(key)
        written = await person.set_preference(
            key, value, origin=CONFIRMED, expires_at=KEEP if kept is None else now + kept
        )
        self._stand(key, value, written.record, written.record.expires_at)

    async def _correct(self, person: ScopedMemory, key: str) -> None:
        old = self.standing[key]
        value = self._next_value(key)
        written = await person.correct_preference(key, value, origin=CONFIRMED, expected_version=old.version)
        # Not what the answer says about expiry: a correction keeps the instant that was given first.
        self._stand(key, value, written.record, old.expires_at)

    def _stand(self, key: str, value: str, record: Preference, expires_at: datetime | None) -> None:
        if key in self.standing:
            self.past[key].add(self.standing[key].value)
        self.past[key].discard(value)
        self.standing[key] = Standing(
            value=value, version=record.version, record_id=record.record_id, expires_at=expires_at
        )

    def _next_value(self, key: str) -> str:
        if key == NAME:
            return f"Robin {self.mark()}"
        old = self.standing.get(key)
        choices = CHOICES[key]
        at = self.turn if old is None else choices.index(old.value) + self.plan.randint(1, len(choices) - 1)
        return choices[at % len(choices)]

    async def _say_what_is_refused(self, person: ScopedMemory, now: datetime) -> None:
        """An older statement and a weaker origin: neither becomes the value, and neither may be served."""
        older, weaker = self.mark(), self.mark()
        self.refused |= {older, weaker}
        import_ = Origin.declared("old import", at=now - 90 * DAY)
        with suppress(OlderStatement):
            await person.set_preference(NAME, f"Robin {older}", origin=import_)
        with suppress(WeakerOrigin):
            await person.set_preference(NAME, f"Robin {weaker}", origin=SEEN)

    async def _report(self, person: ScopedMemory, now: datetime, day: int, number: int) -> None:
        mark, kept = self.mark(), DAY if number == 0 else self.plan.choice(LIVES)
        complaint = self.plan.choice(COMPLAINTS)
        written = await person.record_episode(
            "support-case",
            event_id=mark,
            case_id=f"case-{day}",
            status="reported",
            occurred_at=now - timedelta(minutes=10 - number),
            fields={"summary": f"{complaint}, ticket {mark}"},
            origin=SEEN,
            expires_at=KEEP if kept is None else now + kept,
        )
        self.reports.append(Report(mark=mark, record_id=written.record.record_id, expires_at=written.record.expires_at))

    def live_reports(self, now: datetime) -> set[str]:
        """The marks of the reports that every read of episodes must show at `now`."""
        return {each.mark for each in self.reports if not each.forgotten and live(each.expires_at, now)}

    def expired(self, now: datetime) -> set[str]:
        """The marks of what is over at `now`: names with their versions, reports, the session."""
        gone = {each.mark for each in self.reports if not live(each.expires_at, now)}
        if not live(self.session_until, now):
            gone |= self.session_marks
        name = self.standing.get(NAME)
        if name is not None and not live(name.expires_at, now):
            gone |= {mark_of(name.value)} | self.superseded()
        return gone - self.forgotten

    def superseded(self) -> set[str]:
        """The marks of earlier names."""
        return {mark_of(value) for value in self.past[NAME]} - self.forgotten

    def current(self, now: datetime) -> dict[str, Standing]:
        """The preferences that are live at `now`."""
        return {key: each for key, each in self.standing.items() if live(each.expires_at, now)}

    async def forget_some(self, person: ScopedMemory) -> list[int]:
        """Forget one report and the whole chain of the name; how many rows the reports say are left, for each."""
        left = []
        report = self.plan.choice([each for each in self.reports if not each.forgotten])
        done = await person.forget(report.record_id)
        report.forgotten = True
        self.forgotten.add(report.mark)
        left.append(sum(copy.remaining or 0 for copy in done.copies))
        name = self.standing.pop(NAME)
        done = await person.forget(name.record_id)
        left.append(sum(copy.remaining or 0 for copy in done.copies))
        self.forgotten |= {mark_of(value) for value in (*self.past[NAME], name.value)}
        self.past[NAME].clear()
        return left


def live(expires_at: datetime | None, now: datetime) -> bool:
    """Rule 14: an instant that has come is over."""
    return expires_at is None or expires_at > now


def mark_of(value: str) -> str:
    """The mark in a name."""
    return value.rpartition(" ")[2]


def chosen(scopes: Iterable[Scope], most: int) -> list[Scope]:
    """`most` customers, such that those of the same name at two companies, and pairs of one company, come together."""
    tenants = sorted({scope.tenant for scope in scopes})
    return sorted(scopes, key=lambda scope: (tenants.index(scope.tenant) // 2, scope.subject, scope.tenant))[:most]


def gathered(scopes: Sequence[Scope], seed: int) -> list[Customer]:
    """The customers of `scopes`, each with a plan."""
    marks = count(1)
    names = sorted({scope.subject for scope in scopes})
    return [
        Customer(
            scope=scope,
            number=number,
            plan=random.Random(f"{seed}:{names.index(scope.subject) // 2}"),
            marks=marks,
            turn=number,
        )
        for number, scope in enumerate(scopes)
    ]


def homonyms(customer: Customer, everyone: Iterable[Customer]) -> list[Customer]:
    """Those of the same name at other companies."""
    return [one for one in everyone if one.scope.subject == customer.scope.subject and one is not customer]


def twins(customer: Customer, everyone: Sequence[Customer]) -> list[Customer]:
    """The one of the same company with the same plan, if there is one."""
    names = sorted({one.scope.subject for one in everyone})
    pair = names.index(customer.scope.subject) // 2
    return [
        one
        for one in everyone
        if one.scope.tenant == customer.scope.tenant
        and one is not customer
        and names.index(one.scope.subject) // 2 == pair
    ]
