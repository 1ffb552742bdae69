"""Values as JSON documents, for every surface that answers in JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from olvido.domain.plain import plain

if TYPE_CHECKING:
    from olvido.domain.recalled import Recall, RecallItem
    from olvido.domain.records import Episode, Preference

_ACTIVE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may leave as it is and a terminal may act on: C1 controls, marks that reorder text, lone surrogates."""


def to_json(value: object, *, ascii_only: bool = False) -> str:
    """One JSON document, indented. Nothing in it can move a cursor or reorder what a terminal shows.

    ascii_only: for an output that cannot carry UTF-8.
    """
    text = json.dumps(plain(value), indent=2, ensure_ascii=ascii_only)
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def recall(found: Recall) -> dict[str, object]:
    """A recall with what a reader of each item needs on top, and the whole record under `record`."""
    return {
        "scope": found.scope,
        "purpose": found.purpose,
        "policy_version": found.policy_version,
        "now": found.now,
        "preferences": [{**_item(one), "value": one.record.value} for one in found.preferences],
        "items": [_item(one) for one in found.items],
        "consult": found.consult,
        "omitted": found.omitted,
        "text_only": found.text_only,
        "unindexed": found.unindexed,
        "index_complete": found.index_complete,
    }


def _item(item: RecallItem[Preference] | RecallItem[Episode]) -> dict[str, object]:
    return {
        "kind": item.kind,
        "record_id": item.record_id,
        "label": item.label,
        "text": item.text,
        "origin": item.origin,
        "at": item.at,
        "score": item.score,
        "strength": item.strength,
        "live_topic": item.live_topic,
        "also": item.also,
        "sources": item.sources,
        "parts": item.parts,
        "record": item.record,
    }
