"""Short-term state of one conversation: open, set, append, read, close (rule 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from olvido.domain.context import require_count
from olvido.domain.identifiers import optional_identifier, required_identifier
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.policy import expiry
from olvido.domain.records import ItemKind, Message, Role, Session, SessionView
from olvido.errors import Conflict, InvalidInput, InvalidValue, NotFound, SessionClosed
from olvido.operations.admission import masked_text, refuse_credential
from olvido.operations.environment import Caller, Environment
from olvido.operations.session_cache import read_through
from olvido.operations.session_state import CLOSED, border, lock, state
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
    Raises InvalidScope, InvalidValue, InvalidTime, SecretRefused, SessionClosed, SubjectForgotten, TenantClosed.
    """
    refuse_credential(session_id=required_identifier(session_id, "session_id"))
    ready = _ready(environment, goal, items or {})
    async with environment.database.write(caller.life) as transaction:
        await _ensure_open(environment, transaction, session_id, expires_at)
        await _set(transaction, session_id, *ready)
        return await state(transaction, session_id)


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
        await lock(transaction, session_id)
        await _set(transaction, session_id, *ready)
        return await state(transaction, session_id)


async def append(
    environment: Environment,
    caller: Caller,
    session_id: str,
    messages: Iterable[tuple[Role | str, str]],
    *,
    group: str | None = None,
) -> tuple[Message, ...]:
    """Append messages in their order, without gaps; a session that is not there is opened by its first message.

    group: an id of at most 200 bytes that these messages share with others of this session, such as that of a tool
    call. Wherever a history is cut, a group stays whole, also if others wrote in between; it has at most
    `limits.session_group_messages` messages. None: each message stands alone.
    Raises InvalidScope, InvalidValue, InvalidInput, SecretRefused, SessionClosed, SubjectForgotten, TenantClosed.
    """
    refuse_credential(
        session_id=required_identifier(session_id, "session_id"), group=optional_identifier(group, "group")
    )
    pairs = _pairs(messages)
    if not pairs:
        raise InvalidInput("Nothing to append. Pass at least one message.")
    limit = environment.policy.limits.message_length
    roles = [_role(role) for role, _ in pairs]
    contents = [masked_text(content, "message", limit) for _, content in pairs]
    async with environment.database.write(caller.life) as transaction:
        await _ensure_open(environment, transaction, session_id, KEEP)
        if group is not None:
            await _require_group_room(environment, transaction, session_id, group, len(contents))
        stored = await transaction.all(
            _SQL["append"], session_id=session_id, roles=roles, contents=contents, group=group
        )
        return tuple(sorted((rows.message(row) for row in stored), key=lambda message: message.sequence))


async def read_session(environment: Environment, caller: Caller, session_id: str) -> Session:
    """The state of one session. Raises NotFound if there is none by this id, or it is expired; TenantClosed."""
    required_identifier(session_id, "session_id")
    if environment.cache is not None:
        return await read_through(environment, environment.cache, caller, session_id)
    async with environment.database.snapshot(caller.life) as transaction:
        return await state(transaction, session_id)


