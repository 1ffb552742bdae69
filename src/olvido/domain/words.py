"""The words of a text as search compares them: folded, without function words, by their stem, as numbers.

A record is stored under ONE key for each of its words, made from the word's stem in the record's language. A question
looks for each of its words under every key that a record of any language could hold it by. Keys are 28-bit hashes, so
that a record's words are one sparse vector and no word is stored.

Accents go first and on both sides, so that "informacoes" is "informações". Before stemming, `endings` gives back what
the stemmers need of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from unicodedata import category
from zlib import crc32

from Stemmer import Stemmer

from olvido.domain.characters import EMOJI, REGIONAL, UNSPACED, WORD, fold
from olvido.domain.endings import restored
from olvido.domain.english_forms import NOUN_FORMS
from olvido.domain.stop_words import ANY_STOP_WORD, STOP_WORDS

KEY_BITS = 28
MAX_WORDS = 15
"""Question words that one statement tells apart: three products of up to six hexadecimal digits (`domain.ranking`)."""

MAX_FREQUENCY = 3
"""A word counts at most this often in a record, which changes no ranking measured."""

MAX_KEYS = 5
"""Keys of one question word. A record with all of them, each MAX_FREQUENCY times, still fits one hexadecimal digit."""

_KEY_MASK = (1 << KEY_BITS) - 1
_STEMMERS = {"en": "english", "es": "spanish", "pt": "portuguese"}

_TOKEN = re.compile(
    f"{WORD}+(?:['._@+-]{WORD}+)*|{UNSPACED}+|{REGIONAL}{{1,2}}|{EMOJI}(?:\u200d{EMOJI})*",
)
_ASCII_TOKEN = re.compile("[0-9a-z]+(?:['._@+-][0-9a-z]+)*")
"""The same for folded text that is ASCII, as nearly all Latin text is: several times faster."""

_JOINT = re.compile(r"[._@+-]")
_UNSPACED_RUN = re.compile(UNSPACED)
_ADDRESS = re.compile(r"[\d@]")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_CLITIC = frozenset({"s", "d", "m", "re", "ve", "ll"})
_PICTURES = frozenset({"So", "Mn", "Me"})
"""Symbols, and what makes a picture of a character: of those that are no tokens, the embedder may know some."""

_LONGEST_STEMMED = 40
"""Longer runs of letters are no words; stemming them would only cost time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The words of one text.

    frequencies: key in [0, 2**28) to times in the text, 1 to 3.
    length: all occurrences, however often a word comes.
    """

    frequencies: Mapping[int, int]
    length: int


def tokens(text: str) -> list[str]:
    """The tokens of `text` in order, folded. Any text gives a result, in linear time.

    A joined token with a digit or an @ ("akian-2231", "a.b@x.example") is a token and so are its parts. Scripts written
    without spaces give overlapping pairs of characters. An emoji is a token, whatever its skin tone.
    """
    found: list[str] = []
    folded = fold(text)
    if folded.isascii():
        for token in _ASCII_TOKEN.findall(folded):
            if token.isalnum():  # nearly all are
                found.append(token)
            else:
                found += _parts(token)
    else:
        for token in _TOKEN.findall(folded):
            found += [token] if token.isascii() and token.isalnum() else _split(token)
    return found


class Keys:
    """The keys of words, each made once while this is kept: for texts read together, by one thread at a time."""

    def __init__(self) -> None:
        self._made: dict[str, _Made] = {}

    def of(self, words: list[str], language: str) -> list[int]:
        """The key of each word in `language`."""
        made = self._made.get(language)
        if made is None:
            made = self._made[language] = _Made(language)
        return [made[word] for word in words]


class _Made(dict[str, int]):
    """Word -> its key in one language."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language
        algorithm = _STEMMERS.get(language)
        # A stemmer is not safe to share between threads.
        self._stem = None if algorithm is None else Stemmer(algorithm, 0).stemWord

    def __missing__(self, word: str) -> int:
        stem = word
        if self._stem is not None and word.isalpha() and len(word) <= _LONGEST_STEMMED:
            stem = self._stem(restored(word, self._language))
        key = self[word] = crc32(stem.encode()) & _KEY_MASK
        return key


def is_wordless(text: str) -> bool:
    """Whether `text` has no token and no picture: it asks for nothing that a record could say ("?!", "...")."""
    return not tokens(text) and not any(category(character) in _PICTURES for character in text)


