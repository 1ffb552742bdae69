"""Where the ledgers of these tests are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """Where a ledger is to be; nothing is there yet."""
    with tempfile.TemporaryDirectory(prefix="olvido-ledger-") as directory:
        yield Path(directory).resolve() / "ledger"


@pytest.fixture
def file(place: Path) -> Path:
    """The file of its entries."""
    return place / "entries.jsonl"
