"""Identifiers: compared by equality of bytes, never trimmed, folded or normalised (rule 2)."""

from __future__ import annotations

from uuid import UUID

from olvido.errors import InvalidScope

MAX_BYTES = 200
_ONE = {"record_ids": "record_id"}
"""What one of several ids is called."""


def required_identifier(value: object, name: str) -> str:
    """Return `value` unchanged if it can serve as an identifier.

    Raises InvalidScope for what is not text, is empty or blank, has a NUL or an unpaired surrogate, or takes
    more than 200 bytes of UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidScope(f"{name} must be text; got {type(value).__name__}. Pass the id as a str.")
    if not value.strip():
        raise InvalidScope(f"{name} is empty or blank. Pass the id of exactly one {name}.")
    if "\x00" in value:
        raise InvalidScope(f"{name} contains a NUL character. Pass an id without control characters.")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidScope(f"{name} has an unpaired surrogate. Pass well-formed Unicode.") from None
    if size > MAX_BYTES:
        raise InvalidScope(f"{name} takes {size} bytes; the limit is {MAX_BYTES}. Pass a shorter id.")
    return value


def optional_identifier(value: object, name: str) -> str | None:
    """Like `required_identifier`, but None stays None. Only None means absent: an empty text is refused."""
    return None if value is None else required_identifier(value, name)


def record_uuid(value: object, name: str) -> UUID:
    """Return `value` as a UUID. Raises InvalidScope if it is neither a UUID nor its text form."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(required_identifier(value, name))
    except ValueError:
        raise InvalidScope(f"{name} is not a UUID. Pass the {_ONE.get(name, name)} that Olvido returned.") from None
