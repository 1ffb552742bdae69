"""Write the records of a checked file: person by person in the order of the file, several people at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from olvido.domain.instants import KEEP
from olvido.domain.records import IndexState, Written
from olvido.errors import Conflict, ConsentNeeded, InvalidTime, OlderStatement, OlvidoError, Refused
from olvido.surfaces.import_lines import scopes
from olvido.surfaces.import_shapes import EpisodeRecord, ImportRecord, PreferenceRecord

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.domain.records import Episode, Preference
    from olvido.memory import Memory, ScopedMemory

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

    def add(self, result: Written[Preference] | Written[Episode]) -> None:
        self.written += result.changed
        self.unchanged += not result.changed
        self.text_only += result.index_state is IndexState.TEXT_ONLY
        self.dropped.update(result.dropped)
        self.masked.update(result.masked)


async def load(
    memory: Memory,
    records: Sequence[ImportRecord],
    *,
    at_once: int = AT_ONCE,
    resume: bool = False,
    new_consent: bool = False,
    progress: Callable[[], None] | None = None,
) -> ImportReport:
    """Write `records`. progress: called after each.

    resume: pass over events that are stored already, without comparing or embedding them again. new_consent: take what
    may have been forgotten. Otherwise a record is refused whose event is not later than the last forget that may have
    been of its person, unless it is stored: nobody can tell from a name whether that person was forgotten.
    Raises DatabaseUnavailable, TenantClosed and the like; then what was written stands, and a second run goes on.
    """
    tally = _Tally()
    gate = asyncio.Semaphore(at_once)
    people = scopes(records)

    async def person(scoped: ScopedMemory, mine: Sequence[ImportRecord]) -> None:
        async with gate:
            until = None if new_consent else await scoped.forgotten_until()
            there = await _stored(memory, scoped) if resume or until is not None else frozenset()
            for record in mine:
                if resume and isinstance(record, EpisodeRecord) and _identity(record) in there:
                    tally.unchanged += 1
                elif until is not None and _identity(record) not in there and not _is_later(record, until):
                    tally.refused.append(RefusedLine(line=record.line, code=ConsentNeeded.code))
                else:
                    await _write(scoped, record, tally)
                if progress is not None:
                    progress()

    try:
        async with asyncio.TaskGroup() as tasks:
            for scope, mine in people.items():
                tasks.create_task(person(memory.scope(tenant=scope.tenant, subject=scope.subject), mine))
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


def _first(failed: BaseExceptionGroup[OlvidoError]) -> OlvidoError:
    """The error of the person whose import failed first; the others were given up because of it."""
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


_Identity = tuple[object, ...]


async def _stored(memory: Memory, scoped: ScopedMemory) -> frozenset[_Identity]:
    """What is stored: keys with value and origin class (another value is another statement), and event ids."""
    found: set[_Identity] = {
        (preference.key, preference.value, preference.origin.origin_class) for preference in await scoped.preferences()
    }
    cursor = None
    while True:
        page = await scoped.episodes(limit=memory.policy.limits.page_size_max, cursor=cursor)
        found.update((episode.definition, episode.event_id) for episode in page.items)
        if page.next_cursor is None:
            return frozenset(found)
        cursor = page.next_cursor


def _identity(record: ImportRecord) -> _Identity:
    if isinstance(record, PreferenceRecord):
        return (record.key, record.value, record.origin.origin_class)
    return (record.definition, record.event_id)


def _is_later(record: ImportRecord, until: datetime) -> bool:
    """Whether its event is later than `until`; one without a time may be of any time."""
    at = record.origin.at if isinstance(record, PreferenceRecord) else record.occurred_at
    return at is not None and at > until


async def _write(scoped: ScopedMemory, record: ImportRecord, tally: _Tally) -> None:
    try:
        if isinstance(record, PreferenceRecord):
            tally.add(await _preference(scoped, record))
        else:
            tally.add(await _episode(scoped, record))
    except OlderStatement:
        tally.older += 1
    except (Conflict, InvalidTime, Refused) as error:  # InvalidTime: it expired since the file was checked
        tally.refused.append(RefusedLine(line=record.line, code=error.code))


async def _preference(scoped: ScopedMemory, record: PreferenceRecord) -> Written[Preference]:
    return await scoped.set_preference(
        record.key,
        record.value,
        origin=record.origin,
        expires_at=KEEP if record.expires_at is None else record.expires_at,
    )


async def _episode(scoped: ScopedMemory, record: EpisodeRecord) -> Written[Episode]:
    if record.occurred_at is None:
        return await scoped.remember(
            str(record.fields["text"]),
            origin=record.origin,
            event_id=record.event_id,
            expires_at=KEEP if record.expires_at is None else record.expires_at,
            language=record.language,
        )
    return await scoped.record_episode(
        record.definition,
        event_id=record.event_id,
        occurred_at=record.occurred_at,
        fields=record.fields,
        case_id=record.case_id,
        status=record.status,
        origin=record.origin,
        expires_at=KEEP if record.expires_at is None else record.expires_at,
        language=record.language,
    )


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
            "If the person consented again, import with --new-consent."
        )
    return Text("\n".join(lines))
