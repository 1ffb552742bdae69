"""The bytes of a file that somebody gives us: UTF-8, with or without a byte order mark."""

from __future__ import annotations

import codecs

from olvido.errors import InvalidInput

MARK = codecs.BOM_UTF8


def utf8(content: bytes, name: str) -> bytes:
    """`content` without a byte order mark at its start, if it is UTF-8.

    name: of the file, for messages. Raises InvalidInput naming the line that is not UTF-8, never its content.
    """
    # No JSON and no YAML begins with a NUL, or with one letter and a NUL; every other encoding of Unicode does.
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\x00" in content[:4]:
        raise InvalidInput(f"{name} is UTF-16 or UTF-32, and only UTF-8 is read. Save it as UTF-8.")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{name}:{line}: is not UTF-8, which all of a file has to be. Save it as UTF-8.") from None
    return content.removeprefix(MARK)
