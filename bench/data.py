"""Invented records of a support assistant, the same in every run, and an embedder that costs next to nothing."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from olvido.ports import Vector, Vectors

DIMENSIONS = 384
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LANGUAGES = ("en", "pt", "es")

_WORDS = {
    "en": (
        "course page login error screen account password certificate student teacher enrolment lesson video download "
        "button message answer week morning phone tablet browser window email address photo exam grade list class "
        "shows opens closes fails returns asks waits sends cannot never again after before without since yesterday"
    ),
    "pt": (
        "curso página acesso erro tela conta senha certificado aluna professor matrícula aula vídeo arquivo "
        "botão mensagem resposta semana manhã telefone tablet navegador janela correio endereço foto prova nota lista "
        "mostra abre fecha falha volta pede espera manda não nunca outra depois antes sem desde ontem turma"
    ),
    "es": (
        "curso página acceso error pantalla cuenta contraseña certificado alumna profesor matrícula clase vídeo "
        "archivo botón mensaje respuesta semana mañana teléfono tableta navegador ventana correo dirección foto examen "
        "nota muestra abre cierra falla vuelve pide espera manda no nunca otra después antes sin desde ayer lista"
    ),
}
_ASKED = {
    "en": "When did Ana say in November 2025 {question}?",
    "pt": "Quando a Ana disse em novembro de 2025 {question}?",
    "es": "¿Cuándo dijo Ana en noviembre de 2025 {question}?",
}
_VOCABULARY = {language: words.split() for language, words in _WORDS.items()}


def language_of(number: int) -> str:
    """The language of record `number`."""
    return LANGUAGES[number % len(LANGUAGES)]


def text_of(number: int) -> str:
    """The text of record `number`: a ticket number, then about 13 words (before it, "password" would mask it)."""
    chance = random.Random(number)
    words = _VOCABULARY[language_of(number)]
    return " ".join([f"T-{1000 + number % 997}", *chance.choices(words, k=chance.randint(10, 16))])


def recall_of(number: int, *, among: int) -> str:
    """A question with all that ranking looks for: words of a record, its ticket, a speaker, a time.

    among: it is about one of the first so many records. Other numbers ask in other words, so that no cache answers.
    """
    about = number % among
    ticket, *words = text_of(about).split()
    chosen = random.Random(-number - 1).sample(words, k=5)
    return _ASKED[language_of(about)].format(question=" ".join([*chosen, ticket]))


def moment_of(number: int) -> datetime:
    """When record `number` happened: one a minute, in the past."""
    return EPOCH - timedelta(minutes=number % 200_000)


class Precomputed:
    """An embedder with its vectors at hand, to measure everything but the model.

    id: that of the model it stands in for, so that a memory with the real one ranks what this one stored.
    """

    def __init__(self, model: str) -> None:
        self.id = model
        self.dimensions = DIMENSIONS
        common = np.full(DIMENSIONS, 0.8, dtype=np.float32)
        vectors = np.random.default_rng(7).normal(size=(1024, DIMENSIONS)).astype(np.float32) + common
        self._vectors: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self._centre: Vector = self._vectors.mean(axis=0, dtype=np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        chosen: Vectors = self._vectors[[_slot(text) for text in texts]]
        return chosen

    async def embed_query(self, text: str) -> Vector:
        """The same as a passage."""
        chosen: Vector = self._vectors[_slot(text)]
        return chosen

    async def centre(self) -> Vector:
        """What all vectors share."""
        return self._centre


def _slot(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=2).digest(), "big") % 1024
