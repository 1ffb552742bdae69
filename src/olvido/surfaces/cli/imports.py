"""`olvido import`: many records from a file, or everything of one person from an export."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.errors import ConsentNeeded
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, LedgerDir, PolicyFile, WorkerUrl
from olvido.surfaces.cli.runtime import Where, answer, complain, progress_bar, run, where

if TYPE_CHECKING:
    from datetime import datetime

    from rich.progress import Progress

    from olvido.domain.export import ImportedExport
    from olvido.domain.scope import Scope
    from olvido.memory import Memory
    from olvido.surfaces.import_sources import Read
    from olvido.surfaces.importing import ImportReport

CONFLICT = 5
FORGOTTEN = (
    "Whom this export is of was forgotten here since. Nothing was stored. "
    "If the person consented again, import it with --new-consent."
)
NO_CONFLICT = frozenset({"expired", "older_statement"})
"""Why a record of an export may be left out without anybody having to look at it."""


class Format(StrEnum):
    """What a file holds."""

    LINES = "lines"
    EXPORT = "export"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"


def import_(
    file: Annotated[Path, typer.Argument(help="A file; - is standard input.", show_default=False)],
    form: Annotated[Format, typer.Option("--from", help="What the file holds.")] = Format.LINES,
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="The company; --from lines has its own.", show_default=False)
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", "-s", help="The person, for --from export.", show_default=False)
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            help="For --from langgraph: where the person stands, such as memories.{subject}; * is any label.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after a run that failed: pass over what is stored already.")
    ] = False,
    new_consent: Annotated[
        bool, typer.Option("--new-consent", help="They all consented again: take what may have been forgotten here.")
    ] = False,
    new_consent_for: Annotated[
        list[str] | None,
        typer.Option(
            "--new-consent-for",
            metavar="SUBJECT",
            help="This person of the file consented again; give one for each. At several companies: with --tenant.",
            show_default=False,
        ),
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Import preferences, episodes and notes from JSON lines, an export of Olvido, mem0 or LangGraph.

    The whole file is checked first; if one record is bad, nothing is written and its line is named. Running it again
    changes nothing. If a run is cut short, what it wrote stands: run it again, with --resume to compare and embed only
    what is missing.

    What was forgotten stays away. An export says of which life it is, so a forget of it is found. Lines only name a
    person, and nobody can tell afterwards whether somebody of that name was forgotten: a record that is not stored,
    and happened before the last forget that may have been of its person, is refused. --new-consent takes it, and
    --new-consent-for that of one person. To ask takes the login of a worker.

    lines: each has "kind" (preference, episode or note), "tenant" and "subject", then for a preference "key", "value",
    "origin" with "at"; for an episode "definition", "event_id", "occurred_at", "origin", and optionally "fields",
    "case_id", "status"; for a note "text", "event_id". All may have "expires_at". Support cases of the demo work too.

    export: into --tenant and --subject, all or nothing, under the policy in force. Sessions are not taken.

    mem0: what get_all() answers; the person is user_id. langgraph: Item.dict() of what the store's search() finds; the
    person stands in the namespace. Both become imported notes, which stay inferred: a model wrote them.

    The exit code is 5 if a record, or a whole export, was refused because of what is stored or was forgotten here.
    """
    content = _content(file)
    place = where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger)
    if form is Format.EXPORT:
        _one_person(
            place,
            content,
            tenant=_needed(tenant, "--tenant", form),
            subject=_needed(subject, "--subject", form),
            new_consent=new_consent,
            named=new_consent_for or (),
            as_json=as_json,
        )
        return

    async def work(memory: Memory) -> ImportReport:
        from olvido.surfaces.importing import collecting_rarely, load

        now = await memory.now()
        done = 0
        with collecting_rarely(), progress_bar(as_json=as_json) as bar:
            checking = _unless_stopped(_stage(bar, "Checking", None))
            read = _read(
                content, form, memory, name=file.name, now=now, tenant=tenant, namespace=namespace, progress=checking
            )
            consented = _consented(new_consent_for or (), (record.scope for record in read.records), tenant)
            importing = _stage(bar, "Importing", len(read.records))

            def advance(records: int) -> None:
                nonlocal done
                done += records
                importing(records)

            try:
                report = await load(
                    memory,
                    read.records,
                    resume=resume,
                    new_consent=new_consent,
                    consented=consented,
                    progress=advance,
                )
            except BaseException:
                if done:
                    typer.echo(f"Cut short after {done} of {len(read.records)} records; go on with --resume.", err=True)
                raise
            dropped = Counter(report.dropped) + Counter(read.beside)
            return replace(report, expired=read.expired, unit=read.unit, dropped=dict(sorted(dropped.items())))

    report = run(place, work)

    from olvido.surfaces.importing import told

    answer(report, lambda: told(report), as_json=as_json)
    if report.refused:
        raise typer.Exit(CONFLICT)


