"""Fold the older messages of a session: facts stand for them, and nothing is lost (rule 4; cases 109 and 111)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from olvido.domain.compaction import Conclusion, Summarise, conclusions
from olvido.domain.context import require_count
from olvido.domain.identifiers import required_identifier
from olvido.domain.origin import Origin
from olvido.domain.records import Compaction, Message, Session
from olvido.errors import CompactionFailed, Conflict, InvalidInput, SessionClosed
from olvido.operations.add_fact import put_fact, require_room
from olvido.operations.environment import Caller, Environment
from olvido.operations.session_state import CLOSED, border, lock, state
from olvido.storage import rows
from olvido.storage.queries import statements

CONCLUDED = Origin.inferred("compaction")
"""The origin of what a summariser concluded: no stronger than a guess, whatever it was told."""

SECONDS = 60.0
MAX_SECONDS = 3600.0

_SQL = statements("sessions")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What is to be folded, as it was read. session: the state then.

    first, until: sequence numbers; `until` is the first message that stays. messages: from `first` up to and without
    `until`, oldest first; empty if nobody is to summarise them.
    """

    session: Session
    first: int
    until: int
    messages: Sequence[Message]


async def compact(
    environment: Environment,
    caller: Caller,
    session_id: str,
    keep_last: int,
    *,
    summarise: Summarise | None = None,
    timeout_seconds: float = SECONDS,
) -> Compaction:
    """Fold all but the last `keep_last` messages, or a few less: a group is folded as a whole or not at all.

    Goal, decisions, constraints, pending items and facts stay as they are, and folded messages stay readable until the
    session expires. Messages that are appended meanwhile are kept.

    keep_last: 0 or more. summarise: an async function that is given the messages to fold and returns facts, each a
    text of at most `limits.session_item_length` characters and the numbers of the messages it rests on. They are
    stored as inferred, with credentials masked, so the caller must be granted that origin class. It is called outside
    any transaction, at most once, and not at all if there is nothing to fold. timeout_seconds: what it may take, up to
    3,600.
    Raises CompactionFailed if it raises, takes too long, or answers nothing or what cannot be stored, and Conflict if
    another compaction, or a message of a group that was to be folded, came first; then nothing changed. Raises
    NotFound, SessionClosed, InvalidInput, InvalidScope, InvalidValue (facts added meanwhile left no room),
    OriginNotGranted, SubjectForgotten, TenantClosed.
    """
    required_identifier(session_id, "session_id")
    require_count(keep_last, "keep_last")
    _require_seconds(timeout_seconds)
    origin = None if summarise is None else caller.origin(CONCLUDED)
    plan = await _plan(environment, caller, session_id, keep_last, read=summarise is not None)
    if plan.until <= plan.first:
        return Compaction(session=plan.session, folded=0, facts=())
    concluded: tuple[Conclusion, ...] = ()
    if summarise is not None:
        limits = environment.policy.limits
        concluded = conclusions(
            await _answer(summarise, plan.messages, timeout_seconds),
            plan.messages,
            length=limits.session_item_length,
            most=limits.session_facts - len(plan.session.facts),
        )
    return await _fold(environment, caller, plan, concluded, origin)


async def _plan(environment: Environment, caller: Caller, session_id: str, keep_last: int, *, read: bool) -> _Plan:
    async with environment.database.snapshot(caller.life) as transaction:
        session = await state(transaction, session_id)
        if session.closed_at is not None:
            raise SessionClosed(CLOSED)
        first = session.folded
        until = await border(transaction, session_id, max(session.message_count - keep_last, 0))
        found = await transaction.all(_SQL["between"], session_id=session_id, first=first, until=until) if read else []
        return _Plan(session=session, first=first, until=until, messages=[rows.message(row) for row in found])


async def _answer(summarise: Summarise, messages: Sequence[Message], seconds: float) -> object:
    try:
        async with asyncio.timeout(seconds):
            answer: object = summarise(tuple(messages))
            if inspect.isawaitable(answer):
                return await answer
            reason = "is not an async function"
    except TimeoutError:
        reason = f"took longer than {seconds:g} s, or timed out itself"
    except Exception as error:  # noqa: BLE001 - whatever it raises, the session stays as it was
        # Not chained, and only its name: what a summariser raises may quote the messages.
        reason = f"raised {type(error).__name__}"
    raise CompactionFailed(f"The summariser {reason}. Nothing changed; the messages are as they were.")


async def _fold(
    environment: Environment,
    caller: Caller,
    plan: _Plan,
    concluded: tuple[Conclusion, ...],
    origin: Origin | None,
) -> Compaction:
    session_id = plan.session.session_id
    version = environment.policy.version
    async with environment.database.write(caller.life) as transaction:
        found = await lock(transaction, session_id)
        if (found["record_id"], found["folded_to"]) != (plan.session.record_id, plan.first):
            raise Conflict("Another compaction of this session was first. Read the session again and decide.")
        if await border(transaction, session_id, plan.until) != plan.until:
            raise Conflict("A message of a group that was to be folded arrived meanwhile. Compact again.")
        added: list[UUID] = []
        if origin is not None:
            await require_room(transaction, session_id, len(concluded), environment.policy.limits.session_facts)
            for each in concluded:
                fact = await put_fact(transaction, session_id, each.text, each.messages, origin)
                added.append(fact.record_id)
        await transaction.run(_SQL["fold"], session_id=session_id, until=plan.until)
        await transaction.audit(
            "compacted",
            "session",
            policy_version=version,
            record_id=plan.session.record_id,
            counts={"messages": plan.until - plan.first, "session_facts": len(added)},
        )
        session = await state(transaction, session_id)
        return Compaction(
            session=session,
            folded=plan.until - plan.first,
            facts=tuple(fact for fact in session.facts if fact.record_id in added),
        )


def _require_seconds(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(f"timeout_seconds must be above 0 and at most {MAX_SECONDS:g}.")
