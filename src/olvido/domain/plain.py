"""Values in the plain types of JSON, and the words for a count: what a surface prints and what an export holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID


def instant(value: datetime) -> str:
    """ISO 8601 in UTC, such as "2026-06-02T09:00:00Z"."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def plain(value: object) -> object:
    """`value` as JSON takes it: dataclasses as objects, instants as ISO 8601 in UTC, durations in seconds."""
    match value:
        case Enum():
            found: object = plain(value.value)
        case None | bool() | int() | float():
            found = value
        case datetime():
            found = instant(value)
        case timedelta():
            found = value.total_seconds()
        case str() | UUID():
            found = str(value)
        case Mapping():
            found = {str(name): plain(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            found = [plain(item) for item in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            found = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")
    return found


def counted(number: int, one: str, many: str | None = None) -> str:
    """A count and what is counted, such as "1 row" and "2 people". many: None is `one` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
