"""Words without accents in the form that the stemmer of their language needs.

English has irregular forms (`english_forms`). Of Portuguese and Spanish the Snowball stemmers know many endings by an
accent that search has taken away, and leave many plurals with another stem than their singular. So an ending gets its
accent back where only one is possible ("informacao"), and a plural becomes its singular ("cartoes", "canais",
"mujeres"), in records and questions alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from olvido.domain.english_forms import BASE_FORMS

_SAME_OF_BOTH = {
    # first person plural: the s is part of the ending
    "amos": "amos",
    "emos": "emos",
    "imos": "imos",
    "iamos": "íamos",
    # a vowel and a plural s, and whatever else ends in s
    "s": "",
}

_PORTUGUESE = {
    **_SAME_OF_BOTH,
    "avamos": "ávamos",
    "cao": "ção",
    "coes": "ção",
    "ao": "ão",
    "oes": "ão",
    "encia": "ência",
    "encias": "ência",
    "ancia": "ância",
    "ancias": "ância",
    "avel": "ável",
    "aveis": "ável",
    "ivel": "ível",
    "iveis": "ível",
    "ais": "al",
    "eis": "el",
    "ceis": "cil",
    "geis": "gil",
    "ns": "m",
    "res": "r",
}

_SPANISH = {
    **_SAME_OF_BOTH,
    "ian": "ían",
    "ces": "z",
    "dades": "dad",
    "tades": "tad",
    "ores": "or",
    "eres": "er",
    "ares": "ar",
    "ones": "on",
    "enes": "en",
    "anes": "an",
}

_ENDINGS: Mapping[str, Mapping[str, list[tuple[str, str]]]] = {
    language: {
        last: sorted((each for each in endings.items() if each[0][-1] == last), key=lambda each: -len(each[0]))
        for last in {ending[-1] for ending in endings}
    }
    for language, endings in (("pt", _PORTUGUESE), ("es", _SPANISH))
}
"""Language -> last letter -> endings with what stands for them, the longest first."""

_KEPT = 2
_SHORT = 3
"""An ending is one only after two letters ("leis" is no "lel"), and not in a word of three ("mes")."""


def restored(word: str, language: str) -> str:
    """`word`, folded, as the stemmer of `language` knows it; unchanged if there is nothing to do.

    The longest ending wins.
    """
    if language == "en":
        return BASE_FORMS.get(word, word)
    if language not in _ENDINGS or len(word) <= _SHORT:
        return word
    for ending, given in _ENDINGS[language].get(word[-1], ()):
        if word.endswith(ending) and len(word) >= len(ending) + _KEPT:
            return word[: -len(ending)] + given
    return word
