"""Conversations in the state machine: messages in groups, facts, and folding."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import olvido
from olvido import ScopedMemory
from tests.contract.acting import Acting
from tests.contract.model_records import Expiry, Fact
from tests.contract.strategies import expiry
from tests.contract.support import Scope


class Talking(Acting):
    """Steps of a session."""

    def converse(
        self,
        *,
        scope: Scope,
        session_id: str,
        verb: str,
        goal: str | None,
        given: dict[str, list[str]],
        group: str | None,
        expires: Expiry,
    ) -> None:
        """Open, set, append to or close a session."""
        expires_at = expiry(expires, self.model.now)
        said = [("user", goal or "olá"), ("assistant", "certo")]

        def real(memory: ScopedMemory) -> Coroutine[Any, Any, object]:
            session = memory.session(session_id)
            parts: dict[str, Any] = {"goal": goal, **given}
            calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                "open": lambda: session.open(**parts, expires_at=expires_at),
                "set": lambda: session.set(**parts),
                "append": lambda: session.extend(said, group),
                "close": session.close,
            }
            return calls[verb]()

        def expect() -> None:
            if verb == "open":
                session = self.model.open(scope, session_id, expires)
            elif verb == "append":
                session = self.model.open(scope, session_id)
                session.messages += [(role, content, group) for role, content in said]
                return
            elif verb == "close":
                self.model.session(scope, session_id).closed = True
                return
            else:
                session = self.model.writable(scope, session_id)
            session.goal = goal or session.goal
            session.items.update(given)

        self.act(scope, real, expect)

    def say(self, scope: Scope, group: str | None) -> None:
        """Two messages more."""
        self.converse(scope=scope, session_id="s1", verb="append", goal=None, given={}, group=group, expires="keep")

    def add_fact(self, *, scope: Scope, session_id: str, content: str, origin: str, messages: list[int]) -> None:
        """Store what is known, by whom, and the messages it rests on, which have to be there."""
        source = olvido.Origin(origin_class=olvido.OriginClass(origin), source="agent")
        self.act(
            scope,
            lambda memory: memory.session(session_id).add_fact(content, origin=source, messages=messages),
            lambda: self.model.add_fact(scope, session_id, content, origin, messages),
        )

    def compact(self, *, scope: Scope, session_id: str, keep: int, says: str) -> None:
        """Fold the older messages into facts; a summariser that fails or says nothing changes nothing."""

        async def summarise(messages: Sequence[olvido.Message]) -> list[tuple[str, list[int]]]:
            if says == "raises":
                raise RuntimeError("no answer")
            numbers = [message.sequence for message in messages]
            return _conclusions(numbers) if says == "facts" else []

        def summarised(numbers: Sequence[int]) -> list[Fact]:
            found = _conclusions(numbers) if says == "facts" else []
            return [Fact(content=content, origin="inferred", messages=rests_on) for content, rests_on in found]

        done = self.act(
            scope,
            lambda memory: memory.session(session_id).compact(keep, summarise=summarise),
            lambda: self.model.compact(scope, session_id, keep, summarised),
        )
        if done is not None:
            compaction, (folded, facts) = done
            assert compaction.folded == folded
            assert [(fact.content, list(fact.messages)) for fact in compaction.facts] == [
                (fact.content, fact.messages) for fact in facts
            ]


def _conclusions(numbers: Sequence[int]) -> list[tuple[str, list[int]]]:
    """What a summariser makes of some messages: what all are about, and what the first one was."""
    return [(f"{len(numbers)} messages", list(numbers)), (f"it began with number {numbers[0]}", [numbers[0]])]
