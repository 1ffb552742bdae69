"""Conversations with questions about them, read from a file: one conversation a line, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

MOST_SHOWN = 20


class UnreadableFile(Exception):
    """The file is not of this format. The message names every bad line (the first 20) and what is wrong in it."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Turn(_Part):
    """What somebody said. at: aware, when it was said. caption: what the picture that came with it shows."""

    id: str = Field(min_length=1)
    session: int | str
    at: AwareDatetime
    speaker: str = Field(min_length=1)
    text: str
    caption: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Turn:
        if not self.text.strip() and not (self.caption or "").strip():
            raise PydanticCustomError("blank", "text and caption are both blank")
        return self


class Question(_Part):
    """A question. evidence: ids of the turns that answer it.

    category: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    """

    question: str = Field(min_length=1)
    category: Literal[1, 2, 3, 4, 5]
    evidence: tuple[str, ...]


class Conversation(_Part):
    """One conversation. name: of it in the file, if it has one."""

    name: str | None = Field(default=None, alias="conversation")
    turns: tuple[Turn, ...] = Field(min_length=1)
    questions: tuple[Question, ...]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Conversation:
        ids = [turn.id for turn in self.turns]
        if len(set(ids)) < len(ids):
            raise PydanticCustomError("repeated", "two turns have the same id")
        return self

    @property
    def speakers(self) -> tuple[str, ...]:
        """Who speaks, in the order of their first turns."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))


def read(path: Path) -> tuple[Conversation, ...]:
    """The conversations of a file, in its order; blank lines are skipped. Raises UnreadableFile."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or type(error).__name__}.") from None
    found: list[Conversation] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(Conversation.model_validate_json(line))
        except ValidationError as error:
            problems += [f"{path.name}:{number}: {problem}" for problem in _problems(error)]
    if problems:
        raise UnreadableFile("\n".join(_shortened(problems)))
    if not found:
        raise UnreadableFile(f"{path.name} holds no conversation.")
    return tuple(found)


def _problems(error: ValidationError) -> Iterable[str]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(map(str, detail["loc"]))
        yield f"{place}: {detail['msg']}" if place else detail["msg"]


def _shortened(problems: Sequence[str]) -> list[str]:
    rest = [f"and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
    return [*problems[:MOST_SHOWN], *rest]
