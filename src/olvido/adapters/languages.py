"""The language of a text, from the `py3langid` model (its 4.6 MB are read at the first call, in about 0.5 s)."""

from __future__ import annotations

import threading
from functools import cache
from itertools import islice
from typing import Any

SUPPORTED = frozenset({"en", "es", "pt"})
OTHER = "other"

SHARE_OF_ALL = 0.2
"""Below this, another language is as likely: French, Italian and German texts stay under 0.02, three words of
English or Portuguese reach 0.25."""

SHARE_OF_SUPPORTED = 0.7
"""Below this, Portuguese and Spanish are too close to tell apart ("consultar matrícula")."""

MIN_LETTERS = 6
MAX_CHARACTERS = 2_000
"""The first characters decide; the rest of a long text would cost time and change nothing."""


class Languages:
    """Tells English, Spanish and Portuguese from each other and from everything else. Safe to use from any thread."""

    def detect(self, text: str) -> str:
        """One of "en", "es", "pt" or "other"; "other" for short texts and whenever in doubt."""
        beginning = text[:MAX_CHARACTERS]
        if len(list(islice(filter(str.isalpha, beginning), MIN_LETTERS))) < MIN_LETTERS:
            return OTHER
        ranked: list[tuple[str, float]] = _identifier().rank(beginning)
        shares = {language: share for language, share in ranked if language in SUPPORTED}
        total = sum(shares.values())
        likeliest = max(shares, key=lambda language: shares[language])
        if total < SHARE_OF_ALL or shares[likeliest] < SHARE_OF_SUPPORTED * total:
            return OTHER
        return likeliest


def _identifier() -> Any:  # noqa: ANN401 - the package has no types
    """The model, one for the whole process; whoever comes while it is read waits for it."""
    with _READING:
        return _read()


@cache
def _read() -> Any:  # noqa: ANN401 - the package has no types
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # An identifier of our own: the module's functions share one whose languages any caller may change.
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


_READING = threading.Lock()
