"""The lexer: what is one word, in which form, under which key, and what any text costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.domain.stop_words import ANY_STOP_WORD
from olvido.domain.words import (
    KEY_BITS,
    LEXER,
    MAX_FREQUENCY,
    MAX_KEYS,
    MAX_WORDS,
    Terms,
    asked,
    is_wordless,
    stop_language,
    terms,
    tokens,
)

LANGUAGES = ("en", "es", "pt", "other")


def finds(question: str, record: str, *, language: str, asked_in: str | None = None) -> bool:
    """Whether every word of the question is one of the record's."""
    held = terms(record, language).frequencies
    words = asked(question, asked_in or language)
    return bool(words) and all(any(key in held for key in keys) for keys in words)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The BOX, the box!", ["the", "box", "the", "box"]),
        ("Caroline's dog isn't here", ["caroline", "dog", "isnt", "here"]),
        ("l\u2019eau d'Ana", ["l", "eau", "d", "ana"]),
        ("don\u00b4t", ["dont"]),
        ("e.g. the U.S.A.", ["eg", "the", "usa"]),
        ("well-known and/or snake_case", ["well", "known", "and", "or", "snake", "case"]),
        ("AKIAN-2231", ["akian-2231", "akian", "2231"]),
        ("AKIAN\u20112231", ["akian-2231", "akian", "2231"]),
        ("case_17.", ["case_17", "case", "17"]),
        ("mail a.b@x.example", ["mail", "a.b@x.example", "a", "b", "x", "example"]),
        ('-refund "box" | (a & !b) :*', ["refund", "box", "a", "b"]),
        ("", []),
        ("... --- !!!", []),
    ],
    ids=[
        "case", "clitics", "elision", "typed accent", "initials", "joined letters", "order", "hyphen", "underscore",
        "address", "operators", "empty", "marks",
    ],
)  # fmt: skip
def test_tokens(text: str, expected: list[str]) -> None:
    """Words are folded runs of letters and digits; what is joined and has a digit or an @ stays whole as well."""
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "one, other",
    [
        ("Informação", "INFORMACAO"),
        ("cafe\u0301", "caf\u00e9"),
        ("\uff26\uff55\uff4c\uff4c \uff11\uff12", "full 12"),
        ("ﬁn", "fin"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("Ἀθῆναι", "αθηναι"),
        ("Ёлка", "елка"),
        ("שָׁלוֹם", "שלום"),
        ("السَّلامُ عليكـــم", "السلام عليكم"),
        ("٢٢٣١", "2231"),
        ("pass\u00adword", "password"),
        ("👍🏿", "👍"),
        ("❤\ufe0f", "❤"),
        ("👩🏽\u200d💻", "👩\u200d💻"),
        ("smørrebrød Łódź", "smorrebrod lodz"),
    ],
    ids=[
        "accents", "composition", "width", "ligature", "sharp s", "dotted i", "greek", "cyrillic", "hebrew points",
        "arabic vowels", "arabic digits", "soft hyphen", "skin tone", "variation", "joined emoji", "strokes",
    ],
)  # fmt: skip
def test_spellings_of_one_word_are_one(one: str, other: str) -> None:
    """What a keyboard, a system or a habit writes differently is the same tokens."""
    assert tokens(one) == tokens(other) != []


