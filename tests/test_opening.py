"""Opening: what cannot be meant is refused before anything is made."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import olvido.sync
from olvido.adapters.embedded.handle import EmbeddedServer
from olvido.bootstrap import Settings
from olvido.errors import DataDirectoryError, InvalidInput
from tests.places import put_home, server_directory


@pytest.mark.parametrize("url", ["postgrsql://bob:canary@localhost/x", "mysql://bob:canary@localhost/x", "://canary"])
def test_a_url_of_something_else_makes_no_directory(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt scheme is an error that does not repeat the URL, not a new and empty data directory."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="postgresql://") as refused:
        olvido.sync.open(url)
    assert "canary" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_url_needs_a_database_url(tmp_path: Path) -> None:
    """The embedded database has its own worker, so another one is not silently ignored."""
    with pytest.raises(InvalidInput, match="worker_url"):
        olvido.sync.open(tmp_path / "home", worker_url="postgresql://w@localhost/x")


def test_what_was_given_is_not_shown() -> None:
    """The settings hold URLs with passwords and do not print them."""
    settings = Settings(
        target="postgresql://a:canary@h/d",
        worker_url="postgresql://b:canary@h/d",
        eraser_url="postgresql://c:canary@h/d",
        policy=None,
        embedder=None,
        detector=None,
        clock=None,
        pool_size=1,
        timeout=1.0,
        keys=None,
        ledger=None,
    )
    assert "canary" not in repr(settings)


@pytest.mark.parametrize("seconds", [0.02, 0.1])
async def test_opening_that_is_given_up_leaves_no_server(seconds: float) -> None:
    """Nothing can stop a server that is starting: it is closed once it has started, and the next opening is a first."""
    with server_directory() as place:
        home = place / "home"
        put_home(home)
        pid_file = home / "pg" / "postmaster.pid"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(olvido.open(home).opened(), seconds)
        assert not pid_file.exists()
        async with olvido.open(home):
            assert pid_file.exists()
        assert not pid_file.exists()


async def test_a_server_that_cannot_be_stopped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong when the embedded server is left is raised by closing, not swallowed."""
    whole = EmbeddedServer.close

    def fails(self: EmbeddedServer) -> None:
        whole(self)
        raise DataDirectoryError("The server could not be stopped.")

    monkeypatch.setattr(EmbeddedServer, "close", fails)
    with server_directory() as place:
        put_home(place / "home")
        memory = await olvido.open(place / "home").opened()
        with pytest.raises(DataDirectoryError, match="could not be stopped"):
            await memory.close()
