"""Propose what to forget for a request in words, and forget what was chosen of it: search proposes, ids dispose."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from olvido.domain.eligibility import eligibility
from olvido.domain.proposal import (
    GONE,
    LIFETIME,
    MOST,
    Proposal,
    ProposedRecord,
    require_chosen,
    require_unchanged,
    seal,
    unseal,
)
from olvido.domain.ranking import Strength
from olvido.domain.recalled import Recall, RecallItem, one_line
from olvido.domain.records import Episode, Preference, RecordKind
from olvido.domain.report import ForgetReport
from olvido.domain.selection import distinct_ids
from olvido.domain.words import Keys, tokens
from olvido.errors import PlanChanged
from olvido.operations.environment import Caller, Environment
from olvido.operations.forget import forget_records
from olvido.operations.forget_where import TARGET
from olvido.operations.recall import answer
from olvido.operations.search import Question, ask
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_SQL = statements("selection")
_LANGUAGES = ("en", "es", "pt", "other")
_SAID = {"session": "said in session", "fact": "known in session"}
HALF = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """A record, and the number by which a change of it is seen, as the statement `states` has it."""

    record: ProposedRecord
    state: int = 0


async def propose_forget(environment: Environment, caller: Caller, query: str) -> Proposal:
    """The records that a request in words may mean, best match first. Nothing is removed.

    query: such as "my address"; as `recall` takes it. What is kept for any purpose is searched: preferences, episodes,
    and what was said and noted in live sessions. Raises InvalidValue, TenantClosed.
    """
    policy = environment.policy
    question = await ask(environment, query, eligibility(policy), limit=policy.limits.recall_items_max)
    async with environment.database.snapshot(caller.life) as transaction:
        purposes = [row["purpose"] for row in await transaction.all(_SQL["purposes"])]
        recalled = [
            await answer(environment, caller, transaction, _for(question, purpose), explain=True)
            for purpose in purposes
        ]
        said = await transaction.all(_SQL["said"])
        key, expires_at = transaction.key, rows.utc(transaction.now) + LIFETIME
    found = [each for one in recalled for each in _recalled(one, policy.ranking.omit_below)]
    found += await asyncio.to_thread(_in_sessions, question, said, policy.ranking.text)
    found.sort(key=lambda each: -each.record.score)
    beyond, found = len(found[MOST:]), found[:MOST]
    states = {each.record.record_id: each.state for each in found}
    scope, version = caller.life.scope, policy.version
    return Proposal(
        records=tuple(each.record for each in found),
        # Without a life there is nothing to propose, and nothing that a token could be of.
        token="" if key is None else seal(states, scope.tenant, key, version, expires_at=expires_at),
        expires_at=expires_at,
        omitted=sum(one.omitted for one in recalled) + beyond,
        index_complete=all(one.index_complete for one in recalled),
    )


async def forget_proposed(
    environment: Environment, caller: Caller, token: str, *, record_ids: Collection[UUID | str]
) -> ForgetReport:
    """Forget the records that were chosen from a proposal, in one transaction with one report.

    token: of `propose_forget` for the same person. record_ids: at least one of those that were proposed; one that is
    gone meanwhile is no error, so that this may be repeated.
    Raises InvalidInput (another token, or an id that was not proposed), PlanChanged (the proposal is older than 15
    minutes, or a chosen record changed since), and what `forget` raises. Nothing was removed then.
    """
    chosen = distinct_ids(record_ids)
    scope, version = caller.life.scope, environment.policy.version

    async def choose(transaction: Transaction, _: tuple[UUID, ...] | None) -> tuple[UUID, ...]:
        if transaction.key is None:
            raise PlanChanged(GONE)
        proposed = unseal(token, scope.tenant, transaction.key, version, now=transaction.now)
        require_chosen(proposed, chosen)
        standing = await transaction.all(_SQL["states"], record_ids=list(chosen))
        require_unchanged(proposed, {row["record_id"]: int(row["state"]) for row in standing})
        return chosen

    return await forget_records(environment, caller, choose, target=TARGET)


def _for(question: Question, purpose: str) -> Question:
    return replace(question, choice=replace(question.choice, purpose=purpose), topics=())


def _recalled(recalled: Recall, floor: float) -> Iterator[_Found]:
    """What recall found for one purpose, each record by itself, and the preferences that bear on the question."""
    for offered in recalled.preferences:
        if offered.parts is not None and offered.parts.base >= floor:
            yield _Found(record=_proposed(offered, RecordKind.PREFERENCE), state=offered.record.version)
    for item in recalled.items:
        first = _proposed(item, RecordKind.EPISODE)
        yield _Found(record=first)
        for again in item.also:
            label = f"history: {again.definition}, {again.origin.origin_class} via {again.origin.source}"
            label = one_line(f"{label} on {again.at.date().isoformat()}; says the same")
            yield _Found(record=replace(first, record_id=again.record_id, label=label))


def _proposed(item: RecallItem[Preference] | RecallItem[Episode], kind: RecordKind) -> ProposedRecord:
    return ProposedRecord(
        record_id=item.record_id,
        kind=kind,
        label=item.label,
        text=item.text,
        strength=item.strength,
        score=item.score,
    )


def _in_sessions(question: Question, said: Sequence[rows.Row], weight: float) -> list[_Found]:
    """The sessions and facts that have at least half the words of the question, each with the part that has most.

    Sessions are not indexed: they end soon. weight: what a score of 1 by words alone counts for in recall.
    """
    words, keys = question.read.words, Keys()
    best: dict[UUID, tuple[float, rows.Row]] = {}
    for row in said:
        told = tokens(row["content"])
        held = {key for language in _LANGUAGES for key in keys.of(told, language)}
        share = sum(1 for word in words if word & held) / len(words) if words else 0.0
        if share >= HALF and share > best.get(row["record_id"], (0.0, row))[0]:
            best[row["record_id"]] = (share, row)
    return [
        _Found(
            record=ProposedRecord(
                record_id=record_id,
                kind=RecordKind(row["kind"]),
                label=one_line(f"{_SAID[row['kind']]} {row['session_id']} on {row['at'].date().isoformat()}"),
                text=row["content"],
                strength=Strength.MATCH if share == 1 else Strength.WEAK,
                score=weight * share,
            ),
            state=row["state"],
        )
        for record_id, (share, row) in best.items()
    ]
