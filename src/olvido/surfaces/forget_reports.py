"""What forgetting did, as a person reads it: levels, what remains where and until when, what is held and why."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.plain import counted
from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, command, grid, under

if TYPE_CHECKING:
    from olvido.domain.holds import HeldContent, Hold, HoldReleased
    from olvido.domain.proposal import Proposal
    from olvido.domain.report import ForgetReport, HeldRecord, OutsideCopy, PurgeReport

MEANING = {
    "planned": "Planned only: nothing was removed.",
    "rows_absent": "Read back after the commit: this database holds none of these rows any more.",
    "incomplete": "The read-back found rows, or could not be made. Run it again, then `olvido doctor`.",
}
HELD = "Read back after the commit: no read finds any of it. What is held stays apart until the hold is released."
NO_DATE = "no date: its holder has to remove it"
DONE = ("were deleted for good", "are kept apart")
WORKER = "as soon as a worker has run"
SHOWN_REQUESTS = 10
"""Requests of a company that are shown by id; with --json there are more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remainder:
    """One place where something may still be. until: when it is gone there, in words or as an instant.

    blocker: what stands in the way, or nothing.
    """

    what: str
    kind: str
    holder: str
    level: str
    status: str
    until: datetime | str
    blocker: str | None = None


def remainders(places: Iterable[Remainder]) -> RenderableType:
    """What remains where and until when; of a report, and of a request that a worker follows up."""
    places = list(places)
    blocked = any(place.blocker for place in places)
    table = grid("what remains", "kind", "holder", "level", "status", "gone by", *(["in the way"] if blocked else []))
    for place in places:
        until = place.until if isinstance(place.until, str) else moment(place.until)
        blocker = [cell(place.blocker or "", "yellow")] if blocked else []
        table.add_row(
            cell(place.what), place.kind, cell(place.holder), place.level, place.status, cell(until), *blocker
        )
    return table


def purge(report: PurgeReport) -> RenderableType:
    """What expired and is gone now."""
    if not report.removed:
        lines: list[RenderableType] = [Text("Nothing that is stored has expired.")]
    else:
        lines = [
            Text(f"Removed what had expired, in {counted(report.lives, 'person', 'people')}:"),
            _counts(report.removed),
        ]
    if report.held:
        lines.append(
            Text(f"Of these, a legal hold keeps {counted(report.held, 'record')}, out of every read.", style="yellow")
        )
    if report.left_locked:
        lines.append(Text("Some of it was in use. Run `olvido purge` again to take that as well.", style="yellow"))
    lines.append(Text("Copies outside this database are not touched by a purge.", style="dim"))
    return Group(*lines)


def forget(report: ForgetReport, *, tenant: str, asks: bool = False, store: str = "") -> RenderableType:
    """Counts and a status for each copy here, what is held, and what remains elsewhere with its holder and date.

    asks: it is a plan, and whoever reads it is asked next. store: options that name the store, for commands.
    """
    if not report.found:
        stored = "Only what legal holds keep" if report.held else "Nothing of this"
        return Group(
            Text(f"{stored} is stored here, so nothing was removed and nobody follows it up."),
            *_held(report),
            *_left(report),
            *_to_ask(report),
        )
    # What is held leaves its relation as well, and is no less stored for it: the two are told apart.
    holds_some = bool(report.kept)
    gone = ["deleted", "kept by a hold"] if holds_some else ["removed"]
    table = grid("copy in this database", "planned", *gone, "remaining", "level", "status")
    for copy in report.copies:
        if copy.planned or copy.removed or copy.remaining:
            remaining = "-" if copy.remaining is None else str(copy.remaining)
            deleted = [str(max(0, copy.removed - copy.kept)), str(copy.kept)] if holds_some else [str(copy.removed)]
            table.add_row(copy.copy, str(copy.planned), *deleted, remaining, str(copy.level), str(copy.status))
    lines: list[RenderableType] = [table]
    empty = sum(1 for copy in report.copies if not (copy.planned or copy.removed or copy.remaining))
    if empty:
        verified = "" if report.dry_run else ", and still have none"
        lines.append(Text(f"{empty} more relations had no rows of it{verified}.", style="dim"))
    if report.chain is not None:
        lines.append(Text(f"Earlier values of the preference: {report.chain}."))
    lines.extend(_held(report))
    lines.extend(_left(report))
    lines.append(Text(""))
    places = [*_here(report), *map(_outside, report.outside)]
    if places:
        lines.extend([remainders(places), Text("")])
    still_open = f", and {len(report.outside)} copies outside are open" if report.outside else ""
    not_done = "; files and log wait for a worker" if report.erasure_id is not None or report.erasure_ids else ""
    lines.append(Text(f"Status: {report.status}{still_open}{not_done}.", style="bold"))
    held = bool(report.held or report.kept) and not report.dry_run and str(report.status) == "rows_absent"
    lines.append(Text(HELD if held else MEANING.get(str(report.status), "")))
    if report.dry_run and not asks:
        lines.append(Text(f"To remove this and nothing else, pass --plan {report.plan_hash}", style="dim"))
    if report.erasure_id is not None:
        lines.append(command(f"A worker follows it up: {_show(report.erasure_id, tenant, store)}", "dim"))
    lines.extend(_requests(report, tenant, store))
    return Group(*lines)


