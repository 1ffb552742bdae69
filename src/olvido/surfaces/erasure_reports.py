"""Requests to forget as a person reads them: how far each is, what was measured, what remains where and until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.erasure import ABSENT, AGAIN, COPY, FILES, LOG, ROWS, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.plain import counted
from olvido.surfaces.forget_reports import NO_DATE, Remainder, remainders
from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, grid, under

if TYPE_CHECKING:
    from olvido.domain.erasure import Level, Step
    from olvido.domain.erasure_report import EraseReport, ErasureReport
    from olvido.domain.receipt import ReceiptStep
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
HELD = (
    "No read finds any of it. What a legal hold kept stays apart until the hold is released, and files and log are not "
    "verified before that."
)
TARGETS = {
    "record": "one record",
    "selection": "some records",
    "subject": "everything of a person",
    "tenant": "a person of a company that was forgotten",
    "hold": "what a legal hold had kept",
}
REASONS = 5
"""Of what was in the way in one round, so many different ones are shown."""
KEPT = (
    "The external id of the person is kept until the copies outside that are found by it are done with. It is then "
    "deleted too, and files and log are open again until they are written anew without it."
)
BEGUN_ANEW = (
    "Files and log are open again, after they had been done: copies outside are found by the external id of a person, "
    "so it was kept until the last of them was done with, and deleted then. A removal leaves bytes, so what held it is "
    "written anew once more. What was forgotten itself is as gone as before."
)
IDENTIFIERS = "erasure_identifiers"
"""The relation of the external ids, as the evidence of a step names it that is open again since one went."""
SOON = "as soon as a worker runs"
HERE = {ROWS: "rows of this database", FILES: "files of this database", LOG: "its write-ahead log and replicas"}


def erasures(page: Page[ErasureReport]) -> RenderableType:
    """Requests, the newest first: where each stands, and what of it is not done."""
    if not page.items:
        return Text("Nothing was forgotten at this company.")
    said: list[RenderableType] = []
    for one in page.items:
        open_steps = ", ".join(step.step.removeprefix(COPY) for step in one.remains) or "nothing"
        said.append(Text(f"{one.erasure_id}  {moment(one.requested_at)}  {one.status}", style="bold"))
        said.append(under(cell(f"{TARGETS.get(one.target, one.target)}; not done: {open_steps}")))
    if page.next_cursor is not None:
        said.append(Text(f"More: --cursor {page.next_cursor}", style="dim"))
    return Group(*said)


def erasure(report: ErasureReport) -> RenderableType:
    """Levels with what was measured, then what remains where and until when."""
    rows = sum(report.removed.values())
    said: list[RenderableType] = [
        Text(f"Forgotten: {TARGETS.get(report.target, report.target)}, asked for at {moment(report.requested_at)}."),
        *map(Text, applied_again(report.steps)),
        Text(f"Rows removed: {rows}.{_held(report.held)}"),
        Text(""),
    ]
    table = grid("level", "what", "status", "since", "measured")
    for step in report.steps:
        since = "-" if step.settled_at is None else moment(step.settled_at)
        table.add_row(str(step.level), cell(_what(step)), str(step.status), since, cell(_measured(step)))
    said += [table, Text("")]
    if report.remains:
        said += [remainders(_remainder(step, report.looked_at) for step in report.remains), Text("")]
        said += [under(cell(line)) for line in _begun_anew(report)]
    for step in report.remains:
        if step.blocker is not None:
            said += [
                Text(f"In the way of {_what(step)}, after {counted(step.attempts, 'try', 'tries')}:", style="bold")
            ]
            said += [under(cell(reason, "yellow")) for reason in step.blocker.split("; ")]
    if report.identifier_kept:
        said.append(cell(KEPT))
    said += [Text(f"Status: {report.status}.", style="bold"), Text(_meaning(report))]
    return Group(*said)


def applied_again(steps: Iterable[Step | ReceiptStep]) -> list[str]:
    """That a request was applied again to an older copy of the database, if it was: what is told is of that copy."""
    evidence = next((step.evidence for step in steps if step.step == ROWS), {})
    try:
        at = datetime.fromisoformat(str(evidence.get(AGAIN)))
    except ValueError:
        return []
    found = "nothing of it was in that copy" if evidence.get(ABSENT) else "rows, plan and levels are of that copy"
    said = f"An older copy of the database was put back after that. Applied again {moment(at)}: {found}; "
    return [f"{said}a receipt from before says what there was then."]


def _held(records: int) -> str:
    """What of the removed rows was stored all the same; a hold may have been released since."""
    if not records:
        return ""
    whose = "a record" if records == 1 else f"{records} records"
    kept = f"those of {whose} were not deleted but kept apart by a legal hold, out of every read"
    return f" Of these, {kept}; `olvido hold list` says which holds stand."


def _meaning(report: ErasureReport) -> str:
    is_kept = bool(report.held) and report.status is ErasureStatus.ROWS_ABSENT
    return HELD if is_kept else MEANING[report.status]


def erased(report: EraseReport) -> RenderableType:
    """What one round did, and what waits."""
    lines = [f"Worked on {counted(report.worked, 'step')}; settled {_by_level(report.settled)}."]
    if report.hindered:
        lines.append(f"{counted(report.hindered, 'step')} could not be done.")
    if report.in_the_way:
        lines.append("In the way is, as `olvido erasure show` says of one request:")
        shown = list(report.in_the_way.items())[:REASONS]
        lines += [f"  {counted(count, 'step')} of {reason.removeprefix(COPY)}" for reason, count in shown]
        if len(report.in_the_way) > len(shown):
            lines.append("  and for other reasons; --json has more of them")
    if report.attention:
        lines.append(f"{counted(report.attention, 'step')} should be looked at by somebody.")
    if report.left_to_other:
        lines.append("Another worker is rewriting files, so these were left to it.")
    if report.waiting:
        next_at = "" if report.next_due_at is None else f"; the next is looked at from {moment(report.next_due_at)} on"
        lines.append(f"Not settled yet: {_by_level(report.waiting)}{next_at}.")
    return Text("\n".join(lines))


def _what(step: Step) -> str:
    return HERE.get(step.step, step.step.removeprefix(COPY))


def _begun_anew(report: ErasureReport) -> list[str]:
    """Why files and log are not done that had been: the external id went meanwhile."""
    files = next((step for step in report.steps if step.step == FILES), None)
    since = None if files is None else files.evidence.get("since")
    is_anew = isinstance(since, Mapping) and IDENTIFIERS in since
    return [BEGUN_ANEW] if is_anew and any(step.step in {FILES, LOG} for step in report.remains) else []


def _until(step: Step, now: datetime) -> str:
    """When it is gone there, or what has to happen first. now: when it stood so."""
    date = None if step.deadline is None else moment(step.deadline)
    is_over = step.deadline is not None and step.deadline <= now
    if step.status is StepStatus.MANUAL:
        by_then = f"{date} is over: its holder has to act" if is_over else f"by its holder, until {date}"
        return NO_DATE if date is None else by_then
    if step.due_at <= now:
        return SOON
    if date is not None and not is_over:
        return date
    return f"{'no date' if date is None else f'{date} is over'}: looked at again at {moment(step.due_at)}"


def _remainder(step: Step, now: datetime) -> Remainder:
    return Remainder(
        what=_what(step),
        kind=step.kind,
        holder=step.holder,
        level=str(step.level),
        status=str(step.status),
        until=_until(step, now),
    )


def _measured(step: Step) -> str:
    """The evidence of a step in a few words; --json has all of it."""
    evidence = step.evidence
    relations, replicas = evidence.get("relations"), evidence.get("replicas")
    if step.step == ROWS and "remaining" in evidence:
        remaining = evidence["remaining"]
        left = sum(remaining.values()) if isinstance(remaining, Mapping) else 0
        return f"{left} rows read back"
    if step.step == FILES and isinstance(relations, list) and step.status is StepStatus.VERIFIED:
        longest = max((one["locked_ms"] for one in relations), default=0)
        written = counted(len(relations), "relation")
        return f"{written} written anew, the longest lock {longest} ms"
    if step.step == LOG and isinstance(replicas, list):
        passed = "".join(f", {one['name']} replayed to {one['replayed']}" for one in replicas)
        return f"{evidence.get('files_left')} files left of the log before {evidence.get('lsn')}{passed}"
    told = (("found", "found"), ("left", "left"), ("confirmed", "confirmed by"), ("gone_by", "retention over at"))
    return ", ".join(f"{words} {evidence[name]}" for name, words in told if name in evidence)


def _by_level(counts: Mapping[Level, int]) -> str:
    return ", ".join(f"{count} of {level}" for level, count in sorted(counts.items())) or "none"
