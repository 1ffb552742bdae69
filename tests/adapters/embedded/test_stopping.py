"""A server that recovers from the crash of one of its processes: it is waited for by whoever opens, and it stops."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from olvido.adapters.embedded import postmaster, start
from tests.adapters.embedded.support import query, server_pid


def test_a_server_that_is_recovering_from_a_crash_of_its_own_stops(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing while it restarts after one of its processes was killed ends it, and nothing committed is lost."""
    monkeypatch.setattr(postmaster, "_STOP_SECONDS", 0.5)
    with start(home) as server:
        query(server.urls.superuser, "CREATE TABLE kept_through AS SELECT 1 AS x")
    for attempt in range(3):
        server = start(home)
        pid = server_pid(home)
        assert pid is not None
        psutil.Process(pid).children()[attempt].kill()
        began = time.monotonic()
        server.close()
        assert server_pid(home) is None
        assert time.monotonic() - began < 10
        with start(home) as again:
            assert query(again.urls.superuser, "SELECT x FROM kept_through") == [(1,)]


def test_a_server_that_is_recovering_is_waited_for(home: Path) -> None:
    """Opening while it restarts after one of its processes was killed returns when it takes connections again."""
    with start(home) as server:
        for _ in range(3):
            pid = server_pid(home)
            assert pid is not None
            psutil.Process(pid).children()[0].kill()
            with start(home) as joined:
                assert query(joined.urls.app, "SELECT 1") == [(1,)]
            assert server_pid(home) == pid
        assert query(server.urls.app, "SELECT 1") == [(1,)]