def _stage(bar: Progress | None, name: str, total: int | None) -> Callable[[int], None]:
    """A stage of the import, drawn in place of the one before; advanced by how many are done since the last time."""
    if bar is None:
        return lambda _: None
    for before in bar.task_ids:
        bar.remove_task(before)
    return partial(bar.advance, bar.add_task(name, total=total))


def _unless_stopped(advance: Callable[[int], None]) -> Callable[[int], None]:
    """The same, until Ctrl-C: checking awaits nothing, and so would not hear of it before it is over."""
    task = asyncio.current_task()

    def heard(records: int) -> None:
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        advance(records)

    return heard


def _read(
    content: bytes,
    form: Format,
    memory: Memory,
    *,
    name: str,
    now: datetime,
    tenant: str | None,
    namespace: str | None,
    progress: Callable[[int], None],
) -> Read:
    """The records of a file that may be of many people."""
    from olvido.surfaces.import_sources import parse_langgraph, parse_lines, parse_mem0

    if form is Format.LINES:
        return parse_lines(content, memory.policy, name=name, now=now, progress=progress)
    company = _needed(tenant, "--tenant", form)
    if form is Format.MEM0:
        return parse_mem0(content, memory.policy, name=name, now=now, tenant=company, progress=progress)
    shape = _needed(namespace, "--namespace", form)
    return parse_langgraph(
        content, memory.policy, name=name, now=now, tenant=company, namespace=shape, progress=progress
    )


def _consented(named: Sequence[str], people: Iterable[Scope], tenant: str | None) -> frozenset[Scope]:
    """The people of a file that --new-consent-for names; a name that finds nobody, or two, is a mistake."""
    if not named:
        return frozenset()
    scopes = {scope for scope in people if tenant is None or scope.tenant == tenant}
    found = set()
    for subject in named:
        several = [scope for scope in scopes if scope.subject == subject]
        if len(several) != 1:
            problem = "at several companies: say --tenant" if several else "not in the file"
            raise typer.BadParameter(f"{subject} is {problem}. Nothing was written.", param_hint="'--new-consent-for'")
        found.update(several)
    return frozenset(found)


def _one_person(
    place: Where,
    content: bytes,
    *,
    tenant: str,
    subject: str,
    new_consent: bool,
    named: Sequence[str],
    as_json: bool,
) -> None:
    """Import an export into one scope."""
    from olvido.domain.scope import Scope

    consented = bool(_consented(named, [Scope(tenant=tenant, subject=subject)], tenant))
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise typer.BadParameter("not one whole JSON document. Was the file cut off?", param_hint="'FILE'") from None

    async def work(memory: Memory) -> ImportedExport:
        scoped = memory.scope(tenant=tenant, subject=subject)
        return await scoped.import_export(document, new_consent=new_consent or consented)

    try:
        report = run(place, work)
    except ConsentNeeded as error:
        complain(error.code, FORGOTTEN, as_json=as_json)
        raise typer.Exit(CONFLICT) from None

    from olvido.surfaces.export_reports import imported

    answer(report, lambda: imported(report), as_json=as_json)
    if any(one.code not in NO_CONFLICT for one in report.left_out):
        raise typer.Exit(CONFLICT)


def _needed(value: str | None, option: str, form: Format) -> str:
    if value is None:
        raise typer.BadParameter(f"--from {form} needs it.", param_hint=f"'{option}'")
    return value


def _content(file: Path) -> bytes:
    from olvido.domain.encoding import utf8

    if str(file) == "-":
        return utf8(sys.stdin.buffer.read(), "standard input")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"The file cannot be read: {error.strerror}.", param_hint="'FILE'") from None
    return utf8(content, file.name)
