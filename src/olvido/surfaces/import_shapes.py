"""What one line of an import file may be, and the record that it describes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, Field

from olvido.domain.export_document import Language, OriginPart, Shape
from olvido.domain.instants import KEEP
from olvido.domain.origin import Origin
from olvido.domain.records import NewEpisode, NewPreference
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput
from olvido.operations.import_records import Admitted
from olvido.operations.record_episode import NOTE

CASE = "support-case"
DESK = "support-desk"
REPORTED = "reported"
"""The one status that a support case of the file shows: its customer reported something."""

SMALL_TALK = frozenset(
    {"openinggreeting", "closinggreeting", "confirmation", "rejection", "thankyou", "outofdomain", "contentonly", "O"}
)
DESCRIBING = frozenset(
    {
        "arrival_city", "arrival_time", "car_brand", "car_model", "car_year", "charge_amount", "charge_date",
        "charge_time", "cost", "departure_city", "drink_item", "end_date", "excluded_ingredient", "expense_type",
        "food_item", "ingredient", "item_name", "number_of_passengers", "quantity", "replacement_reason", "seat_type",
        "service_type", "size", "software_name", "start_date", "transferamount",
    }
)  # fmt: skip
"""What a turn may carry beside its request: these say what was wanted. Others (a name, a card, a password) name the
person, and their turns are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRecord:
    """A record as a file has it. line: where it stands, counted from 1. scope: whose it is."""

    line: int
    scope: Scope
    new: NewPreference | NewEpisode


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportRecord:
    """A record of a file that passed admission by the policy in force, which the import does not repeat."""

    line: int
    scope: Scope
    admitted: Admitted

    @property
    def expires_at(self) -> datetime | None:
        """When it expires, if the file says so."""
        return self.admitted.expires_at if isinstance(self.admitted.expires_at, datetime) else None


class Line(Shape):
    """What every line has."""

    tenant: str
    subject: str

    def _record(self, line: int, new: NewPreference | NewEpisode) -> FileRecord:
        return FileRecord(line=line, scope=Scope(tenant=self.tenant, subject=self.subject), new=new)


class PreferenceLine(Line):
    """A statement of a preference; its origin has to say when it was made."""

    kind: Literal["preference"]
    key: str
    value: str | int | float | bool
    origin: OriginPart
    expires_at: AwareDatetime | None = None

    def record(self, line: int) -> FileRecord:
        """The record of this line, line `line` of the file. Raises InvalidScope, InvalidInput."""
        if self.origin.at is None:
            raise InvalidInput('origin needs "at", when it was said; else an old file would beat what is newer.')
        return self._record(
            line,
            NewPreference(
                key=self.key,
                value=self.value,
                origin=self.origin.value(),
                expires_at=KEEP if self.expires_at is None else self.expires_at,
            ),
        )


class EpisodeLine(Line):
    """Something that happened."""

    kind: Literal["episode"]
    definition: str
    event_id: str
    occurred_at: AwareDatetime
    origin: OriginPart
    fields: dict[str, Any] = Field(default_factory=dict)
    case_id: str | None = None
    status: str | None = None
    expires_at: AwareDatetime | None = None
    language: Language | None = None

    def record(self, line: int) -> FileRecord:
        """The record of this line, line `line` of the file. Raises InvalidScope, InvalidInput."""
        return self._record(
            line,
            NewEpisode(
                definition=self.definition,
                event_id=self.event_id,
                occurred_at=self.occurred_at,
                fields=self.fields,
                case_id=self.case_id,
                status=self.status,
                origin=self.origin.value(),
                expires_at=self.expires_at,
                language=self.language,
            ),
        )


class NoteLine(Line):
    """One sentence that somebody asked to remember."""

    kind: Literal["note"]
    text: str
    event_id: str
    occurred_at: AwareDatetime | None = None
    origin: OriginPart | None = None
    expires_at: AwareDatetime | None = None
    language: Language | None = None

    def record(self, line: int) -> FileRecord:
        """The record of this line, line `line` of the file. Raises InvalidScope, InvalidInput."""
        return self._record(
            line,
            NewEpisode(
                definition=NOTE,
                event_id=self.event_id,
                occurred_at=self.occurred_at,
                fields={"text": self.text},
                origin=None if self.origin is None else self.origin.value(),
                expires_at=self.expires_at,
                language=self.language,
            ),
        )


class Turn(Shape):
    """One thing that a customer said, with the intents and slots that were annotated."""

    n: int
    text: str
    intents: tuple[str, ...]
    slots: dict[str, str] = Field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether it says what the customer wants, and nothing that names the customer."""
        wants = bool(set(self.intents) - SMALL_TALK) or bool(self.slots)
        return wants and self.slots.keys() <= DESCRIBING


class CaseLine(Line):
    """A support case: what a customer said, turn by turn."""

    case_id: str
    event_id: str
    occurred_at: AwareDatetime
    language: Language
    topic: str | None
    turns: tuple[Turn, ...]

    def record(self, line: int) -> FileRecord:
        """The record of this line, line `line` of the file. Raises InvalidScope, InvalidInput."""
        asked = dict.fromkeys(turn.text for turn in self.turns if turn.asks)
        return self._record(
            line,
            NewEpisode(
                definition=CASE,
                event_id=self.event_id,
                occurred_at=self.occurred_at,
                # The transcript is offered as well: what becomes of it is for the policy to say.
                fields={"topic": self.topic, "summary": "; ".join(asked) or None, "transcript": self.turns},
                case_id=self.case_id,
                status=REPORTED,
                origin=Origin.observed(DESK, ref=self.case_id, at=self.occurred_at),
                language=self.language,
            ),
        )
