"""`olvido forget` and `olvido purge`: removal, with a report of what is gone and what remains elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, PolicyFile, WorkerUrl
from olvido.surfaces.cli.runtime import answer, confirm, progress_bar, run, where

if TYPE_CHECKING:
    from collections.abc import Callable

    from olvido.domain.report import ForgetReport, PurgeReport
    from olvido.memory import Memory

NOT_VERIFIED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Target:
    """What to forget: one record or everything of a person, or a company when there is no subject."""

    tenant: str
    subject: str | None
    record_id: str | None
    reopen: bool

    @property
    def question(self) -> str:
        """What the operator is asked, after the plan was shown."""
        if self.subject is None:
            return "Close this company and forget everyone in it?"
        return "Forget this person?" if self.record_id is None else "Forget this record?"

    async def forget(
        self, memory: Memory, *, dry_run: bool, progress: Callable[[int, int], None] | None = None
    ) -> ForgetReport:
        """Call the one function behind it."""
        if self.subject is None:
            return await memory.forget_tenant(self.tenant, dry_run=dry_run, progress=progress)
        person = memory.scope(tenant=self.tenant, subject=self.subject)
        if self.record_id is None:
            return await person.forget_all(dry_run=dry_run)
        return await person.forget(self.record_id, dry_run=dry_run, reopen_previous=self.reopen)


def forget(
    record_id: Annotated[str | None, typer.Argument(help="One record with all that derives from it.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", "-t", help="The company; alone: all of it.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", "-s", help="The person at that company.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of this person.")] = False,
    reopen_previous: Annotated[
        bool,
        typer.Option("--reopen-previous", help="Of a preference: only its current version; the one before returns."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be removed, remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Forget one record (RECORD_ID), one person (--all) or one company (--tenant alone).

    The report is measured: rows are counted, deleted in one transaction and read back after the commit. Copies outside
    this database are listed with their holder and due date. The exit code is 1 if the read-back could not confirm it.
    """
    target = _target(tenant, subject, record_id, everything=everything, reopen=reopen_previous)
    place = where(database_url, data_dir, policy, worker_url=worker_url)

    from olvido.surfaces import reports

    async def plan(memory: Memory) -> ForgetReport:
        return await target.forget(memory, dry_run=True)

    async def execute(memory: Memory) -> ForgetReport:
        with progress_bar(as_json=as_json) as bar:
            task = None if bar is None or target.subject is not None else bar.add_task("Forgetting", total=None)

            def forgotten(done: int, total: int) -> None:
                if bar is not None and task is not None:
                    bar.update(task, completed=done, total=total)

            return await target.forget(memory, dry_run=False, progress=forgotten)

    if dry_run:
        planned = run(place, plan)
        answer(planned, lambda: reports.forget(planned), as_json=as_json)
        return
    if not yes:
        _show_plan(lambda: run(place, plan))
    confirm(target.question, yes=yes)
    report = run(place, execute)
    answer(report, lambda: reports.forget(report), as_json=as_json)
    if str(report.status) != "rows_absent":
        raise typer.Exit(NOT_VERIFIED)


def purge(
    batch_size: Annotated[int, typer.Option(help="Most records of one kind in one transaction.")] = 1000,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove what has expired, for everyone. Expired records are never served, but are stored until a purge."""

    async def work(memory: Memory) -> PurgeReport:
        with progress_bar(as_json=as_json) as bar:
            task = None if bar is None else bar.add_task("Purging", total=None)

            def removed(rows: int) -> None:
                if bar is not None and task is not None:
                    bar.update(task, completed=rows)

            return await memory.purge_expired(batch_size=batch_size, progress=removed)

    report = run(where(database_url, data_dir, policy, worker_url=worker_url), work)

    from olvido.surfaces import reports

    answer(report, lambda: reports.purge(report), as_json=as_json)


def _show_plan(plan: Callable[[], ForgetReport]) -> None:
    """On a terminal only, which is where the question comes."""
    import sys

    from olvido.surfaces import reports
    from olvido.surfaces.terminal import console

    if sys.stdin.isatty():
        console(sys.stderr).print(reports.forget(plan()))


def _target(
    tenant: str | None, subject: str | None, record_id: str | None, *, everything: bool, reopen: bool
) -> _Target:
    if tenant is None:
        raise typer.BadParameter("Name the company with --tenant; add --subject for one person of it.")
    if subject is None and (record_id is not None or everything):
        raise typer.BadParameter("Name the person with --subject. --tenant alone forgets the whole company.")
    if subject is not None and (record_id is None) != everything:
        raise typer.BadParameter("Give one of RECORD_ID (one record) and --all (everything of this person).")
    if reopen and record_id is None:
        raise typer.BadParameter("--reopen-previous goes with the RECORD_ID of a preference.")
    return _Target(tenant=tenant, subject=subject, record_id=record_id, reopen=reopen)
