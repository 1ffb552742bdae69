"""The shape of an export as a document, for reading one back: what an import takes from it.

Whatever else a document holds is not read: derived rows are made anew, and columns of a later release are unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from olvido.domain.export import FORMAT, FORMAT_VERSION
from olvido.domain.origin import Origin, OriginClass
from olvido.domain.records import Change
from olvido.domain.redaction import safe_name
from olvido.errors import InvalidInput, InvalidValue

Language = Literal["en", "es", "pt", "other"]
Scalar = str | int | float | bool


class Shape(BaseModel):
    """Typed without coercion, and closed to unknown names."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class OriginPart(Shape):
    """Where a record comes from."""

    origin_class: Annotated[OriginClass, Field(alias="class")]
    source: str
    ref: str | None = None
    actor: str | None = None
    at: AwareDatetime | None = None

    def value(self) -> Origin:
        """As the domain has it. Raises InvalidScope."""
        return Origin(origin_class=self.origin_class, source=self.source, ref=self.ref, actor=self.actor, at=self.at)


class _Row(BaseModel):
    """Typed without coercion; other names are not read."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


class StatedValue(_Row):
    """One value of a preference: where it comes from, when it was said and when it was recorded."""

    version: int
    value: Scalar
    origin: OriginPart
    said_at: AwareDatetime
    recorded_at: AwareDatetime


class VersionRow(StatedValue):
    """One version in the history of a preference."""

    change: Change
    retain_until: AwareDatetime | None = None


class PreferenceRow(StatedValue):
    """The current value of a key, with its versions."""

    record_id: UUID
    key: str
    expires_at: AwareDatetime | None
    versions: tuple[VersionRow, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether it was chosen explicitly, by a correction or by reopening it, and not only stated."""
        return any(one.version == self.version and one.change is not Change.SET for one in self.versions)

    @property
    def earlier(self) -> tuple[VersionRow, ...]:
        """The versions before the current one, oldest first."""
        return tuple(sorted((v for v in self.versions if v.version < self.version), key=lambda v: v.version))


class EpisodeRow(_Row):
    """Something that happened."""

    record_id: UUID
    definition: str
    event_id: str
    case_id: str | None = None
    status: str | None = None
    fields: dict[str, Any]
    language: Language
    origin: OriginPart
    occurred_at: AwareDatetime
    expires_at: AwareDatetime | None


class _Policy(_Row):
    version: str


class ManifestPart(_Row):
    """What the export is about."""

    format: Literal["olvido-export"]
    format_version: int
    life: UUID | None
    exported_at: AwareDatetime
    policy: _Policy


class RecordsPart(_Row):
    """The rows that an import takes, and those that it only counts."""

    preferences: tuple[PreferenceRow, ...] = ()
    episodes: tuple[EpisodeRow, ...] = ()
    summaries: tuple[Any, ...] = ()
    sessions: tuple[Any, ...] = ()


class ExportDocument(_Row):
    """A whole export."""

    manifest: ManifestPart
    records: RecordsPart


def read_export(document: object) -> ExportDocument:
    """The export that `document`, in plain JSON types, describes.

    Raises InvalidInput if it is none, is of a later format, or names a record twice, and InvalidValue naming the place
    of what does not fit, never its content.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput(f"An export is a JSON object with format {FORMAT}. Pass `Export.document`, or the file's.")
    try:
        export = ExportDocument.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise InvalidValue(
            f"This is no export that can be read. {'; '.join(reasons(error, whole='document'))}."
        ) from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("An export holds plain JSON types only. Read the file with json.load.") from None
    if export.manifest.format_version != FORMAT_VERSION:
        raise InvalidInput(f"This export has another format version than {FORMAT_VERSION}. Use the Olvido it is from.")
    ids = [row.record_id for row in export.records.preferences] + [row.record_id for row in export.records.episodes]
    keys = [row.key for row in export.records.preferences]
    if len(set(ids)) < len(ids) or len(set(keys)) < len(keys):
        raise InvalidInput("The export names a record twice, so it was changed after it was made. Export again.")
    if ids and export.manifest.life is None:
        raise InvalidInput("The export has records and does not say of which life. Export again.")
    return export


def reasons(error: ValidationError, *, whole: str = "line") -> list[str]:
    """Where and why, the first three, without the input: only names are shown, and only if they can be shown.

    whole: what the place is called that is the whole input.
    """
    found: dict[str, None] = {}
    for detail in error.errors(include_url=False, include_input=False):
        *place, last = detail["loc"] or (whole,)
        kind = detail["type"]
        if last in _SCALARS and kind in _SCALAR_KINDS:
            kind = "scalar"  # one for each type that a value may have: one place, one reason
        else:
            place.append(last)
        shown = ".".join(str(part) if isinstance(part, int) else safe_name(part) for part in place)
        words = detail.get("ctx", {}).get("expected") if kind in _WORDS else None
        reason = f"must be one of: {words.replace(QUOTE, '')}" if words else _REASONS.get(kind, "does not fit here")
        found[f"{shown}: {reason}"] = None
        if len(found) == SHOWN:
            break
    return list(found)


SHOWN = 3
UNREADABLE = "holds text that is not well-formed Unicode, or parts inside parts without end"

QUOTE = "'"
_WORDS = frozenset({"enum", "literal_error"})
_SCALARS = frozenset({"str", "int", "float", "bool"})
_SCALAR_KINDS = frozenset({"string_type", "int_type", "float_type", "bool_type", "finite_number"})
_INSTANT = "is not an instant; write 2026-12-31T18:00:00Z"
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not a name of this kind",
    "scalar": "must be text, a finite number, true or false",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "timezone_aware": "has no time zone; write 2026-12-31T18:00:00Z",
    "datetime_type": _INSTANT,
    "datetime_parsing": _INSTANT,
    "datetime_from_date_parsing": _INSTANT,
    "uuid_type": "must be an id as Olvido writes it",
    "uuid_parsing": "must be an id as Olvido writes it",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "tuple_type": "must be a list",
    "json_invalid": UNREADABLE,
}
