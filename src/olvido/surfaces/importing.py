"""Write the records of a checked file: person by person in the order of the file, several people at once."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olvido.domain.export import ImportedRecord
from olvido.domain.records import IndexState
from olvido.domain.scope import Scope
from olvido.errors import ConsentNeeded, OlderStatement, OlvidoError, SubjectForgotten
from olvido.surfaces.import_lines import scopes
from olvido.surfaces.import_shapes import ImportRecord

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.memory import Memory

AT_ONCE = 8
"""People written at once: commits of some overlap with the embedding of others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedLine:
    """A line that the rules refused because of what is stored, or was forgotten. code: of the error."""

    line: int
    code: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """What an import did.

    records: lines read. people: scopes they belong to. written: records stored now. unchanged: already there.
    older: preferences that a newer statement beats, which stands. dropped: names of fields that the policy does not
    name, with how many records had each. masked: kinds of secret, likewise. text_only: stored without a vector.
    expired: records that had expired where they come from, and were left out. unit: what `line` of a refusal counts.
    """

    records: int
    people: int
    written: int
    unchanged: int
    older: int
    dropped: Mapping[str, int]
    masked: Mapping[str, int]
    text_only: int
    refused: tuple[RefusedLine, ...]
    expired: int = 0
    unit: str = "line"


@dataclass(kw_only=True, slots=True)
class _Tally:
    written: int = 0
    unchanged: int = 0
    older: int = 0
    text_only: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedLine] = field(default_factory=list)

    def add(self, line: int, outcome: ImportedRecord) -> None:
        self.written += outcome.changed
        self.unchanged += not outcome.changed and outcome.code is None
        self.text_only += outcome.index_state is IndexState.TEXT_ONLY
        if outcome.dropped:
            self.dropped.update(outcome.dropped)
        if outcome.masked:
            self.masked.update(outcome.masked)
        if outcome.code == OlderStatement.code:
            self.older += 1
        elif outcome.code is not None:
            self.refused.append(RefusedLine(line=line, code=outcome.code))


async def load(
    memory: Memory,
    records: Sequence[ImportRecord],
    *,
    at_once: int = AT_ONCE,
    resume: bool = False,
    new_consent: bool = False,
    consented: Collection[Scope] = (),
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Write `records`. progress: called with how many are done since the last time.

    resume: pass over events that are stored already, without comparing or embedding them again. new_consent: take what
    may have been forgotten. consented: of these people only. Otherwise a record is refused whose event is not later
    than the last forget that may have been of its person, unless it is stored: nobody can tell from a name whether that
    person was forgotten.
    Raises DatabaseUnavailable, TenantClosed and the like; then what was written stands, and a second run goes on.
    """
    tally = _Tally()
    gate = asyncio.Semaphore(at_once)
    people = scopes(records)

    async def person(scope: Scope, mine: Sequence[ImportRecord]) -> None:
        scoped = memory.scope(tenant=scope.tenant, subject=scope.subject)
        async with gate:
            try:
                outcomes = await scoped.import_records(
                    [record.admitted for record in mine],
                    resume=resume,
                    new_consent=new_consent or scope in consented,
                    progress=progress,
                )
            except SubjectForgotten as error:  # meanwhile, and with whatever was written of this person
                outcomes = (ImportedRecord(changed=False, code=error.code),) * len(mine)
        for record, outcome in zip(mine, outcomes, strict=True):
            tally.add(record.line, outcome)

    try:
        async with asyncio.TaskGroup() as tasks:
            for scope, mine in people.items():
                tasks.create_task(person(scope, mine))
    except* OlvidoError as failed:
        raise _first(failed) from None
    return ImportReport(
        records=len(records),
        people=len(people),
        written=tally.written,
        unchanged=tally.unchanged,
        older=tally.older,
        dropped=dict(sorted(tally.dropped.items())),
        masked=dict(sorted(tally.masked.items())),
        text_only=tally.text_only,
        refused=tuple(sorted(tally.refused, key=lambda refused: refused.line)),
    )


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let Python look for cycles less often meanwhile, in a process that does nothing beside an import.

    The objects of a file stay until its end, and hardly any is in a cycle: looking through all of them again and again
    took a tenth of the time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _first(failed: BaseExceptionGroup[OlvidoError]) -> OlvidoError:
    """The error of the person whose import failed first; the others were given up because of it."""
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def told(report: ImportReport) -> RenderableType:
    """The report as lines for a person."""
    from rich.text import Text  # noqa: PLC0415 - a report may be made without a terminal

    counted = f"{report.written} written, {report.unchanged} already there, {report.older} older than what stands"
    lines = [f"{report.records} records of {report.people} people: {counted}."]
    for verb, names in (("Dropped", report.dropped), ("Masked", report.masked)):
        if names:
            listed = ", ".join(f"{name} ({number})" for name, number in names.items())
            lines.append(f"{verb} before storage: {listed}.")
    if report.text_only:
        lines.append(f"{report.text_only} were stored without their meaning: the embedder did not answer.")
    if report.expired:
        lines.append(f"{report.expired} had expired where they come from, and were left out.")
    unit = report.unit.capitalize()
    lines.extend(f"{unit} {refused.line} was refused: {refused.code}." for refused in report.refused)
    if any(refused.code == ConsentNeeded.code for refused in report.refused):
        lines.append(
            "Somebody was forgotten here after what these say had happened, and it may have been the same person. "
            "Of whoever consented again, import with --new-consent-for SUBJECT; of all in the file, with --new-consent."
        )
    return Text("\n".join(lines))
