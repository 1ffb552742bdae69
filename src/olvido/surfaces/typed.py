"""Text from a command line as the type that the policy gives a value; whether it fits is for the policy to say."""

from __future__ import annotations

from contextlib import suppress

from olvido.domain.records import JsonScalar


def typed(text: str, shape: str) -> JsonScalar:
    """`text` as an integer, number or boolean where `shape` says so and the text is one; otherwise as it is."""
    with suppress(ValueError):
        if shape == "integer":
            return int(text)
        if shape == "number":
            return float(text)
    if shape == "boolean" and text in {"true", "false"}:
        return text == "true"
    return text
