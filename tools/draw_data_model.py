"""Draw docs/data-model.md anew: the relations of a migrated database, with what the data map says about each.

Only the part between the two markers is written. A test compares it with a migrated database.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

import olvido
from olvido.adapters import embedded
from olvido.storage.data_map import DATA_MAP, RelationClass
from olvido.storage.queries import PARTITIONED

PAGE = Path(__file__).resolve().parent.parent / "docs" / "data-model.md"
BEGIN = "<!-- Drawn by `make docs`; edit above and below. -->"
END = "<!-- End of the drawing. -->"

COLUMNS = """
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), NOT a.attnotnull,
       EXISTS (SELECT FROM pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'p' AND a.attnum = ANY(o.conkey)),
       EXISTS (SELECT FROM pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'f' AND a.attnum = ANY(o.conkey))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY c.relname, a.attnum
"""
REFERENCES = """
SELECT f.relname::text, t.relname::text,
       (SELECT string_agg(a.attname, ', ' ORDER BY k.i) FROM unnest(o.conkey) WITH ORDINALITY k (n, i)
          JOIN pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.n)
  FROM pg_constraint o JOIN pg_class f ON f.oid = o.conrelid JOIN pg_class t ON t.oid = o.confrelid
 WHERE o.contype = 'f' AND f.relnamespace = 'olvido'::regnamespace
   AND NOT f.relispartition AND NOT t.relispartition AND o.conparentid = 0
 ORDER BY 2, 1
"""
_TYPES = {"timestamp with time zone": "timestamptz"}
_SCOPE = "tenant_id, subject_key"


def drawing(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """The relations of a migrated database as a Mermaid diagram and a table, in Markdown."""
    columns: dict[str, list[str]] = {}
    for relation, name, kind, optional, primary, foreign in connection.execute(COLUMNS).fetchall():
        keys = ",".join(key for key, held in (("PK", primary), ("FK", foreign)) if held)
        held = DATA_MAP[relation].columns[name]
        said = f"{held}, may be absent" if optional else str(held)
        columns.setdefault(relation, []).append(
            " ".join(part for part in (_TYPES.get(kind, kind), name, keys, f'"{said}"') if part)
        )
    lines = [BEGIN, "", "```mermaid", "erDiagram"]
    for child, parent, key in connection.execute(REFERENCES).fetchall():
        shared = "life" if key == _SCOPE else key.removeprefix(f"{_SCOPE}, ")
        lines.append(f'    {parent} ||--o{{ {child} : "{shared}"')
    for relation in DATA_MAP:
        lines += [f"    {relation} {{", *(f"        {column}" for column in columns[relation]), "    }"]
    return "\n".join([*lines, "```", "", *_table(), "", END])


def _table() -> Iterator[str]:
    yield "| relation | class | a forget of the person | what it holds |"
    yield "| --- | --- | --- | --- |"
    for relation in sorted(DATA_MAP.values(), key=lambda one: list(RelationClass).index(one.relation_class)):
        split = "; split by company" if relation.name in PARTITIONED else ""
        does = {"delete": "deletes its rows", "keep": "keeps it"}[relation.forget]
        yield f"| `{relation.name}` | {relation.relation_class} | {does} | {relation.reason}{split} |"


def drawn(page: str, drawing: str) -> str:
    """`page` with the part between the markers replaced. Raises ValueError if it has no markers."""
    new, count = re.subn(rf"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: drawing, page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE.name} lacks the lines {BEGIN} and {END}")
    return new


def main() -> None:
    """Migrate a throw-away database and draw it."""
    with tempfile.TemporaryDirectory(prefix="olvido-drawing-") as home, embedded.start(Path(home) / "home") as server:
        olvido.migrate(server.urls.superuser, leaves=1)
        with psycopg.connect(server.urls.superuser) as connection:
            PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8"), drawing(connection)), encoding="utf-8")
    print(f"Drew docs/{PAGE.name}")


if __name__ == "__main__":
    main()
