"""`olvido forget` and `olvido purge`: removal, with a report of what is gone and what remains elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from olvido.domain.records import RecordKind
from olvido.surfaces.cli import proposing
from olvido.surfaces.cli.options import (
    AsJson,
    CaseId,
    DatabaseUrl,
    DataDir,
    LedgerDir,
    PolicyFile,
    Since,
    Until,
    WorkerUrl,
)
from olvido.surfaces.cli.runtime import answer, confirm, progress_bar, run, where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from olvido.domain.report import ForgetReport, Plan, PurgeReport
    from olvido.memory import Memory
    from olvido.surfaces.cli.runtime import Where

NOT_VERIFIED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Target:
    """What to forget: records by id or by conditions, everything of a person, or a company when there is no subject."""

    tenant: str
    subject: str | None
    record_ids: tuple[str, ...]
    conditions: Mapping[str, Any]
    everything: bool
    reopen: bool

    @property
    def question(self) -> str:
        """What the operator is asked, after the plan was shown."""
        if self.subject is None:
            return "Close this company and forget everyone in it?"
        if self.everything:
            return "Forget this person?"
        return "Forget this record?" if self.is_one_record else "Forget these records?"

    @property
    def is_one_record(self) -> bool:
        """Whether it is one record by its id."""
        return len(self.record_ids) == 1 and not self.conditions

    async def forget(
        self,
        memory: Memory,
        *,
        dry_run: bool,
        plan: Plan | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ForgetReport:
        """Call the one function behind it."""
        if self.subject is None:
            return await memory.forget_tenant(self.tenant, dry_run=dry_run, progress=progress)
        person = memory.scope(tenant=self.tenant, subject=self.subject)
        if self.everything:
            return await person.forget_all(dry_run=dry_run, plan=plan)
        if self.is_one_record:
            return await person.forget(self.record_ids[0], dry_run=dry_run, plan=plan, reopen_previous=self.reopen)
        return await person.forget_where(
            **self.conditions,
            record_ids=self.record_ids or None,
            dry_run=dry_run,
            plan=plan,
        )


def forget(
    record_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RECORD_ID]...", help="Records with all that derives from them.")
    ] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", "-t", help="The company; alone: all of it.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", "-s", help="The person at that company.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of this person.")] = False,
    kind: Annotated[RecordKind | None, typer.Option("--kind", help="Only records of this kind.")] = None,
    definition: Annotated[
        str | None, typer.Option("--definition", help="Only this kind of episode, or this preference.")
    ] = None,
    case_id: CaseId = None,
    session_id: Annotated[str | None, typer.Option("--session", help="The session it belongs to.")] = None,
    since: Since = None,
    until: Until = None,
    query: Annotated[
        str | None,
        typer.Option("--query", help='Words such as "my address": shows what may be meant.'),
    ] = None,
    proposal: Annotated[
        str | None, typer.Option("--proposal", help="The token of a --query --json, with the ids chosen from it.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", help="The plan hash of a dry run: nothing is forgotten if anything differs.")
    ] = None,
    reopen_previous: Annotated[
        bool,
        typer.Option("--reopen-previous", help="Of a preference: only its current version; the one before returns."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be removed, remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Forget records, by id or by conditions that all have to be met; one person (--all); one company (--tenant alone).

    The report is measured: rows are counted, deleted in one transaction and read back after the commit. Copies outside
    this database are listed with their holder and due date, and what a legal hold keeps with its basis and review date.
    The exit code is 1 if the read-back could not confirm it.
    """
    given = {
        "kind": kind,
        "definition": definition,
        "case_id": case_id,
        "session_id": session_id,
        "since": since,
        "until": until,
    }
    conditions = {name: value for name, value in given.items() if value is not None}
    ids = tuple(record_ids or ())
    place = where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger)
    if query is not None or proposal is not None:
        others = bool(conditions) or everything or reopen_previous or plan is not None
        chosen = proposing.choice(tenant, subject, query, proposal, ids, others=others, dry_run=dry_run)
        report = proposing.forget(place, chosen, yes=yes, as_json=as_json)
        if report is not None:
            finish(report, tenant=chosen.tenant, store=place.options, as_json=as_json)
        return
    target = _target(tenant, subject, ids, conditions, everything=everything, reopen=reopen_previous)
    if plan is not None and target.subject is None:
        raise typer.BadParameter("A plan is of one person. Name the person with --subject.", param_hint="'--plan'")
    _forget(place, target, plan, dry_run=dry_run, yes=yes, as_json=as_json)


