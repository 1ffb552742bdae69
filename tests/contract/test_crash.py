"""A program killed at any moment: its directory opens again, with all that was acknowledged and nothing in part."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import olvido
from olvido import ScopedMemory
from olvido.adapters import embedded
from tests.adapters.embedded.support import kill_server
from tests.contract import crash_client
from tests.contract.crash_client import TENANT, fill, person
from tests.contract.support import Outside, PlainDetector, PlainEmbedder
from tests.places import server_directory
from tests.warm import program

ROUNDS = 4


@pytest.fixture
def home() -> Iterator[Path]:
    """A home directory with a short path, which does not exist yet."""
    with server_directory() as place:
        yield place / "home"


def run_and_kill(home: Path, name: str, lines: int, *, server: bool) -> list[list[Any]]:
    """Let the program write until it has said `lines` lines, kill it, and its server if asked; all that it said."""
    with program(crash_client.main, str(home), name) as client:
        said = [client.output.readline() for _ in range(lines)]
        if server:
            kill_server(home)
        client.kill()
        rest = client.output.readlines()
    # A line that was cut short was not said.
    return [json.loads(line) for line in (*said, *rest) if line.endswith("\n")]


async def test_a_killed_program_leaves_nothing_in_part(home: Path) -> None:
    """Each acknowledged write is there, each forget is whole or not begun, and derived rows fit their sources.

    In every other round the database server is killed with the program.
    """
    chance = random.Random(8)
    said: list[list[Any]] = []
    whole: Counter[str] = Counter()
    for number in range(ROUNDS):
        said += run_and_kill(home, f"r{number}", chance.randrange(20, 120), server=number % 2 == 1)
        with embedded.start(home) as server, Outside(server.urls.superuser) as outside:
            assert outside.problems() == {}
            stored = {subject: each.rows for (_, subject), each in outside.census().items()}
            async with olvido.open(home, embedder=PlainEmbedder(), detector=PlainDetector()) as memory:
                await check_acknowledged(person(memory), said)
                if number == 0:
                    await fill(person(memory, "whole"))
                    whole = outside.census()[TENANT, "whole"].rows
        assert not {line[1] for line in said if line[0] == "forgotten"} & set(stored)
        begun = {line[1] for line in said if line[0] == "forgetting"}
        assert all(rows == whole for subject, rows in stored.items() if subject in begun)
    assert {line[0] for line in said} == {"note", "version", "message", "forgetting", "forgotten"}


async def check_acknowledged(ana: ScopedMemory, said: list[list[Any]]) -> None:
    """Assert that everything which the program said is stored, and that versions and messages have no gaps."""
    notes, cursor = set(), None
    while True:
        page = await ana.episodes(definition="note", limit=200, cursor=cursor)
        notes |= {episode.event_id for episode in page.items}
        cursor = page.next_cursor
        if cursor is None:
            break
    assert {line[1] for line in said if line[0] == "note"} <= notes
    history = {version.version: version.value for version in await ana.history("display_name")}
    assert {line[1]: line[2] for line in said if line[0] == "version"}.items() <= history.items()
    assert sorted(history) == list(range(1, len(history) + 1))
    messages = {message.sequence: message.content for message in await ana.session("s").messages()}
    assert {line[1]: line[2] for line in said if line[0] == "message"}.items() <= messages.items()
