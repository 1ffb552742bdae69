"""Markers that nothing else has, and a search for their bytes in every file of a place.

Text may stand compressed, by pglz: the server that is tested has nothing else. It writes what it cannot shorten as it
is, but puts a byte of control before every eight. So a marker is looked for by each piece of eight bytes of it: however
a text was compressed, and wherever a page ends in the middle of it, one of these stands there as it is. That this finds
markers in compressed values is shown by finding them before they are erased.
Vectors and the numbers of words are never compressed here; they are looked for in pieces too, as pages end in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

import numpy as np
import psycopg

PIECE = 8
NUMBERS = 16
"""Bytes of a vector that are looked for at once."""
FILLER = "0123 "
"""What surrounds a marker in a long text: it has no three letters in common with one, so that none is shortened."""

_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aeiou"


def marker(name: str) -> str:
    """A word of 24 letters that nothing else has, the same for the same name."""
    chance = Random(name)
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(12))


def long_text(word: str, length: int) -> str:
    """A text of so many characters that compresses well, with the word in the middle of it."""
    half = FILLER * (length // (2 * len(FILLER)))
    return f"{half[: (length - len(word)) // 2]} {word} {half}"[:length]


def pieces(word: str) -> set[bytes]:
    """What is looked for of a marker."""
    text = word.encode()
    return {text[start : start + PIECE] for start in range(len(text) - PIECE + 1)}


def derived(superuser: str, tenant: str, subject: str) -> set[bytes]:
    """What is looked for of the vectors and the numbers of words of one person, as the server keeps them."""
    found: set[bytes] = set()
    with psycopg.connect(superuser) as connection:
        stored = connection.execute(
            """SELECT halfvec_send(i.embedding), sparsevec_send(i.words)
                 FROM olvido.index_entries i JOIN olvido.subjects s USING (tenant_id, subject_key)
                WHERE s.tenant_id = %s AND s.external_id = %s""",
            [tenant, subject],
        ).fetchall()
    for vector, words in stored:
        # Sent with the high byte first, kept with the low byte first. Headers: two numbers of two, three of four bytes.
        numbers = _swapped(vector[4:], 2)
        found |= {
            numbers[start : start + NUMBERS]
            for start in range(0, len(numbers) - NUMBERS, NUMBERS)
            if len(set(numbers[start : start + NUMBERS])) > NUMBERS // 2
        }
        count = int.from_bytes(words[4:8], "big")
        keys = _swapped(words[12 : 12 + 4 * count], 4)
        found |= {keys[at : at + 12] for at in range(0, len(keys) - 11, 4)}
    return found


def own(first: set[bytes], *others: set[bytes]) -> set[bytes]:
    """What only the first has: people whose texts share words share numbers."""
    return first.difference(*others)


def _swapped(sent: bytes, size: int) -> bytes:
    return b"".join(sent[at : at + size][::-1] for at in range(0, len(sent), size))


def hits(place: Path, **needles: Iterable[bytes]) -> dict[str, Counter[str]]:
    """By the name of each group of needles, how many files of each kind hold one of it. Every file below is read."""
    found: dict[str, Counter[str]] = {name: Counter() for name in needles}
    search = _Search(needles)
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_file() and not path.is_symlink():
            for name in search.groups(path.read_bytes()):
                found[name][kind_of(path)] += 1
    return found


class _Search:
    """A search for many needles at once, none shorter than PIECE: pairs of bytes rule nearly all places out."""

    def __init__(self, groups: Mapping[str, Iterable[bytes]]) -> None:
        self._known: dict[bytes, list[tuple[str, bytes]]] = {}
        for name, needles in groups.items():
            for needle in needles:
                self._known.setdefault(needle[:PIECE], []).append((name, needle))
        self._tables = []
        for at in range(0, PIECE, 2):
            table = np.zeros(1 << 16, dtype=bool)
            table[[beginning[at] << 8 | beginning[at + 1] for beginning in self._known]] = True
            self._tables.append(table)
        self._longest = max((len(needle) for known in self._known.values() for _, needle in known), default=0)

    def groups(self, content: bytes) -> set[str]:
        """The groups of which a needle is in `content`."""
        # Most of a file of the log is the zeros that it was made of, and no needle is zeros alone.
        content = content[: len(content) - _zeros_at_the_end(content) + self._longest]
        if len(content) < PIECE:
            return set()
        data = np.frombuffer(content, dtype=np.uint8)
        pairs = data[:-1].astype(np.uint16) << 8 | data[1:]
        places = np.flatnonzero(self._tables[0][pairs[: len(pairs) - PIECE + 2]])
        for number, table in enumerate(self._tables[1:], start=1):
            places = places[table[pairs[places + 2 * number]]]
        return {
            name
            for start in map(int, places)
            for name, needle in self._known.get(content[start : start + PIECE], ())
            if content.startswith(needle, start)
        }


def _zeros_at_the_end(content: bytes) -> int:
    """How many bytes at the end are zero, as far as they come by eight."""
    if len(content) % 8:
        return 0
    other = np.frombuffer(content, dtype=np.uint64)[::-1] != 0
    return 8 * int(other.argmax() if other.any() else len(other))


def kind_of(path: Path) -> str:
    """What a file is for: heap and indexes alike are "relation"."""
    parts = path.parts
    for name in ("pg_wal", "pg_stat", "pgsql_tmp", "log", "secrets"):
        if name in parts:
            return name
    return "relation" if "base" in parts or "global" in parts else path.name


def relations_with(superuser: str, place: Path, needles: set[bytes]) -> set[str]:
    """The names of the relations of the schema, indexes and leaves included, whose files hold one of the needles."""
    found = set()
    search = _Search({"any": needles})
    with psycopg.connect(superuser) as connection:
        files = connection.execute(
            """SELECT c.relname::text, pg_relation_filepath(c.oid),
                      CASE WHEN c.reltoastrelid <> 0 THEN pg_relation_filepath(c.reltoastrelid) END
                 FROM pg_class c WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'i')"""
        ).fetchall()
    for name, *paths in files:
        for path in filter(None, paths):
            content = (place / "home" / "pg" / path).read_bytes()
            if search.groups(content):
                found.add(name)
    return found
