"""What an assistant should know before it answers, as one block of text within a token budget (rule 17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from olvido.domain.context import ContextBlock, Entry, LeftOut, Section, estimate_tokens, fill, require_count
from olvido.domain.eligibility import eligibility
from olvido.domain.identifiers import optional_identifier
from olvido.domain.recalled import Recall, fact_label, summary_label, summary_text
from olvido.domain.records import Session, Summary, SummaryEntry
from olvido.errors import NotFound
from olvido.operations.environment import Caller, Environment
from olvido.operations.recall import answer, ask, episode_text
from olvido.operations.session_state import state
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_RECALL = statements("recall")


async def context(
    environment: Environment,
    caller: Caller,
    query: str,
    *,
    max_tokens: int,
    session_id: str | None = None,
    purpose: str | None = None,
    count_tokens: Callable[[str], int] | None = None,
) -> ContextBlock:
    """A block for a prompt: constraints, preferences, session, what to consult, history and summaries, in this order.

    max_tokens: hard limit for the whole text, from 0 up, as `count_tokens` counts; None is `estimate_tokens`, a high
    estimate. session_id: a session whose state and facts belong in it; None is none.
    Raises NotFound for a session that is not there, is expired or is kept for another purpose; otherwise as `recall`.
    """
    require_count(max_tokens, "max_tokens")
    optional_identifier(session_id, "session_id")
    policy = environment.policy
    question = await ask(environment, query, eligibility(policy, purpose=purpose), limit=policy.limits.recall_items_max)
    async with environment.database.snapshot(caller.life) as transaction:
        recalled = await answer(environment, caller, transaction, question)
        session = None if session_id is None else await _session(transaction, session_id, recalled.purpose)
        summaries = await _summaries(transaction, recalled)
    entries = [
        *(_session_entries(session) if session else ()),
        *_recall_entries(environment, recalled),
        *_summary_entries(summaries),
    ]
    filled = fill(entries, max_tokens, count_tokens or estimate_tokens)
    return ContextBlock(
        text=filled.text,
        tokens=filled.tokens,
        max_tokens=max_tokens,
        included=tuple(dict.fromkeys(entry.record_id for entry in filled.included if entry.record_id)),
        omitted=tuple(LeftOut(record_id=entry.record_id, label=entry.label) for entry in filled.omitted),
        consult=recalled.consult,
        more=recalled.omitted,
        text_only=recalled.text_only,
    )


async def _session(transaction: Transaction, session_id: str, purpose: str) -> Session:
    session = await state(transaction, session_id)
    if session.purpose != purpose:
        raise NotFound("No session by this id is kept for this purpose. Leave session_id out, or ask for its purpose.")
    return session


async def _summaries(transaction: Transaction, recalled: Recall) -> list[Summary]:
    """Summaries of the cases that recall touched, where they tell more than one report."""
    cases = dict.fromkeys(
        (item.record.definition, item.record.case_id) for item in recalled.items if item.record.case_id is not None
    )
    if not cases:
        return []
    found = await transaction.all(
        _RECALL["summaries"],
        definitions=[definition for definition, _ in cases],
        case_ids=[case_id for _, case_id in cases],
    )
    entries: dict[object, list[SummaryEntry]] = {}
    for row in await transaction.all(
        _RECALL["summary_entries"], record_ids=[row["record_id"] for row in found], purpose=recalled.purpose
    ):
        entries.setdefault(row["summary_id"], []).append(rows.summary_entry(row))
    order = list(cases)
    told = [rows.summary(row, entries[row["record_id"]]) for row in found if len(entries.get(row["record_id"], ())) > 1]
    return sorted(told, key=lambda summary: order.index((summary.definition, summary.case_id)))


def _session_entries(session: Session) -> Iterator[Entry]:
    closed = " (closed)" if session.closed_at else ""
    parts = [
        (Section.CONSTRAINTS, "constraint", session.constraints),
        (Section.SESSION, "goal", (session.goal,) if session.goal else ()),
        (Section.SESSION, "decision", session.decisions),
        (Section.SESSION, "pending", session.pending),
    ]
    for section, name, contents in parts:
        for content in contents:
            yield Entry(section=section, label=f"{name}{closed}", text=content, record_id=session.record_id)
    for fact in session.facts:
        label = f"fact{closed}, {fact_label(fact)}"
        yield Entry(section=Section.SESSION, label=label, text=fact.content, record_id=fact.record_id)


def _recall_entries(environment: Environment, recalled: Recall) -> Iterator[Entry]:
    for preference in recalled.preferences:
        yield Entry(section=Section.PREFERENCES, label=preference.label, record_id=preference.record_id)
    for consult in recalled.consult:
        yield Entry(section=Section.CONSULT, label=consult.label)
    for item in recalled.items:
        yield Entry(
            section=Section.HISTORY,
            label=item.label,
            text=episode_text(environment.policy, item.record) or None,
            record_id=item.record_id,
        )


def _summary_entries(summaries: list[Summary]) -> Iterator[Entry]:
    for summary in summaries:
        yield Entry(
            section=Section.SUMMARIES,
            label=summary_label(summary),
            text=summary_text(summary),
            record_id=summary.record_id,
        )