@pytest.mark.parametrize(
    "text, expected",
    [
        ("東京都へ", ["東京", "京都", "都へ"]),
        ("木", ["木"]),
        ("カメラiPhone15を", ["カメ", "メラ", "iphone15", "を"]),
        ("ดีค", ["ดี", "ีค"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ok 👍🏿🎂", ["ok", "👍", "🎂"]),
        ("👩\u200d👩\u200d👧 🇵🇹🇪🇸", ["👩\u200d👩\u200d👧", "🇵🇹", "🇪🇸"]),
        ("新しい🎂", ["新し", "しい", "🎂"]),
    ],
    ids=["han", "one character", "mixed", "thai", "hangul", "vowel signs", "emoji", "sequences", "no space"],
)
def test_scripts_without_spaces_and_pictures(text: str, expected: list[str]) -> None:
    """Scripts without spaces give pairs of characters, words with vowel signs stay whole, an emoji is a token."""
    assert tokens(text) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text",
    ["東京都", "שלום עליכם", "السلام عليكم", "สวัสดี", "🎂", "안녕하세요", "AKIAN-2231", "a.b@x.example", "case_17"],
    ids=["japanese", "hebrew", "arabic", "thai", "emoji", "korean", "order", "address", "case"],
)
def test_exact_words_are_found_in_every_language(text: str, language: str) -> None:
    """A word of any script, and any identifier, is found as it was written, whatever language was detected."""
    for asked_in in LANGUAGES:
        assert finds(text, f"x1 {text} y2", language=language, asked_in=asked_in)


@pytest.mark.parametrize(
    "language, words",
    [
        ("pt", "informação informacao informações informacoes"),
        ("pt", "cartão cartao cartões cartoes"),
        ("pt", "devolução devolucoes"),
        ("pt", "pagamento pagamentos"),
        ("pt", "imagem imagens"),
        ("pt", "papel papéis papeis"),
        ("pt", "canal canais"),
        ("pt", "difícil dificil difíceis"),
        ("pt", "disponível disponiveis"),
        ("pt", "mês mes meses"),
        ("es", "canción cancion canciones"),
        ("es", "devolución devoluciones"),
        ("es", "mujer mujeres"),
        ("es", "ciudad ciudades"),
        ("es", "luz luces"),
        ("es", "tarjeta tarjetas"),
        ("es", "mes meses"),
        ("en", "paint paints painted painting"),
        ("en", "story stories"),
        ("en", "pay pays paid paying"),
        ("en", "buy bought"),
        ("en", "child children"),
    ],
    ids=lambda value: value.replace(" ", "-") if " " in value else value,
)
def test_forms_of_one_word_share_a_key(language: str, words: str) -> None:
    """Accents, plurals and inflections of a word lead to one key in its language."""
    keys = {key for word in words.split() for key in terms(word, language).frequencies}
    assert len(keys) == 1


@pytest.mark.parametrize(
    "language, one, other",
    [("pt", "pedido", "pedra"), ("pt", "cartão", "carta"), ("es", "canción", "cancha"), ("en", "painting", "pain")],
    ids=["pedido", "cartao", "cancion", "painting"],
)
def test_other_words_have_other_keys(language: str, one: str, other: str) -> None:
    """Words that only look alike stay apart."""
    assert terms(one, language).frequencies.keys().isdisjoint(terms(other, language).frequencies)


@pytest.mark.parametrize(
    "verb, noun, both",
    [("live living lived", "life", "lives"), ("leave leaving left", "leaf", "leaves")],
    ids=["lives", "leaves"],
)
@pytest.mark.parametrize("asked_in", LANGUAGES)
def test_a_form_of_verb_and_noun_is_found_by_both(verb: str, noun: str, both: str, asked_in: str) -> None:
    """Verb and noun find the form they share, and it finds both; a question for the verb does not find the noun."""
    for word in (*verb.split(), noun, both):
        assert finds(word, f"she {both} by the sea", language="en", asked_in=asked_in)
        assert finds(both, f"to {word} by the sea", language="en", asked_in=asked_in)
        assert all(len(keys) <= MAX_KEYS for keys in asked(word, asked_in))
    for word in verb.split():
        assert not finds(word, f"a {noun} by the sea", language="en", asked_in=asked_in)
    assert len(asked(f"{noun} {both}", asked_in)) == 1


@pytest.mark.parametrize(
    "text, expected",
    [
        ("?!", True),
        ("...", True),
        (" \u2014 \u00bf? \u201c\u201d \u2026", True),
        ("$ + =", True),
        ("\u202e", True),
        ("?! x", False),
        ("7", False),
        ("the", False),
        ("\u6728", False),
        ("?! 🎂", False),
        ("❤", False),
        ("▶", False),
        ("\u2194\ufe0f", False),
        ("#\ufe0f\u20e3", False),
    ],
    ids=[
        "marks", "dots", "quotes", "signs", "invisible", "letter", "digit", "function word", "han", "emoji", "heart",
        "picture", "arrow", "keycap",
    ],
)  # fmt: skip
def test_a_question_of_marks_has_no_word(text: str, *, expected: bool) -> None:
    """Marks ask for nothing; a letter, a digit or a picture does, one that is no token too."""
    assert is_wordless(text) is expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("asked_in", LANGUAGES)
def test_a_word_is_found_across_languages(language: str, asked_in: str) -> None:
    """The same word is found although question and record were taken for different languages."""
    assert finds("reembolso", "Pedido, reembolso, tarjeta", language=language, asked_in=asked_in)


def test_one_key_a_token() -> None:
    """Frequencies count tokens: two forms of a word are two occurrences of one key."""
    held = terms("order orders and the old box", "en")
    assert held.length == 4
    assert sorted(held.frequencies.values()) == [1, 1, 2]


def test_frequencies_are_capped_and_length_is_not() -> None:
    """A word counts three times at most; the length counts every occurrence that is not a function word."""
    assert terms("box box box box box of the box", "en") == Terms(
        frequencies={next(iter(terms("box", "en").frequencies)): MAX_FREQUENCY}, length=6
    )


@pytest.mark.parametrize(
    "language, text",
    [("en", "the of and isn't what"), ("es", "el de y qué según"), ("pt", "o de e não você há")],
    ids=["en", "es", "pt"],
)
def test_function_words_are_dropped_in_their_language(language: str, text: str) -> None:
    """Function words are no terms of their language, and all are kept where the language is not known."""
    assert terms(text, language) == Terms(frequencies={}, length=0)
    assert asked(text, language) == ()
    assert terms(text, "other").length == len(text.split())


def test_question_of_unknown_language() -> None:
    """Without a language every function word goes, unless the question is made of nothing else."""
    assert asked("where is the caixa", "other") == asked("caixa", "other")
    assert len(asked("to be or not to be", "other")) == 4


@pytest.mark.parametrize(
    "question, language",
    [
        ("where is the course", "en"),
        ("¿dónde está mi matrícula?", "es"),
        ("onde está a minha matrícula", "pt"),
        ("para mi tío", "es"),
        ("AKIAN-2231", "en"),
        ("where is mi matrícula", None),
        ("to be or not to be", None),
        ("?!", None),
    ],
)
def test_stop_words_tell_the_language(question: str, language: str | None) -> None:
    """A question needs no model where its stop words are of one language, or where there are none to drop."""
    assert stop_language(question) == language


@given(st.lists(st.sampled_from(sorted(ANY_STOP_WORD)) | st.text(max_size=6), max_size=12).map(" ".join))
def test_a_language_told_by_stop_words_changes_no_question(text: str) -> None:
    """Its words are those that are left where no language is known: whatever a detector doubts makes no difference."""
    language = stop_language(text)
    assert language is None or asked(text, language) == asked(text, "other")


def test_words_that_share_a_key_are_one() -> None:
    """Forms of one word count once in a question, and no key belongs to two words."""
    words = asked("orders order ordered informação informacoes box", "en")
    assert len(words) == 3
    assert sum(map(len, words)) == len(frozenset().union(*words))


def test_long_questions_keep_what_tells_most() -> None:
    """Of more words than can be told apart, those with a digit stay, then the longest, in the order of the question."""
    short = [f"{first}{second}" for first in "bcdfg" for second in "xzwkj"]
    words = asked(" ".join([*short, "AKIAN-2231", "photosynthesis"]), "other")
    assert len(words) == MAX_WORDS
    assert words[-4:] == asked("AKIAN-2231 photosynthesis", "other")
    assert words[:-4] == asked(" ".join(short), "other")[: MAX_WORDS - 4]


@pytest.mark.parametrize(
    "language, text, keys",
    [
        ("en", "The painted stories, AKIAN-2231", [36373953, 115414108, 125469719, 154975170, 264060916]),
        ("es", "Las devoluciones de canciones", [73535392, 126731927]),
        ("pt", "As informações dos cartões", [104226030, 200741966]),
        ("other", "東京 🎂 Ёлка", [10442900, 36061935, 131817919]),
    ],
    ids=["en", "es", "pt", "other"],
)
def test_keys_are_stable(language: str, text: str, keys: list[int]) -> None:
    """Keys are those that stored records have: whatever changes one, a stemmer too, asks for a new LEXER."""
    assert LEXER == "words-2.771b"
    assert sorted(terms(text, language).frequencies) == keys


def test_threads_agree() -> None:
    """Many threads get the keys that one gets."""
    texts = [f"informações {number} pagamentos devolvidos" for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda text: terms(text, "pt"), texts)) == [terms(text, "pt") for text in texts]


