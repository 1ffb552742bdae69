"""Files of the data directory that belong to no relation any more, removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from olvido.adapters.files import sync_directory
from olvido.errors import DataDirectoryError

_FILE = re.compile(r"base/\d+/\d+(_[a-z]+)?(\.\d+)?", re.ASCII)
"""A relation's file, or a part or a fork of it. The embedded server has no tablespaces of its own."""


def remove(pgdata: Path, files: Sequence[str]) -> None:
    """Remove `files`, paths below `pgdata`, for good. Those that are not there any more are no error.

    Only files of which the server has nothing to write: after a checkpoint. Raises DataDirectoryError, before anything
    is removed for a path that is no relation's, else for the first that cannot be removed.
    """
    if not all(_FILE.fullmatch(file) for file in files):
        raise DataDirectoryError("Only files of relations are removed from the data directory.")
    try:
        for file in files:
            (pgdata / file).unlink(missing_ok=True)
        for place in {(pgdata / file).parent for file in files}:
            sync_directory(place)
    except OSError as error:
        raise DataDirectoryError(
            f"A file of the data directory cannot be removed: {error.strerror or type(error).__name__} "
            f"({error.filename}). Let the user who runs this program own the data directory."
        ) from error