def proposal(found: Proposal, *, asks: bool = False) -> RenderableType:
    """What a request in words may mean, numbered, best match first. asks: whoever reads it is asked next."""
    if not found.records:
        return Text("Nothing that is stored for this person bears on it. Nothing was forgotten.")
    table = grid("no", "what it says", "what it is", "match", "record id")
    for number, record in enumerate(found.records, start=1):
        table.add_row(
            str(number), cell(record.text, "bold"), cell(record.label), str(record.strength), str(record.record_id)
        )
    heading = "This may be meant:" if asks else "This may be meant. Nothing was forgotten."
    lines: list[RenderableType] = [Text(heading, style="bold"), table]
    if found.omitted:
        lines.append(Text(f"Not shown, as too weak or beyond the limit: {found.omitted}.", style="dim"))
    if not found.index_complete:
        lines.append(Text("Some were compared by their words only, without their meaning.", style="dim"))
    return Group(*lines)


def holds(found: Iterable[Hold]) -> RenderableType:
    """Legal holds, those to be reviewed first."""
    lines: list[RenderableType] = []
    for hold in found:
        whose = "a forgotten person" if hold.subject is None else hold.subject
        what = "all" if hold.record_id is None else f"record {hold.record_id}"
        lines.append(cell(f"{hold.basis}, to be reviewed at {moment(hold.review_at)}", "bold"))
        lines.append(
            under(
                cell(f"{what} of {whose}, placed at {moment(hold.placed_at)}, {counted(hold.kept, 'row')} kept apart")
            )
        )
        lines.append(under(Text(f"hold id {hold.hold_id}", style="dim")))
    return Group(*lines) if lines else Text("No legal hold at this company.")


def held_content(found: HeldContent) -> RenderableType:
    """A hold with what it keeps."""
    lines: list[RenderableType] = [holds([found.hold])]
    for row in found.rows:
        lines += [Text(""), Text(f"{row.relation} {row.record_id}, kept at {moment(row.kept_at)}", style="bold")]
        told = {name: value for name, value in row.content.items() if value is not None and name != "record_id"}
        lines += [under(line) for line in map(_field, told, told.values())]
    if not found.rows:
        lines += [Text(""), Text("It keeps nothing yet: what it names is stored as usual.")]
    return Group(*lines)


