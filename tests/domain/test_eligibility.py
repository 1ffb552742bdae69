"""Which filters recall takes: what is unknown, misspelt or of another type is an error of ours, never no match."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import pytest

import olvido
from olvido import Kind, OriginClass
from olvido.domain.eligibility import eligibility
from olvido.domain.policy_values import ChoiceValue
from olvido.errors import InvalidInput, InvalidValue, NotInPolicy

ODD: tuple[Any, ...] = (
    *(0, 7, False, float("nan"), b"note", {"note": 1}, object(), "", " ", "\x00", "a\x00b", "\ud83d", "N\u00f4te "),
    *([], [[]], [None], ["note", 7], date(2026, 1, 1), "2026-01-01", datetime(2026, 1, 1)),  # noqa: DTZ001 - naive on purpose
)


PRODUCTS = {"2026-01-01", "N\u00f4te "}
"""Any text may be the name of a product."""


@pytest.mark.parametrize(
    "name", ["purpose", "kinds", "definition", "product", "status", "origin_class", "since", "until"]
)
def test_odd_values_are_refused(name: str) -> None:
    """No value of another type, no blank and no broken text passes a filter, or raises what is not an error of ours."""
    for odd in ODD:
        if name == "product" and isinstance(odd, str) and odd in PRODUCTS:
            continue
        with pytest.raises((InvalidInput, NotInPolicy)):
            eligibility(olvido.default_policy(), **{name: odd})


# case 21
@pytest.mark.parametrize(
    "misspelt",
    [
        {"kinds": ["episodes"]},
        {"kinds": "Preference"},
        {"kinds": ["episode", "session"]},
        {"definition": "support-cases"},
        {"definition": "note "},
        {"status": "opened"},
        {"status": "Open"},
        {"status": "lookup failed"},
        {"origin_class": "Declared"},
        {"purpose": "supports"},
        {"definition": "note", "status": "open"},
        {"definition": "note", "product": "Printer"},
    ],
)
def test_misspelt_filters_are_errors(misspelt: dict[str, Any]) -> None:
    """A word that is not the policy's, and a filter that the kind of episode does not have, are refused."""
    with pytest.raises((InvalidInput, NotInPolicy)):
        eligibility(olvido.default_policy(), **misspelt)


def test_a_product_that_the_policy_lists_is_checked() -> None:
    """Where every product is a choice, another one is refused; where some kind takes any text, any text may match."""
    policy = olvido.default_policy()
    case = policy.episodes["support-case"]
    listed = replace(
        case,
        shapes=MappingProxyType(
            {**case.shapes, "product": ChoiceValue(type="choice", choices=("Printer", "caf\u00e9"))}
        ),
    )
    choice = replace(policy, episodes={"support-case": listed})
    assert eligibility(choice, product="cafe\u0301").product == "caf\u00e9"
    with pytest.raises(InvalidValue, match="Printer, caf\u00e9"):
        eligibility(choice, product="printer")
    mixed = replace(policy, episodes={"support-case": listed, "other-case": replace(case, definition="other-case")})
    assert eligibility(mixed, product="printer").product == "printer"
    with pytest.raises(InvalidValue):
        eligibility(mixed, product="printer", definition="support-case")


def test_nothing_given_narrows_nothing() -> None:
    """Without filters only the default purpose is asked for, and every kind."""
    policy = olvido.default_policy()
    choice = eligibility(policy)
    assert (choice.purpose, choice.kinds) == (policy.default_purpose, tuple(Kind))
    given = choice.parameters()
    assert given.pop("purpose") == "support"
    assert set(given.values()) == {None}


def test_filters_are_taken_as_they_are() -> None:
    """A kind may be given by its name or as itself, and so may an origin class; an instant is in UTC."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    choice = eligibility(
        olvido.default_policy(), kinds="episode", origin_class="observed", since=at, definition="note", case_id="at1"
    )
    assert choice == eligibility(
        olvido.default_policy(),
        kinds=[Kind.EPISODE],
        origin_class=OriginClass.OBSERVED,
        since=at,
        definition="note",
        case_id="at1",
    )
