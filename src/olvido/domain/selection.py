"""What to forget, said by conditions instead of by ids: kind, definition, case, session, time, ids (case 23).

Conditions always intersect. One that no record can meet together with the others is an error, not an empty answer:
whoever wrote it meant something else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.identifiers import optional_identifier, record_uuid
from olvido.domain.instants import require_utc
from olvido.domain.policy_values import is_well_formed, nfc
from olvido.domain.records import RecordKind
from olvido.errors import InvalidInput, InvalidTime, InvalidValue

_HAS = {
    RecordKind.PREFERENCE: frozenset({"definition"}),
    RecordKind.EPISODE: frozenset({"definition", "case_id"}),
    RecordKind.SUMMARY: frozenset({"definition", "case_id"}),
    RecordKind.SESSION: frozenset({"session_id"}),
    RecordKind.FACT: frozenset({"session_id"}),
}
"""What the records of each kind can be told apart by, beside their time and their id."""

NOTHING_GIVEN = (
    "Name at least one condition: kind, definition, case_id, session_id, since, until or record_ids. "
    "To forget everything of this person, use forget_all."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Checked conditions, None where there is none. kinds: those that can meet them.

    since, until: with the start and without the end (UTC), of when a preference was said, an episode happened, a fact
    was stored, a session was opened and went on, and the reports of a summary happened.
    """

    kinds: tuple[RecordKind, ...]
    definition: str | None = None
    case_id: str | None = None
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    record_ids: tuple[UUID, ...] | None = None

    @property
    def spans_sessions(self) -> bool:
        """Whether a session can reach over a border of it."""
        return RecordKind.SESSION in self.kinds and (self.since is not None or self.until is not None)

    def parameters(self) -> dict[str, object]:
        """As the statement `selection.chosen` names them."""
        return {
            "kinds": [str(kind) for kind in self.kinds],
            "definition": self.definition,
            "case_id": self.case_id,
            "session_id": self.session_id,
            "since": self.since,
            "until": self.until,
            "record_ids": None if self.record_ids is None else list(self.record_ids),
        }


def selection(
    *,
    kind: RecordKind | str | None = None,
    definition: str | None = None,
    case_id: str | None = None,
    session_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    record_ids: Collection[UUID | str] | None = None,
) -> Selection:
    """Check conditions. A summary follows its episodes, so it is selected by its kind or its id only.

    Raises InvalidInput (no condition, no ids, or conditions that nothing has together), InvalidValue (kind,
    definition), InvalidScope (an id), InvalidTime.
    """
    given = {"definition": definition, "case_id": case_id, "session_id": session_id}
    if kind is None and since is None and until is None and record_ids is None and not any(_is_given(given)):
        raise InvalidInput(NOTHING_GIVEN)
    start = None if since is None else require_utc(since, "since")
    end = None if until is None else require_utc(until, "until")
    if start is not None and end is not None and start >= end:
        raise InvalidTime("since must be before until.")
    return Selection(
        kinds=_kinds(kind, frozenset(_is_given(given)), with_summaries=record_ids is not None),
        definition=None if definition is None else _name(definition),
        case_id=optional_identifier(case_id, "case_id"),
        session_id=optional_identifier(session_id, "session_id"),
        since=start,
        until=end,
        record_ids=None if record_ids is None else distinct_ids(record_ids),
    )


def distinct_ids(record_ids: Collection[UUID | str]) -> tuple[UUID, ...]:
    """Each id once, in order. Raises InvalidInput if there is none, or one text; InvalidScope for what is no id."""
    try:
        found = None if isinstance(record_ids, str) else {record_uuid(each, "record_ids") for each in record_ids}
    except TypeError:
        found = None
    if not found:
        raise InvalidInput("record_ids must be a list of at least one record_id that Olvido returned.")
    return tuple(sorted(found))


def named(record_ids: Iterable[UUID]) -> str:
    """What the plan of a selection is of: exactly these records. Their ids are random and tell nothing."""
    return hashlib.sha256(b"".join(sorted(each.bytes for each in record_ids))).hexdigest()


def _is_given(conditions: dict[str, str | None]) -> list[str]:
    return [name for name, value in conditions.items() if value is not None]


def _kinds(kind: RecordKind | str | None, given: frozenset[str], *, with_summaries: bool) -> tuple[RecordKind, ...]:
    try:
        wanted = None if kind is None else RecordKind(kind)
    except ValueError:
        raise InvalidValue(f"kind must be one of: {', '.join(RecordKind)}.") from None
    asked = (
        [each for each in RecordKind if with_summaries or each is not RecordKind.SUMMARY]
        if wanted is None
        else [wanted]
    )
    kinds = tuple(each for each in asked if given <= _HAS[each])
    if not kinds:
        raise InvalidInput(_cannot(wanted, sorted(given)))
    return kinds


def _cannot(kind: RecordKind | None, conditions: Sequence[str]) -> str:
    """That nothing can meet these conditions, and what to leave out."""
    meant = "Conditions intersect: leave out what you do not mean."
    if kind is None:
        return f"No kind of record has {' and '.join(conditions)} at once. {meant}"
    lacking = " and no ".join(name for name in conditions if name not in _HAS[kind])
    return f"{'An' if kind is RecordKind.EPISODE else 'A'} {kind} has no {lacking}. {meant}"


def _name(definition: object) -> str:
    if not isinstance(definition, str) or not definition.strip() or not is_well_formed(definition):
        raise InvalidValue("definition must be the name of a preference or of a kind of episode.")
    return nfc(definition)
