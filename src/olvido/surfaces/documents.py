"""Values as JSON documents, for every surface that answers in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID

_ACTIVE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may leave as it is and a terminal may act on: C1 controls, marks that reorder text, lone surrogates."""


def instant(value: datetime) -> str:
    """ISO 8601 in UTC, such as "2026-06-02T09:00:00Z"."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def document(value: object) -> object:
    """`value` as JSON takes it: dataclasses as objects, instants as ISO 8601 in UTC, durations in seconds."""
    match value:
        case Enum():
            found: object = document(value.value)
        case None | bool() | int() | float():
            found = value
        case datetime():
            found = instant(value)
        case timedelta():
            found = value.total_seconds()
        case str() | UUID():
            found = str(value)
        case Mapping():
            found = {str(name): document(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            found = [document(item) for item in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            found = {field.name: document(getattr(value, field.name)) for field in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")
    return found


def to_json(value: object, *, ascii_only: bool = False) -> str:
    """One JSON document, indented. Nothing in it can move a cursor or reorder what a terminal shows.

    ascii_only: for an output that cannot carry UTF-8.
    """
    text = json.dumps(document(value), indent=2, ensure_ascii=ascii_only)
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
