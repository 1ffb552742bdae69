"""What is written to a terminal: plain of colour in a pipe, and never able to control the terminal."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import TextIO, cast

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120
_HARMLESS = frozenset("\n\u200c\u200d")
"""Line feed, and the two joiners that emoji and some scripts are written with."""
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


_NUMBERS = frozenset(
    {"version", "planned", "removed", "deleted", "kept by a hold", "remaining", "rows", "reports", "score"}
)
"""Headings of columns that hold numbers."""


def plain(text: object) -> str:
    """`text` with every control, reordering and otherwise invisible character spelt out as an escape.

    Stored text is written by strangers: it must not move the cursor, set a title or hide what it says.
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if character not in _HARMLESS and unicodedata.category(character) in _ACTIVE
        else character
        for character in str(text)
    )


def cell(text: object, style: str = "") -> Text:
    """`text` for a table or a line: one line, neutralised, never read as markup."""
    return Text(plain(text).replace("\n", " "), style=style)


def command(text: str, style: str = "") -> Text:
    """A line with a command in it, which is pasted: neutralised, and neither folded nor cut off."""
    line = cell(text, style)
    line.no_wrap, line.overflow = True, "ignore"
    return line


class _Trimmed:
    """A pipe that gets no blanks at the ends of lines: tables pad their last column."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(re.sub(r" +(?=\n)", "", text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def console(file: TextIO | None = None) -> Console:
    """A console on `file`, by default standard output. A pipe gets no colour, and lines of a fixed width."""
    stream = file or sys.stdout
    terminal = stream.isatty()
    return Console(
        file=stream if terminal else cast("TextIO", _Trimmed(stream)),
        width=None if terminal else PIPE_WIDTH,
        no_color=None if terminal else True,
        force_terminal=None if terminal else False,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
    )


def under(shown: RenderableType, columns: int = 2) -> RenderableType:
    """What belongs to the line above it, that many columns further in."""
    return Padding(shown, (0, 0, 0, columns), expand=False)


def grid(*columns: str) -> Table:
    """A light table with these headings; long cells fold, nothing is cut off."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        number = name in _NUMBERS
        table.add_column(name, overflow="fold", justify="right" if number else "left", no_wrap=number)
    return table
