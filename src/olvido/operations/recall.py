"""Recall: scope, then validity, then eligibility, then rank, exactly, in one snapshot (rules 10, 14, 16 and 17)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from olvido.domain.eligibility import Eligibility, eligibility
from olvido.domain.live_state import LiveTopic, match_topics, words
from olvido.domain.origin import OriginClass
from olvido.domain.policy import Policy
from olvido.domain.ranking import ScoreParts, Strength, parameters, require_query, strength_of
from olvido.domain.recalled import Consult, Recall, RecallItem, consult_for, episode_label, preference_label, written
from olvido.domain.records import Episode, Kind, Preference
from olvido.errors import InvalidInput
from olvido.operations.embedding import query_vectors
from olvido.operations.environment import Caller, Environment
from olvido.ports import Vector
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

MENTIONS_READ = 20
"""How many of the newest episodes with a word of a live state are looked at for when it was last mentioned."""

_SQL = statements("recall")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A checked question, embedded before any transaction.

    vector, centre: None when the embedder failed; then only words are compared.
    """

    text: str
    language: str
    choice: Eligibility
    limit: int
    topics: tuple[LiveTopic, ...]
    vector: Vector | None
    centre: Vector | None


async def recall(
    environment: Environment,
    caller: Caller,
    query: str,
    *,
    limit: int | None = None,
    purpose: str | None = None,
    kinds: Collection[Kind] | None = None,
    definition: str | None = None,
    case_id: str | None = None,
    status: str | None = None,
    origin_class: OriginClass | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Recall:
    """What is known that bears on `query`: preferences, labelled history, and what to consult instead.

    query: a question or words, up to the policy's query_length characters; operators in it are plain words.
    limit: most episodes to return, 1 up to the policy's recall_items_max; None takes its recall_items.
    purpose: what it is for; None is the policy's default. Records kept for another purpose are not eligible.
    kinds: None is both. The other filters narrow the episodes; `since` is included, `until` is not.
    Raises InvalidValue, InvalidInput, InvalidScope, InvalidTime, NotInPolicy, LiveState, TenantClosed.
    """
    choice = eligibility(
        environment.policy,
        purpose=purpose,
        kinds=kinds,
        definition=definition,
        case_id=case_id,
        status=status,
        origin_class=origin_class,
        since=since,
        until=until,
    )
    question = await ask(environment, query, choice, limit=limit)
    async with environment.database.snapshot(caller.life) as transaction:
        return await answer(environment, caller, transaction, question)


async def ask(environment: Environment, query: str, choice: Eligibility, *, limit: int | None = None) -> Question:
    """Check the question, then embed it. Raises InvalidValue, InvalidInput."""
    policy = environment.policy
    text = require_query(query, policy.limits.query_length)
    size = policy.limits.recall_items if limit is None else limit
    if type(size) is not int or not 1 <= size <= policy.limits.recall_items_max:
        raise InvalidInput(f"limit must be a whole number between 1 and {policy.limits.recall_items_max}.")
    vector, centre = await query_vectors(environment, text) or (None, None)
    return Question(
        text=text,
        language=await asyncio.to_thread(environment.detector.detect, text),
        choice=choice,
        limit=size,
        topics=match_topics(policy, text),
        vector=vector,
        centre=centre,
    )


async def answer(environment: Environment, caller: Caller, transaction: Transaction, question: Question) -> Recall:
    """Rank and read in a transaction that sees one instant of the database."""
    policy = environment.policy
    ranked = await transaction.all(_SQL["rank"], **rank_parameters(environment, question))
    first = ranked[0]
    parts = {row["record_id"]: _parts(row) for row in ranked if row["record_id"] is not None}
    ids = [row["record_id"] for row in ranked if row["kind"] == Kind.EPISODE]
    preferences: list[RecallItem[Preference]] = []
    if Kind.PREFERENCE in question.choice.kinds:
        found = await transaction.all(_SQL["preferences"], purpose=question.choice.purpose)
        preferences = [_preference(policy, rows.preference(row), parts) for row in found]
        preferences.sort(key=lambda item: -item.score)
    items: list[RecallItem[Episode]] = []
    if ids:
        found = await transaction.all(_SQL["episodes"], record_ids=ids, purpose=question.choice.purpose)
        episodes = {row["record_id"]: rows.episode(row) for row in found}
        items = [_episode(policy, episodes[chosen], parts[chosen]) for chosen in ids if chosen in episodes]
    return Recall(
        scope=caller.life.scope,
        purpose=question.choice.purpose,
        policy_version=policy.version,
        now=rows.utc(transaction.now),
        preferences=tuple(preferences),
        items=tuple(items),
        consult=await _consult(policy, transaction, question),
        omitted=first["episodes"] - len(items),
        text_only=question.vector is None,
        unembedded=first["bare"],
    )


def episode_text(policy: Policy, episode: Episode) -> str:
    """The fields of an episode as one text: those the policy searches in, or all if it no longer knows the kind."""
    rule = policy.episodes.get(episode.definition)
    if rule is None:
        return "\n".join(written(value) for value in episode.fields.values() if value is not None)
    return rule.text(episode.fields, episode.status)


def rank_parameters(environment: Environment, question: Question) -> dict[str, object]:
    """What the statement `rank` takes beside the scope."""
    return {
        "query": question.text,
        "language": question.language,
        "size": question.limit,
        "embedder": None if question.vector is None else environment.embedder.id,
        "dimensions": environment.embedder.dimensions,
        "vector": question.vector,
        "centre": question.centre,
        **question.choice.parameters(),
        **parameters(environment.policy.ranking),
    }


async def _consult(policy: Policy, transaction: Transaction, question: Question) -> tuple[Consult, ...]:
    answers = []
    for topic in question.topics:
        terms = policy.live_state[topic.name].topics.values()
        spoken = sorted({word for listed in terms for term in listed for word in words(term)})
        found = await transaction.all(
            _SQL["mentioning"], words=spoken, purpose=question.choice.purpose, size=MENTIONS_READ
        )
        seen = (rows.episode(row) for row in found)
        last = next((past for past in seen if topic in match_topics(policy, episode_text(policy, past))), None)
        answers.append(consult_for(topic, None if last is None else last.occurred_at))
    return tuple(answers)


def _preference(policy: Policy, preference: Preference, parts: Mapping[UUID, ScoreParts]) -> RecallItem[Preference]:
    scored = parts.get(preference.record_id)
    return RecallItem(
        record=preference,
        label=preference_label(preference),
        strength=Strength.WEAK if scored is None else strength_of(scored, policy.ranking),
        parts=scored,
    )


def _episode(policy: Policy, episode: Episode, parts: ScoreParts) -> RecallItem[Episode]:
    live = next(iter(match_topics(policy, episode_text(policy, episode))), None)
    strength = strength_of(parts, policy.ranking)
    return RecallItem(
        record=episode,
        label=episode_label(episode, live, strength),
        strength=strength,
        parts=parts,
        live_topic=None if live is None else live.name,
    )


def _parts(row: Mapping[str, Any]) -> ScoreParts:
    names = ("lex", "sem", "base", "recency", "reliability", "score")
    return ScoreParts(**{name: row[name] for name in names})
