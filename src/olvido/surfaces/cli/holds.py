"""`olvido hold`: what must be kept by law although it is forgotten, placed, looked at and released."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import (
    AsJson,
    DatabaseUrl,
    DataDir,
    LedgerDir,
    PolicyFile,
    Subject,
    Tenant,
    WorkerUrl,
    example,
    parse_instant,
)
from olvido.surfaces.cli.runtime import answer, confirm, run, where

if TYPE_CHECKING:
    from olvido.domain.holds import HeldContent, Hold, HoldReleased
    from olvido.memory import Memory

NOT_VERIFIED = 1
ID = "019f0000-0000-7000-8000-000000000001"
PLACE = "olvido hold place --tenant acme --subject ana --basis 'court file 7/26' --review-at 2027-06-30T00:00:00Z"

app = typer.Typer(no_args_is_help=True)

HoldId = Annotated[str, typer.Argument(help="The hold_id that Olvido returned.", show_default=False)]


@app.command("place", epilog=example(PLACE))
def place(
    tenant: Tenant,
    subject: Subject,
    basis: Annotated[str, typer.Option(help="Why, in a line that reports may show, such as a file number.")],
    review_at: Annotated[
        datetime, typer.Option(parser=parse_instant, metavar="INSTANT", help="When the hold is to be looked at again.")
    ],
    record_id: Annotated[str | None, typer.Option("--record", help="One record only; otherwise all of them.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Keep what is stored of a person, or one record, when it is forgotten or expires.

    Nothing that is held is served once it is forgotten: it is kept apart, and every report names the hold.
    """

    async def work(memory: Memory) -> Hold:
        return await memory.place_hold(tenant, subject=subject, basis=basis, review_at=review_at, record_id=record_id)

    hold = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces import forget_reports

    answer(hold, lambda: forget_reports.holds([hold]), as_json=as_json)


@app.command("list", epilog=example("olvido hold list --tenant acme"))
def list_(
    tenant: Tenant,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the holds of a company, those to be reviewed first."""

    async def work(memory: Memory) -> tuple[Hold, ...]:
        return await memory.holds(tenant)

    found = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces import forget_reports

    answer({"holds": found}, lambda: forget_reports.holds(found), as_json=as_json)


@app.command("show", epilog=example(f"olvido hold show {ID} --tenant acme --content --json"))
def show(
    hold_id: HoldId,
    tenant: Tenant,
    content: Annotated[
        bool, typer.Option("--content", help="With what it keeps; the audit log says that somebody looked.")
    ] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one hold."""
    opening = where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger)

    from olvido.surfaces import forget_reports

    if content:

        async def read(memory: Memory) -> HeldContent:
            return await memory.hold_content(tenant, hold_id)

        kept = run(opening, read)
        answer(kept, lambda: forget_reports.held_content(kept), as_json=as_json)
        return

    async def work(memory: Memory) -> Hold:
        return await memory.hold(tenant, hold_id)

    hold = run(opening, work)
    answer(hold, lambda: forget_reports.holds([hold]), as_json=as_json)


@app.command("release", epilog=example(f"olvido hold release {ID} --tenant acme"))
def release(
    hold_id: HoldId,
    tenant: Tenant,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """End a hold and delete what it kept. The exit code is 1 if a look after the commit could not confirm it."""
    confirm("Release this hold and delete what it kept?", yes=yes)

    async def work(memory: Memory) -> HoldReleased:
        return await memory.release_hold(tenant, hold_id)

    place = where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger)
    done = run(place, work)

    from olvido.surfaces import forget_reports

    answer(done, lambda: forget_reports.released(done, tenant=tenant, store=place.options), as_json=as_json)
    if done.remaining != 0:
        raise typer.Exit(NOT_VERIFIED)
