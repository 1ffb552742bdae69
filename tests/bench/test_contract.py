"""The check of the contract passes on Olvido, and fails on a memory whose reads or forgets are broken."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest

import olvido
from bench import contract
from bench.customers import DAY
from bench.tally import Measure, Tally, Wanted
from olvido import Memory, ScopedMemory, SessionMemory
from olvido.adapters.languages import Languages
from olvido.operations.forget import forget_record
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PlainEmbedder

T = TypeVar("T")
Right = Callable[..., Awaitable[T]]
"""A method as Olvido has it."""

CUSTOMERS = 6
FEW = 2
"""Of one name at two companies: enough to notice each promise that is broken below, none of which is about twins."""


@pytest.fixture
async def plain(clone: Clone, clock: ManualClock, detector: Languages) -> AsyncIterator[Memory]:
    """A memory in which every text is as near as any other, so that whatever is eligible is found."""
    opening = olvido.open(clone.app, worker_url=clone.worker, clock=clock, embedder=PlainEmbedder(), detector=detector)
    async with opening as memory:
        yield memory


async def small(memory: Memory, clock: ManualClock, *, customers: int = FEW, days: int = 1) -> Tally:
    """The check over one name at two companies, or more of them."""
    return await contract.check(memory, clock, customers=customers, days=days)


def failed(tally: Tally) -> set[str]:
    """The measures that did not pass."""
    return {name for name, measure in tally.measures.items() if not measure.passed}


async def test_olvido_keeps_the_contract(plain: Memory, clock: ManualClock) -> None:
    """Every measure asks something and comes out as it must, over two days of six customers."""
    tally = await small(plain, clock, customers=CUSTOMERS, days=2)
    assert failed(tally) == set()
    assert tally.passed
    assert json.loads(json.dumps(tally.document()))["homonym_value"]["asked"] > 0


def _first_value(patch: pytest.MonkeyPatch) -> None:
    """The value before every correction."""
    right: Right[olvido.Preference | None] = ScopedMemory.get_preference

    async def wrong(self: ScopedMemory, key: str) -> olvido.Preference | None:
        found = await right(self, key)
        return found and replace(found, value=(await self.history(key))[0].value)

    patch.setattr(ScopedMemory, "get_preference", wrong)


def _cached_pages(patch: pytest.MonkeyPatch) -> None:
    """The episodes as they were when somebody first asked."""
    right: Right[olvido.Page[olvido.Episode]] = ScopedMemory.episodes
    kept: dict[olvido.Scope, olvido.Page[olvido.Episode]] = {}

    async def wrong(self: ScopedMemory, **how: object) -> olvido.Page[olvido.Episode]:
        if self.scope not in kept:
            kept[self.scope] = await right(self, **how)
        return kept[self.scope]

    patch.setattr(ScopedMemory, "episodes", wrong)


def _company_ignored(patch: pytest.MonkeyPatch) -> None:
    """The preferences of somebody of the same name."""
    right: Right[tuple[olvido.Preference, ...]] = ScopedMemory.preferences
    seen: dict[str, ScopedMemory] = {}

    async def wrong(self: ScopedMemory) -> tuple[olvido.Preference, ...]:
        return await right(seen.setdefault(self.scope.subject, self))

    patch.setattr(ScopedMemory, "preferences", wrong)


def _no_consult(patch: pytest.MonkeyPatch) -> None:
    """An answer for the present from memory."""
    right: Right[olvido.Recall] = ScopedMemory.recall

    async def wrong(self: ScopedMemory, query: str, **how: object) -> olvido.Recall:
        return replace(await right(self, query, **how), consult=())

    patch.setattr(ScopedMemory, "recall", wrong)


def _state_folded(patch: pytest.MonkeyPatch) -> None:
    """A compaction that folds the constraints of the state as well."""
    right: Right[olvido.Compaction] = SessionMemory.compact

    async def wrong(self: SessionMemory, keep_last: int, **how: object) -> olvido.Compaction:
        await self.set(constraints=[])
        return await right(self, keep_last, **how)

    patch.setattr(SessionMemory, "compact", wrong)


def _facts_replaced(patch: pytest.MonkeyPatch) -> None:
    """A compaction whose facts take the place of those before."""
    right: Right[olvido.Compaction] = SessionMemory.compact

    async def wrong(self: SessionMemory, keep_last: int, **how: object) -> olvido.Compaction:
        before = (await self.read()).facts
        done = await right(self, keep_last, **how)
        for fact in before:
            await forget_record(self._environment, self._caller, fact.record_id)
        return done

    patch.setattr(SessionMemory, "compact", wrong)


def _folded_to_a_headline(patch: pytest.MonkeyPatch) -> None:
    """A compaction that keeps what the talk was about, and no constraint that was stated in it."""
    right: Right[olvido.Compaction] = SessionMemory.compact

    async def headline(messages: Sequence[olvido.Message]) -> list[tuple[str, list[int]]]:
        return [("a talk about an address", [message.sequence for message in messages])]

    async def wrong(self: SessionMemory, keep_last: int, **_: object) -> olvido.Compaction:
        return await right(self, keep_last, summarise=headline)

    patch.setattr(SessionMemory, "compact", wrong)


def _originals_gone(patch: pytest.MonkeyPatch) -> None:
    """A session whose folded messages cannot be read any more."""
    right: Right[tuple[olvido.Message, ...]] = SessionMemory.messages

    async def wrong(self: SessionMemory, **how: object) -> tuple[olvido.Message, ...]:
        folded = (await self.read()).folded
        return tuple(message for message in await right(self, **how) if message.sequence >= folded)

    patch.setattr(SessionMemory, "messages", wrong)


def _facts_left_out_of_context(patch: pytest.MonkeyPatch) -> None:
    """A prompt with the state of the session and without its facts."""
    right: Right[olvido.ContextBlock] = ScopedMemory.context

    async def wrong(self: ScopedMemory, query: str, **how: object) -> olvido.ContextBlock:
        found = await right(self, query, **how)
        before, _, after = found.text.partition("# this session")
        return replace(found, text=before + after.partition("#")[2])

    patch.setattr(ScopedMemory, "context", wrong)


def _forget_counts_only(patch: pytest.MonkeyPatch) -> None:
    """A forget that is always a dry run."""
    right: Right[olvido.ForgetReport] = ScopedMemory.forget_all

    async def wrong(self: ScopedMemory, **_: object) -> olvido.ForgetReport:
        return await right(self, dry_run=True)

    patch.setattr(ScopedMemory, "forget_all", wrong)


def _forget_reaches_further(patch: pytest.MonkeyPatch) -> None:
    """A forget that takes somebody else with it."""
    right: Right[dict[str, str]] = ScopedMemory.checksums
    calls: list[None] = []

    async def wrong(self: ScopedMemory) -> dict[str, str]:
        calls.append(None)
        return {**await right(self), "episodes": f"{len(calls)}"}

    patch.setattr(ScopedMemory, "checksums", wrong)


def _expiry_extended(patch: pytest.MonkeyPatch) -> None:
    """A correction that forgets when the value was to expire."""
    right: Right[olvido.Written[olvido.Preference]] = ScopedMemory.correct_preference

    async def wrong(self: ScopedMemory, key: str, value: object, **how: object) -> olvido.Written[olvido.Preference]:
        how["expires_at"] = contract.START + 700 * DAY
        return await right(self, key, value, **how)

    patch.setattr(ScopedMemory, "correct_preference", wrong)


@pytest.mark.parametrize(
    "sabotage, noticed",
    [
        (_first_value, {"current_value", "stale_value"}),
        (_cached_pages, {"expired_value", "forgotten_value"}),
        (_company_ignored, {"current_value", "homonym_value"}),
        (_no_consult, {"live_topic_consulted"}),
        (_state_folded, {"constraint_kept_as_state"}),
        (_facts_replaced, {"constraint_after_compaction"}),
        (_folded_to_a_headline, {"constraint_after_compaction"}),
        (_originals_gone, {"constraint_after_compaction"}),
        (_facts_left_out_of_context, {"constraint_after_compaction"}),
        (_forget_counts_only, {"rows_left_after_forget", "forgotten_value"}),
        (_forget_reaches_further, {"neighbour_checksum_changed"}),
        (_expiry_extended, {"expired_value"}),
    ],
)
async def test_a_broken_memory_is_noticed(
    plain: Memory,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    sabotage: Callable[[pytest.MonkeyPatch], None],
    noticed: set[str],
) -> None:
    """A memory that breaks one promise fails the measure of that promise."""
    sabotage(monkeypatch)
    tally = await small(plain, clock)
    assert noticed <= failed(tally)


def test_a_measure_that_asked_nothing_does_not_pass() -> None:
    """Silence is not evidence."""
    assert not Measure(wanted=Wanted.NONE).passed
    assert not Measure(wanted=Wanted.ALL).passed
    assert Measure(wanted=Wanted.NONE, asked=1).passed


def test_it_prints_one_json_object_and_exits_by_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of stdout is the counts; the exit code is 1 when a measure fails."""

    async def measured(*_: object) -> Tally:
        return Tally(measures={"stale_value": Measure(wanted=Wanted.NONE, asked=2, served=1)})

    monkeypatch.setattr(contract, "_measure", measured)
    assert contract.main(["--customers", "6"]) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["customers"], found["passed"]) == (6, False)
    assert found["measures"]["stale_value"] == {"asked": 2, "served": 1, "wanted": "none", "passed": False}
