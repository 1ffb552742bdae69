"""Short-term state of one conversation: open, set, append, read, close (rule 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from olvido.domain.identifiers import required_identifier
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.policy import expiry
from olvido.domain.records import ItemKind, Message, Role, Session
from olvido.errors import Conflict, InvalidInput, InvalidValue, NotFound, SessionClosed
from olvido.operations.admission import check_text, mask
from olvido.operations.environment import Caller, Environment
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_sessions

MESSAGE_PAGE = 1000

_SQL = statements("sessions")


async def open_session(
    environment: Environment,
    caller: Caller,
    session_id: str,
    *,
    goal: str | None = None,
    items: Mapping[ItemKind, Sequence[str]] | None = None,
    expires_at: datetime | KeepType | None = KEEP,
) -> Session:
    """Open a session, or resume the live one by this id; what is given replaces what stands.

    expires_at counts only when the session is new: neither reading nor writing extends it.
    Raises InvalidScope, InvalidValue, InvalidTime, SessionClosed, SubjectForgotten, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    ready = _ready(environment, goal, items or {})
    async with environment.database.write(caller.life) as transaction:
        await _ensure_open(environment, transaction, session_id, expires_at)
        await _set(transaction, session_id, *ready)
        return await _read(transaction, session_id)


async def set_session(
    environment: Environment,
    caller: Caller,
    session_id: str,
    *,
    goal: str | None = None,
    items: Mapping[ItemKind, Sequence[str]] | None = None,
) -> Session:
    """Replace the goal (None keeps it) and the items of each kind in `items` of an open session.

    Raises NotFound, SessionClosed, InvalidValue, SubjectForgotten, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    ready = _ready(environment, goal, items or {})
    async with environment.database.write(caller.life) as transaction:
        row = await transaction.one(_SQL["for_update"], session_id=session_id)
        if row is None or row["expires_at"] <= transaction.now:
            raise NotFound("No open session by this id. Open it first.")
        if row["closed_at"] is not None:
            raise SessionClosed("This session is closed. Open another one to go on.")
        await _set(transaction, session_id, *ready)
        return await _read(transaction, session_id)


async def append(
    environment: Environment, caller: Caller, session_id: str, messages: Sequence[tuple[Role | str, str]]
) -> tuple[Message, ...]:
    """Append messages in their order, without gaps; a session that is not there is opened by its first message.

    Raises InvalidScope, InvalidValue, SessionClosed, SubjectForgotten, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    if not messages:
        raise InvalidInput("Nothing to append. Pass at least one message.")
    limit = environment.policy.limits.message_length
    roles = [_role(role) for role, _ in messages]
    contents = [mask(check_text(content, "message", limit))[0] for _, content in messages]
    async with environment.database.write(caller.life) as transaction:
        await _ensure_open(environment, transaction, session_id, KEEP)
        stored = await transaction.all(_SQL["append"], session_id=session_id, roles=roles, contents=contents)
        return tuple(sorted((rows.message(row) for row in stored), key=lambda message: message.sequence))


async def read_session(environment: Environment, caller: Caller, session_id: str) -> Session:
    """The state of one session. Raises NotFound if there is none by this id, or it is expired; TenantClosed."""
    required_identifier(session_id, "session_id")
    async with environment.database.snapshot(caller.life) as transaction:
        return await _read(transaction, session_id)


async def read_messages(
    environment: Environment, caller: Caller, session_id: str, *, first: int = 0, limit: int = MESSAGE_PAGE
) -> tuple[Message, ...]:
    """Messages from sequence number `first` on, oldest first, at most `limit` (1 to 1,000).

    Raises NotFound if the session is not there or is expired, InvalidInput, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    if first < 0 or not 1 <= limit <= MESSAGE_PAGE:
        raise InvalidInput(f"first must be 0 or more, and limit between 1 and {MESSAGE_PAGE}.")
    async with environment.database.snapshot(caller.life) as transaction:
        if await transaction.one(_SQL["get"], session_id=session_id) is None:
            raise NotFound("No session by this id in this scope.")
        found = await transaction.all(_SQL["messages"], session_id=session_id, first=first, size=limit)
        return tuple(rows.message(row) for row in found)


async def close_session(environment: Environment, caller: Caller, session_id: str) -> Session:
    """Close a session: no more writes, readable until it expires. Closing twice changes nothing. Raises NotFound."""
    required_identifier(session_id, "session_id")
    async with environment.database.write(caller.life) as transaction:
        closed = await transaction.run(_SQL["close"], session_id=session_id)
        session = await _read(transaction, session_id)
        if closed:
            await transaction.audit(
                "closed", "session", policy_version=environment.policy.version, record_id=session.record_id
            )
        return session


async def _ensure_open(
    environment: Environment, transaction: Transaction, session_id: str, expires_at: datetime | KeepType | None
) -> None:
    policy = environment.policy
    for _ in range(2):
        row = await transaction.one(_SQL["for_update"], session_id=session_id)
        if row is not None and row["expires_at"] > transaction.now:
            if row["closed_at"] is not None:
                raise SessionClosed("This session is closed. Open another one to go on.")
            return
        if row is not None:
            await remove_sessions(transaction, [row["record_id"]])
            await transaction.audit("purge", "session", policy_version=policy.version, record_id=row["record_id"])
        ends = expiry(policy.sessions.retention, transaction.now, expires_at)
        opened = await transaction.one(
            _SQL["open"],
            session_id=session_id,
            record_id=new_record_id(),
            purpose=policy.sessions.purpose,
            expires_at=ends,
            policy_version=policy.version,
        )
        if opened is not None:
            await transaction.touch_due(ends)
            await transaction.audit("opened", "session", policy_version=policy.version, record_id=opened["record_id"])
            return
    raise Conflict("Other callers open and forget this session at the same moment. Try again.")


def _ready(
    environment: Environment, goal: str | None, items: Mapping[ItemKind, Sequence[str]]
) -> tuple[str | None, dict[ItemKind, list[str]]]:
    limits = environment.policy.limits
    length = limits.session_item_length
    ready: dict[ItemKind, list[str]] = {}
    for kind, contents in items.items():
        if isinstance(contents, str) or len(contents) > limits.session_items:
            raise InvalidValue(f"{kind} must be a list of at most {limits.session_items} texts.")
        ready[kind] = [mask(check_text(content, str(kind), length))[0] for content in contents]
    return (None if goal is None else mask(check_text(goal, "goal", length))[0]), ready


async def _set(
    transaction: Transaction, session_id: str, goal: str | None, items: Mapping[ItemKind, list[str]]
) -> None:
    if goal is not None:
        await transaction.run(_SQL["set_goal"], session_id=session_id, goal=goal)
    for kind, contents in items.items():
        await transaction.run(_SQL["clear_items"], session_id=session_id, kind=kind)
        if contents:
            await transaction.run(_SQL["put_items"], session_id=session_id, kind=kind, contents=contents)


async def _read(transaction: Transaction, session_id: str) -> Session:
    row = await transaction.one(_SQL["get"], session_id=session_id)
    if row is None:
        raise NotFound("No session by this id in this scope.")
    return rows.session(row, await transaction.all(_SQL["items"], session_id=session_id))


def _role(role: Role | str) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise InvalidValue(f"role must be one of {', '.join(Role)}.") from None
