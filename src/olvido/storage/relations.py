"""What the data map says of a relation: whose it is, what it holds, how it is forgotten and exported (rule 19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class RelationClass(StrEnum):
    """Who a relation belongs to, which decides its policy and grants.

    subject: personal records, visible inside one scope.
    tenant: facts about a company's memory, visible inside one tenant.
    system: opaque keys, times and versions.
    """

    SUBJECT = "subject"
    TENANT = "tenant"
    SYSTEM = "system"


class ColumnClass(StrEnum):
    """What a column holds.

    scope: tenant and life. content: what was remembered, or words and numbers derived from it. identifier: an id
    that may name a person or a case. origin: where it came from. attribute: a word from the policy or the code.
    instant, number: neither says anything by itself; the planner may keep statistics of these only.
    """

    SCOPE = "scope"
    CONTENT = "content"
    IDENTIFIER = "identifier"
    ORIGIN = "origin"
    ATTRIBUTE = "attribute"
    INSTANT = "instant"
    NUMBER = "number"


class Forget(StrEnum):
    """What a forget of the subject does to a relation.

    delete: its rows go, and the read-back after commit counts them. keep: nothing personal is in it.
    """

    DELETE = "delete"
    KEEP = "keep"


class Exported(StrEnum):
    """How an export shows a relation.

    rows: row by row, what is live of it. counted: by the number of its rows, since it is derived from what is shown.
    no: nothing personal is in it.
    """

    ROWS = "rows"
    COUNTED = "counted"
    NO = "no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Where an export shows the rows of a relation: inside the row of another one, as the list `name`.

    own, other: the columns that tie a row to the row of `relation` that it belongs to.
    """

    relation: str
    own: str
    other: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """One relation. reason: why its rule is what it is, for whoever reads a report or the map.

    exported, part: how an export shows it; part is None for what stands by itself.
    """

    name: str
    relation_class: RelationClass
    forget: Forget
    exported: Exported
    reason: str
    columns: Mapping[str, ColumnClass]
    part: Part | None = None
