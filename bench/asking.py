"""Questions asked of a memory of conversations, and what the answers are worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import olvido
from bench.conversations import Conversation, Question, Turn
from bench.relevance import Ranking, floor_that_loses, mean, share_under, summary
from bench.stages import Stages
from olvido.domain.policy_document import Ranking as Weights

TENANT = "bench"
LIMIT = 20
BATCH = 64
"""Turns in one call of `record_episodes`."""

ANSWERABLE = (1, 2, 3, 4)
"""Categories whose questions have an answer; 5 asks one speaker for what the other one said."""

LOST = 0.03
"""The share of answerable questions that a floor may lose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One question, what came back, and how strong.

    best: the highest `base` of an item, 0 if there was none or it was not explained. weak: no item is a match.
    """

    question: Question
    ranking: Ranking
    best: float
    weak: bool

    @property
    def refused(self) -> bool:
        """Whether nothing came back."""
        return not self.ranking.found

    @property
    def answerable(self) -> bool:
        """Whether its category has answers."""
        return self.question.category in ANSWERABLE


def episode_of(turn: Turn) -> olvido.NewEpisode:
    """A turn as it is remembered: its session is its case, its speaker is who acted."""
    texts = {"text": turn.text, "caption": turn.caption}
    return olvido.NewEpisode(
        definition="turn",
        event_id=turn.id,
        case_id=f"session-{turn.session}",
        occurred_at=turn.at,
        origin=olvido.Origin.declared("chat", ref=turn.id, actor=turn.speaker, at=turn.at),
        fields={name: text for name, text in texts.items() if text is not None and text.strip()},
    )


async def remember(memory: olvido.Memory, conversations: Mapping[str, Conversation]) -> None:
    """Record every turn of every conversation, by subject, embedded, in batches."""
    with progress("remembering", sum(len(one.turns) for one in conversations.values())) as advance:
        for subject, conversation in conversations.items():
            person = memory.scope(tenant=TENANT, subject=subject)
            for start in range(0, len(conversation.turns), BATCH):
                batch = conversation.turns[start : start + BATCH]
                await person.record_episodes([episode_of(turn) for turn in batch])
                advance(len(batch))


async def ask(
    memory: olvido.Memory,
    subject: str,
    questions: Sequence[Question],
    *,
    stages: Stages | None = None,
    reword: Callable[[str], str] = str,
    explain: bool = False,
) -> list[Asked]:
    """Ask each question, one after the other, and keep what came back.

    stages: takes the times. reword: changes the words of a question first. explain: so that `best` is known.
    """
    stages = stages or Stages()
    person = memory.scope(tenant=TENANT, subject=subject)
    answers = []
    for question in questions:
        found = await stages.of(person.recall(reword(question.question), limit=LIMIT, explain=explain))
        ids = tuple(item.record.event_id for item in found.items)
        answers.append(
            Asked(
                question=question,
                ranking=Ranking(evidence=frozenset(question.evidence), found=ids),
                best=max((item.parts.base for item in found.items if item.parts is not None), default=0.0),
                weak=all(item.strength == "weak" for item in found.items),
            )
        )
    return answers


def measures(answers: Sequence[Asked]) -> dict[str, object]:
    """The measures over the answerable categories, and of each category that was asked."""
    found: dict[str, object] = {"1-4": summary([one.ranking for one in answers if one.answerable])}
    for category in sorted({one.question.category for one in answers}):
        found[str(category)] = summary([one.ranking for one in answers if one.question.category == category])
    return found


def renamed(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """`text` with the names in `old` replaced by those at the same places of `new`, as whole words, all at once."""
    names = dict(zip(old, new, strict=False))
    pattern = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(names, key=len, reverse=True))
    return re.sub(pattern, lambda found: names[found[0]], text) if names else text


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Answers with the floors of the policy, and the same questions without any floor."""

    shipped: list[Asked]
    floorless: list[Asked]

    def answerable(self) -> Answers:
        """Those to questions of answerable categories."""
        return Answers(
            shipped=[one for one in self.shipped if one.answerable],
            floorless=[one for one in self.floorless if one.answerable],
        )


def told_apart(weights: Weights, own: Answers, foreign: Answers) -> dict[str, object]:
    """How well questions of another conversation (`foreign`) are told from those of this one (`own`, at least one)."""
    best = [one.best for one in own.floorless]
    floor = floor_that_loses(LOST, best)
    return {
        "asked": len(foreign.shipped),
        "floors_as_shipped": {
            "omit_below": weights.omit_below,
            "weak_below": weights.weak_below,
            "refused": mean([float(one.refused) for one in foreign.shipped]),
            "refused_or_weak": mean([float(one.weak) for one in foreign.shipped]),
            "answerable_refused": mean([float(one.refused) for one in own.shipped]),
            "answerable_refused_or_weak": mean([float(one.weak) for one in own.shipped]),
        },
        "floor_that_loses_3_percent": {
            "floor": round(floor, 4),
            "under": share_under(floor, [one.best for one in foreign.floorless]),
            "answerable_under": share_under(floor, best),
        },
    }


@contextmanager
def progress(task: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr until the block ends; call what it gives with how many more are done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        number = shown.add_task(task, total=total)

        def advance(count: int) -> None:
            shown.advance(number, count)

        yield advance