@given(st.text(st.characters(codec=None), max_size=200), st.sampled_from(LANGUAGES))
@settings(deadline=None)
def test_any_text_gives_terms(text: str, language: str) -> None:
    """Any Unicode text, broken or not, gives keys in range and honest counts, and a question of at most 15 words."""
    held = terms(text, language)
    assert all(0 <= key < 2**KEY_BITS for key in held.frequencies)
    assert all(1 <= times <= MAX_FREQUENCY for times in held.frequencies.values())
    assert held.length >= sum(held.frequencies.values())
    words = asked(text, language)
    assert len(words) <= MAX_WORDS
    assert all(words)
    assert sum(map(len, words)) == len(frozenset().union(*words))
    if words and len(words) < MAX_WORDS:
        assert all(keys & held.frequencies.keys() for keys in words) or language == "other"


@pytest.mark.parametrize(
    "unit",
    ["a\u0315\u0300", "\u0e38\u0e48", "\u0315\u0300", "a'", "a.", "木", "\ufdfa", "👩\u200d", "ñandú ", "9-", "\ud800"],
    ids=[
        "marks",
        "thai marks",
        "only marks",
        "quotes",
        "dots",
        "han",
        "expanding",
        "emoji",
        "words",
        "joined",
        "broken",
    ],
)
def test_long_texts_take_linear_time(unit: str) -> None:
    """Ten times the text takes about ten times as long, not a hundred times."""

    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        taken = []
        for _ in range(3):
            begun = process_time()
            terms(text, "pt")
            taken.append(process_time() - begun)
        return min(taken)

    assert seconds(30_000) < 40 * seconds(3_000) + 0.01
