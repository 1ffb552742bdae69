"""The data map: every relation and column of the schema, what it holds, and how it is forgotten (rule 19).

A test compares this with the database catalogue, so a new table or column without a rule here fails the build.
What a person can see in an export is what a forget removes, because both walk this map.
"""

from __future__ import annotations

from collections.abc import Mapping

from olvido.storage.other_relations import OTHER_RELATIONS
from olvido.storage.personal_relations import SUBJECT_RELATIONS
from olvido.storage.relations import ColumnClass, Exported, Forget, Part, Relation, RelationClass

__all__ = [
    "DATA_MAP",
    "EXPORTED",
    "FORGOTTEN",
    "OTHER_RELATIONS",
    "SUBJECT_RELATIONS",
    "ColumnClass",
    "Exported",
    "Forget",
    "Part",
    "Relation",
    "RelationClass",
]

DATA_MAP: Mapping[str, Relation] = {relation.name: relation for relation in (*SUBJECT_RELATIONS, *OTHER_RELATIONS)}

FORGOTTEN = tuple(relation.name for relation in DATA_MAP.values() if relation.forget is Forget.DELETE)
"""Names of the relations a forget empties, in its order of deletion."""

EXPORTED = tuple(DATA_MAP[name] for name in reversed(FORGOTTEN))
"""The relations of an export, in its order: what a person can see is what a forget removes."""
