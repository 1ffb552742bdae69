"""`olvido restore`: a database that was put back, and what it lacks of its erasure ledger."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.domain.plain import counted
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, LedgerDir, PolicyFile, WorkerUrl, example
from olvido.surfaces.cli.runtime import answer, existing, progress_bar, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.domain.ledger import ReplayReport, RestoreReport

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

    place = existing(where(database_url, data_dir, worker_url=worker_url, ledger=ledger))
    report = asyncio.run(olvido.restore_check(place.target, worker_url=place.worker_url, ledger=place.ledger))
    answer(report, lambda: _checked(report, place.options), as_json=as_json)
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

    place = existing(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger))
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
    answer(report, lambda: _replayed(report, place.options), as_json=as_json)
    if report.after.locked:
        raise typer.Exit(LOCKED)


def _checked(report: RestoreReport, store: str) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.terminal import cell

    return Group(*(cell(line) for line in _lines(report)), Text(_verdict(report, store), style="bold"))


def _lines(report: RestoreReport) -> list[str]:
    lines = [report.explanation]
    if report.ledger_id is not None:
        lines.append(
            f"Ledger {report.ledger_id}: {counted(report.entries, 'removal')} written down in it as carried out."
        )
    counts = {
        "were carried out and are missing in this database": report.missing_here,
        "were carried out here and are missing in the ledger": report.missing_in_ledger,
        "were begun, and are finished when the store is opened": report.in_flight,
    }
    lines += [f"Of the removals, {count} {said}." for said, count in counts.items() if count]
    if report.withdrawn:
        numbers = counted(report.withdrawn, "number")
        lines.append(
            f"For {numbers} of it nothing is removed: taken back, or skipped when an older ledger was put back."
        )
    if report.still_here:
        people = counted(report.still_here, "person", "people")
        lines.append(f"Here, although the ledger says that they were forgotten: {people}.")
    return lines


def _verdict(report: RestoreReport, store: str) -> str:
    if report.locked:
        return "The store is locked."
    return "The store opens." if not report.still_here else f"The store opens. Run `olvido restore replay{store}`."


def _replayed(report: ReplayReport, store: str) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.terminal import cell

    lines = []
    if report.new_ledger:
        lines.append("Made a new ledger.")
    if report.written_back:
        lines.append(
            f"Written into the ledger, from what the database knows: {counted(report.written_back, 'removal')}."
        )
    if report.applied or not report.absent:
        lines.append(
            f"Carried out again: {counted(report.applied, 'removal')}, of {sum(report.removed.values())} rows."
        )
    if report.absent:
        lines.append(f"Noted only, as nothing of it was in this copy: {counted(report.absent, 'removal')}.")
    if report.requests:
        lines.append(
            "The requests to forget go on under their ids: "
            f"`olvido erasure list --tenant NAME{store}`, for each company."
        )
    verdict = Text(_verdict(report.after, store), style="bold")
    return Group(*(cell(line) for line in [*lines, *_lines(report.after)]), verdict)
