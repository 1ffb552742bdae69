"""Runs the command line in this process, against the throw-away database of the test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from olvido.surfaces.cli.main import main
from tests.conftest import Clone

SCOPE = ("--tenant", "acme", "--subject", "ana")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one command answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON is of any shape
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture(autouse=True)
def _no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests names no endpoint."""
    for name in [name for name in os.environ if name.startswith("OLVIDO_EMBEDDER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def olvido_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command as it is, with no store named by the environment."""
    for name in ("OLVIDO_DATABASE_URL", "OLVIDO_WORKER_URL", "OLVIDO_ERASER_URL", "OLVIDO_HOME"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Answer:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return Answer(code=code, out=out, err=err)

    return run


@pytest.fixture
def cli(olvido_command: Run, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the database of this test."""
    monkeypatch.setenv("OLVIDO_DATABASE_URL", clone.app)
    monkeypatch.setenv("OLVIDO_WORKER_URL", clone.worker)
    return olvido_command


def is_empty(clone: Clone) -> bool:
    """Whether nothing of anybody is stored: looked at from outside, which costs less than a command."""
    with psycopg.connect(clone.superuser) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM olvido.subjects) + (SELECT count(*) FROM olvido.episodes)"
        )
        return found.fetchall() == [(0,)]
