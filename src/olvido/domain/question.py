"""What ranking reads in a question, and the same things on the side of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from olvido.domain.characters import fold
from olvido.domain.day_spans import Steps
from olvido.domain.identifier_shapes import fragments, identifiers
from olvido.domain.named_dates import dates, tells_time
from olvido.domain.policy_values import is_well_formed, nfc
from olvido.domain.words import asked, is_wordless, stop_language
from olvido.errors import InvalidValue

__all__ = [
    "Analysis",
    "Steps",
    "analyse",
    "dates",
    "identifiers",
    "require_query",
    "speaker",
    "stop_language",
    "tells_time",
]

MAX_NAME_WORDS = 3
MAX_NAME_STARTS = 64
"""A name may begin at so many words of a question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Analysis:
    """A question, read.

    words: `words.asked`. fragments: parts of identifiers, to be looked for inside `identifiers` of a record.
    names: what may be somebody's name, to be compared with `speaker` of a record. when: it asks for a time.
    is_wordless: `words.is_wordless`.
    """

    words: tuple[frozenset[int], ...]
    is_wordless: bool
    fragments: tuple[str, ...]
    names: tuple[str, ...]
    when: bool


# The asking words come first, or after a few small ones: "So, do you remember when ...", "¿Sabes desde cuándo ...?".
_SMALL_WORDS = """
    and but so ok okay hey hi hello please then since until by from for on in at around about do you can could tell me
    know remember remind exactly just
    e mas entao oi ola por favor desde ate em de a as o os no na voce sabe lembra diga diz pode dizer para
    y pero hola hasta en el la sabes recuerdas dime puedes decirme
"""
_AFTER_WHEN = """
    did do does was were is are am has have had will would can could should shall might exactly
"""
_ASKS_WHEN = re.compile(
    rf"\W*(?:(?:{'|'.join(_SMALL_WORDS.split())})\W+){{0,8}}(?:"
    rf"when(?:'?s|\s+(?:{'|'.join(_AFTER_WHEN.split())}))?\b(?<!when)|when\W*$|when\b[^,]*\?\s*$"
    r"|(?:what|which)\s+(?:time|day|date|month|year|week|weekday)s?\b"
    r"|what(?:'?s|\s+(?:was|is|were|are))\s+the\s+(?:exact\s+)?(?:time|day|date|month|year)\b"
    r"|how\s+long\s+(?:ago|since)\b|how\s+many\s+\w+\s+ago\b"
    r"|quando\b|cuando\b"
    r"|(?:que|qual|quais|cual)\s+(?:(?:foi|era|e|fue|es)\s+)?(?:[oa]|el|la)?\s*(?:dias?|horas?|data|fecha|mes|ano)\b"
    r"|(?:ha|faz|hace)\s+[qc]uant[oa]s?\b"
    r"|cuant[oa]s?\s+(?:tiempo|dias|semanas|meses|anos)\s+hace\b"
    r")"
)

_END_OF_NAME = re.compile(r"'s\W*$")
_JOINTS = re.compile(r"\W|_")
_PARTICLES = frozenset(
    ["da", "das", "de", "del", "den", "der", "di", "do", "dos", "e", "la", "las", "los", "van", "von"]
)


def require_query(value: object, limit: int) -> str:
    """`value` in NFC, as records are. Raises InvalidValue if it is not text, blank, or over `limit` characters."""
    if not isinstance(value, str):
        raise InvalidValue(f"The query must be text; got {type(value).__name__}.")
    if not is_well_formed(value):
        raise InvalidValue("The query has a NUL or an unpaired surrogate. Pass well-formed text.")
    if len(value) > limit:
        raise InvalidValue(f"The query has {len(value)} characters; the policy allows {limit}. Pass a shorter one.")
    if not value.strip():
        raise InvalidValue("The query is blank. Pass the question or the words to look for.")
    return nfc(value)


def analyse(text: str, language: str) -> Analysis:
    """Read a question in `language` ("en", "es", "pt", "other"). Any text gives a result, in linear time."""
    words = asked(text, language)
    return Analysis(
        words=words,
        is_wordless=not words and is_wordless(text),
        fragments=fragments(text),
        names=tuple(dict.fromkeys(_names(text))),
        when=_ASKS_WHEN.match(fold(text)) is not None,
    )


def speaker(actor: str | None) -> str | None:
    """The name of who said a record, as `Analysis.names` has it; None if there is none."""
    words = map(_name_word, (actor or "").split())
    return " ".join(word for word in words if word) or None


def _names(text: str) -> Iterator[str]:
    """Every run of one to three words with a capital letter; any words if the question has no capital letter.

    Small words inside a run ("Ana da Silva") do not count. Scripts without capitals count as if they had one.
    """
    any_word = text == text.lower()
    words = [(word, any_word or _is_capitalised(raw)) for raw in text.split() if (word := _name_word(raw))]
    starts = [at for at, (_, capitalised) in enumerate(words) if capitalised]
    for start in starts[:MAX_NAME_STARTS]:
        name: list[str] = []
        counted = 0
        for word, capitalised in words[start:]:
            name.append(word)
            if capitalised:
                yield " ".join(name)
                counted += 1
            if counted == MAX_NAME_WORDS or not (capitalised or word in _PARTICLES):
                break


def _name_word(raw: str) -> str:
    """Folded, without a possessive and whatever is no letter or digit."""
    if raw.isascii() and raw.isalnum():
        return raw.lower()
    return _JOINTS.sub("", _END_OF_NAME.sub("", fold(raw)))


def _is_capitalised(raw: str) -> bool:
    first = next((character for character in raw if character.isalpha()), "")
    return first != "" and first == first.upper()
