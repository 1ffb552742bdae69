"""Lines of JSON as records to write: the whole file is checked before anything is written, and bad lines are named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from olvido.domain.identifiers import optional_identifier, required_identifier
from olvido.domain.lifecycle import require_past
from olvido.domain.origin import OriginClass
from olvido.domain.policy import Policy, expiry
from olvido.domain.redaction import safe_name
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput, InvalidValue, OlvidoError
from olvido.operations.admission import refuse_secret, require_accepted
from olvido.operations.record_episode import REQUESTED
from olvido.surfaces.import_shapes import (
    CaseLine,
    EpisodeLine,
    ImportRecord,
    NoteLine,
    PreferenceLine,
    PreferenceRecord,
)

MOST_SHOWN = 20

AnyLine = PreferenceLine | EpisodeLine | NoteLine | CaseLine

_KINDS: Mapping[object, type[AnyLine]] = {"preference": PreferenceLine, "episode": EpisodeLine, "note": NoteLine}


def parse(lines: Sequence[bytes], policy: Policy, *, name: str) -> tuple[ImportRecord, ...]:
    """The records of a file, in its order; blank lines are skipped.

    name: of the file, for messages. Raises InvalidInput naming every bad line (the first 20) and why, never its
    content. What only the database can know, such as a newer statement, is judged when the record is written.
    """
    records: list[ImportRecord] = []
    problems: list[str] = []
    bodies: dict[tuple[Scope, str, str], tuple[int, object]] = {}
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            record = _read(raw, number)
            _check(record, policy)
            _check_repeated(record, bodies)
        except OlvidoError as error:
            problems.append(f"{name}:{number}: {error}")
        else:
            records.append(record)
    if problems:
        count = "1 line" if len(problems) == 1 else f"{len(problems)} lines"
        rest = [f"and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
        shown = "\n".join([*problems[:MOST_SHOWN], *rest])
        raise InvalidInput(f"{count} cannot be imported, so nothing was written. Mend:\n{shown}")
    return tuple(records)


def _read(raw: bytes, number: int) -> ImportRecord:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
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
        return model.model_validate_json(raw).record(number)
    except ValidationError as error:
        raise InvalidValue("; ".join(_reasons(error))) from None


def _reasons(error: ValidationError) -> Iterator[str]:
    """Where and why, without the input: only names are shown, and only if they can be shown."""
    for detail in error.errors(include_url=False, include_context=False, include_input=False)[:3]:
        place = ".".join(str(part) if isinstance(part, int) else safe_name(part) for part in detail["loc"])
        yield f"{place or 'line'}: {_REASONS.get(detail['type'], detail['type'].replace('_', ' '))}"


_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not a name of this kind",
    "string_type": "must be text",
    "timezone_aware": "has no time zone; write 2026-12-31T18:00:00Z",
    "datetime_from_date_parsing": "is not an instant; write 2026-12-31T18:00:00Z",
    "datetime_parsing": "is not an instant; write 2026-12-31T18:00:00Z",
    "literal_error": "is not one of the words allowed here",
    "enum": f"must be one of: {', '.join(OriginClass)}",
}


def _check(record: ImportRecord, policy: Policy) -> None:
    """Ask the domain all that can be known without the database. Raises what the write would raise."""
    now = datetime.now(UTC)
    if isinstance(record, PreferenceRecord):
        rule = policy.preference(record.key)
        require_accepted(rule, record.origin, f"preference {rule.key}")
        refuse_secret(rule.check(record.value), f"preference {rule.key}")
        require_past(record.origin.at or now, now, "origin at")
        expiry(rule.retention, now, record.expires_at)
        return
    definition = policy.episode(record.definition)
    required_identifier(record.event_id, "event_id")
    optional_identifier(record.case_id, "case_id")
    definition.admit(record.fields, record.status)
    require_accepted(definition, record.origin or REQUESTED, f"episode {definition.definition}")
    require_past(record.occurred_at or now, now, "occurred_at")
    expiry(definition.retention, now, record.expires_at)


def _check_repeated(record: ImportRecord, bodies: dict[tuple[Scope, str, str], tuple[int, object]]) -> None:
    if isinstance(record, PreferenceRecord):
        return
    body = (record.case_id, record.status, record.fields, record.occurred_at)
    line, first = bodies.setdefault((record.scope, record.definition, record.event_id), (record.line, body))
    if body != first:
        raise InvalidInput(f"the event id of line {line} again, with another body. Give each event its own id.")


def scopes(records: Iterable[ImportRecord]) -> dict[Scope, list[ImportRecord]]:
    """The records of each person, in the order of the file."""
    grouped: dict[Scope, list[ImportRecord]] = {}
    for record in records:
        grouped.setdefault(record.scope, []).append(record)
    return grouped
