"""The data map: every relation and column of the schema, what it holds, and how it is forgotten (rule 19).

A test compares this with the database catalogue, so a new table or column without a rule here fails the build.
What a person can see in an export is what a forget removes, because both walk this map.
"""

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


_C = ColumnClass
_SCOPE = {"tenant_id": _C.SCOPE, "subject_key": _C.SCOPE}
_ORIGIN = {
    "origin_class": _C.ATTRIBUTE,
    "origin_source": _C.ORIGIN,
    "origin_ref": _C.ORIGIN,
    "origin_actor": _C.ORIGIN,
    "origin_at": _C.INSTANT,
}


def _subject(
    name: str,
    reason: str,
    columns: Mapping[str, ColumnClass],
    *,
    exported: Exported = Exported.ROWS,
    part: Part | None = None,
) -> Relation:
    return Relation(
        name=name,
        relation_class=RelationClass.SUBJECT,
        forget=Forget.DELETE,
        exported=exported,
        reason=reason,
        columns={**_SCOPE, **columns},
        part=part,
    )


def _of_session(name: str) -> Part:
    return Part(relation="sessions", own="session_id", other="session_id", name=name)


SUBJECT_RELATIONS = (
    _subject(
        "summary_sources",
        "derived: which episodes a summary refers to",
        {"summary_id": _C.IDENTIFIER, "episode_id": _C.IDENTIFIER},
        part=Part(relation="summaries", own="summary_id", other="record_id", name="episodes"),
    ),
    _subject(
        "summaries",
        "derived: rebuilt from the episodes that remain",
        {
            "record_id": _C.IDENTIFIER,
            "definition": _C.ATTRIBUTE,
            "case_id": _C.IDENTIFIER,
            "origin_class": _C.ATTRIBUTE,
            "expires_at": _C.INSTANT,
            "built_at": _C.INSTANT,
        },
    ),
    _subject(
        "index_entries",
        "derived: words and vector of a preference or an episode",
        {
            "record_id": _C.IDENTIFIER,
            "kind": _C.ATTRIBUTE,
            "definition": _C.ATTRIBUTE,
            "purpose": _C.ATTRIBUTE,
            "case_id": _C.IDENTIFIER,
            "status": _C.ATTRIBUTE,
            "origin_class": _C.ATTRIBUTE,
            "occurred_at": _C.INSTANT,
            "expires_at": _C.INSTANT,
            "language": _C.ATTRIBUTE,
            "lexer": _C.ATTRIBUTE,
            "words": _C.CONTENT,
            "word_count": _C.NUMBER,
            "identifiers": _C.CONTENT,
            "product": _C.CONTENT,
            "speaker": _C.ORIGIN,
            "timed": _C.NUMBER,
            "embedder": _C.ATTRIBUTE,
            "embedding": _C.CONTENT,
        },
        exported=Exported.COUNTED,
    ),
    _subject(
        "episodes",
        "what happened, as reported",
        {
            "record_id": _C.IDENTIFIER,
            "definition": _C.ATTRIBUTE,
            "event_id": _C.IDENTIFIER,
            "case_id": _C.IDENTIFIER,
            "status": _C.ATTRIBUTE,
            "fields": _C.CONTENT,
            "language": _C.ATTRIBUTE,
            "purpose": _C.ATTRIBUTE,
            "untrusted": _C.NUMBER,
            **_ORIGIN,
            "occurred_at": _C.INSTANT,
            "recorded_at": _C.INSTANT,
            "expires_at": _C.INSTANT,
            "policy_version": _C.ATTRIBUTE,
        },
    ),
    _subject(
        "preference_versions",
        "every value a preference had",
        {
            "record_id": _C.IDENTIFIER,
            "version": _C.NUMBER,
            "key": _C.ATTRIBUTE,
            "value": _C.CONTENT,
            "change": _C.ATTRIBUTE,
            **_ORIGIN,
            "said_at": _C.INSTANT,
            "recorded_at": _C.INSTANT,
            "valid_from": _C.INSTANT,
            "valid_to": _C.INSTANT,
            "retain_until": _C.INSTANT,
            "policy_version": _C.ATTRIBUTE,
        },
        part=Part(relation="preferences", own="record_id", other="record_id", name="versions"),
    ),
    _subject(
        "preferences",
        "the one current value of each key",
        {
            "key": _C.ATTRIBUTE,
            "record_id": _C.IDENTIFIER,
            "version": _C.NUMBER,
            "value": _C.CONTENT,
            "purpose": _C.ATTRIBUTE,
            **_ORIGIN,
            "said_at": _C.INSTANT,
            "recorded_at": _C.INSTANT,
            "created_at": _C.INSTANT,
            "expires_at": _C.INSTANT,
            "policy_version": _C.ATTRIBUTE,
        },
    ),
    _subject(
        "messages",
        "what was said in a session",
        {
            "session_id": _C.IDENTIFIER,
            "sequence": _C.NUMBER,
            "role": _C.ATTRIBUTE,
            "group_id": _C.IDENTIFIER,
            "content": _C.CONTENT,
            "recorded_at": _C.INSTANT,
        },
        part=_of_session("messages"),
    ),
    _subject(
        "session_items",
        "decisions, constraints and pending items of a session",
        {
            "session_id": _C.IDENTIFIER,
            "kind": _C.ATTRIBUTE,
            "position": _C.NUMBER,
            "content": _C.CONTENT,
            "recorded_at": _C.INSTANT,
        },
        part=_of_session("items"),
    ),
    _subject(
        "session_facts",
        "what is known in a session, and from which messages",
        {
            "session_id": _C.IDENTIFIER,
            "position": _C.NUMBER,
            "record_id": _C.IDENTIFIER,
            "content": _C.CONTENT,
            "messages": _C.NUMBER,
            **_ORIGIN,
            "recorded_at": _C.INSTANT,
        },
        part=_of_session("facts"),
    ),
    _subject(
        "sessions",
        "short-term state of one conversation",
        {
            "session_id": _C.IDENTIFIER,
            "record_id": _C.IDENTIFIER,
            "goal": _C.CONTENT,
            "purpose": _C.ATTRIBUTE,
            "message_count": _C.NUMBER,
            "folded_to": _C.NUMBER,
            "opened_at": _C.INSTANT,
            "closed_at": _C.INSTANT,
            "expires_at": _C.INSTANT,
            "policy_version": _C.ATTRIBUTE,
        },
    ),
)
"""Personal records, in the order in which a forget deletes them: what refers comes before what it refers to."""

