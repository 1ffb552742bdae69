"""What a summariser may answer about messages that are to be folded, decided without I/O (rule 4; case 109).

The answer comes from a model, so its shape is checked as that of any other input: a failed, empty or made-up summary
must leave everything as it was.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from olvido.domain.policy_values import TextValue
from olvido.domain.records import Message
from olvido.domain.redaction import WITH_MASKS, screen
from olvido.errors import CompactionFailed, InvalidValue

MAX_REFERENCES = 1000
"""How many messages one fact may refer to."""

Summarise = Callable[[Sequence[Message]], Awaitable[Sequence[tuple[str, Sequence[int]]]]]
"""Given the messages to fold, oldest first, it returns facts: a text, and the numbers of the messages it rests on."""

# What stands in a prompt or a format string until somebody fills it in: {{summary}}, {name}, ${name}, %(name)s,
# {% if %}, [insert summary here], <your summary>.
_PLACEHOLDER = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\$?\{[a-z_][\w.]*\}|%\([a-z_]\w*\)s"
    r"|\[(?:insert|your|summary|facts?|todo|tbd|placeholder)\b[^\]]*\]"
    r"|<(?:insert|your|summary|facts?|todo|tbd|placeholder)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING = frozenset({"n/a", "na", "none", "null", "nil", "todo", "tbd", "undefined", "summary", "no summary", "empty"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """One fact that a summariser concluded, checked. messages: ascending, each once, at least one.

    text: with credentials masked.
    """

    text: str
    messages: tuple[int, ...]


def conclusions(answer: object, messages: Sequence[Message], *, length: int, most: int) -> tuple[Conclusion, ...]:
    """The facts in `answer`, each once. Raises CompactionFailed unless every one of them can be stored.

    messages: what the summariser was given. length: most characters of a fact. most: how many facts there is room for.
    """
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        raise _failed("answered no list of facts, each a text and the numbers of its messages")
    if not answer:
        raise _failed("answered nothing")
    if len(answer) > most:
        raise _failed(
            f"answered {len(answer)} facts, and there is room for {most}: have it answer fewer, forget facts by their "
            "record_id, or raise limits.session_facts in the policy"
        )
    said = "\n".join(message.content for message in messages)
    found = [_conclusion(item, messages, said, length) for item in answer]
    return tuple(dict.fromkeys(found))


def references(numbers: object, *, first: int, until: int) -> tuple[int, ...]:
    """Sequence numbers from `first` up to and without `until`, ascending and each once. Raises InvalidValue."""
    if not isinstance(numbers, Sequence) or isinstance(numbers, str | bytes):
        raise InvalidValue("The messages of a fact must be a list of sequence numbers.")
    if len(numbers) > MAX_REFERENCES:
        raise InvalidValue(f"A fact may refer to {MAX_REFERENCES} messages; this one names {len(numbers)}.")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidValue("The messages of a fact must be sequence numbers, which are whole.")
        if not first <= number < until:
            there = f"there are {first} to {until - 1}" if until > first else "there are none yet"
            raise InvalidValue(f"A fact refers to a message that is not there; {there}.")
    return tuple(sorted(set(numbers)))


def _conclusion(item: object, messages: Sequence[Message], said: str, length: int) -> Conclusion:
    if not isinstance(item, Sequence) or isinstance(item, str | bytes) or len(item) != 2:  # noqa: PLR2004 - a pair
        raise _failed("answered a fact that is not a text with the numbers of its messages")
    text, numbers = item
    try:
        shape = TextValue(type="text", max_length=length, multiline=True)
        checked = str(shape.check(text, "a fact"))
        masked = str(shape.check(screen(checked).text, f"a fact{WITH_MASKS}"))
        refers = references(numbers, first=messages[0].sequence, until=messages[-1].sequence + 1)
    except InvalidValue as error:
        raise _failed(f"answered what cannot be stored: {str(error).rstrip('.')}") from None
    if not refers:
        raise _failed("answered a fact without the numbers of its messages")
    if _says_nothing(checked, said):
        raise _failed("answered a template: a placeholder that nobody filled in, or a heading with nothing under it")
    return Conclusion(text=masked, messages=refers)


def _says_nothing(text: str, said: str) -> bool:
    """Whether a fact has a placeholder that is no quotation of the messages, or no words of its own."""
    bare = text.strip().rstrip(".").casefold()
    if bare in _NOTHING or bare.endswith(":") or not any(character.isalnum() for character in bare):
        return True
    return any(found[0] not in said for found in _PLACEHOLDER.finditer(text))


def _failed(reason: str) -> CompactionFailed:
    return CompactionFailed(f"The summariser {reason}. Nothing changed; the messages are as they were.")
