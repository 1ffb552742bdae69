"""Legal holds: what must be kept by law although it was forgotten or expired, why, and until when that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.instants import require_utc
from olvido.domain.policy_values import TextValue
from olvido.errors import InvalidTime

HOLD_KEEPS = "a legal hold keeps part of it"
"""How what is in the way of a request begins, while a hold has something of it."""
_BASIS = TextValue(type="text", max_length=500)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """One legal hold.

    subject: the id of the person; None once they are forgotten. record_id: the one record that is held; None is all
    that this life of the person has, and what is still written in it. basis: why, as whoever is refused reads it.
    review_at: when it is to be looked at again (UTC); nothing ends by itself then. kept: rows that were to be removed
    and are kept, out of every read.
    """

    hold_id: UUID
    subject: str | None
    record_id: UUID | None
    basis: str
    review_at: datetime
    placed_at: datetime
    kept: int


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRow:
    """One row that a hold kept. relation: where it was stored. content: its columns, in the plain types of JSON.

    record_id: of the record it belongs to; for the row of `subjects`, which says whose the records were, the life.
    """

    relation: str
    record_id: UUID
    kept_at: datetime
    content: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldContent:
    """What one hold keeps, for those who must see it. rows: in the order in which they were to be removed."""

    hold: Hold
    rows: tuple[KeptRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HoldReleased:
    """A hold that ended. removed: rows that it had kept and that are deleted now.

    remaining: rows that the read-back after commit found; None if it failed. erasure_id: the request under which the
    deletion goes on with files, log and backups.
    """

    hold_id: UUID
    removed: int
    remaining: int | None
    released_at: datetime
    erasure_id: UUID


def require_basis(basis: object) -> str:
    """Return `basis` if it is one line of up to 500 characters that is not blank. Raises InvalidValue."""
    text = str(_BASIS.check(basis, "basis"))
    return text.strip()


def require_review(review_at: object, now: datetime) -> datetime:
    """Return `review_at` in UTC. Raises InvalidTime if it is not an instant after now."""
    at = require_utc(review_at, "review_at")
    if at <= now:
        raise InvalidTime("review_at must lie in the future: it is when somebody looks at the hold again.")
    return at