def purge(
    batch_size: Annotated[int, typer.Option(help="Most records of one kind in one transaction.")] = 1000,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
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

    report = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces import forget_reports

    answer(report, lambda: forget_reports.purge(report), as_json=as_json)


def finish(report: ForgetReport, *, tenant: str, store: str, as_json: bool) -> None:
    """Print what was done; the exit code says whether it was confirmed. store: options that name the store."""
    from olvido.surfaces import forget_reports

    answer(report, lambda: forget_reports.forget(report, tenant=tenant, store=store), as_json=as_json)
    if str(report.status) != "rows_absent":
        raise typer.Exit(NOT_VERIFIED)


def _forget(place: Where, target: _Target, plan: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    from olvido.surfaces import forget_reports

    async def planning(memory: Memory) -> ForgetReport:
        return await target.forget(memory, dry_run=True)

    if dry_run:
        planned = run(place, planning)
        answer(planned, lambda: forget_reports.forget(planned, tenant=target.tenant), as_json=as_json)
        return
    shown = None if yes else _show_plan(lambda: run(place, planning), target.tenant)
    confirm(target.question, yes=yes)
    # What is removed is what was looked at; a company is too large to be counted twice.
    agreed = plan if plan is not None or target.subject is None else shown

    async def execute(memory: Memory) -> ForgetReport:
        with progress_bar(as_json=as_json) as bar:
            task = None if bar is None or target.subject is not None else bar.add_task("Forgetting", total=None)

            def forgotten(done: int, total: int) -> None:
                if bar is not None and task is not None:
                    bar.update(task, completed=done, total=total)

            return await target.forget(memory, dry_run=False, plan=agreed, progress=forgotten)

    finish(run(place, execute), tenant=target.tenant, store=place.options, as_json=as_json)


def _show_plan(plan: Callable[[], ForgetReport], tenant: str) -> ForgetReport | None:
    """The plan, shown on a terminal only, which is where the question comes; None elsewhere."""
    import sys

    from olvido.surfaces import forget_reports
    from olvido.surfaces.terminal import console

    if not sys.stdin.isatty():
        return None
    planned = plan()
    console(sys.stderr).print(forget_reports.forget(planned, tenant=tenant, asks=True))
    return planned


def _target(
    tenant: str | None,
    subject: str | None,
    record_ids: tuple[str, ...],
    conditions: Mapping[str, Any],
    *,
    everything: bool,
    reopen: bool,
) -> _Target:
    selects = bool(record_ids or conditions)
    if tenant is None:
        raise typer.BadParameter("Name the company with --tenant; add --subject for one person of it.")
    if subject is None and (selects or everything):
        raise typer.BadParameter("Name the person with --subject. --tenant alone forgets the whole company.")
    if subject is not None and selects == everything:
        raise typer.BadParameter(
            "Give RECORD_IDs, conditions such as --kind or --case, or --all (everything of this person)."
        )
    target = _Target(
        tenant=tenant,
        subject=subject,
        record_ids=record_ids,
        conditions=conditions,
        everything=everything,
        reopen=reopen,
    )
    if reopen and not target.is_one_record:
        raise typer.BadParameter("--reopen-previous goes with the RECORD_ID of a preference.")
    return target
