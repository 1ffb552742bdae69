"""Requests to forget as a person reads them: how far each is, what was measured, what remains where and until when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from olvido.domain.erasure import COPY, FILES, LOG, ROWS, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.surfaces.forget_reports import NO_DATE, Remainder, remainders
from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, grid

if TYPE_CHECKING:
    from olvido.domain.erasure import Level, Step
    from olvido.domain.erasure_report import EraseReport, ErasureReport
    from olvido.domain.records import Page

MEANING = {
    ErasureStatus.ROWS_ABSENT: "This database holds none of these rows any more. Files and log are not verified yet.",
    ErasureStatus.LOCAL_VERIFIED: "No byte of it is left in the files and the log of this database, nor in its "
    "replicas, and no copy outside is open: each was looked at, confirmed by its holder, or past its retention.",
    ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN: "No byte of it is left in the files and the log of this database, nor "
    "in its replicas. Copies outside are still open.",
    ErasureStatus.INCOMPLETE: "Something is not done, and somebody should look at what is in the way.",
    ErasureStatus.FAILED: "The read-back found rows that should be gone. Forget it again, then run `olvido doctor`.",
}
TARGETS = {
    "record": "one record",
    "selection": "some records",
    "subject": "everything of a person",
    "tenant": "a person of a company that was forgotten",
    "hold": "what a legal hold had kept",
}
HERE = {ROWS: "rows of this database", FILES: "files of this database", LOG: "its write-ahead log and replicas"}


def erasures(page: Page[ErasureReport]) -> RenderableType:
    """Requests, the newest first: where each stands, and what of it is not done."""
    if not page.items:
        return Text("Nothing was forgotten at this company.")
    said: list[RenderableType] = []
    for one in page.items:
        open_steps = ", ".join(step.step.removeprefix(COPY) for step in one.remains) or "nothing"
        said.append(Text(f"{one.erasure_id}  {moment(one.requested_at)}  {one.status}", style="bold"))
        said.append(_under(cell(f"{TARGETS.get(one.target, one.target)}; not done: {open_steps}")))
    if page.next_cursor is not None:
        said.append(Text(f"More: --cursor {page.next_cursor}", style="dim"))
    return Group(*said)


def erasure(report: ErasureReport) -> RenderableType:
    """Levels with what was measured, then what remains where and until when."""
    rows = sum(report.removed.values())
    said: list[RenderableType] = [
        Text(f"Forgotten: {TARGETS.get(report.target, report.target)}, asked for at {moment(report.requested_at)}."),
        Text(f"Rows removed: {rows}. Records kept by a legal hold: {report.held}."),
        Text(""),
    ]
    table = grid("level", "what", "status", "since", "measured")
    for step in report.steps:
        since = "-" if step.settled_at is None else moment(step.settled_at)
        table.add_row(str(step.level), cell(_what(step)), str(step.status), since, cell(_measured(step)))
    said += [table, Text("")]
    if report.remains:
        said += [remainders(_remainder(step) for step in report.remains), Text("")]
    for step in report.remains:
        if step.blocker is not None:
            said += [Text(f"In the way of {_what(step)}, after {_tries(step.attempts)}:", style="bold")]
            said += [_under(cell(reason, "yellow")) for reason in step.blocker.split("; ")]
    if report.identifier_kept:
        said.append(Text("The external id is kept until the copies outside that are found by it are done."))
    said += [Text(f"Status: {report.status}.", style="bold"), Text(MEANING[report.status])]
    return Group(*said)


def erased(report: EraseReport) -> RenderableType:
    """What one round did, and what waits."""
    lines = [f"Worked on {_steps(report.worked)}; settled {_by_level(report.settled)}."]
    if report.hindered:
        lines.append(f"{_steps(report.hindered)} could not be done; `olvido erasure show` says what is in the way.")
    if report.attention:
        lines.append(f"{_steps(report.attention)} should be looked at by somebody.")
    if report.left_to_other:
        lines.append("Another worker is rewriting files, so these were left to it.")
    if report.waiting:
        next_at = "" if report.next_due_at is None else f"; the next is looked at from {moment(report.next_due_at)} on"
        lines.append(f"Not settled yet: {_by_level(report.waiting)}{next_at}.")
    return Text("\n".join(lines))


def _what(step: Step) -> str:
    return HERE.get(step.step, step.step.removeprefix(COPY))


def _remainder(step: Step) -> Remainder:
    if step.deadline is not None:
        until = moment(step.deadline)
    elif step.step.startswith(COPY):
        until = NO_DATE
    else:
        until = f"no date: looked at again at {moment(step.due_at)}"
    return Remainder(
        what=_what(step),
        kind=step.kind,
        holder=step.holder,
        level=str(step.level),
        status=str(step.status),
        until=until,
    )


def _measured(step: Step) -> str:
    """The evidence of a step in a few words; --json has all of it."""
    evidence = step.evidence
    relations, replicas = evidence.get("relations"), evidence.get("replicas")
    if step.step == ROWS and "remaining" in evidence:
        remaining = evidence["remaining"]
        counted = sum(remaining.values()) if isinstance(remaining, Mapping) else 0
        return f"{counted} rows read back"
    if step.step == FILES and isinstance(relations, list) and step.status is StepStatus.VERIFIED:
        longest = max((one["locked_ms"] for one in relations), default=0)
        return f"{len(relations)} relations written anew, the longest lock {longest} ms"
    if step.step == LOG and isinstance(replicas, list):
        passed = "".join(f", {one['name']} replayed to {one['replayed']}" for one in replicas)
        return f"{evidence.get('files_left')} files left of the log before {evidence.get('lsn')}{passed}"
    told = (("found", "found"), ("left", "left"), ("confirmed", "confirmed by"), ("gone_by", "retention over at"))
    return ", ".join(f"{words} {evidence[name]}" for name, words in told if name in evidence)


def _under(shown: RenderableType) -> RenderableType:
    return Padding(shown, (0, 0, 0, 2), expand=False)


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _by_level(counts: Mapping[Level, int]) -> str:
    return ", ".join(f"{count} of {level}" for level, count in sorted(counts.items())) or "none"
