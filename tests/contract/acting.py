"""What every part of the state machine needs: to do the same in both worlds, and to remember what came of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine

from olvido import ScopedMemory
from olvido.errors import OlvidoError
from tests.contract.model import Model
from tests.contract.model_records import Refused
from tests.contract.strategies import NOTES
from tests.contract.support import Scope, Stage, Stored

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)


class Acting(RuleBasedStateMachine):
    """One random history.

    touched: scopes that the last step may have changed. later: those that time has changed for.
    seen: ids that were ever answered. over: handles of lives that were forgotten.
    question: what recall is asked; often the text of a record.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.stage.outside.empty()
        self.stage.clock.set(START)
        self.stage.embedder.fails = False
        self.model = Model(START)
        self.handles: dict[Scope, ScopedMemory] = {}
        self.over: list[ScopedMemory] = []
        self.seen: dict[UUID, object] = {}
        self.stored: dict[Scope, Stored] = {}
        self.touched: set[Scope] = set()
        self.later: set[Scope] = set()
        self.question = NOTES[0]

    def handle(self, scope: Scope) -> ScopedMemory:
        """The handle of this life that has been in use; a new one after a forget."""
        if scope not in self.handles:
            self.handles[scope] = self.stage.memory.scope(tenant=scope[0], subject=scope[1])
        return self.handles[scope]

    def act(
        self, scope: Scope, real: Callable[[ScopedMemory], Coroutine[Any, Any, T]], expect: Callable[[], Any]
    ) -> tuple[T, Any] | None:
        """Do the same in both worlds; None if both refuse. Fails if only one does, or for another reason."""
        codes: set[str] = set()
        expected = answered = None
        try:
            expected = expect()
        except Refused as refusal:
            codes = refusal.codes
        try:
            answered = self.stage.run(real(self.handle(scope)))
        except OlvidoError as error:
            if error.code not in codes:
                raise AssertionError(f"{scope}: {error.code}; right would be: {codes or 'to allow it'}") from error
            note(f"refused: {error.code}")
            return None
        assert not codes, f"{scope}: allowed, and the model refuses it: {codes}"
        self.touched.add(scope)
        return answered, expected
