"""Run the demo: make its directory, load the cases, tell the story, say what to try next."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

import olvido
from olvido.memory import Memory
from olvido.surfaces import forget_reports, reports
from olvido.surfaces.demo.directory import ledger_beside, make_fresh
from olvido.surfaces.demo.forgetting import FORGETTING
from olvido.surfaces.demo.remembering import REMEMBERING
from olvido.surfaces.demo.stage import Chapter, Stage, Told
from olvido.surfaces.documents import to_json
from olvido.surfaces.import_lines import parse, scopes
from olvido.surfaces.import_shapes import ImportRecord
from olvido.surfaces.importing import ImportReport, load
from olvido.surfaces.importing import told as told_import
from olvido.surfaces.store_options import store_options
from olvido.surfaces.terminal import cell, command, console, plain

CASES = "support-cases.jsonl"
STORY = (*REMEMBERING, *FORGETTING)
TICK, CROSS = "✓", "✗"


def support_cases() -> list[bytes]:
    """The lines of the cases that ship with Olvido: 360 real conversations of 120 customers at six companies."""
    return (files("olvido.surfaces.demo") / CASES).read_bytes().splitlines()


def show(data_dir: Path, *, as_json: bool) -> bool:
    """Run the demo in `data_dir`, print it, and return whether every claim held. Raises DataDirectoryError."""
    return asyncio.run(_show(data_dir, _Quiet(data_dir) if as_json else _Told(data_dir)))


async def _show(data_dir: Path, audience: _Quiet | _Told) -> bool:
    started = time.monotonic()
    audience.begins()
    home = await asyncio.to_thread(make_fresh, data_dir)
    holds = True
    async with olvido.open(home, ledger=ledger_beside(home)) as memory:
        records = parse(support_cases(), memory.policy, name=CASES, now=await memory.now())
        report = await audience.loads(memory, records)
        stage = Stage(memory=memory, people=scopes(records).keys(), wait=audience.waits)
        for chapter in STORY:
            audience.opens(chapter)
            told = await chapter.act(stage)
            audience.tells(chapter, told)
            holds = holds and all(claim.holds for claim in told.claims)
    holds = holds and report.written == report.records
    audience.ends(holds=holds, seconds=time.monotonic() - started)
    return holds


def try_next(data_dir: Path) -> tuple[str, ...]:
    """Commands that work on what the demo leaves behind, as they can be pasted into this shell."""
    place = _store(data_dir)
    olvido_command = _command()
    someone = "--tenant insurance --subject customer-08"
    return (
        f'{olvido_command} recall "my phone is broken" {someone}{place}',
        f'{olvido_command} remember "prefers to be called in the morning" {someone}{place}',
        f"{olvido_command} forget {someone} --all --dry-run{place}",
    )


def _store(data_dir: Path) -> str:
    """The options that name the memory of the demo."""
    # OLVIDO_LEDGER is that of somebody's own memory.
    return store_options(data_dir, ledger_beside(data_dir) if os.environ.get("OLVIDO_LEDGER") else None)


def _command() -> str:
    """How this shell reaches this program: `make demo` runs one that is not on its PATH."""
    program = Path(sys.argv[0])
    found = shutil.which("olvido")
    if program.name != "olvido" or (found and Path(found).resolve() == program.resolve()):
        return "olvido"
    shown = os.path.relpath(program)
    return shlex.quote(str(program) if shown.startswith("..") else shown)


async def _pass(length: timedelta) -> None:
    """Let so much time pass, and a moment more."""
    await asyncio.sleep(max(0.0, length.total_seconds()) + 0.05)


class _Quiet:
    """Gathers the facts of the story for one JSON document."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._facts: dict[str, Any] = {"data_dir": str(data_dir), "chapters": []}

    def begins(self) -> None:
        """Nothing is printed before the end."""

    async def loads(self, memory: Memory, records: tuple[ImportRecord, ...]) -> ImportReport:
        """Load without a progress bar."""
        self._facts["loaded"] = report = await load(memory, records)
        return report

    async def waits(self, length: timedelta) -> None:
        """Wait."""
        await _pass(length)

    def opens(self, chapter: Chapter) -> None:
        """Nothing is printed before the end."""

    def tells(self, chapter: Chapter, told: Told) -> None:
        """Keep a chapter."""
        self._facts["chapters"].append(
            {
                "key": chapter.key,
                "sentence": chapter.sentence,
                "code": chapter.code,
                "facts": told.facts,
                "claims": told.claims,
            }
        )

    def ends(self, *, holds: bool, seconds: float) -> None:
        """Print the document."""
        facts = {**self._facts, "holds": holds, "seconds": round(seconds, 1), "try_next": try_next(self._data_dir)}
        ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
        print(to_json(facts, ascii_only=ascii_only))  # noqa: T201 - the answer itself


