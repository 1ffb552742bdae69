"""Named statements: each is used, each says its purpose, and each names the scope of every personal relation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

import olvido
from olvido.storage.queries import Statement, entities, statements
from tests.storage.support import SUBJECT

SOURCE = Path(olvido.__file__).parent
ALL = [statement for entity in entities() for statement in statements(entity).values()]
PERSONAL = sorted(SUBJECT)

# `olvido.relation`, and the alias that may follow; SQL words are upper case in our files, names are not.
_REFERENCE = re.compile(r"\b(?:FROM|JOIN|USING|UPDATE|,)\s+olvido\.([a-z_]+)\b(?!\s*\()(?:\s+(?:AS\s+)?([a-z]\w*))?")
_INSERT = re.compile(r"\bINSERT INTO olvido\.([a-z_]+)\s*\(([^)]*)\)\s*(VALUES\s*\(|SELECT\s)(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A relation that a statement reads or writes. alias: "" if there is none. block: the text of its parentheses."""

    relation: str
    alias: str
    block: str


def _plain(text: str) -> str:
    """SQL without comments and string literals, with single spaces."""
    text = re.sub(r"--[^\n]*", " ", text)
    text = re.sub(r"'(?:[^']|'')*'", "''", text)
    return re.sub(r"\s+", " ", text)


def _blocks(text: str) -> Iterator[str]:
    """The text at each level of parentheses, without what nests deeper, which is a block of its own."""
    open_blocks: list[list[str]] = [[]]
    for character in text:
        if character == "(":
            open_blocks.append([])
        elif character == ")":
            yield "".join(open_blocks.pop())
            open_blocks[-1].append("()")
        else:
            open_blocks[-1].append(character)
    yield "".join(open_blocks.pop())
    assert not open_blocks


def _references(text: str) -> list[Reference]:
    return [
        Reference(relation=match[1], alias=match[2] or "", block=block)
        for block in _blocks(re.sub(r"%\((\w+)\)[sbt]", r"%<\1>s", _plain(text)))
        for match in _REFERENCE.finditer(block)
    ]


def _says(alias: str, column: str, value: str, block: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(alias)}\.{column} = {value}", block) is not None


def _unscoped(text: str) -> list[str]:
    """References to personal relations that the statement does not tie to its tenant and subject."""
    personal = [reference for reference in _references(text) if reference.relation in SUBJECT]
    found = []
    for column, value in (("tenant_id", "%<tenant>s"), ("subject_key", "%<subject>s")):
        tied = {
            (reference.block, reference.alias)
            for reference in personal
            if reference.alias and _says(reference.alias, column, value, reference.block)
        }
        for _ in personal:  # an alias that equals a tied one is tied; as often as the longest chain needs
            tied |= {
                (one.block, one.alias)
                for one in personal
                for block, other in tied
                if one.block == block
                and (
                    _says(one.alias, column, rf"{re.escape(other)}\.{column}", block)
                    or _says(other, column, rf"{re.escape(one.alias)}\.{column}", block)
                )
            }
        for block in {reference.block for reference in personal}:
            free = [r.relation for r in personal if r.block == block and (r.block, r.alias) not in tied]
            if len(free) > len(re.findall(rf"(?<![\w.]){column} = {value}", block)):
                found.append(f"{column} of {', '.join(free)}")
    return found


def _inserts_elsewhere(text: str) -> list[str]:
    """Personal relations into which the statement inserts anything but the tenant and subject of the scope."""
    found = []
    for start in re.finditer(r"INSERT INTO", _plain(text)):
        match = _INSERT.match(_plain(text), start.start())
        assert match is not None, "an INSERT without a list of columns"
        relation, columns, _, values = match.groups()
        begins_with_scope = re.match(r"\s*(%\(tenant\)s, %\(subject\)s,|tenant_id, subject_key,)", values)
        if relation in SUBJECT and not (columns.strip().startswith("tenant_id, subject_key,") and begins_with_scope):
            found.append(relation)
    return found


