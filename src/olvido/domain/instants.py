"""Instants are UTC; a datetime without a time zone is refused (rule 14)."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Literal

from olvido.errors import InvalidTime


class _Keep(Enum):
    KEEP = "keep"

    def __repr__(self) -> str:
        return "KEEP"


KEEP = _Keep.KEEP
"""Expiry not given: a correction keeps the instant it has, a first write takes the policy's retention."""

KeepType = Literal[_Keep.KEEP]


def require_utc(value: object, name: str) -> datetime:
    """Return `value` in UTC. Raises InvalidTime if it is not a datetime with a time zone."""
    if not isinstance(value, datetime):
        raise InvalidTime(f"{name} must be a datetime; got {type(value).__name__}.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidTime(f"{name} has no time zone. Pass an aware datetime, such as datetime.now(UTC).")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidTime(f"{name} is outside the years 1 to 9999.") from None


def is_expired(expires_at: datetime | None, now: datetime) -> bool:
    """`expires_at <= now` means expired; None never expires (rule 14)."""
    return expires_at is not None and expires_at <= now
