"""Servers of their own for tests that read files, or that change what the whole server does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import olvido
from olvido import Memory
from olvido.adapters import embedded
from olvido.adapters.languages import Languages
from olvido.bootstrap import Opening
from olvido.storage.rewriting import EraserTurn, NotRewritten, Rewritten
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PlainDetector
from tests.erasure.audited import World
from tests.erasure.place import Place
from tests.operations.word_embedder import WordEmbedder
from tests.places import put_home, server_directory


@contextmanager
def new_place(settings: str = "") -> Iterator[Place]:
    """A place with a running, migrated server. settings: of the server, which those of Olvido do not override."""
    with server_directory() as directory:
        home = directory / "home"
        put_home(home)
        if settings:
            with (home / "pg" / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
                file.write(f"{settings}\n")
        with embedded.start(home) as server:
            yield Place(directory=directory, urls=server.urls)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A place of the tests of one module. They use people of their own."""
    with new_place() as made:
        yield made


@pytest.fixture
def world(clone: Clone, clock: ManualClock, detector: Languages, tmp_path: Path) -> World:
    """The database of a test, with a place for its keys."""
    return World(clone, clock, detector, tmp_path / "keys")


@pytest.fixture
def opening_eraser(clone: Clone, clock: ManualClock) -> Callable[..., Opening]:
    """Opens the database of this test, with the login of the eraser or another one."""

    def open_with(eraser_url: str | None = clone.eraser) -> Opening:
        return olvido.open(
            clone.app,
            worker_url=clone.worker,
            eraser_url=eraser_url,
            clock=clock,
            embedder=WordEmbedder(),
            detector=PlainDetector(),
        )

    return open_with


@pytest.fixture
async def erasing(opening_eraser: Callable[..., Opening]) -> AsyncIterator[Memory]:
    """An open memory that can do all of it."""
    async with opening_eraser() as memory:
        yield memory


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The relations that are written anew from here on, in order."""
    seen: list[str] = []
    real = EraserTurn.rewrite

    async def watched(turn: EraserTurn, relation: str) -> Rewritten | NotRewritten:
        seen.append(relation)
        return await real(turn, relation)

    monkeypatch.setattr(EraserTurn, "rewrite", watched)
    return seen
