"""The language of a text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.adapters.languages import Languages

KNOWN = {
    "cannot reach my course": "en",
    "prefers aisle seats": "en",
    "não consigo acessar o meu curso": "pt",
    "meu cartão foi bloqueado": "pt",
    "no puedo entrar en mi curso": "es",
    "prefiere asiento de pasillo": "es",
    "Je ne peux pas accéder à mon cours": "other",
    "Ich kann meinen Kurs nicht erreichen": "other",
    "Non riesco ad accedere al corso": "other",
    "不能访问我的课程": "other",
    "hola": "other",
    "AB-99 12345": "other",
    "🎂🎂🎂🎂🎂🎂🎂🎂": "other",
    "": "other",
}


@pytest.mark.parametrize("text, language", KNOWN.items())
def test_language_of_text(detector: Languages, text: str, language: str) -> None:
    """English, Spanish and Portuguese are told apart; other languages, scripts and scraps are "other"."""
    assert detector.detect(text) == language


def test_detection_from_many_threads(detector: Languages) -> None:
    """Threads that share one detector get the same answers."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        assert list(threads.map(detector.detect, list(KNOWN) * 20)) == list(KNOWN.values()) * 20


@settings(deadline=None)
@given(text=st.text(alphabet=st.characters(), max_size=50))
def test_any_text_has_an_answer(detector: Languages, text: str) -> None:
    """Whatever the text, the answer is one of the four."""
    assert detector.detect(text) in {"en", "es", "pt", "other"}
