"""What a fault while a forget is followed up must leave: every claim true, no step lost, in the end no byte."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from bench.tally import Measure, Tally, Wanted
from olvido import Memory
from olvido.domain.erasure import FILES, LOG, ROWS, StepStatus
from olvido.domain.erasure_report import ErasureReport
from olvido.testing import ManualClock
from tests.cases.support import fill
from tests.contract.support import Outside, Scope, Stored
from tests.erasure.canaries import hits, marker, pieces, relations_with
from tests.erasure.copies_support import Copy
from tests.erasure.place import Place

TENANT = "acme"
CONNECTED, EXPIRING = "copy:crm", "copy:nightly"
STEPS = {ROWS, FILES, LOG, CONNECTED, EXPIRING}
"""Every kind of step: read back, rewrite, turn over, ask and look, and let time pass."""
RETENTION = timedelta(hours=1)
"""Of the backup."""
AGE = timedelta(hours=1)

WANTED = {
    "steps_settled": Wanted.ALL,
    "settled_in_the_audit": Wanted.ALL,
    "false_verified": Wanted.NONE,
    "bytes_left": Wanted.NONE,
    "neighbours_changed": Wanted.NONE,
    "untyped_error": Wanted.NONE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """Somebody. word: in everything that was remembered; name: the external id. Both are markers."""

    word: str
    name: str
    key: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten(Known):
    """Somebody who was forgotten."""

    erasure_id: UUID


@dataclass(kw_only=True, slots=True)
class Checks:
    """The checks of all rounds.

    words: every marker of who was forgotten. others: what is stored of everybody else. next: who is forgotten next.
    """

    place: Place
    memory: Memory
    clock: ManualClock
    outside: Outside
    crm: Copy
    tally: Tally = field(
        default_factory=lambda: Tally(measures={name: Measure(wanted=wanted) for name, wanted in WANTED.items()})
    )
    words: list[str] = field(default_factory=list)
    others: dict[Scope, Stored] = field(default_factory=dict)
    next: Known | None = None

    async def begin(self) -> None:
        """Let somebody of the same company and somebody of another one have something of every kind."""
        for tenant, subject in ((TENANT, "bea"), ("norbrook", "leo")):
            await fill(self.memory.scope(tenant=tenant, subject=subject), "blue")

    async def forget(self, name: str) -> Forgotten:
        """Forget somebody of whom something of every kind is known; nobody read it back yet.

        Whoever comes next is known already: a crash leaves what it cut off with those who are forgotten later in it.
        """
        one = self.next or await self._remember("the first")
        self.next = await self._remember(f"whoever comes after {name}")
        self.crm.things[one.name] = 1
        report = await self.memory.scope(tenant=TENANT, subject=one.name).forget_all()
        if report.erasure_id is None:
            raise LookupError  # there was something to forget
        # As where the call ended before its read-back: so that this is a worker's step as well.
        self.place.rows(
            "UPDATE olvido.erasure_steps SET status = 'open', settled_at = NULL"
            " WHERE step = 'rows' AND erasure_id = %s RETURNING step",
            [report.erasure_id],
        )
        self.others = self.outside.census()
        self.words += [one.word, one.name]
        return Forgotten(word=one.word, name=one.name, key=one.key, erasure_id=report.erasure_id)

    async def _remember(self, name: str) -> Known:
        word, external = marker(f"word of {name}"), marker(f"name of {name}")
        others = set(self.outside.keys(TENANT))
        await fill(self.memory.scope(tenant=TENANT, subject=external), word)
        (key,) = set(self.outside.keys(TENANT)) - others
        return Known(word=word, name=external, key=key)

    def recovered(self) -> None:
        """After a crash: log in again, and let what it left have been written long ago, so that it is known as that."""
        self.outside.log_in_again()
        for file in (self.place.directory / "home" / "pg" / "base").glob("*/*"):
            written = file.stat().st_mtime - AGE.total_seconds()
            os.utime(file, (written, written))

    async def claims(self, one: Forgotten, where: str) -> ErasureReport:
        """Compare whatever the request says of itself with what there is."""
        report = await self.memory.erasure(TENANT, one.erasure_id)
        steps = {step.step: step for step in report.steps if step.settled_at is not None}
        # The name is kept for as long as a copy has to be told it, and then files and log are done once more.
        needles = pieces(one.word) | (set() if report.identifier_kept else pieces(one.name))
        self.place.run("CHECKPOINT")
        for name, step in steps.items():
            match name, step.status:
                case "rows", StepStatus.ROWS_ABSENT:
                    true = self.outside.survivors(one.key) == {}
                case "files", StepStatus.VERIFIED:
                    # Not only files of relations: a crash leaves others.
                    true = not hits(self.place.directory / "home" / "pg" / "base", found=needles)["found"]
                case "log", StepStatus.VERIFIED:
                    log = hits(self.place.directory / "home" / "pg" / "pg_wal", found=needles)
                    true = not log["found"]
                case "copy:crm", StepStatus.VERIFIED:
                    true = one.name not in self.crm.things
                case "copy:nightly", StepStatus.EXPIRED:
                    gone = steps[LOG].settled_at if LOG in steps else None
                    true = gone is not None and gone + RETENTION <= self.clock.now()
                case _:
                    true = False
            self.tally.ask("false_verified", f"{where}, {name} {step.status}", served=not true)
        return report

    async def end(self, one: Forgotten, where: str) -> None:
        """After it was followed up again: everything is settled and true, and told in the audit log."""
        report = await self.claims(one, where)
        settled = {step.step for step in report.steps if step.settled_at is not None}
        self.tally.count("steps_settled", f"{where}, {STEPS - settled}", asked=len(STEPS), served=len(settled & STEPS))
        told = {
            str(kind)
            for (kind,) in self.place.rows(
                "SELECT DISTINCT kind FROM olvido.audit_log WHERE action = 'erased' AND record_id = %s",
                [one.erasure_id],
            )
        }
        self.tally.ask("settled_in_the_audit", where, served=told == {"rows", "files", "log", "copy"})
        needles = pieces(one.word) | pieces(one.name)
        self.place.run("CHECKPOINT")
        left = relations_with(self.place.urls.superuser, self.place.directory, needles)
        kinds = hits(self.place.directory / "home" / "pg", found=needles)["found"]
        self.tally.ask("bytes_left", f"{where}, {sorted(left)} {dict(kinds)}", served=bool(left or kinds))
        self.tally.ask("neighbours_changed", where, served=self.outside.census() != self.others)

    def everywhere(self) -> Counter[str]:
        """How many files of each kind have a byte of anybody who was forgotten; every file of the place is read."""
        self.place.run("CHECKPOINT")
        found = hits(self.place.directory, found={piece for word in self.words for piece in pieces(word)})["found"]
        self.tally.ask("bytes_left", f"in the end, {dict(found)}", served=bool(found))
        return found
