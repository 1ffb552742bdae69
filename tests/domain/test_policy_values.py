"""Values are strictly typed, and a refusal never repeats them (rules 5 and 26)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.policy import PreferenceRule
from olvido.domain.policy_file import default_policy, default_policy_text, load_policy
from olvido.errors import InvalidValue


def with_value(value: str) -> PreferenceRule:
    """The rule of a preference `size` with this value shape."""
    lines = f"""preferences:
  size:
    description: Size.
    purpose: support
    value: {value}
    origins: [declared]
    retention: 90d
"""
    return load_policy(default_policy_text().replace("preferences:\n", lines, 1), "size.yaml").preference("size")


@pytest.mark.parametrize(
    "shape, value, stored",
    [
        ("{type: choice, choices: [pt, no]}", "no", "no"),
        ("{type: text, max_length: 5}", "cafe\u0301", "café"),
        ("{type: text, max_length: 2}", "🎂🎂", "🎂🎂"),
        ("{type: text, max_length: 20}", "a\\u0000b", "a\\u0000b"),
        ("{type: text, max_length: 20, multiline: true}", "one\ntwo", "one\ntwo"),
        ("{type: integer, minimum: 1, maximum: 9}", 9, 9),
        ("{type: number}", 1.5, 1.5),
        ("{type: number}", 2, 2),
        ("{type: boolean}", False, False),
    ],
)
def test_a_value_of_the_right_shape_is_kept(shape: str, value: object, stored: object) -> None:
    """Values are kept as given, text in NFC (cases 74 and 75)."""
    assert with_value(shape).check(value) == stored
    assert type(with_value(shape).check(value)) is type(stored)


@pytest.mark.parametrize(
    "shape, value",
    [
        ("{type: choice, choices: [pt, en]}", "PT"),
        ("{type: choice, choices: [pt, en]}", "fr"),
        ("{type: choice, choices: [pt, en]}", ["pt"]),
        ("{type: choice, choices: [pt, en]}", None),
        ("{type: text, max_length: 3}", "long"),
        ("{type: text, max_length: 2}", "🎂🎂🎂"),
        ("{type: text, max_length: 9}", ""),
        ("{type: text, max_length: 9}", " \t"),
        ("{type: text, max_length: 9}", "a\x00b"),
        ("{type: text, max_length: 9, multiline: true}", "a\x00b"),
        ("{type: text, max_length: 9}", "\ud83d"),
        ("{type: text, max_length: 9}", "one\ntwo"),
        ("{type: text, max_length: 9}", "one\u2028two"),
        ("{type: text, max_length: 9}", b"bytes"),
        ("{type: text, max_length: 9}", 7),
        ("{type: integer}", True),
        ("{type: integer}", 1.0),
        ("{type: integer}", "1"),
        ("{type: integer}", 2**53),
        ("{type: integer, minimum: 1, maximum: 9}", 10),
        ("{type: number}", float("nan")),
        ("{type: number}", float("inf")),
        ("{type: number}", False),
        ("{type: number}", "1"),
        ("{type: boolean}", 1),
        ("{type: boolean}", "true"),
    ],
)
def test_a_value_of_another_shape_is_refused(shape: str, value: object) -> None:
    """Types are strict: a boolean is no number, a number no text, NUL and surrogates are refused (cases 22, 74)."""
    with pytest.raises(InvalidValue, match="preference size"):
        with_value(shape).check(value)


@given(st.text(alphabet="qxz", min_size=4, max_size=30))
def test_the_refusal_does_not_repeat_the_value(value: str) -> None:
    """The message says what is allowed, never what was given."""
    with pytest.raises(InvalidValue, match="pt, en, es") as refusal:
        default_policy().preference("language").check(value)

    assert value not in str(refusal.value)
