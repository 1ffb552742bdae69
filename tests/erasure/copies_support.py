"""Copies outside that do what a test says, and policies that declare them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row

import olvido
from olvido.bootstrap import Opening
from olvido.connectors import Connector, CopyProblem, CopyUnavailable, SessionCache, Target
from olvido.domain.erasure import Step
from olvido.domain.policy_document import OutsideCopy
from olvido.domain.policy_file import default_policy
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PlainDetector
from tests.operations.word_embedder import WordEmbedder

CRM = {"name": "crm", "kind": "service", "holder": "sales", "retention": "unlimited"}
CONNECTED = {**CRM, "connector": {"type": "registered", "name": "crm"}}
BACKUP = {"name": "nightly", "kind": "backup", "holder": "platform", "retention": "35d"}


def declaring(*copies: Mapping[str, object]) -> olvido.Policy:
    """The default policy with these copies and no others."""
    declared = tuple(OutsideCopy.model_validate_json(json.dumps(copy)) for copy in copies)
    return replace(default_policy(), copies=declared)


@dataclass(kw_only=True)
class Copy:
    """A copy that holds things by person, and a connector for it.

    script: what happens in each further call of `erase` or `verify`, instead of what should; see `_erase` and `verify`.
    """

    things: dict[str, int]
    erase_script: list[str] = field(default_factory=list)
    verify_script: list[str] = field(default_factory=list)
    by_record: bool = True
    asked: list[str] = field(default_factory=list)
    back: int = 0
    looked_at: asyncio.Event = field(default_factory=asyncio.Event)

    async def find(self, target: Target) -> int:
        """What it holds."""
        self.asked.append("find")
        return self.things.get(target.subject, 0)

    async def erase(self, target: Target) -> None:
        """Erase, or not."""
        self.asked.append("erase")
        match self.erase_script.pop(0) if self.erase_script else "all":
            case "all":
                self.things.pop(target.subject, None)
            case "half":
                self.things[target.subject] = self.things.get(target.subject, 0) // 2
            case "back":
                self.back = self.things.pop(target.subject, 0)
            case "nothing":
                pass
            case other:
                await misbehave(other, target)
        if not self.things.get(target.subject):
            self.things.pop(target.subject, None)

    async def verify(self, target: Target) -> int | None:
        """Look, or not."""
        self.asked.append("verify")
        self.looked_at.set()
        if self.back:
            self.things[target.subject], self.back = self.back, 0
        match self.verify_script.pop(0) if self.verify_script else "look":
            case "look":
                return self.things.get(target.subject, 0)
            case "not yet":
                return None
            case "true" | "text" | "negative" | "fraction" as wrong:
                answers: Any = {"true": True, "text": "0", "negative": -1, "fraction": 0.0}
                answer: int = answers[wrong]
                return answer
            case other:
                await misbehave(other, target)
                return None


async def misbehave(how: str, target: Target) -> None:
    """Hang, or raise something that quotes the person."""
    match how:
        case "hang":
            await asyncio.Event().wait()
        case "unavailable":
            raise CopyUnavailable(f"no {target.subject} for you", problem=CopyProblem.BUSY)
        case "error":
            raise RuntimeError(f"cannot parse {target.subject}")
        case "timeout":
            raise TimeoutError(target.subject)
        case "cancelled":
            raise asyncio.CancelledError(target.subject)
        case _:
            raise AssertionError(how)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The database of a test, opened with policies and connectors of its choice."""

    clone: Clone
    clock: ManualClock

    def opening(
        self,
        policy: olvido.Policy,
        cache: SessionCache | None = None,
        *,
        connectors: Mapping[str, Connector] | None = None,
        **connector: Connector,
    ) -> Opening:
        """Open it as requests and workers do."""
        return olvido.open(
            self.clone.app,
            worker_url=self.clone.worker,
            clock=self.clock,
            embedder=WordEmbedder(),
            detector=PlainDetector(),
            policy=policy,
            connectors={**(connectors or {}), **connector},
            cache=cache,
        )

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """All rows of one query, as the administrator."""
        with psycopg.connect(self.clone.superuser, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """Run one statement as the administrator."""
        with psycopg.connect(self.clone.superuser) as connection:
            connection.execute(statement.encode(), parameters)


async def forget(memory: olvido.Memory, subject: str = "ana", tenant: str = "acme") -> olvido.ForgetReport:
    """Remember something about a person, and forget the person."""
    scoped = memory.scope(tenant=tenant, subject=subject)
    await scoped.remember("prefers aisle seats")
    return await scoped.forget_all()


async def step_of(memory: olvido.Memory, report: olvido.ForgetReport, copy: str = "crm", tenant: str = "acme") -> Step:
    """Where one copy of a request stands."""
    assert report.erasure_id is not None
    found = await memory.erasure(tenant, report.erasure_id)
    (step,) = [step for step in found.steps if step.step == f"copy:{copy}"]
    return step


async def until(memory: olvido.Memory, clock: ManualClock, done: Callable[[], bool], rounds: int = 40) -> int:
    """Let workers come back until something is so, a day apart; how many rounds it took."""
    for number in range(rounds):
        if done():
            return number
        await memory.erase_pending()
        clock.advance(timedelta(days=1))
    return rounds
