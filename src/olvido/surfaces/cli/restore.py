"""`olvido restore`: a database that was put back, and what it lacks of its erasure ledger."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.errors import DataDirectoryError
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, LedgerDir, PolicyFile, WorkerUrl, example
from olvido.surfaces.cli.runtime import answer, progress_bar, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.domain.ledger import ReplayReport, RestoreReport
    from olvido.surfaces.cli.runtime import Where

app = typer.Typer(no_args_is_help=True)

LOCKED = 6
"""The exit code where the store is locked: that of the error with which it refuses to open."""


@app.command("check", epilog=example("olvido restore check", "olvido restore check --json"))
def check(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Compare a database with its erasure ledger: what either lacks, and what is under way.

    It reads the whole ledger, also looks for people whom the ledger calls forgotten, and changes nothing. The exit code
    is 6 if the store is locked.
    """
    import olvido

    place = _existing(where(database_url, data_dir, worker_url=worker_url, ledger=ledger))
    report = asyncio.run(olvido.restore_check(place.target, worker_url=place.worker_url, ledger=place.ledger))
    answer(report, lambda: _checked(report), as_json=as_json)
    if report.locked:
        raise typer.Exit(LOCKED)


@app.command("replay", epilog=example("olvido restore replay", "olvido restore replay --new-ledger"))
def replay(
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Make a ledger where it is lost, from what the database knows. What it does not know stays unknown.",
        ),
    ] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Forget again, in a database that was put back, what its erasure ledger says. Then the store opens.

    Single records are removed one by one, people and companies as a whole, and what was forgotten before the backup or
    begun after it is only noted. Safe to run twice, and to go on with after it was cut short.
    """
    import olvido

    place = _existing(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger))
    with progress_bar(as_json=as_json) as bar:
        task = None if bar is None else bar.add_task("Forgetting again", total=None)

        def progress(done: int, total: int) -> None:
            if bar is not None and task is not None:
                bar.update(task, completed=done, total=total)

        report = asyncio.run(
            olvido.restore_replay(
                place.target,
                worker_url=place.worker_url,
                ledger=place.ledger,
                policy=place.policy,
                new_ledger=new_ledger,
                progress=progress,
            )
        )
    answer(report, lambda: _replayed(report), as_json=as_json)
    if report.after.locked:
        raise typer.Exit(LOCKED)


def _existing(place: Where) -> Where:
    """The place, if there is a database: starting the embedded server would make one."""
    from olvido.bootstrap import data_directory

    if place.url is None and not data_directory(place.target).exists():
        raise DataDirectoryError(f"There is no memory in {data_directory(place.target)}. Name one with --data-dir.")
    return place


def _checked(report: RestoreReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.terminal import cell

    return Group(*(cell(line) for line in _lines(report)), Text(_verdict(report), style="bold"))


def _lines(report: RestoreReport) -> list[str]:
    lines = [report.explanation]
    if report.ledger_id is not None:
        lines.append(f"The ledger is {report.ledger_id}, with {report.entries} entries that are applied.")
    counts = {
        "the database lacks": report.missing_here,
        "the ledger lacks": report.missing_in_ledger,
        "under way, finished when the store is opened": report.in_flight,
        "taken back or never used": report.withdrawn,
    }
    lines += [f"Entries {said}: {count}." for said, count in counts.items() if count]
    if report.still_here:
        lines.append(f"People whom the ledger calls forgotten and who are here: {report.still_here}.")
    return lines


def _verdict(report: RestoreReport) -> str:
    if report.locked:
        return "The store is locked."
    return "The store opens." if not report.still_here else "The store opens. Run `olvido restore replay`."


def _replayed(report: ReplayReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.terminal import cell

    lines = []
    if report.new_ledger:
        lines.append("Made a new ledger.")
    if report.written_back:
        lines.append(f"Written into the ledger, from what the database knows: {report.written_back} entries.")
    lines.append(f"Forgotten again: {report.applied} entries, {sum(report.removed.values())} rows.")
    lines.append(f"Nothing was here of {report.absent} entries.")
    return Group(*(cell(line) for line in [*lines, *_lines(report.after)]), Text(_verdict(report.after), style="bold"))
