"""Recall: scope, then validity, then eligibility, then rank, exactly, in one snapshot (rules 10, 14, 16 and 17)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from olvido.domain.eligibility import eligibility
from olvido.domain.lineage import gather
from olvido.domain.live_state import LiveTopic, match_topics
from olvido.domain.origin import OriginClass
from olvido.domain.policy import Policy
from olvido.domain.ranking import Candidates, Ranked, Strength, strength_of
from olvido.domain.recalled import Consult, Recall, RecallItem, consult_for, episode_label, preference_label, written
from olvido.domain.records import Episode, Kind, Preference
from olvido.domain.words import LEXER, asked
from olvido.operations.environment import Caller, Environment
from olvido.operations.search import Question, ask, scored
from olvido.storage import rows
from olvido.storage.arrays import uuids
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

MENTIONS_AT_ONCE = 200
MORE_MENTIONS = 4
"""How many episodes with a word of a live state one statement reads, the newest first: most often the first is it. Each
next one looks at all of them again, and so reads so many times more."""

_SQL = statements("recall")


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
    product: str | None = None,
    status: str | None = None,
    origin_class: OriginClass | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    explain: bool = False,
) -> Recall:
    """What is known that bears on `query`: preferences, labelled history, and what to consult instead.

    query: a question or words, up to the policy's query_length characters; operators in it are plain words.
    limit: most episodes to return, 1 up to the policy's recall_items_max; None takes its recall_items.
    purpose: what it is for; None is the policy's default. Records kept for another purpose are not eligible.
    kinds: None is both. The other filters narrow the episodes; `since` is included, `until` is not.
    explain: whether each item tells what its score is made of.
    Raises InvalidValue, InvalidInput, InvalidScope, InvalidTime, NotInPolicy, LiveState, TenantClosed.
    """
    choice = eligibility(
        environment.policy,
        purpose=purpose,
        kinds=kinds,
        definition=definition,
        case_id=case_id,
        product=product,
        status=status,
        origin_class=origin_class,
        since=since,
        until=until,
    )
    question = await ask(environment, query, choice, limit=limit)
    async with environment.database.snapshot(caller.life) as transaction:
        return await answer(environment, caller, transaction, question, explain=explain)


async def answer(
    environment: Environment, caller: Caller, transaction: Transaction, question: Question, *, explain: bool = False
) -> Recall:
    """Rank and read in a transaction that sees one instant of the database."""
    policy = environment.policy
    candidates, ranked = await scored(environment, transaction, question)
    shown = _Shown(
        policy=policy,
        transaction=transaction,
        question=question,
        candidates=candidates,
        ranked=ranked,
        explain=explain,
    )
    preferences, items = await shown.read()
    return Recall(
        scope=caller.life.scope,
        purpose=question.choice.purpose,
        policy_version=policy.version,
        now=rows.utc(transaction.now),
        preferences=tuple(preferences),
        items=tuple(items),
        consult=await _consult(policy, transaction, question),
        omitted=ranked.total - sum(len(item.record_ids) for item in items),
        text_only=question.vector is None,
        unindexed=ranked.unindexed,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shown:
    """What ranking chose, to be read and labelled. texts: of the episodes that were read, by record id."""

    policy: Policy
    transaction: Transaction
    question: Question
    candidates: Candidates
    ranked: Ranked
    explain: bool
    texts: dict[UUID, str] = field(default_factory=dict)

    async def read(self) -> tuple[list[RecallItem[Preference]], list[RecallItem[Episode]]]:
        """All current preferences for the purpose, and the best episodes, each thing that was said once."""
        limit, best, ids = self.question.limit, self.ranked.episodes, self.candidates.record_id
        preferences: list[RecallItem[Preference]] = []
        read: list[RecallItem[Episode]] = []
        items: list[RecallItem[Episode]] = []
        taken = 0
        offered = Kind.PREFERENCE in self.question.choice.kinds
        while offered or (len(items) < limit and taken < len(best)):
            # Records that say the same are one item, which leaves room for others.
            places = best[taken : taken + limit - len(items)]
            found = await self.transaction.all(
                _SQL["shown"], record_ids=uuids(ids[places]), purpose=self.question.choice.purpose, offered=offered
            )
            if offered:
                # A value from before its key became live state is stale, whatever it says.
                current = [rows.preference(row) for row in found if row["key"] is not None]
                preferences = self._preferences([one for one in current if one.key not in self.policy.live_state])
                offered = False
            rest = {row["record_id"].bytes: rows.episode(row) for row in found if row["key"] is None}
            read += [
                self._episode(episode, place)
                for place in places.tolist()
                if (episode := rest.get(ids[place].tobytes())) is not None
            ]
            items = gather(read, lambda episode: self.texts[episode.record_id])
            taken += len(places)
        return preferences, items

    def _preferences(self, found: list[Preference]) -> list[RecallItem[Preference]]:
        """Those that bear on the question first, then by key."""
        places = {self.candidates.record_id[place].tobytes(): place for place in self.ranked.preferences.tolist()}
        items = [self._preference(preference, places.get(preference.record_id.bytes)) for preference in found]
        return sorted(items, key=lambda item: (-item.score, item.record.key))

    def _preference(self, preference: Preference, place: int | None) -> RecallItem[Preference]:
        label = preference_label(preference)
        if place is None:
            return RecallItem(record=preference, label=label, strength=Strength.WEAK, score=0.0)
        return RecallItem(
            record=preference,
            label=label,
            strength=strength_of(self.ranked.base(place), self.policy.ranking),
            score=self.ranked.score(place),
            parts=self.ranked.parts_of(place) if self.explain else None,
        )

    def _episode(self, episode: Episode, place: int) -> RecallItem[Episode]:
        text = self.texts[episode.record_id] = episode_text(self.policy, episode)
        live = next(iter(match_topics(self.policy, text)), None)
        strength = self.ranked.strength(place, self.policy.ranking)
        return RecallItem(
            record=episode,
            label=episode_label(episode, live, strength),
            strength=strength,
            score=self.ranked.score(place),
            parts=self.ranked.parts_of(place) if self.explain else None,
            live_topic=None if live is None else live.name,
        )


def episode_text(policy: Policy, episode: Episode) -> str:
    """The fields of an episode as one text: those the policy searches in, or all if it no longer knows the kind."""
    rule = policy.episodes.get(episode.definition)
    if rule is None:
        return "\n".join(written(value) for value in episode.fields.values() if value is not None)
    return rule.text(episode.fields, episode.status)


def indexed_text(policy: Policy, episode: Episode) -> str:
    """The same as it is indexed, with who said it where the policy makes that searchable."""
    rule = policy.episodes.get(episode.definition)
    if rule is None:
        return episode_text(policy, episode)
    return rule.indexed_text(episode.fields, episode.status, episode.origin.actor)


@lru_cache(maxsize=256)
def _spoken(policy: Policy, topic: str) -> dict[int, float]:
    """The words of a live state in all languages, as records have them."""
    terms = policy.live_state[topic].topics
    return {
        key: 1.0 for language in terms for term in terms[language] for keys in asked(term, language) for key in keys
    }


async def _consult(policy: Policy, transaction: Transaction, question: Question) -> tuple[Consult, ...]:
    purpose = question.choice.purpose
    return tuple(
        [consult_for(topic, await _last_seen(policy, transaction, topic, purpose)) for topic in question.topics]
    )


async def _last_seen(policy: Policy, transaction: Transaction, topic: LiveTopic, purpose: str) -> datetime | None:
    """When the newest episode that mentions a live state happened; read on until there is one, or no more."""
    words = rows.sparse(_spoken(policy, topic.name))
    last: Episode | None = None
    size = MENTIONS_AT_ONCE
    while True:
        found = await transaction.all(
            _SQL["mentioning"],
            lexer=LEXER,
            words=words,
            purpose=purpose,
            size=size,
            before_at=None if last is None else last.occurred_at,
            before_id=None if last is None else last.record_id,
        )
        if not found:
            return None
        size *= MORE_MENTIONS
        for row in found:
            last = rows.episode(row)
            if topic in match_topics(policy, episode_text(policy, last)):
                return last.occurred_at
