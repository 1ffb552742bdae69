"""One session of one person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from olvido.domain.compaction import Summarise
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.origin import Origin
from olvido.domain.records import (
    Compaction,
    Episode,
    Fact,
    ItemKind,
    Message,
    Role,
    Session,
    SessionView,
    Written,
)
from olvido.operations import add_fact, compact, hand_over, sessions
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

    async def append(self, role: Role | str, content: str, group: str | None = None) -> Message:
        """Append one message and return it with its number; the first message opens the session.

        group: an id that it shares with messages it must not be parted from, such as that of a tool call.
        """
        stored = await self.extend([(role, content)], group)
        return stored[0]

    async def extend(self, messages: Iterable[tuple[Role | str, str]], group: str | None = None) -> tuple[Message, ...]:
        """Append several messages, pairs of a role and a text, in their order, all or none.

        group: as in `append`; all of them belong to it.
        """
        return await sessions.append(self._environment, self._caller, self.session_id, messages, group=group)

    async def add_fact(self, text: str, *, origin: Origin | None = None, messages: Sequence[int] = ()) -> Fact:
        """Store what is known now, with its origin and the numbers of the messages it rests on.

        Forget it with `forget(fact.record_id)`. See `olvido.operations.add_fact` for limits and for what it raises.
        """
        return await add_fact.add_fact(
            self._environment, self._caller, self.session_id, text, origin=origin, messages=messages
        )

    async def compact(
        self, keep_last: int, *, summarise: Summarise | None = None, timeout_seconds: float = compact.SECONDS
    ) -> Compaction:
        """Fold all but the last messages; the state stays, and what is folded can still be read.

        summarise: an async function from the messages to fold to facts, each a text and the numbers of its messages.
        Raises CompactionFailed or Conflict, and nothing changed. See `olvido.operations.compact`.
        """
        return await compact.compact(
            self._environment,
            self._caller,
            self.session_id,
            keep_last,
            summarise=summarise,
            timeout_seconds=timeout_seconds,
        )

    async def read(self) -> Session:
        """The state of the session. Raises NotFound if it is not there or is expired."""
        return await sessions.read_session(self._environment, self._caller, self.session_id)

    async def view(self, *, last: int = sessions.MESSAGE_PAGE) -> SessionView:
        """What to go on from: the state, and the newest of the messages that are not folded. Raises NotFound."""
        return await sessions.view_session(self._environment, self._caller, self.session_id, last=last)

    async def messages(
        self, *, first: int = 0, limit: int = sessions.MESSAGE_PAGE, last: int | None = None
    ) -> tuple[Message, ...]:
        """Messages, folded ones too, oldest first: from number `first` on, or the newest `last`. Raises NotFound."""
        return await sessions.read_messages(
            self._environment, self._caller, self.session_id, first=first, limit=limit, last=last
        )

    async def close(self) -> Session:
        """Take no more writes; the session stays readable until it expires. Raises NotFound."""
        return await sessions.close_session(self._environment, self._caller, self.session_id)

    async def hand_over(
        self,
        *,
        case_id: str | None = None,
        origin: Origin | None = None,
        expires_at: datetime | KeepType | None = KEEP,
    ) -> Written[Episode]:
        """Keep of the session what the policy's `sessions.hand_over` says, as an episode; a retry changes nothing.

        Raises NotInPolicy, with the lines to add, if the policy has no such rule. See `olvido.operations.hand_over`.
        """
        return await hand_over.hand_over(
            self._environment,
            self._caller,
            self.session_id,
            case_id=case_id,
            origin=origin,
            expires_at=expires_at,
        )


def _items(
    decisions: Sequence[str] | None, constraints: Sequence[str] | None, pending: Sequence[str] | None
) -> dict[ItemKind, Sequence[str]]:
    given = {ItemKind.DECISION: decisions, ItemKind.CONSTRAINT: constraints, ItemKind.PENDING: pending}
    return {kind: items for kind, items in given.items() if items is not None}
