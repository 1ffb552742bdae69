"""`olvido audit`: seal what the audit says, and look whether it is still that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, KeysDir, LedgerDir, Tenant, WorkerUrl, example
from olvido.surfaces.cli.runtime import Where, answer, confirm, progress_bar, run, where

if TYPE_CHECKING:
    from olvido.domain.audit import Anchor, AuditReport, SealReport
    from olvido.memory import Memory

app = typer.Typer(no_args_is_help=True)

NOT_AS_SEALED = 1
OneTenant = Annotated[
    str | None, typer.Option("--tenant", "-t", help="Only this company; all of them otherwise.", show_default=False)
]


@app.command("seal", epilog=example("olvido audit seal --tenant acme"))
def seal(
    tenant: OneTenant = None,
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Chain the rows of the audit that no seal is over yet. `olvido worker` does it all the time.

    The head of each chain is written down beside the keys. The exit code is 1 if that could not be done.
    """

    async def work(memory: Memory) -> SealReport:
        with _counted("Sealing", as_json=as_json) as counted:
            return await memory.seal_audit(tenant=tenant, progress=counted)

    report = run(where(database_url, data_dir, worker_url=worker_url, keys=keys, ledger=ledger), work)

    from olvido.surfaces import audit_reports

    answer(report, lambda: audit_reports.sealed(report), as_json=as_json)
    if report.not_anchored:
        raise typer.Exit(NOT_AS_SEALED)


@app.command("verify", epilog=example("olvido audit verify --tenant acme"))
def verify(
    tenant: OneTenant = None,
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Look whether the sealed audit is what was sealed, and whether all of it is there.

    Finds rows and seals that were edited, exchanged, added or removed; and with the anchors beside the keys, a chain
    that was shortened, written anew, or comes from an older copy of the database. The exit code is 1 if there is any.
    """

    async def work(memory: Memory) -> AuditReport:
        with _counted("Verifying", as_json=as_json) as counted:
            return await memory.verify_audit(tenant, progress=counted)

    place = where(database_url, data_dir, worker_url=worker_url, keys=keys, ledger=ledger)
    report = run(place, work)

    from olvido.surfaces import audit_reports

    answer(_document(report), lambda: audit_reports.verified(report, store=place.options), as_json=as_json)
    if not report.intact:
        raise typer.Exit(NOT_AS_SEALED)


@app.command("accept", epilog=example("olvido audit accept --tenant acme"))
def accept(
    tenant: Tenant,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take a chain as it is, after the database was restored on purpose from an older copy.

    Look at `olvido audit verify` first: what was sealed after that copy was made is gone. This is written down beside
    the keys, and verify keeps saying when it was. Only `older_than_anchor` and `differs_from_anchor` can be accepted:
    a row or a seal that was changed where it lies is refused, and so is a chain with nothing wrong.
    """
    place = where(database_url, data_dir, worker_url=worker_url, keys=keys, ledger=ledger)
    if not yes:
        _ask(place, tenant)

    async def work(memory: Memory) -> Anchor:
        return await memory.accept_audit(tenant)

    anchor = run(place, work)
    answer(
        anchor,
        lambda: (
            f"The chain counts as it is from here on; its last seal is {anchor.seal}. The worker goes on from there."
        ),
        as_json=as_json,
    )


def _ask(place: Where, tenant: str) -> None:
    """Show what would be accepted, where somebody can be asked. Raises what accepting it would raise."""
    from olvido.domain.audit import check_acceptable

    async def look(memory: Memory) -> AuditReport:
        return await memory.verify_audit(tenant)

    if sys.stdin.isatty():
        from olvido.surfaces import audit_reports
        from olvido.surfaces.terminal import console

        (chain,) = run(place, look).chains
        check_acceptable(chain)
        console(sys.stderr).print(audit_reports.to_accept(chain))
    confirm(
        "Take this audit as it is?",
        yes=False,
        does="This takes an audit as it is although it is not what was anchored",
        otherwise="Nothing was accepted.",
    )


def _document(report: AuditReport) -> dict[str, object]:
    return {
        "intact": report.intact,
        "chains": report.chains,
        "unreadable_anchors": report.unreadable_anchors,
        "verified_at": report.verified_at,
    }


@contextmanager
def _counted(what: str, *, as_json: bool) -> Iterator[Callable[[int], None] | None]:
    """What to call with the rows done so far, where somebody watches."""
    with progress_bar(as_json=as_json) as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task(what, total=None)
        yield lambda rows: bar.update(task, completed=rows)