def terms(text: str, language: str, keys: Keys | None = None) -> Terms:
    """The terms a record in `language` ("en", "es", "pt", "other") is found by. keys: shared with other texts."""
    stop_words = STOP_WORDS[language]
    words = [token for token in tokens(text) if token not in stop_words]
    frequencies: dict[int, int] = {}
    for key in (keys or Keys()).of(words, language):
        times = frequencies.get(key, 0)
        if times < MAX_FREQUENCY:
            frequencies[key] = times + 1
    return Terms(frequencies=frequencies, length=len(words))


def stop_language(text: str) -> str | None:
    """A language whose stop words are all those in a question, which is all that `asked` needs a language for.

    None if they are of several languages, or if there is nothing beside them: then its language has to be detected.
    """
    distinct = frozenset(tokens(text))
    stops = distinct & ANY_STOP_WORD
    if stops == distinct:
        return None
    return next((language for language in _STEMMERS if stops <= STOP_WORDS[language]), None)


def asked(text: str, language: str) -> tuple[frozenset[int], ...]:
    """The words of a question, each as the keys that records of any language hold it by; at most 15, in order.

    No two words share a key, and none has more than five. Of more words, those with a digit stay, then the longest.
    """
    distinct = list(dict.fromkeys(tokens(text)))
    words = [token for token in distinct if token not in (STOP_WORDS[language] or ANY_STOP_WORD)]
    if not words and language not in _STEMMERS:
        words = distinct
    keys = Keys()
    columns = [
        *(keys.of(words, each) for each in STOP_WORDS),
        keys.of([NOUN_FORMS.get(one, one) for one in words], "en"),
    ]
    apart = [frozenset(known_by) for known_by in zip(*columns, strict=True)]
    if len(apart) <= MAX_WORDS and len(frozenset().union(*apart)) == sum(map(len, apart)):
        return tuple(apart)  # nothing to join or to leave out, which is cheap to see
    groups: list[dict[int, None]] = []
    weights: list[tuple[bool, int]] = []
    place: dict[int, int] = {}
    for word, *known_by in zip(words, *columns, strict=True):
        weight = (_ADDRESS.search(word) is not None, len(word))
        met = sorted({place[key] for key in known_by if key in place})
        if met:
            first = met[0]
            weights[first] = max(weights[first], weight)
        else:
            first = len(groups)
            groups.append({})
            weights.append(weight)
        for later in met[1:]:
            groups[first] |= groups[later]
            weights[first] = max(weights[first], weights[later])
            groups[later] = {}
        groups[first] |= dict.fromkeys(known_by)
        place.update(dict.fromkeys(groups[first], first))
    kept = sorted((at for at, group in enumerate(groups) if group), key=weights.__getitem__, reverse=True)
    return tuple(frozenset(islice(groups[at], MAX_KEYS)) for at in sorted(kept[:MAX_WORDS]))


def _split(token: str) -> list[str]:
    """What one match of _TOKEN gives that is not plainly a word."""
    if _UNSPACED_RUN.match(token):
        return [token[at : at + 2] for at in range(max(1, len(token) - 1))]
    return _parts(token)


def _parts(token: str) -> list[str]:
    """The same of a match in a script with spaces."""
    if _INITIALS.fullmatch(token):
        return [token.replace(".", "")]
    parts = _JOINT.split(token)
    found = [token] if len(parts) > 1 and _ADDRESS.search(token) else []
    for part in parts:
        found += _without_clitic(part) if "'" in part else [part]
    return found


def _without_clitic(word: str) -> list[str]:
    """What the apostrophes leave: caroline's is caroline, don't is dont, l'eau is l and eau."""
    *heads, tail = word.split("'")
    if heads and tail == "t":
        heads[-1] += tail
    elif not heads or tail not in _CLITIC:
        heads.append(tail)
    return heads


def _fingerprint() -> int:
    """What this stemmer makes of some words: another release of it may make something else of them."""
    probes = ["running", "better", "studies", "informacoes", "estudantes", "matriculas", "canciones", "estudiantes"]
    keys = Keys()
    return crc32(repr([keys.of(probes, language) for language in _STEMMERS]).encode()) & 0xFFFF


LEXER = f"words-2.{_fingerprint():04x}"
"""Names what `terms` does. Records are lexed again when it changes."""