@pytest.mark.parametrize("statement", ALL, ids=lambda statement: statement.name)
def test_each_statement_names_the_scope_of_what_it_touches(statement: Statement) -> None:
    """tenant_id and subject_key are said for every personal relation that a statement reads, changes or fills."""
    text = statement.text.decode()
    assert _unscoped(text) == []
    assert _inserts_elsewhere(text) == []


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("SELECT * FROM olvido.episodes", True),
        ("SELECT * FROM olvido.episodes WHERE tenant_id = %(tenant)s", True),
        ("SELECT * FROM olvido.episodes WHERE subject_key = %(subject)s", True),
        ("SELECT * FROM olvido.episodes -- WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s", True),
        ("SELECT * FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s", False),
        (
            (
                "SELECT * FROM olvido.episodes e JOIN olvido.sessions s ON true "
                "WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s"
            ),
            True,
        ),
        (
            (
                "SELECT * FROM olvido.episodes e JOIN olvido.sessions s ON s.tenant_id = e.tenant_id "
                "AND s.subject_key = e.subject_key WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s"
            ),
            False,
        ),
        (
            (
                "SELECT * FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s "
                "UNION ALL SELECT * FROM olvido.episodes"
            ),
            True,
        ),
        (
            (
                "DELETE FROM olvido.messages m USING olvido.sessions s WHERE m.tenant_id = %(tenant)s "
                "AND m.subject_key = %(subject)s AND s.tenant_id = m.tenant_id"
            ),
            True,
        ),
        (
            (
                "SELECT * FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s "
                "AND record_id IN (SELECT record_id FROM olvido.index_entries)"
            ),
            True,
        ),
        ("UPDATE olvido.sessions SET goal = %(goal)s WHERE session_id = %(session_id)s", True),
    ],
)
def test_the_check_of_scopes_finds_what_is_missing(text: str, wrong: bool) -> None:  # noqa: FBT001 - a table of cases
    """The reader of SQL above accepts a scope on each relation, directly or by a join, and nothing less."""
    assert bool(_unscoped(text)) is wrong


def test_an_insert_outside_the_scope_is_found() -> None:
    """An INSERT has to begin with the parameters of the scope, or with the columns of a scoped row."""
    columns = "INSERT INTO olvido.summary_sources (tenant_id, subject_key, summary_id)"
    assert _inserts_elsewhere(f"{columns} VALUES (%(tenant)s, %(other)s, 1)") == ["summary_sources"]
    assert _inserts_elsewhere(f"{columns} VALUES (%(tenant)s, %(subject)s, 1)") == []
    assert _inserts_elsewhere("INSERT INTO olvido.episodes (record_id) VALUES (1)") == ["episodes"]


def test_each_statement_is_used() -> None:
    """A statement that no module names is dead: some file that loads its entity has its name as a string."""
    named: dict[str, set[str]] = {entity: set() for entity in entities()}
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        loaded = {
            str(call.args[0].value)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "statements"
            and isinstance(call.args[0], ast.Constant)
        }
        for entity in loaded:
            named[entity] |= _names(tree, set(statements(entity)))
    unused = [f"{entity}.{name}" for entity, names in named.items() for name in statements(entity) if name not in names]
    assert unused == []


def _names(tree: ast.AST, known: set[str]) -> set[str]:
    """Which of the known names a module has as a string, or begins in an f-string such as f"forget_{relation}"."""
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    prefixes = tuple(
        node.values[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        and isinstance(node.values[0], ast.Constant)
        and isinstance(node.values[0].value, str)
        and re.fullmatch(r"[a-z]+_", node.values[0].value)
    )
    return (found & known) | {name for name in known if name.startswith(prefixes)}


def test_each_statement_says_its_purpose() -> None:
    """The line under the name is a sentence, and no two statements of one file share a name."""
    assert ALL
    for statement in ALL:
        assert re.fullmatch(r"[A-Z0-9].{15,}[.:;,]?", statement.purpose), statement.name
        entity, _, name = statement.name.partition(".")
        assert statements(entity)[name] is statement


def test_psycopg_looks_for_parameters_once() -> None:
    """Every statement is so short, without its comments, that psycopg remembers where its parameters are."""
    for statement in ALL:
        assert len(statement.text) <= MAX_CACHED_STATEMENT_LENGTH, statement.name
        assert not re.search(rb"^ *--", statement.text, re.MULTILINE), statement.name


def test_sql_stands_in_sql_files_only() -> None:
    """No module of the source builds a statement: the words that begin one are nowhere in its strings."""
    begins = re.compile(
        r"^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|GRANT|SET)\s+[a-z_(%\"]", re.MULTILINE
    )
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
                assert not begins.search(node.value), (path.name, node.value)
