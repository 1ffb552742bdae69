"""What an export of one person holds, and what importing one did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.plain import plain
from olvido.domain.records import IndexState
from olvido.domain.scope import Scope

FORMAT = "olvido-export"
FORMAT_VERSION = 1

ExportedRow = Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """Everything that is live of one person, read at one instant; an expired record is not in it (rule 14).

    life: the opaque key of this life of the subject, by which an import knows whether it was forgotten since; None if
    nothing was ever stored. counts: rows shown, by relation. derived: rows that are not shown, because they are words
    and vectors computed from what is, by relation. records: the rows, by relation; those that belong to another row
    stand inside it, such as the versions of a preference.
    """

    scope: Scope
    life: UUID | None
    exported_at: datetime
    policy_name: str
    policy_version: str
    counts: Mapping[str, int]
    derived: Mapping[str, int]
    records: Mapping[str, Sequence[ExportedRow]]

    @property
    def manifest(self) -> dict[str, object]:
        """What the export is about, in plain JSON types, without its records."""
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "scope": self.scope,
            "life": self.life,
            "exported_at": self.exported_at,
            "policy": {"name": self.policy_name, "version": self.policy_version},
            "counts": self.counts,
            "derived": self.derived,
        }
        return {name: plain(value) for name, value in manifest.items()}

    @property
    def document(self) -> dict[str, object]:
        """The whole export in plain JSON types; the same records give the same keys in the same order."""
        return {"manifest": self.manifest, "records": plain(self.records)}


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A record of an export that was not stored.

    relation: as in the export, "preferences" or "episodes", or "preference_versions" for an earlier value.
    name: its key or definition, `<unnamed>` where that could itself be content. record_id: its id in the export.
    code: of the error that the rules answered, or "expired", or "forgotten", or "record_id_in_use": another record of
    this scope has that id, so the export was changed after it was made.
    """

    relation: str
    name: str
    record_id: UUID
    code: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedRecord:
    """What became of one record of an import.

    changed: whether it was stored now. code: of the error for which it was refused, None if it stands.
    dropped, masked, index_state: as in `Written`.
    """

    changed: bool
    code: str | None = None
    dropped: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    index_state: IndexState = IndexState.INDEXED


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedExport:
    """What importing an export did.

    written: rows stored now, by relation; the current value of a preference counts as "preferences", its earlier ones
    as "preference_versions". unchanged: records that were there already. left_out: records that were not stored, each
    with its reason. not_imported: how many sessions and summaries the export has, which are not imported.
    dropped: names (never values) of the fields that this policy does not allow, with how many records had each.
    masked: kinds of secret that were masked, likewise. text_only: records stored without a vector.
    policy_from, policy_version: of the export, and the one in force here.
    """

    written: Mapping[str, int]
    unchanged: Mapping[str, int]
    left_out: tuple[LeftOut, ...]
    not_imported: Mapping[str, int]
    dropped: Mapping[str, int]
    masked: Mapping[str, int]
    text_only: int
    policy_from: str
    policy_version: str
