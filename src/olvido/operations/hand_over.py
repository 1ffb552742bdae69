"""Keep of a session what the policy says, as an episode that outlives it (rules 4, 6 and 26)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from olvido.domain.identifiers import required_identifier
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.lineage import handed_over
from olvido.domain.origin import Origin, weakest
from olvido.domain.policy_document import SessionPart
from olvido.domain.records import Episode, NewEpisode, Session, Written
from olvido.errors import Conflict, EventConflict, InvalidInput, NotFound
from olvido.operations.environment import Caller, Environment
from olvido.operations.record_episode import admit, record_report
from olvido.operations.session_state import MISSING, state
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_SQL = statements("sessions")


async def hand_over(
    environment: Environment,
    caller: Caller,
    session_id: str,
    *,
    case_id: str | None = None,
    origin: Origin | None = None,
    expires_at: datetime | KeepType | None = KEEP,
) -> Written[Episode]:
    """Record one episode from the state of a session, open or closed, by the policy's `sessions.hand_over`.

    The fields that the rule names take the goal, or decisions, constraints, pending items or facts one a line, whole;
    never messages. The episode happened when the session was opened and lives as long as its own definition says. Its
    origin class is the weakest of the caller's and of the facts it takes. Its event id comes from the record id of the
    session, so that a second hand-over of the same state changes nothing; close the session first, and its state is
    final. Forgetting the session later leaves the episode, which has a record id of its own; the report names it.

    Raises NotInPolicy with the lines to add if there is no such rule, NotFound, InvalidInput if the session has
    nothing that the rule takes or is kept for another purpose, Conflict if what it takes changed meanwhile (a fact was
    forgotten, say), EventConflict if it was handed over with another state, and as `record_episode` does.
    """
    rule = environment.policy.hand_over()
    required_identifier(session_id, "session_id")
    source = caller.origin(origin)
    async with environment.database.snapshot(caller.life) as transaction:
        session = await state(transaction, session_id)
    if session.purpose != environment.policy.episode(rule.episode).purpose:
        raise InvalidInput(
            "This session is kept for another purpose than the episode: it was opened under another policy. Record "
            "what may be kept for the new purpose as an episode."
        )
    texts = _texts(session)
    fields = {name: texts[part] for name, part in rule.fields.items() if texts[part]}
    if not fields:
        taken = ", ".join(dict.fromkeys(rule.fields.values()))
        raise InvalidInput(f"The session has nothing to hand over: the policy takes its {taken}. Set that first.")
    if SessionPart.FACTS in rule.fields.values():
        classes = [fact.origin.origin_class for fact in session.facts]
        source = replace(source, origin_class=weakest([source.origin_class, *classes]))
    report = admit(
        environment,
        caller,
        NewEpisode(
            definition=rule.episode,
            event_id=handed_over(session.record_id),
            fields=fields,
            case_id=case_id,
            status=rule.status,
            occurred_at=session.opened_at,
            origin=source,
            expires_at=expires_at,
        ),
    )

    async def require(transaction: Transaction) -> None:
        await _require_unchanged(transaction, session, frozenset(rule.fields.values()))

    try:
        return await record_report(environment, caller, report, require=require)
    except EventConflict:
        raise EventConflict(
            "This session was handed over before, with another state or case, and that episode stays as it is. Forget "
            "the episode and hand over again, or record what came after as an episode of its own. A session that is "
            "closed first has one state to hand over."
        ) from None


async def _require_unchanged(transaction: Transaction, taken: Session, parts: frozenset[SessionPart]) -> None:
    """Hold the session against writers and forgets, and look whether it is what was `taken` of it.

    Raises NotFound, and Conflict if one of `parts` is another one.
    """
    await transaction.reorganise()  # a forget has its turn first: it holds facts without their session
    await transaction.one(_SQL["for_update"], session_id=taken.session_id)
    session = await state(transaction, taken.session_id)
    if session.record_id != taken.record_id:
        raise NotFound(MISSING)
    if _handed(session, parts) != _handed(taken, parts):
        raise Conflict("The session changed while it was handed over. Hand it over again.")


def _handed(session: Session, parts: frozenset[SessionPart]) -> tuple[object, ...]:
    """What is taken of a session, to compare."""
    texts = _texts(session)
    facts = [fact.record_id for fact in session.facts] if SessionPart.FACTS in parts else []
    return {part: texts[part] for part in parts}, facts


def _texts(session: Session) -> Mapping[SessionPart, str]:
    return {
        # A goal may stand in a field of one line; its line breaks say nothing.
        SessionPart.GOAL: " ".join((session.goal or "").split()),
        SessionPart.DECISIONS: "\n".join(session.decisions),
        SessionPart.CONSTRAINTS: "\n".join(session.constraints),
        SessionPart.PENDING: "\n".join(session.pending),
        SessionPart.FACTS: "\n".join(fact.content for fact in session.facts),
    }
