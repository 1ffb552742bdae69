"""Export everything that is live of one person, walking the data map, at one instant (rules 14 and 19)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from olvido.domain.export import Export, ExportedRow
from olvido.operations.environment import Caller, Environment
from olvido.storage.data_map import EXPORTED, ColumnClass, Exported, Relation
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.rows import Row

_SQL = statements("export")
_ORIGIN = "origin_"
_SHOWN = [relation for relation in EXPORTED if relation.exported is Exported.ROWS]


async def export(environment: Environment, caller: Caller) -> Export:
    """Everything that is live of this subject, with its origins, event times, record times and history.

    All of it is read at one instant. A subject of whom nothing is stored, or who was forgotten, gives an export without
    records. What is expired and not yet purged is not in it; `stored_rows` counts that. Raises TenantClosed.
    """
    async with environment.database.snapshot(caller.life) as transaction:
        found = {relation.name: await _read(transaction, relation) for relation in EXPORTED}
        counted = [relation.name for relation in EXPORTED if relation.exported is Exported.COUNTED]
        return Export(
            scope=caller.life.scope,
            life=transaction.key,
            exported_at=transaction.now,
            policy_name=environment.policy.name,
            policy_version=environment.policy.version,
            counts={relation.name: len(found[relation.name]) for relation in _SHOWN},
            derived={name: int(found[name][0]["rows"]) for name in counted},
            records=_assembled(found),
        )


async def _read(transaction: Transaction, relation: Relation) -> Sequence[Row]:
    return await transaction.all(_SQL[f"export_{relation.name}"])


def _assembled(found: Mapping[str, Sequence[Row]]) -> dict[str, list[ExportedRow]]:
    """The rows as the data map says: by themselves, or inside the row that they belong to."""
    within: dict[tuple[str, object], dict[str, list[ExportedRow]]] = defaultdict(dict)
    for relation in _SHOWN:
        part = relation.part
        if part is not None:
            for row in found[relation.name]:
                lists = within[part.relation, row[part.own]]
                lists.setdefault(part.name, []).append(_shown(relation, row))
    return {
        relation.name: [{**_shown(relation, row), **_parts(relation, row, within)} for row in found[relation.name]]
        for relation in _SHOWN
        if relation.part is None
    }


def _parts(
    relation: Relation, row: Row, within: Mapping[tuple[str, object], Mapping[str, list[ExportedRow]]]
) -> dict[str, object]:
    """The lists inside one row, in the order of the data map; an empty one is shown as well."""
    parts = [part for other in _SHOWN if (part := other.part) is not None and part.relation == relation.name]
    return {part.name: within.get((relation.name, row[part.other]), {}).get(part.name, []) for part in parts}


def _shown(relation: Relation, row: Row) -> ExportedRow:
    """One row: every column of the data map but the scope, which the manifest has; the origin as one object."""
    shown: dict[str, object] = {}
    origin: dict[str, object] = {}
    has_origin = "origin_source" in relation.columns
    for column, column_class in relation.columns.items():
        if column_class is ColumnClass.SCOPE or (relation.part is not None and column == relation.part.own):
            continue
        if has_origin and column.startswith(_ORIGIN):
            shown["origin"] = origin
            origin[column.removeprefix(_ORIGIN)] = row[column]
        else:
            shown[column] = row[column]
    return shown