OTHER_RELATIONS = (
    Relation(
        name="due",
        relation_class=RelationClass.SYSTEM,
        forget=Forget.DELETE,
        exported=Exported.COUNTED,
        reason="when a life next has something to purge: opaque keys and one instant",
        columns={**_SCOPE, "next_due_at": _C.INSTANT},
    ),
    Relation(
        name="lives",
        relation_class=RelationClass.SYSTEM,
        forget=Forget.DELETE,
        exported=Exported.COUNTED,
        reason="what the index of a life was made by, for whoever repairs it: opaque keys, a model's name, one instant",
        columns={**_SCOPE, "indexed_by": _C.ATTRIBUTE, "repair_after": _C.INSTANT},
    ),
    Relation(
        name="subjects",
        relation_class=RelationClass.TENANT,
        forget=Forget.DELETE,
        exported=Exported.ROWS,
        reason="the only place of the external id; goes last and ends the life",
        columns={**_SCOPE, "external_id": _C.IDENTIFIER, "created_at": _C.INSTANT},
    ),
    Relation(
        name="tenants",
        relation_class=RelationClass.TENANT,
        forget=Forget.KEEP,
        exported=Exported.NO,
        reason="names companies, not persons; a closed one stays closed",
        columns={"tenant_id": _C.SCOPE, "opened_at": _C.INSTANT, "closed_at": _C.INSTANT},
    ),
    Relation(
        name="audit_log",
        relation_class=RelationClass.TENANT,
        forget=Forget.KEEP,
        exported=Exported.NO,
        reason="what was done and how many rows, under a random key that names nobody once the life is over",
        columns={
            **_SCOPE,
            "audit_id": _C.IDENTIFIER,
            "action": _C.ATTRIBUTE,
            "kind": _C.ATTRIBUTE,
            "record_id": _C.IDENTIFIER,
            "counts": _C.ATTRIBUTE,
            "policy_version": _C.ATTRIBUTE,
            "at": _C.INSTANT,
        },
    ),
    Relation(
        name="schema_version",
        relation_class=RelationClass.SYSTEM,
        forget=Forget.KEEP,
        exported=Exported.NO,
        reason="which migrations ran",
        columns={
            "version": _C.NUMBER,
            "name": _C.ATTRIBUTE,
            "checksum": _C.ATTRIBUTE,
            "applied_at": _C.INSTANT,
        },
    ),
)

DATA_MAP: Mapping[str, Relation] = {relation.name: relation for relation in (*SUBJECT_RELATIONS, *OTHER_RELATIONS)}

FORGOTTEN = tuple(relation.name for relation in DATA_MAP.values() if relation.forget is Forget.DELETE)
"""Names of the relations a forget empties, in its order of deletion."""

EXPORTED = tuple(DATA_MAP[name] for name in reversed(FORGOTTEN))
"""The relations of an export, in its order: what a person can see is what a forget removes."""
