"""What a ledger added up to at some line, kept beside it so that opening does not read all of it again.

It may be missing, old, torn or of another ledger: it is used only if the line that it ends with is still there, after
the same checksum, which is over all lines before. `olvido restore check` reads every line all the same.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

from olvido.adapters.files import give
from olvido.adapters.ledger.lines import checked
from olvido.adapters.ledger.place import Place
from olvido.adapters.ledger.tally import Tally

EVERY_BYTES: Final = 256 * 1024
"""How much of a ledger is read again at most, about 2,000 events."""


def load(place: Place, file: BinaryIO) -> Tally | None:
    """The tally that was kept, if it is of this file."""
    try:
        sum_, _, text = _path(place).read_bytes().partition(b"\n")
        if int(sum_, 16) != crc32(text):
            return None
        tally = Tally.of_kept(json.loads(text))
    except (OSError, LookupError, TypeError, ValueError):
        return None
    start, before = tally.last_line
    file.seek(start)
    return tally if checked(file.read(tally.offset - start), before) == tally.checksum else None


def keep(place: Place, tally: Tally) -> None:
    """Keep a tally. If that cannot be, whoever opens next reads more."""
    text = json.dumps(tally.kept(), separators=(",", ":")).encode()
    path = _path(place)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"%08x\n" % crc32(text) + text)
        try:
            give(temporary, place.directory)
            temporary.replace(path)
        except OSError:
            temporary.unlink()


def _path(place: Place) -> Path:
    return place.directory / "checkpoint"
