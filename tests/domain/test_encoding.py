"""Files are UTF-8, with or without a mark; what is not is named by what it is."""

from __future__ import annotations

import pytest

from olvido.domain.encoding import utf8
from olvido.errors import InvalidInput

TEXT = '{"text": "não"}\n{"text": "é"}\n'


@pytest.mark.parametrize("content", [TEXT.encode(), TEXT.encode("utf-8-sig")], ids=["plain", "marked"])
def test_a_mark_is_no_content(content: bytes) -> None:
    """What editors on Windows put before UTF-8 is left out."""
    assert utf8(content, "f") == TEXT.encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_other_encodings_of_unicode_are_named(encoding: str) -> None:
    """UTF-16 and UTF-32, marked or not, are refused with what to do."""
    with pytest.raises(InvalidInput, match=r"f is UTF-16 or UTF-32, and only UTF-8 is read\. Save it as UTF-8"):
        utf8(TEXT.encode(encoding), "f")


def test_the_line_that_is_not_utf8_is_named() -> None:
    """A file of an older encoding is refused by the first line that shows it, without its content."""
    with pytest.raises(InvalidInput) as refused:
        utf8(b'{"a": 1}\n' + TEXT.encode("latin-1"), "f")
    assert str(refused.value).startswith("f:2: is not UTF-8")


def test_nothing_is_utf8_as_well() -> None:
    """An empty file is left to whoever reads it."""
    assert utf8(b"", "f") == b""
