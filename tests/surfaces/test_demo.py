"""The demo: its story holds on real cases, shows the code that it runs, and touches no directory but its own."""

from __future__ import annotations

import ast
import json
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer

import olvido
from olvido.adapters import embedded
from olvido.errors import DataDirectoryError
from olvido.surfaces.cli.main import app
from olvido.surfaces.demo.directory import MARK, ledger_beside, make_fresh
from olvido.surfaces.demo.show import STORY, _Told, support_cases, try_next
from olvido.surfaces.demo.stage import CUSTOMER, Stage
from olvido.surfaces.import_lines import parse, scopes
from olvido.surfaces.importing import load
from olvido.testing import ManualClock

AFTER_THE_CASES = datetime(2026, 9, 1, tzinfo=UTC)


async def test_every_claim_of_the_story_holds(memory: olvido.Memory, clock: ManualClock) -> None:
    """The whole story on the cases of one name at six companies, with a clock instead of waiting."""
    lines = [line for line in support_cases() if json.loads(line)["subject"] == CUSTOMER.subject]
    clock.set(AFTER_THE_CASES)
    records = parse(lines, memory.policy, name="cases", now=clock.now())
    report = await load(memory, records)
    assert (report.records, report.people, report.written) == (18, 6, 18)

    async def passes(length: timedelta) -> None:
        clock.advance(length + timedelta(seconds=1))

    stage = Stage(memory=memory, people=scopes(records).keys(), wait=passes)
    told = {chapter.key: await chapter.act(stage) for chapter in STORY}
    assert list(told) == ["language", "recall", "context", "consult", "expiry", "forget", "neighbours"]
    assert [claim.text for chapter in told.values() for claim in chapter.claims if not claim.holds] == []


async def test_a_claim_that_does_not_hold_is_found(memory: olvido.Memory, clock: ManualClock) -> None:
    """Without the customer's cases the story does not pretend."""
    clock.set(AFTER_THE_CASES)

    async def passes(length: timedelta) -> None:
        clock.advance(length + timedelta(seconds=1))

    stage = Stage(memory=memory, people=[CUSTOMER], wait=passes)
    recall = next(chapter for chapter in STORY if chapter.key == "recall")
    assert not all(claim.holds for claim in (await recall.act(stage)).claims)


def test_the_cases_are_those_of_the_licence() -> None:
    """360 cases of 120 customers: 20 names at each of six companies."""
    lines = [json.loads(line) for line in support_cases()]
    assert len(lines) == 360
    assert len({(line["tenant"], line["subject"]) for line in lines}) == 120
    assert len({line["subject"] for line in lines}) == 20


@pytest.mark.parametrize("chapter", STORY, ids=lambda chapter: chapter.key)
def test_the_code_that_is_shown_is_python_face(chapter: object) -> None:
    """Each line compiles, and every method it calls is public on what it is called on."""
    code = getattr(chapter, "code")  # noqa: B009 - the parameter is typed as object for its id function
    tree = compile(code, "chapter", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    public = {*dir(olvido.Memory), *dir(olvido.ScopedMemory), *dir(olvido.SessionMemory), *dir(olvido.Origin)}
    called = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert called <= public
    assert max(map(len, code.splitlines())) <= 92


def test_what_to_try_next_can_be_pasted() -> None:
    """The commands parse as they are, also for a directory with a blank in its name."""
    root = typer.main.get_command(app)
    for command in try_next(Path("my data")):
        words = shlex.split(command)
        assert words[words.index("--data-dir") + 1] == "my data"
        root.commands[words[1]].make_context(words[1], words[2:])  # type: ignore[attr-defined]


def test_what_to_try_next_is_not_folded(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command is one line, however long the name of the directory is."""
    home = Path("a-directory-with-a-long-name" * 5)
    _Told(home).ends(holds=True, seconds=1)
    assert {f"   {line}" for line in try_next(home)} <= set(capsys.readouterr().out.splitlines())


def test_the_demo_removes_only_what_it_made(tmp_path: Path) -> None:
    """A directory of somebody else is refused and left as it is; its own is made afresh."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter").write_text("keep me")
    with pytest.raises(DataDirectoryError, match="not made by the demo"):
        make_fresh(theirs)
    assert (theirs / "letter").read_text() == "keep me"
    ours = make_fresh(tmp_path / "ours")
    (ours / "leftover").write_text("x")
    ledger_beside(ours).mkdir()
    make_fresh(ours)
    assert [path.name for path in ours.iterdir()] == [MARK]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours", "theirs"]


def test_a_ledger_without_its_store_is_not_taken_over(tmp_path: Path) -> None:
    """Somebody who removed the directory alone is told about the ledger, which the demo neither uses nor removes."""
    home = tmp_path / "demo"
    ledger_beside(home).mkdir()
    with pytest.raises(DataDirectoryError, match="erasure ledger of a store that is gone"):
        make_fresh(home)
    assert [path.name for path in tmp_path.iterdir()] == ["demo-ledger"]


def test_the_demo_does_not_pull_a_directory_from_under_a_running_program(tmp_path: Path) -> None:
    """While another program has the demo's database open, the demo refuses to begin."""
    home = make_fresh(tmp_path / "d")
    with embedded.start(home), pytest.raises(DataDirectoryError, match=r"has .* open"):
        make_fresh(home)
    assert (make_fresh(home) / MARK).exists()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """The message says to choose another one."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryError, match="--data-dir"):
        make_fresh(tmp_path / "file" / "demo")
