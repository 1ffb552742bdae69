"""Values as JSON documents, for every surface that answers in JSON."""

from __future__ import annotations

import json
import re

from olvido.domain.plain import plain

_ACTIVE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may leave as it is and a terminal may act on: C1 controls, marks that reorder text, lone surrogates."""


def to_json(value: object, *, ascii_only: bool = False) -> str:
    """One JSON document, indented. Nothing in it can move a cursor or reorder what a terminal shows.

    ascii_only: for an output that cannot carry UTF-8.
    """
    text = json.dumps(plain(value), indent=2, ensure_ascii=ascii_only)
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