def _field(name: str, value: object) -> RenderableType:
    """One column of a row that is kept, a name and a value; what has a structure of its own as JSON."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cell(f"{name}: {said}")


def released(done: HoldReleased, *, tenant: str, store: str = "") -> RenderableType:
    """What the end of a hold removed. store: options that name the store, for the command."""
    if not done.removed:
        return Text("Released. It had kept nothing; what it named can be forgotten from now on.")
    checked = "and none is left, as a look after the commit found"
    if done.remaining is None:
        checked = "and whether any is left could not be looked at"
    elif done.remaining:
        checked = f"and {done.remaining} are still there"
    were = "was" if done.removed == 1 else "were"
    follows = f"A worker follows it up in files, log and backups: {_show(done.erasure_id, tenant, store)}"
    return Group(
        Text(f"Released. {counted(done.removed, 'row')} that it had kept {were} deleted, {checked}."), command(follows)
    )


def _requests(report: ForgetReport, tenant: str, store: str) -> list[RenderableType]:
    """The requests that the forget of a company left, the first of them by id."""
    if not report.erasure_ids:
        return []
    shown = report.erasure_ids[:SHOWN_REQUESTS]
    what = "1 request" if report.requests == 1 else f"{report.requests} requests, one for each person"
    more = report.requests - len(shown)
    rest = f"And {more} more; all of them" if more else "All of them, those of earlier calls as well"
    return [
        Text(f"A worker follows up {what}:", style="dim"),
        *(command(f"  {_show(erasure_id, tenant, store)}", "dim") for erasure_id in shown),
        command(f"{rest}: olvido erasure list --tenant {shlex.quote(tenant)}{store}", "dim"),
    ]


def _show(erasure_id: UUID | None, tenant: str, store: str) -> str:
    return f"olvido erasure show {erasure_id} --tenant {shlex.quote(tenant)}{store}"


def _held(report: ForgetReport) -> list[RenderableType]:
    """What the rows add up to, and for each hold how many records it keeps, why, and when it is looked at again."""
    by_hold: dict[UUID, list[HeldRecord]] = {}
    for record in report.held:
        by_hold.setdefault(record.hold_id, []).append(record)
    if not by_hold:
        return []
    table = grid("held", "basis", "review at", "hold id")
    for hold_id, records in by_hold.items():
        table.add_row(
            counted(len(records), "record"), cell(records[0].basis), moment(records[0].review_at), str(hold_id)
        )
    return [Text(""), Text("Refused by a legal hold:", style="bold"), Text(_added_up(report)), table]


def _added_up(report: ForgetReport) -> str:
    """How many rows are deleted and how many are kept, which together are all of them."""
    every = sum(copy.planned if report.dry_run else copy.removed for copy in report.copies)
    kept = sum(report.kept.values())
    records = counted(len({record.record_id for record in report.held}), "record")
    deleted, apart = ("would be deleted for good", "would be kept apart") if report.dry_run else DONE
    whose = " Whose they were is kept with them." if "subjects" in report.kept else ""
    gone = f"{every - kept} {deleted} and {kept}, of {records}, {apart}, out of every read"
    return f"Of {counted(every, 'row')}, {gone}.{whose}"


def _left(report: ForgetReport) -> list[RenderableType]:
    """What was not asked to be forgotten and belongs to it, by the ids that forget it."""
    found = (
        (report.handed_over, "episode", "that the session was handed over to"),
        (report.overlapping, "session", "with something outside the time asked for"),
    )
    return [Text(_remaining(ids, what, why)) for ids, what, why in found if ids]


def _remaining(ids: tuple[UUID, ...], what: str, why: str) -> str:
    one = len(ids) == 1
    how = "remains here, to be forgotten by its id" if one else "remain here, to be forgotten by their ids"
    return f"{counted(len(ids), what)} {why} {how}: {', '.join(map(str, ids))}"


def _here(report: ForgetReport) -> list[Remainder]:
    """What a worker has yet to do inside this database."""
    if report.erasure_id is None and not report.erasure_ids:
        return []
    until = WORKER
    if report.held or report.kept:
        until = f"{until}, and the hold is released"
    return [
        Remainder(what="data files", kind="database", holder="olvido", level="E2", status="open", until=until),
        Remainder(what="log and replicas", kind="database", holder="olvido", level="E3", status="open", until=until),
    ]


def _to_ask(report: ForgetReport) -> list[RenderableType]:
    """Who may have it all the same. Without a request there is no date, and no worker that would come."""
    if not report.outside:
        return []
    table = grid("copy outside", "kind", "holder")
    for copy in report.outside:
        table.add_row(cell(copy.copy), copy.kind, cell(copy.holder))
    return [Text("Copies outside may have it all the same, for which no request was made; ask their holders:"), table]


def _outside(copy: OutsideCopy) -> Remainder:
    return Remainder(
        what=copy.copy,
        kind=copy.kind,
        holder=copy.holder,
        level=str(copy.level),
        status=str(copy.status),
        until=_until(copy),
    )


def _until(copy: OutsideCopy) -> datetime | str:
    if copy.connected:
        return WORKER
    if copy.deadline is not None:
        return f"by its holder, until {moment(copy.deadline)}"
    return NO_DATE if copy.due_at is None else copy.due_at


def _counts(rows: Mapping[str, int]) -> RenderableType:
    table = grid("rows", "relation")
    for relation, number in rows.items():
        if number:
            table.add_row(str(number), relation)
    return under(table)
