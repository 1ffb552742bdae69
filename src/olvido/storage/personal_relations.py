"""The personal records of the data map: everything that a forget of a person deletes by scope."""

from __future__ import annotations

from collections.abc import Mapping

from olvido.storage.relations import ColumnClass, Exported, Forget, Part, Relation, RelationClass

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
            "revision": _C.NUMBER,
            "opened_at": _C.INSTANT,
            "closed_at": _C.INSTANT,
            "expires_at": _C.INSTANT,
            "policy_version": _C.ATTRIBUTE,
        },
    ),
)
"""Personal records, in the order in which a forget deletes them: what refers comes before what it refers to."""
