"""One session of one person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from olvido.domain.instants import KEEP, KeepType
from olvido.domain.records import ItemKind, Message, Role, Session
from olvido.operations import sessions
from olvido.operations.environment import Caller, Environment


class SessionMemory:
    """One session of one person, by its id."""

    def __init__(self, environment: Environment, caller: Caller, session_id: str) -> None:
        self._environment = environment
        self._caller = caller
        self.session_id = session_id

    async def open(
        self,
        *,
        goal: str | None = None,
        decisions: Sequence[str] | None = None,
        constraints: Sequence[str] | None = None,
        pending: Sequence[str] | None = None,
        expires_at: datetime | KeepType | None = KEEP,
    ) -> Session:
        """Open the session, or resume it; what is given replaces what stands. See `olvido.operations.sessions`."""
        return await sessions.open_session(
            self._environment,
            self._caller,
            self.session_id,
            goal=goal,
            items=_items(decisions, constraints, pending),
            expires_at=expires_at,
        )

    async def set(
        self,
        *,
        goal: str | None = None,
        decisions: Sequence[str] | None = None,
        constraints: Sequence[str] | None = None,
        pending: Sequence[str] | None = None,
    ) -> Session:
        """Replace what is given; None keeps what stands, an empty list clears it. Raises NotFound, SessionClosed."""
        return await sessions.set_session(
            self._environment,
            self._caller,
            self.session_id,
            goal=goal,
            items=_items(decisions, constraints, pending),
        )

    async def append(self, role: Role | str, content: str) -> Message:
        """Append one message and return it with its number; the first message opens the session."""
        stored = await self.extend([(role, content)])
        return stored[0]

    async def extend(self, messages: Sequence[tuple[Role | str, str]]) -> tuple[Message, ...]:
        """Append several messages in their order, all or none."""
        return await sessions.append(self._environment, self._caller, self.session_id, messages)

    async def read(self) -> Session:
        """The state of the session. Raises NotFound if it is not there or is expired."""
        return await sessions.read_session(self._environment, self._caller, self.session_id)

    async def messages(self, *, first: int = 0, limit: int = sessions.MESSAGE_PAGE) -> tuple[Message, ...]:
        """Messages from number `first` on, oldest first. Raises NotFound."""
        return await sessions.read_messages(self._environment, self._caller, self.session_id, first=first, limit=limit)

    async def close(self) -> Session:
        """Take no more writes; the session stays readable until it expires. Raises NotFound."""
        return await sessions.close_session(self._environment, self._caller, self.session_id)


def _items(
    decisions: Sequence[str] | None, constraints: Sequence[str] | None, pending: Sequence[str] | None
) -> dict[ItemKind, Sequence[str]]:
    given = {ItemKind.DECISION: decisions, ItemKind.CONSTRAINT: constraints, ItemKind.PENDING: pending}
    return {kind: items for kind, items in given.items() if items is not None}
