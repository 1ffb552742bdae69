"""What an assistant should know before it answers, as one block of text within a token budget (rule 17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from olvido.domain.context import ContextBlock, LeftOut, fill, require_count
from olvido.domain.context_entries import offered
from olvido.domain.eligibility import eligibility
from olvido.domain.identifiers import optional_identifier
from olvido.domain.lineage import Case, LastReport, case_of
from olvido.domain.live_state import match_topics
from olvido.domain.recalled import episode_label
from olvido.domain.records import Episode, Session, Summary, SummaryEntry
from olvido.domain.tokens import estimator
from olvido.errors import NotFound
from olvido.operations.environment import Caller, Environment
from olvido.operations.recall import answer, episode_text
from olvido.operations.search import ask
from olvido.operations.session_state import state
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_RECALL = statements("recall")
_EPISODES = statements("episodes")


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

    One text stands once, with its strongest origin. Reports of one case that differ stand side by side, oldest first,
    and each names the last one, which is there even if the question did not find it. A summary is left out where all
    that it tells of is in the block.
    max_tokens: hard limit for the whole text, from 0 up, as `count_tokens` counts; None is a high estimate
    (`olvido.domain.tokens`). session_id: a session whose state and facts belong in it; None is none.
    Raises NotFound for a session that is not there, is expired or is kept for another purpose; otherwise as `recall`.
    """
    require_count(max_tokens, "max_tokens")
    optional_identifier(session_id, "session_id")
    policy = environment.policy
    question = await ask(environment, query, eligibility(policy, purpose=purpose), limit=policy.limits.recall_items_max)
    async with environment.database.snapshot(caller.life) as transaction:
        recalled = await answer(environment, caller, transaction, question)
        session = None if session_id is None else await _session(transaction, session_id, recalled.purpose)
        cases = list(dict.fromkeys(case for item in recalled.items if (case := case_of(item.record)) is not None))
        last_reports = await _last_reports(transaction, cases, recalled.purpose) if cases else {}
        summaries = await _summaries(transaction, cases, recalled.purpose) if cases else []

    def label_of(episode: Episode) -> str:
        return episode_label(episode, next(iter(match_topics(policy, episode_text(policy, episode))), None))

    choice = offered(recalled, session, summaries, last_reports, label_of)
    filled = fill(choice.entries, max_tokens, count_tokens or estimator(), by_importance=choice.by_importance)
    return ContextBlock(
        text=filled.text,
        entries=filled.included,
        tokens=filled.tokens,
        max_tokens=max_tokens,
        included=tuple(dict.fromkeys(entry.record_id for entry in filled.included if entry.record_id)),
        omitted=tuple(
            LeftOut(section=entry.section, record_id=entry.record_id, label=entry.label) for entry in filled.omitted
        ),
        consult=recalled.consult,
        more=recalled.omitted,
        text_only=recalled.text_only,
        scope=recalled.scope,
        purpose=recalled.purpose,
        policy_version=recalled.policy_version,
        now=recalled.now,
    )


async def _session(transaction: Transaction, session_id: str, purpose: str) -> Session:
    session = await state(transaction, session_id)
    if session.purpose != purpose:
        raise NotFound("No session by this id is kept for this purpose. Leave session_id out, or ask for its purpose.")
    return session


async def _last_reports(transaction: Transaction, cases: list[Case], purpose: str) -> Mapping[Case, LastReport]:
    found = await transaction.all(_EPISODES["last_of_cases"], **_columns(cases), purpose=purpose)
    return {
        (row["definition"], row["case_id"]): LastReport(episode=rows.episode(row), reports=row["reports"])
        for row in found
    }


async def _summaries(transaction: Transaction, cases: list[Case], purpose: str) -> list[Summary]:
    """Summaries of these cases, where they tell more than one report."""
    found = await transaction.all(_RECALL["summaries"], **_columns(cases))
    entries: dict[object, list[SummaryEntry]] = {}
    for row in await transaction.all(
        _RECALL["summary_entries"], record_ids=[row["record_id"] for row in found], purpose=purpose
    ):
        entries.setdefault(row["summary_id"], []).append(rows.summary_entry(row))
    told = [rows.summary(row, entries[row["record_id"]]) for row in found if len(entries.get(row["record_id"], ())) > 1]
    return sorted(told, key=lambda summary: cases.index((summary.definition, summary.case_id)))


def _columns(cases: list[Case]) -> dict[str, object]:
    return {"definitions": [definition for definition, _ in cases], "case_ids": [case_id for _, case_id in cases]}
