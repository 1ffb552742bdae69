"""What is wrong with a record is said in words of ours, whatever is wrong, and without the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from olvido.domain.export_document import ExportDocument, reasons
from olvido.surfaces import import_sources
from olvido.surfaces.import_shapes import CaseLine, EpisodeLine, NoteLine, PreferenceLine

AT = "2026-01-01T00:00:00Z"
ID = "019f0000-0000-7000-8000-000000000001"
ORIGIN = {"class": "declared", "source": "s", "ref": "r", "actor": "a", "at": AT}
VALUE = {"version": 1, "value": "v", "origin": ORIGIN, "said_at": AT, "recorded_at": AT}
WHOSE = {"tenant": "t", "subject": "s"}
EXPORT = {
    "manifest": {
        "format": "olvido-export",
        "format_version": 1,
        "life": ID,
        "exported_at": AT,
        "policy": {"version": "v"},
    },
    "records": {
        "preferences": [
            {
                **VALUE,
                "record_id": ID,
                "key": "k",
                "expires_at": AT,
                "versions": [{**VALUE, "change": "set", "retain_until": AT}],
            }
        ],
        "episodes": [
            {
                "record_id": ID,
                "definition": "d",
                "event_id": "e",
                "case_id": "c",
                "status": "s",
                "fields": {"a": 1},
                "language": "en",
                "origin": ORIGIN,
                "occurred_at": AT,
                "expires_at": AT,
            }
        ],
    },
}
EVENT = {**WHOSE, "event_id": "e", "occurred_at": AT, "language": "en"}
SHAPES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (ExportDocument, EXPORT),
    (PreferenceLine, {**WHOSE, "kind": "preference", "key": "k", "value": "v", "origin": ORIGIN, "expires_at": AT}),
    (
        EpisodeLine,
        {
            **EVENT,
            "kind": "episode",
            "definition": "d",
            "origin": ORIGIN,
            "fields": {},
            "case_id": "c",
            "status": "s",
            "expires_at": AT,
        },
    ),
    (NoteLine, {**EVENT, "kind": "note", "text": "t", "origin": ORIGIN, "expires_at": AT}),
    (
        CaseLine,
        {
            **EVENT,
            "case_id": "c",
            "topic": "t",
            "turns": [{"n": 1, "text": "t", "intents": ["i"], "slots": {"a": "b"}}],
        },
    ),
    (import_sources._Mem0, {"id": "i", "memory": "m", "user_id": "u", "created_at": AT, "expiration_date": "d"}),
    (import_sources._Item, {"namespace": ["a"], "key": "k", "value": {}, "created_at": AT}),
]
CANARY = "zq-canary-47"
WRONG = [
    "null", "true", "0", "1.5", "1e400", "NaN", "Infinity", "-Infinity", "9" * 30, "9" * 5000, "1e-400",
    f'"{CANARY}"', '""', '"2026-01-01"', '"2026-01-01T00:00:00"', '"2026-13-01T00:00:00Z"', '"0000-01-01T00:00:00Z"',
    '"2026-01-01T00:00:00+99:99"', '"1767225600"', '"\\ud800"', '"\\u0000"', '"019f0000-0000-7000-8000-00"',
    "[]", "{}", "[1]", f'{{"{CANARY} is a name": 1}}', "[[[]]]", "[" * 300 + "]" * 300,
]  # fmt: skip
"""JSON texts, each of which is wrong somewhere."""


def places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a value, itself included."""
    yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*at, number))


def damaged(value: Any, at: tuple[str | int, ...], wrong: str | None) -> str:  # noqa: ANN401 - JSON is of any shape
    """`value` as JSON with something wrong at one place, or without it."""
    whole = json.loads(json.dumps({"whole": value}))
    *path, last = ("whole", *at)
    inside = whole
    for part in path:
        inside = inside[part]
    if wrong is None:
        del inside[last]
    else:
        inside[last] = "@@"
    return json.dumps(whole.get("whole")).replace('"@@"', wrong or "")


def mistakes(shape: type[BaseModel], text: str) -> list[str]:
    """What is said of a text; nothing if it is right."""
    try:
        shape.model_validate_json(text)
    except ValidationError as error:
        return reasons(error)
    return []


@pytest.mark.parametrize("shape, good", SHAPES, ids=lambda each: each.__name__ if isinstance(each, type) else "")
def test_every_mistake_has_words(shape: type[BaseModel], good: dict[str, Any]) -> None:
    """Whatever stands where something else should, the reason is one of ours; the content is never repeated."""
    shape.model_validate_json(json.dumps(good))
    found = 0
    for at in places(good):
        for wrong in [*WRONG, None]:
            if wrong is None and not at:
                continue
            told = mistakes(shape, damaged(good, at, wrong))
            assert len(told) <= 3
            assert [reason for reason in told if "does not fit here" in reason or CANARY in reason] == []
            found += len(told)
    assert found > len(WRONG)


def test_the_words_that_are_allowed_are_listed() -> None:
    """A word that is not on a list is answered with that list, whichever list it is; a value with its types, once."""
    export = json.loads(json.dumps(EXPORT))
    export["records"]["preferences"][0]["value"] = []
    export["records"]["preferences"][0]["versions"][0]["change"] = "zebra"
    assert mistakes(ExportDocument, json.dumps(export)) == [
        "records.preferences.0.value: must be text, a finite number, true or false",
        "records.preferences.0.versions.0.change: must be one of: set, corrected or reopened",
    ]
