"""A data directory that belongs to the demo alone, made afresh at each run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from olvido.adapters import embedded
from olvido.adapters.embedded import locks
from olvido.adapters.embedded.layout import Layout
from olvido.errors import DataDirectoryError

MARK = "made-by-olvido-demo"


def make_fresh(home: Path) -> Path:
    """An empty, marked directory at `home`, absolute. What a run before left there is removed, and nothing else is.

    Raises DataDirectoryError if the directory holds something else, is in use, or cannot be written, and if the ledger
    of another store lies beside it.
    """
    home = home.resolve()
    try:
        if home.exists() and any(home.iterdir()):
            _remove(home)
        elif ledger_beside(home).exists():
            raise DataDirectoryError(
                f"{ledger_beside(home)} is the erasure ledger of a store that is gone, and what it says was forgotten "
                "would not come back. Remove it if the demo made it, or choose another place with --data-dir."
            )
        # For root the server runs as another account, which has to pass through to its own directory.
        home.mkdir(mode=0o701 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        (home / MARK).write_text("`olvido demo` removes this directory and makes it again.\n", encoding="utf-8")
    except OSError as error:
        raise DataDirectoryError(
            f"The directory {home} cannot be used for the demo: {error.strerror or type(error).__name__}. "
            "Choose another one with --data-dir."
        ) from None
    return home


def _remove(home: Path) -> None:
    if not (home / MARK).is_file():
        raise DataDirectoryError(
            f"{home} was not made by the demo, so the demo does not touch it. Choose another one with --data-dir."
        )
    layout = Layout(home=home)
    if layout.handles.exists() and not locks.is_free(layout.handles):
        raise DataDirectoryError(f"Another program has {home} open. Let it end, or choose another one with --data-dir.")
    if (layout.pgdata / "postmaster.pid").exists():
        # A demo that was killed leaves its server running; the last one to close an open stops it.
        embedded.start(home).close()
    shutil.rmtree(home)
    shutil.rmtree(ledger_beside(home), ignore_errors=True)


def ledger_beside(home: Path) -> Path:
    """Where the erasure ledger of the demo lies, whatever the environment names for others."""
    return home.with_name(f"{home.name}-ledger")
