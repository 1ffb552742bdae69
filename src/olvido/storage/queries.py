"""Named SQL: every statement stands in `sql/<entity>.sql` under a name and a line that says what it is for.

    -- name: head_for_update
    -- The current value of one key, locked until the transaction ends.
    SELECT ...

`statements("preferences")` gives that file's statements by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PARTITIONED = ("episodes", "index_entries", "messages")

_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)
_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_LEAF = re.compile(rf"({'|'.join(PARTITIONED)})_\d+", re.ASCII)
_READS_LEAVES = re.compile(rf"(?<!INSERT INTO )olvido\.({'|'.join(PARTITIONED)})\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One named statement.

    text: as bytes, which is how psycopg takes SQL that is not a literal in the source, without lines of comment: of
        what takes more than 4,096 bytes psycopg looks for the parameters anew at each call.
    reads_leaves: it reads, changes or deletes rows of a partitioned relation, so that a generic plan of it would lock
        every leaf; a plain INSERT is routed to one leaf and locks no other.
    """

    name: str
    purpose: str
    text: bytes
    reads_leaves: bool


def is_leaf(relation: str) -> bool:
    """Whether this is the name of a part of a large relation."""
    return _LEAF.fullmatch(relation) is not None


@cache
def statements(entity: str) -> dict[str, Statement]:
    """All statements of one entity. Raises ValueError for a statement without a purpose line or named twice."""
    return named((files("olvido.storage") / "sql" / f"{entity}.sql").read_text(encoding="utf-8"), entity)


def named(source: str, entity: str) -> dict[str, Statement]:
    """The statements of a text in that form, by name. Raises ValueError as `statements` does."""
    parts = _NAME.split(source)[1:]
    found: dict[str, Statement] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        comment, _, text = body.strip().partition("\n")
        if not comment.startswith("-- ") or not text.strip():
            raise ValueError(f"{entity}.{name}: the line after the name must be a comment that says the purpose")
        if name in found:
            raise ValueError(f"{entity}.{name} is named twice")
        found[name] = Statement(
            name=f"{entity}.{name}",
            purpose=comment[3:],
            text=_COMMENT.sub("", text).strip().encode(),
            reads_leaves=_READS_LEAVES.search(text) is not None,
        )
    return found


def entities() -> list[str]:
    """The names of all SQL files, sorted."""
    return sorted(
        entry.name.removesuffix(".sql")
        for entry in (files("olvido.storage") / "sql").iterdir()
        if entry.name.endswith(".sql")
    )