class _Told:
    """Prints the story while it happens."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._out: Console = console()
        self._number = 0
        self._claims = 0

    def begins(self) -> None:
        """Say what this is and where it happens."""
        self._out.print(Text("Olvido: remember correctly, forget correctly.", style="bold"))
        self._out.print(
            Text(
                "360 real support cases of 120 customers at six companies; each company has a customer-14.\n"
                f"They go into a PostgreSQL of their own, in {plain(self._data_dir)}, made afresh at each run."
            )
        )
        self._out.print()

    async def loads(self, memory: Memory, records: tuple[ImportRecord, ...]) -> ImportReport:
        """Load with a progress bar."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._out) as bar:
            task = bar.add_task("Loading cases", total=len(records))
            report = await load(memory, records, progress=partial(bar.advance, task))
        self._out.print(told_import(report))
        self._out.print(Text("The policy names no field for a transcript, so none was stored.", style="dim"))
        return report

    async def waits(self, length: timedelta) -> None:
        """Wait, and say so."""
        seconds = max(0.0, length.total_seconds())
        self._out.print(_indented(Text(f"… waiting {seconds:.1f} s until it has expired …", style="dim")))
        await _pass(length)

    def opens(self, chapter: Chapter) -> None:
        """Say what is about to happen, and the Python that does it."""
        self._number += 1
        self._out.print()
        self._out.print(Text(f"{self._number}  {chapter.sentence}", style="bold"))
        self._out.print()
        for line in chapter.code.splitlines():
            prompt = "..." if line.startswith(" ") else ">>>"
            self._out.print(_indented(Text(f"{prompt} {line}", style="green")))
        self._out.print()

    def tells(self, chapter: Chapter, told: Told) -> None:
        """Print what came back, and what holds."""
        self._claims += len(told.claims)
        facts = {**told.facts, "store": _store(self._data_dir)}
        self._out.print(_indented(_SHOWN[chapter.key](facts)), crop=False)
        self._out.print()
        for claim in told.claims:
            mark, style = (TICK, "green") if claim.holds else (CROSS, "bold red")
            self._out.print(_indented(Text.assemble((f"{mark} ", style), claim.text)))

    def ends(self, *, holds: bool, seconds: float) -> None:
        """Say what held, and what to try next."""
        verdict = (
            f"{self._claims} claims, each checked above, hold." if holds else f"A claim marked {CROSS} does not hold."
        )
        self._out.print()
        self._out.print(Text(f"{verdict} {seconds:.0f} s in all.", style="bold" if holds else "bold red"))
        self._out.print()
        self._out.print(Text("Try next, with what was just loaded:"))
        # In a group, as a console takes what it prints alone apart, and would fold it.
        hints = Group(*(command(f"   {line}", "green") for line in try_next(self._data_dir)))
        self._out.print(hints, crop=False)


def _indented(shown: RenderableType) -> RenderableType:
    if isinstance(shown, Group):
        return Group(*map(_indented, shown.renderables))
    if isinstance(shown, Text) and shown.no_wrap:
        # A command: padding would cut it off.
        return command("   ").append_text(shown)
    return Padding(shown, (0, 0, 0, 3), expand=False)


def _language(facts: Mapping[str, Any]) -> RenderableType:
    return reports.history(facts["versions"])


def _expiry(facts: Mapping[str, Any]) -> RenderableType:
    served = {True: "served", False: "not served"}
    return Group(
        Text(f"before it expired: {served[facts['served_before']]}"),
        Text(f"after:             {served[facts['served_after']]}, {facts['stored_after']} row stored"),
        forget_reports.purge(facts["purge"]),
    )


def _context(facts: Mapping[str, Any]) -> RenderableType:
    block = facts["context"]
    return Group(Text(plain(block.text), style="cyan"), Text(reports.context_note(block), style="dim"))


def _consult(facts: Mapping[str, Any]) -> RenderableType:
    return Group(*(cell(one.label, "yellow") for one in facts["consult"]))


def _neighbours(facts: Mapping[str, Any]) -> RenderableType:
    return Text(f"{facts['compared']} customers compared in {facts['relations']} relations: {facts['equal']} equal")


_SHOWN: Mapping[str, Callable[[Mapping[str, Any]], RenderableType]] = {
    "language": _language,
    "recall": lambda facts: reports.recall(facts["recall"]),
    "context": _context,
    "consult": _consult,
    "expiry": _expiry,
    "forget": lambda facts: forget_reports.forget(facts["report"], tenant=facts["tenant"], store=facts["store"]),
    "neighbours": _neighbours,
}