async def view_session(
    environment: Environment, caller: Caller, session_id: str, *, last: int = MESSAGE_PAGE
) -> SessionView:
    """What to go on from: the state, and the newest of the messages that are not folded, at one instant.

    last: how many messages, 0 to 1,000, or a few more: a group is not parted.
    Raises NotFound if the session is not there or is expired, InvalidInput, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    _require_last(last)
    async with environment.database.snapshot(caller.life) as transaction:
        session = await state(transaction, session_id)
        # A message that came late to a folded group brings the rest of it back.
        first = await border(transaction, session_id, max(session.folded, session.message_count - last))
        messages = await _between(transaction, session_id, first, session.message_count)
        return SessionView(session=session, messages=messages, left_out=max(first - session.folded, 0))


async def read_messages(
    environment: Environment,
    caller: Caller,
    session_id: str,
    *,
    first: int = 0,
    limit: int = MESSAGE_PAGE,
    last: int | None = None,
) -> tuple[Message, ...]:
    """Messages of a session, folded or not, oldest first.

    first, limit: a page from that sequence number on, of at most 1 to 1,000 messages; a page may end inside a group.
    last: the newest 0 to 1,000 messages instead, or a few more: a group is not parted.
    Raises NotFound if the session is not there or is expired, InvalidInput, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    require_count(first, "first")
    if not 1 <= require_count(limit, "limit") <= MESSAGE_PAGE:
        raise InvalidInput(f"limit must be between 1 and {MESSAGE_PAGE}.")
    if last is not None:
        _require_last(last)
    async with environment.database.snapshot(caller.life) as transaction:
        session = await transaction.one(_SQL["get"], session_id=session_id)
        if session is None:
            raise NotFound("No session by this id in this scope.")
        if last is not None:
            count = session["message_count"]
            start = await border(transaction, session_id, max(count - last, 0))
            return await _between(transaction, session_id, start, count)
        found = await transaction.all(_SQL["messages"], session_id=session_id, first=first, size=limit)
        return tuple(rows.message(row) for row in found)


async def close_session(environment: Environment, caller: Caller, session_id: str) -> Session:
    """Close a session: no more writes, readable until it expires. Closing twice changes nothing. Raises NotFound."""
    required_identifier(session_id, "session_id")
    async with environment.database.write(caller.life) as transaction:
        closed = await transaction.run(_SQL["close"], session_id=session_id)
        session = await state(transaction, session_id)
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
                raise SessionClosed(CLOSED)
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


def _pairs(messages: Iterable[tuple[Role | str, str]]) -> list[tuple[Role | str, str]]:
    try:
        return [(role, content) for role, content in messages]
    except (TypeError, ValueError):
        raise InvalidInput('Messages are pairs of a role and a text, such as ("user", "hello").') from None


def _ready(
    environment: Environment, goal: str | None, items: Mapping[ItemKind, Sequence[str]]
) -> tuple[str | None, dict[ItemKind, list[str]]]:
    limits = environment.policy.limits
    length = limits.session_item_length
    ready: dict[ItemKind, list[str]] = {}
    for kind, contents in items.items():
        texts = _listed(contents, kind, limits.session_items)
        ready[kind] = [masked_text(content, str(kind), length) for content in texts]
    return (None if goal is None else masked_text(goal, "goal", length)), ready


def _listed(contents: object, kind: ItemKind, most: int) -> Sequence[object]:
    if not isinstance(contents, Sequence) or isinstance(contents, str) or len(contents) > most:
        raise InvalidValue(f"{kind} must be a list of at most {most} texts.")
    return contents


async def _set(
    transaction: Transaction, session_id: str, goal: str | None, items: Mapping[ItemKind, list[str]]
) -> None:
    if goal is not None:
        await transaction.run(_SQL["set_goal"], session_id=session_id, goal=goal)
    for kind, contents in items.items():
        await transaction.run(_SQL["clear_items"], session_id=session_id, kind=kind)
        if contents:
            await transaction.run(_SQL["put_items"], session_id=session_id, kind=kind, contents=contents)


async def _require_group_room(
    environment: Environment, transaction: Transaction, session_id: str, group: str, added: int
) -> None:
    most = environment.policy.limits.session_group_messages
    row = await transaction.one(_SQL["group_size"], session_id=session_id, group=group)
    if row is not None and row["messages"] + added > most:
        raise InvalidValue(
            f"A group may have {most} messages, and this one would have {row['messages'] + added}. Begin another "
            "group, or raise limits.session_group_messages in the policy."
        )


async def _between(transaction: Transaction, session_id: str, first: int, until: int) -> tuple[Message, ...]:
    found = await transaction.all(_SQL["between"], session_id=session_id, first=first, until=until)
    return tuple(rows.message(row) for row in found)


def _require_last(last: object) -> None:
    if require_count(last, "last") > MESSAGE_PAGE:
        raise InvalidInput(f"last must be {MESSAGE_PAGE} at most; page through older messages with first and limit.")


def _role(role: Role | str) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise InvalidValue(f"role must be one of {', '.join(Role)}.") from None
