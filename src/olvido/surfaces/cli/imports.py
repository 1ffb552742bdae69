"""`olvido import`: many records from a file of JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, PolicyFile
from olvido.surfaces.cli.runtime import answer, progress_bar, run, where

if TYPE_CHECKING:
    from olvido.memory import Memory
    from olvido.surfaces.importing import ImportReport

CONFLICT = 5


def import_(
    file: Annotated[Path, typer.Argument(help="A file of JSON lines; - is standard input.", show_default=False)],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Import preferences, episodes and notes from JSON lines.

    The whole file is checked first; if one line is bad, nothing is written and the line is named. Running it again
    changes nothing. A line has "kind" (preference, episode or note), "tenant" and "subject", then:

    preference: "key", "value", "origin" with "at". episode: "definition", "event_id", "occurred_at", "origin", and
    optionally "fields", "case_id", "status". note: "text", "event_id". All may have "expires_at".

    Lines of the support cases of the demo are understood as well. The exit code is 5 if a line was refused because of
    what is stored already.
    """
    lines = _lines(file)

    async def work(memory: Memory) -> ImportReport:
        from olvido.surfaces.import_lines import parse
        from olvido.surfaces.importing import load

        records = parse(lines, memory.policy, name=file.name)
        with progress_bar(as_json=as_json) as bar:
            task = None if bar is None else bar.add_task("Importing", total=len(records))

            def advance() -> None:
                if bar is not None and task is not None:
                    bar.advance(task)

            return await load(memory, records, progress=advance)

    report = run(where(database_url, data_dir, policy), work)

    from olvido.surfaces.importing import told

    answer(report, lambda: told(report), as_json=as_json)
    if report.refused:
        raise typer.Exit(CONFLICT)


def _lines(file: Path) -> list[bytes]:
    if str(file) == "-":
        return sys.stdin.buffer.read().splitlines()
    try:
        return file.read_bytes().splitlines()
    except OSError as error:
        raise typer.BadParameter(f"The file cannot be read: {error.strerror}.", param_hint="'FILE'") from None
