"""Lines of JSON as records to write: the whole file is checked before anything is written, and bad lines are named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from olvido.domain.encoding import MARK
from olvido.domain.export_document import UNREADABLE, reasons
from olvido.domain.instants import KeepType, is_expired
from olvido.domain.lifecycle import require_past
from olvido.domain.plain import counted
from olvido.domain.policy import Policy, expiry
from olvido.domain.records import NewPreference
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput, InvalidValue, OlvidoError
from olvido.operations.import_records import admit_record
from olvido.operations.record_episode import Report
from olvido.surfaces.import_shapes import CaseLine, EpisodeLine, FileRecord, ImportRecord, NoteLine, PreferenceLine

MOST_SHOWN = 20

TOLD_AFTER = 500
"""Records that are checked from one word of progress to the next."""

Progress = Callable[[int], None]

AnyLine = PreferenceLine | EpisodeLine | NoteLine | CaseLine

_KINDS: Mapping[object, type[AnyLine]] = {"preference": PreferenceLine, "episode": EpisodeLine, "note": NoteLine}
_LINES: TypeAdapter[AnyLine] = TypeAdapter(
    Annotated[PreferenceLine | EpisodeLine | NoteLine, Field(discriminator="kind")]
)
_OWNERS = ("tenant", "subject")


def parse(
    lines: Sequence[bytes], policy: Policy, *, name: str, now: datetime, progress: Progress | None = None
) -> tuple[ImportRecord, ...]:
    """The records of a file, in its order; blank lines are skipped.

    name: of the file, for messages. now: the instant of the store, from `Memory.now()`. progress: called with how many
    were checked since the last time. Raises InvalidInput naming every bad line (the first 20) and why, never its
    content. What only the database can know, such as a newer statement, is judged when the record is written.
    """
    whole = ((number, raw.removeprefix(MARK)) for number, raw in enumerate(lines, start=1))  # files put together
    readers = [(number, partial(_read, raw, number)) for number, raw in whole if raw.strip()]
    return checked(readers, policy, now, place=f"{name}:{{}}", unit="line", progress=progress)


def checked(
    readers: Sequence[tuple[int, Callable[[], FileRecord]]],
    policy: Policy,
    now: datetime,
    *,
    place: str,
    unit: str,
    progress: Progress | None = None,
) -> tuple[ImportRecord, ...]:
    """The records that `readers` give, each with its number in the file, if all of them can be stored.

    place: how a number is named, such as "file.jsonl:{}". unit: "line" or "record". Otherwise as `parse`.
    """
    records: list[ImportRecord] = []
    problems: list[str] = []
    bodies: dict[tuple[Scope, str, str], tuple[int, object]] = {}
    for done, (number, read) in enumerate(readers, start=1):
        if progress is not None and done % TOLD_AFTER == 0:
            progress(TOLD_AFTER)
        try:
            found = read()
            record = _check(found, policy, now)
            _check_repeated(found, bodies, unit)
        except OlvidoError as error:
            problems.append(f"{place.format(number)}: {error}")
        else:
            records.append(record)
    if problems:
        rest = [f"and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
        shown = "\n".join([*problems[:MOST_SHOWN], *rest])
        raise InvalidInput(f"{counted(len(problems), unit)} cannot be imported, so nothing was written. Mend:\n{shown}")
    return tuple(records)


def _read(raw: bytes, number: int) -> FileRecord:
    # A name may be written with escapes, of which those of ASCII begin so.
    if b"\\u00" in raw or raw.count(b'"tenant"') > 1 or raw.count(b'"subject"') > 1:
        _refuse_two_owners(raw)
    try:
        line = _LINES.validate_json(raw)
    except ValidationError:
        line = _another(raw)
    return line.record(number)


def _refuse_two_owners(raw: bytes) -> None:
    """Whose a record is, is said once: of two companies or people the last would win, and nobody would see it."""
    with suppress(ValueError, RecursionError):  # what is no JSON is told where it is read
        json.loads(raw, object_pairs_hook=_one_owner)


def _one_owner(pairs: list[tuple[str, object]]) -> None:
    names = [name for name, _ in pairs]
    if any(names.count(owner) > 1 for owner in _OWNERS):
        raise InvalidInput("gives its company or person twice; keep one.")


def _another(raw: bytes) -> AnyLine:
    """A line that is of no kind that is named, or of none at all: then why, from what is told of its kind."""
    try:
        found = from_json(raw)
    except ValueError as error:
        if any(sign in str(error) for sign in ("hex escape", "recursion")):
            raise InvalidInput(f"{UNREADABLE}.") from None
        raise InvalidInput("not one whole JSON object. Was the file cut off?") from None
    if not isinstance(found, dict):
        raise InvalidInput("a line must be a JSON object.")
    kind = found.get("kind")
    if "kind" not in found and "turns" in found:
        model: type[AnyLine] = CaseLine
    elif isinstance(kind, str) and kind in _KINDS:
        model = _KINDS[kind]
    else:
        raise InvalidInput(f'"kind" must be one of: {", ".join(map(str, _KINDS))}.')
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise InvalidValue("; ".join(reasons(error))) from None


def _check(record: FileRecord, policy: Policy, now: datetime) -> ImportRecord:
    """Ask the domain all that can be known without the database. Raises what the write would raise."""
    admitted = admit_record(policy, record.new)
    if isinstance(admitted, Report):
        require_past(admitted.occurred_at or now, now, "occurred_at")
    else:
        require_past(admitted.origin.at or now, now, "origin at")
    _check_expiry(admitted.rule.retention, admitted.expires_at, now)
    return ImportRecord(line=record.line, scope=record.scope, admitted=admitted)


def _check_expiry(retention: timedelta | None, expires_at: datetime | KeepType | None, now: datetime) -> None:
    """A record that has expired is no mistake in the file: it is left out when the file is read."""
    if not (isinstance(expires_at, datetime) and is_expired(expires_at, now)):
        expiry(retention, now, expires_at)


def _check_repeated(record: FileRecord, bodies: dict[tuple[Scope, str, str], tuple[int, object]], unit: str) -> None:
    new = record.new
    if isinstance(new, NewPreference) or new.event_id is None:
        return
    body = (new.case_id, new.status, new.fields, new.occurred_at)
    line, first = bodies.setdefault((record.scope, new.definition, new.event_id), (record.line, body))
    if body != first:
        raise InvalidInput(f"the event id of {unit} {line} again, with another body. Give each event its own id.")


def scopes(records: Iterable[ImportRecord]) -> dict[Scope, list[ImportRecord]]:
    """The records of each person, in the order of the file."""
    grouped: dict[Scope, list[ImportRecord]] = {}
    for record in records:
        grouped.setdefault(record.scope, []).append(record)
    return grouped
