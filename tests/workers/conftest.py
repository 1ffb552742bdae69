"""Memories with a small embedder on the database of a test, as many as a test has workers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import olvido
from olvido.adapters.languages import Languages
from olvido.bootstrap import Opening
from olvido.ports import Embedder
from olvido.testing import ManualClock
from tests.conftest import Clone

Open = Callable[..., Opening]


@pytest.fixture
def opening(clone: Clone, detector: Languages) -> Open:
    """Opens the database of this test with an embedder, and a clock if one is given."""

    def open_with(embedder: Embedder, clock: ManualClock | None = None) -> Opening:
        return olvido.open(clone.app, worker_url=clone.worker, embedder=embedder, detector=detector, clock=clock)

    return open_with
