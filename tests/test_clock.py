"""One clock: records are judged by the time of the database, never by that of the machine (rule 15)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import olvido

SOURCE = Path(olvido.__file__).parent
READINGS = {
    "now", "utcnow", "today", "time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "clock_gettime",
    "clock_gettime_ns",
}  # fmt: skip
"""Names by which the standard library tells the time of the machine."""

HOLDERS = {"datetime", "date", "time"}
"""What they are called on; `clock.now()` and `memory.now()` are the way it should be."""

ALLOWED = {
    "storage/record_ids.py": "a UUIDv7 lands beside its neighbours in the index; no rule reads its time",
    "adapters/ledger/journal.py": "when an erasure was written down, for whoever reads the ledger; no rule reads it",
    "adapters/keys.py": "when a key was made, for whoever reads the published keys; no rule reads it",
    "adapters/copies/http.py": "when a request was signed, which its receiver compares with a clock of its own",
    "adapters/embeddings_api.py": "how long to wait, where another server names the instant (Retry-After, RFC 9110)",
}
"""Files that may read the machine's clock, each with its reason."""

IN_SQL = re.compile(
    r"\b(now|transaction_timestamp|statement_timestamp|timeofday)\s*\(|\b(current|local)_?(date|time|timestamp)\b",
    re.IGNORECASE,
)


def readings(path: Path) -> Iterator[str]:
    """Where a module reads the machine's clock, or takes a name for it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in READINGS:
            holder = node.value
            name = (
                holder.id if isinstance(holder, ast.Name) else holder.attr if isinstance(holder, ast.Attribute) else ""
            )
            if name in HOLDERS:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {name}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            taken = READINGS & {alias.name for alias in node.names}
            yield from (f"{path.relative_to(SOURCE)}:{node.lineno}: time.{name}" for name in taken)


def test_no_module_reads_the_clock_of_the_machine() -> None:
    """Nothing can be judged by another clock than the database's, because no module asks another one."""
    modules = [path for path in SOURCE.rglob("*.py") if str(path.relative_to(SOURCE)) not in ALLOWED]
    assert len(modules) > 100
    assert [found for path in modules for found in readings(path)] == []


def test_the_check_would_find_one() -> None:
    """The modules that may read it do, once each, and are found."""
    assert [len(list(readings(SOURCE / name))) for name in ALLOWED] == [1, 1, 1, 1, 1]


def test_no_statement_reads_another_clock() -> None:
    """SQL takes the instant that was given when its scope was entered, not that at which its transaction began."""
    files = [*SOURCE.rglob("sql/*.sql"), *SOURCE.rglob("migrations/*.sql")]
    assert len(files) > 10
    for path in files:
        statements = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        assert IN_SQL.search(statements) is None, path
