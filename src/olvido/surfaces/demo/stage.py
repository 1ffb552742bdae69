"""What the chapters of the demo share: the people, a way to wait, and what a chapter is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from olvido.domain.scope import Scope
from olvido.memory import Memory, ScopedMemory

CUSTOMER = Scope(tenant="finance", subject="customer-14")
NAMESAKE = Scope(tenant="insurance", subject="customer-14")
"""Somebody else, who has the same name at another company."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Something the story says, and whether it was found to hold."""

    text: str
    holds: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a chapter did. facts: what came back, by name. claims: what is said about it."""

    facts: Mapping[str, object]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """Where the story happens: `memory` holds the support cases of `people` and nothing else.

    wait: lets so much time pass. before: checksums that one chapter takes and a later one compares.
    """

    memory: Memory
    people: Collection[Scope]
    wait: Callable[[timedelta], Awaitable[None]]
    before: dict[Scope, dict[str, str]] = field(default_factory=dict)

    def enter(self, scope: Scope) -> ScopedMemory:
        """A new handle on the memory of one person."""
        return self.memory.scope(tenant=scope.tenant, subject=scope.subject)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chapter:
    """One step of the story. code: the Python that it runs, as it is shown. act: runs it."""

    key: str
    sentence: str
    code: str
    act: Callable[[Stage], Awaitable[Told]]
