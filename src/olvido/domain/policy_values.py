"""The shapes a value may have: choice, text, integer, number, boolean.

A shape says what it allows; its errors repeat that and never the value they refuse.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from olvido.domain.records import JsonScalar
from olvido.errors import InvalidValue

MAX_TEXT = 100_000
SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exact (RFC 8259, section 6)."""


JOINERS = "\u200c\u200d"
"""What emoji and some scripts are written with; every other invisible character could lay out text of its own."""


class Strict(BaseModel):
    """What every part of a policy file is: typed without coercion, closed to unknown keys, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def nfc(text: str) -> str:
    """`text` in Unicode normalisation form C, so that one word is one value however it was typed (case 75)."""
    return unicodedata.normalize("NFC", str.__str__(text))


def is_well_formed(text: str) -> bool:
    """Whether `text` has neither a NUL nor half of a surrogate pair, which no database and no UTF-8 holds."""
    # Most texts are printable, and then no character of them has to be looked at.
    return text.isprintable() or not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text)


def _unique(items: tuple[str, ...]) -> tuple[str, ...]:
    items = tuple(nfc(item) for item in items)
    for position, item in enumerate(items):
        if item in items[:position]:
            raise PydanticCustomError("repeated", "`{item}` is listed twice; keep one", {"item": item})
    return items


ShortText = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(?:.*\S)?$")]
"""One line without blanks around it."""

UniqueTexts = Annotated[tuple[ShortText, ...], AfterValidator(_unique)]


class ChoiceValue(Strict):
    """One of a list of words."""

    type: Literal["choice"]
    choices: Annotated[UniqueTexts, Field(min_length=1)]

    def check(self, value: object, name: str) -> JsonScalar:
        """Return the choice. Raises InvalidValue."""
        if isinstance(value, str) and (choice := nfc(value)) in self.choices:
            return choice
        raise InvalidValue(f"{name} must be one of: {', '.join(self.choices)}.")


def _lays_out(character: str) -> bool:
    """Whether a character changes how other text is shown: line breaks, control, reordering and invisible ones."""
    return unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"} and character not in JOINERS


class TextValue(Strict):
    """Text, kept in NFC and otherwise as given; `max_length` counts characters after that.

    A text of one line (the default) refuses line breaks and control characters, so that a short value such as a name
    cannot lay out text of its own where it is shown. NUL and unpaired surrogates are refused in both.
    """

    type: Literal["text"]
    max_length: int = Field(ge=1, le=MAX_TEXT)
    multiline: bool = False

    def check(self, value: object, name: str) -> JsonScalar:
        """Return the text in NFC. Raises InvalidValue."""
        if not isinstance(value, str):
            raise InvalidValue(f"{name} must be text of 1 to {self.max_length} characters.")
        text = nfc(value)
        plain = text.isprintable()  # most texts are, and then no character of them has to be looked at
        if not plain and not is_well_formed(text):
            raise InvalidValue(f"{name} has a NUL or an unpaired surrogate. Pass well-formed text.")
        if not text.strip():
            raise InvalidValue(f"{name} is blank. Pass 1 to {self.max_length} characters, or leave it out.")
        if len(text) > self.max_length:
            raise InvalidValue(f"{name} is {len(text)} characters long; the policy allows {self.max_length}.")
        if not plain and not self.multiline and any(map(_lays_out, text)):
            raise InvalidValue(f"{name} must be one line without control or invisible characters.")
        return text


class IntegerValue(Strict):
    """A whole number; true and false are not numbers."""

    type: Literal["integer"]
    minimum: int = Field(default=-SAFE_INTEGER, ge=-SAFE_INTEGER)
    maximum: int = Field(default=SAFE_INTEGER, le=SAFE_INTEGER)

    def check(self, value: object, name: str) -> JsonScalar:
        """Return the number. Raises InvalidValue."""
        if isinstance(value, int) and not isinstance(value, bool) and self.minimum <= value <= self.maximum:
            return int(value)
        raise InvalidValue(f"{name} must be a whole number from {self.minimum} to {self.maximum}.")


class NumberValue(Strict):
    """A finite number, whole or not; true and false are not numbers."""

    type: Literal["number"]
    minimum: float = Field(default=-float(SAFE_INTEGER), ge=-SAFE_INTEGER)
    maximum: float = Field(default=float(SAFE_INTEGER), le=SAFE_INTEGER)

    def check(self, value: object, name: str) -> JsonScalar:
        """Return the number, an int as an int. Raises InvalidValue."""
        if isinstance(value, int | float) and not isinstance(value, bool) and self.minimum <= value <= self.maximum:
            return value  # a NaN is in no range
        raise InvalidValue(f"{name} must be a number from {self.minimum:g} to {self.maximum:g}.")


class BooleanValue(Strict):
    """True or false; 0, 1 and words are not."""

    type: Literal["boolean"]

    def check(self, value: object, name: str) -> JsonScalar:
        """Return the boolean. Raises InvalidValue."""
        if isinstance(value, bool):
            return value
        raise InvalidValue(f"{name} must be true or false.")


ValueShape = Annotated[ChoiceValue | TextValue | IntegerValue | NumberValue | BooleanValue, Field(discriminator="type")]
