"""What hangs on each relation, compared with what the migrations make: columns, keys, checks, indexes, rules, triggers.

`schema.json` holds what is right; `make schema` writes it from a migrated database, and a test compares the two. A leaf
has what its parent has, as PostgreSQL sees to, and must have nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from olvido.storage.data_map import DATA_MAP, ColumnClass
from olvido.storage.findings import Finding, Severity

_Rows = Iterable[Mapping[str, Any]]
Expected = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By relation, kind and name: the definition."""

_NAMED = 3
"""Leaves that a finding names; the others are counted."""


class _Object(NamedTuple):
    """One thing that hangs on a relation."""

    relation: str
    kind: str
    name: str
    definition: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """What to say of one kind of object. unserved: start-up refuses, because a wall is missing or has a door."""

    code: str
    problem: str
    remedy: str
    severity: Severity = Severity.WARNING
    unserved: bool = False


_ADD = (
    "Drop what has its name, mend the rows that break it, then, as the owner: "
    "ALTER TABLE olvido.{relation} ADD CONSTRAINT {name} {definition}."
)
_MISSING = {
    "key": _Rule(
        code="missing_key",
        problem="The relation {where} lacks its {definition}, by which two scopes are kept apart, one thing is stored "
        "once, or a late write is refused.",
        remedy=_ADD,
        severity=Severity.ERROR,
        unserved=True,
    ),
    "check": _Rule(
        code="missing_check",
        problem="The relation {where} lacks the check {name}. Olvido itself stores nothing that breaks it.",
        remedy=_ADD,
    ),
    "index": _Rule(
        code="missing_index",
        problem="The relation {where} lacks the index {name}: what it was made for reads every row.",
        remedy="As the owner, CREATE INDEX {name} ON olvido.{relation} USING {definition}.",
    ),
}
_ADDED = {
    "key": _Rule(
        code="foreign_key",
        problem="{name} on {where} is a key that no migration made: it can tell one scope about another, or keep a "
        "forget from removing rows.",
        remedy="Drop it.",
        severity=Severity.ERROR,
        unserved=True,
    ),
    "check": _Rule(
        code="foreign_check",
        problem="{name} on {where} is a check that no migration made: it can refuse what Olvido stores.",
        remedy="Drop it.",
    ),
    "index": _Rule(
        code="foreign_index",
        problem="{name} on {where} is an index that no migration made: it keeps values of removed rows until a vacuum.",
        remedy="Drop it.",
    ),
    "expression index": _Rule(
        code="foreign_index",
        problem="{name} on {where} is an index over expressions: ANALYZE keeps what these give, also of removed rows.",
        remedy="Drop it, then ANALYZE the relation.",
        severity=Severity.ERROR,
    ),
    "rule": _Rule(
        code="foreign_rule",
        problem="The rule {name} on {where} can do something else than what was asked: copy what is stored, or keep "
        "what was to be removed.",
        remedy="Drop it.",
        severity=Severity.ERROR,
        unserved=True,
    ),
    "trigger": _Rule(
        code="foreign_trigger",
        problem="The trigger {name} on {where} may copy what is stored to where no forget looks.",
        remedy="Drop it.",
        severity=Severity.ERROR,
        unserved=True,
    ),
    "disabled trigger": _Rule(
        code="disabled_trigger",
        problem="A foreign key of {where} is not enforced, because its trigger is disabled.",
        remedy="As a superuser, ALTER TABLE olvido.{relation} ENABLE TRIGGER ALL, also for the leaves.",
        severity=Severity.ERROR,
        unserved=True,
    ),
}
_CHANGED = _Rule(
    code="changed_column",
    problem="The column {name} of {where} is not as the migrations made it, which is: {definition}.",
    remedy="As the owner, ALTER TABLE olvido.{relation} back to that.",
)
_CHANGED_ID = _Rule(
    code="changed_column",
    problem="The column {name} of {where} is not as the migrations made it, which is: {definition}. Ids are compared "
    "byte by byte, or two people may be one.",
    remedy=_CHANGED.remedy,
    severity=Severity.ERROR,
    unserved=True,
)
_IDS = frozenset({ColumnClass.SCOPE, ColumnClass.IDENTIFIER})


@cache
def expected_objects() -> Expected:
    """What the migrations make."""
    found: Expected = json.loads((files("olvido.storage") / "schema.json").read_text(encoding="utf-8"))
    return found


def described(found: _Rows) -> str:
    """`schema.json` for the database whose objects are `found`: rows of the statement `objects`."""
    kinds: dict[str, dict[str, dict[str, str]]] = {}
    for row in found:
        if row["holder"] == row["relation"]:
            kinds.setdefault(row["relation"], {}).setdefault(row["kind"], {})[row["name"]] = row["definition"]
    return json.dumps(kinds, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def object_findings(found: _Rows, *, unserved: bool = False) -> list[Finding]:
    """How the objects of a database differ from the expected ones. found: rows of the statement `objects`.

    unserved: only those for which start-up refuses. A relation or a column that is missing or was added is not among
    them: the data map says it.
    """
    where: dict[tuple[_Rule, _Object], list[str]] = {}
    for rule, what, holder in _differences(list(found)):
        where.setdefault((rule, what), []).append(holder)
    return [_finding(rule, what, holders) for (rule, what), holders in where.items() if rule.unserved or not unserved]


def _differences(rows: list[Mapping[str, Any]]) -> Iterator[tuple[_Rule, _Object, str]]:
    """What to say of which object, and the relation or leaf that lacks or has it."""
    right = expected_objects()
    present = {_object(row) for row in rows if row["holder"] == row["relation"]}
    wanted = {
        _Object(relation=relation, kind=kind, name=name, definition=definition)
        for relation, kinds in right.items()
        for kind, named in kinds.items()
        for name, definition in named.items()
    }
    named = {(each.relation, each.kind, each.name) for each in present}
    relations = {each.relation for each in present}
    for each in sorted(wanted - present):
        if each.kind == "column" and (each.relation, each.kind, each.name) in named:
            is_id = DATA_MAP[each.relation].columns[each.name] in _IDS
            yield (_CHANGED_ID if is_id else _CHANGED), each, each.relation
        elif each.kind != "column" and each.relation in relations:
            yield _MISSING[each.kind], each, each.relation
    known = {(each.relation, each.kind, each.name) for each in wanted}
    for row in rows:
        each, leaf = _object(row), row["holder"] != row["relation"]
        # What has the name of another is told above. What a leaf has from its parent is not among the rows.
        if each.relation in right and each.kind != "column" and (leaf or each[:3] not in known):
            yield _ADDED[each.kind], each, row["holder"]


def _object(row: Mapping[str, Any]) -> _Object:
    return _Object(relation=row["relation"], kind=row["kind"], name=row["name"], definition=row["definition"])


def _finding(rule: _Rule, what: _Object, holders: list[str]) -> Finding:
    others = f" and {len(holders) - _NAMED} other leaves" if len(holders) > _NAMED else ""
    words = {**what._asdict(), "where": ", ".join(holders[:_NAMED]) + others}
    return Finding(
        code=rule.code,
        problem=rule.problem.format(**words),
        remedy=rule.remedy.format(**words),
        severity=rule.severity,
    )
