"""`olvido erasure`: what was forgotten and how far it is with every copy; and work on what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli import confirming, swapping
from olvido.surfaces.cli.options import (
    AsJson,
    DatabaseUrl,
    DataDir,
    EraserUrl,
    LedgerDir,
    PolicyFile,
    Tenant,
    WorkerUrl,
    example,
)
from olvido.surfaces.cli.runtime import answer, progress_bar, run, where

if TYPE_CHECKING:
    from olvido.domain.erasure_report import EraseReport, ErasureReport
    from olvido.domain.records import Page
    from olvido.memory import Memory

HINDERED = 1
ID = "019f0000-0000-7000-8000-000000000001"

app = typer.Typer(no_args_is_help=True)

ErasureId = Annotated[str, typer.Argument(help="The erasure_id of the report.", show_default=False)]


@app.command("list", epilog=example("olvido erasure list --tenant acme"))
def list_(
    tenant: Tenant,
    limit: Annotated[int, typer.Option(help="Requests at most, 1 to 1,000.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.", show_default=False)] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the requests to forget of a company, the newest first, with what is not done yet."""

    async def work(memory: Memory) -> Page[ErasureReport]:
        return await memory.erasures(tenant, limit=limit, cursor=cursor)

    page = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces import erasure_reports

    answer(page, lambda: erasure_reports.erasures(page), as_json=as_json)


@app.command("show", epilog=example(f"olvido erasure show {ID} --tenant acme"))
def show(
    erasure_id: ErasureId,
    tenant: Tenant,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one request to forget: levels with what was measured, what remains where and until when, what is in the way.

    With --json, all the evidence: each file that was written anew, positions in the log, replicas.
    """

    async def work(memory: Memory) -> ErasureReport:
        return await memory.erasure(tenant, erasure_id)

    report = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces import erasure_reports

    answer(report, lambda: erasure_reports.erasure(report), as_json=as_json)


@app.command("run", epilog=example("olvido erasure run", "olvido erasure run --longest-lock 600 --json"))
def run_(
    limit: Annotated[
        int | None, typer.Option(help="End once so many steps were worked on.", show_default="when nothing is due")
    ] = None,
    longest_lock: Annotated[
        float, typer.Option(help="Seconds that one relation may be kept from its readers while it is rewritten.")
    ] = 60.0,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    eraser_url: EraserUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Follow up what was forgotten, as far as it is due, in every company: what `olvido worker` does, now.

    Files are rewritten, the write-ahead log is turned over, copies outside are asked and looked at. The exit code is 1
    if something is in the way; `olvido erasure show` says what, and it is tried again later.
    """
    place = where(
        database_url, data_dir, policy, worker_url=worker_url, ledger=ledger, eraser_url=eraser_url, erases=True
    )
    with progress_bar(as_json=as_json) as bar:
        task = None if bar is None else bar.add_task("steps", total=None)

        def advance(worked: int) -> None:
            if bar is not None and task is not None:
                bar.update(task, completed=worked)

        async def work(memory: Memory) -> EraseReport:
            return await memory.erase_pending(limit=limit, longest_lock=longest_lock, progress=advance)

        report = run(place, work)

    from olvido.surfaces import erasure_reports

    answer(report, lambda: erasure_reports.erased(report), as_json=as_json)
    if report.hindered or report.attention:
        raise typer.Exit(HINDERED)


app.command("swap", epilog=example(swapping.EXAMPLE))(swapping.swap)
app.command("confirm", epilog=example(confirming.EXAMPLE))(confirming.confirm)
