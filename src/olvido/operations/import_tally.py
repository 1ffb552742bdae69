"""What the parts of an import have in common: what was done so far, and how long an imported record may live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from olvido.domain.export import LeftOut
from olvido.domain.redaction import safe_name

EXPIRED = "expired"
FORGOTTEN = "forgotten"
IN_USE = "record_id_in_use"


@dataclass(kw_only=True, slots=True)
class Tally:
    """What an import did so far. written, unchanged: rows by relation."""

    written: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    left_out: list[LeftOut] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    text_only: int = 0

    def leave(self, relation: str, name: str, record_id: UUID, code: str) -> None:
        """Note that a record is not stored, and why."""
        self.left_out.append(LeftOut(relation=relation, name=safe_name(name), record_id=record_id, code=code))

    def screened(self, dropped: Iterable[str], masked: Iterable[str]) -> None:
        """Note what one record lost before storage."""
        self.dropped.update(dropped)
        self.masked.update(masked)


def ends_at(retention: timedelta | None, now: datetime, exported: datetime | None) -> datetime | None:
    """When an imported record expires: as the export or as the policy says, whichever is first; None is never.

    The instant may be past already.
    """
    limit = None if retention is None else now + retention
    return min((instant for instant in (limit, exported) if instant is not None), default=None)
