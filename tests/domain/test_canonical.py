"""One spelling of JSON: what is signed and chained has no second one."""

from __future__ import annotations

import json

import pytest
from rfc8785 import CanonicalizationError

from olvido.domain.canonical import canonical, read_json


def test_the_example_of_the_standard_is_spelt_as_it_is_there() -> None:
    """RFC 8785, section 3.2.2: numbers, escapes and the order of names."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@pytest.mark.parametrize(
    "text, value",
    [
        ("9007199254740991", 9007199254740991),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("9" * 5000, "9" * 5000),
        ("1.0", 1.0),
        ("0.1e400", "0.1e400"),
        ('[1, {"a": 2}]', [1, {"a": 2}]),
    ],
)
def test_whatever_a_database_holds_has_a_spelling(text: str, value: object) -> None:
    """Numbers that JSON readers disagree on are text, so that each of them is spelt in one way and none is an error."""
    assert read_json(text) == value
    assert json.loads(canonical(read_json(text))) == value


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", object()])
def test_what_has_no_spelling_is_refused(value: object) -> None:
    """Nothing is signed that another reader would read otherwise."""
    with pytest.raises(CanonicalizationError):
        canonical(value)
