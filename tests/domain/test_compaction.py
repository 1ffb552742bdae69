"""What a summariser answers is stored only if every fact of it can stand for the messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from olvido.domain.compaction import Conclusion, conclusions
from olvido.domain.records import Message, Role
from olvido.errors import CompactionFailed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAID = ["the printer is on floor 2", "set the field {name} in the form", "it prints {{total}} on every page"]
MESSAGES = [
    Message(session_id="s1", sequence=5 + number, role=Role.USER, content=content, recorded_at=NOW)
    for number, content in enumerate(SAID)
]


def test_facts_keep_their_references_in_order_and_once() -> None:
    """References are sorted and each once, and a fact that is answered twice is one."""
    found = conclusions([("on floor 2", [6, 5, 5]), ("on floor 2", (5, 6))], MESSAGES, length=50, most=5)
    assert found == (Conclusion(text="on floor 2", messages=(5, 6)),)


def test_a_placeholder_that_was_said_is_a_quotation() -> None:
    """A fact may quote braces that the messages have; another placeholder is one that nobody filled in."""
    assert conclusions([("the form has {name} and {{total}}", [6, 7])], MESSAGES, length=50, most=5)
    with pytest.raises(CompactionFailed, match="template"):
        conclusions([("the form has {name} and {other}", [6, 7])], MESSAGES, length=50, most=5)


@pytest.mark.parametrize(
    "answer, reason",
    [
        (None, "no list of facts"),
        ("", "no list of facts"),
        ("the printer is on floor 2", "no list of facts"),
        ({"the printer": [5]}, "no list of facts"),
        ([], "answered nothing"),
        ((), "answered nothing"),
        ([("a", [5])] * 6, "room for 5"),
        (["the printer"], "not a text with the numbers"),
        ([("the printer",)], "not a text with the numbers"),
        ([("the printer", [5], "more")], "not a text with the numbers"),
        ([("", [5])], "blank"),
        ([(" \n", [5])], "blank"),
        ([(7, [5])], "must be text"),
        ([("a\x00", [5])], "NUL"),
        ([("a" * 51, [5])], "51 characters"),
        ([("the printer", 5)], "list of sequence numbers"),
        ([("the printer", "5")], "list of sequence numbers"),
        ([("the printer", ["5"])], "which are whole"),
        ([("the printer", [True])], "which are whole"),
        ([("the printer", [5.0])], "which are whole"),
        ([("the printer", [4])], "there are 5 to 7"),
        ([("the printer", [5, 8])], "there are 5 to 7"),
        ([("the printer", [-1])], "there are 5 to 7"),
        ([("the printer", [])], "without the numbers"),
        ([("the printer", [5]), ("", [6])], "blank"),
        ([("{{summary}}", [5])], "template"),
        ([("Summary: {{ summary }}", [5])], "template"),
        ([("Dear {customer_name}", [5])], "template"),
        ([("${facts}", [5])], "template"),
        ([("%(facts)s", [5])], "template"),
        ([("{% for fact in facts %}", [5])], "template"),
        ([("[Insert summary here]", [5])], "template"),
        ([("<your summary>", [5])], "template"),
        ([("Key facts:", [5])], "template"),
        ([("...", [5])], "template"),
        ([("N/A", [5])], "template"),
        ([("None.", [5])], "template"),
    ],
)
def test_what_cannot_stand_for_messages_is_refused(answer: Any, reason: str) -> None:  # noqa: ANN401 - any answer
    """Nothing, another shape, blank or over-long text, a template, or references to other messages are refused."""
    with pytest.raises(CompactionFailed, match=reason):
        conclusions(answer, MESSAGES, length=50, most=5)
