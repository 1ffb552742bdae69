"""Records and recalls as a person reads them in a terminal. Every stored value passes `cell` or `plain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.plain import instant
from olvido.surfaces.terminal import cell, grid, plain, under

if TYPE_CHECKING:
    from uuid import UUID

    from olvido.domain.context import ContextBlock
    from olvido.domain.origin import Origin
    from olvido.domain.recalled import Recall, RecallItem
    from olvido.domain.records import Episode, Page, Preference, PreferenceVersion, Summary, Written


def origin(value: Origin) -> str:
    """Such as "declared via user-confirmation (turn-17)"."""
    ref = f" ({value.ref})" if value.ref else ""
    return f"{value.origin_class} via {value.source}{ref}"


def moment(value: datetime) -> str:
    """ISO 8601 in UTC to the second; JSON has the microseconds."""
    return instant(value.replace(microsecond=0))


def until(value: datetime | None) -> str:
    """The instant, or "no end"."""
    return "no end" if value is None else moment(value)


def preferences(found: Iterable[Preference]) -> RenderableType:
    """Current values, each with its id on a line of its own: a table would break it where the terminal is narrow."""
    parts: list[RenderableType] = []
    for one in found:
        parts.append(cell(f"{one.key} = {one.value}", "bold"))
        parts.append(under(cell(f"{origin(one.origin)}; said at {moment(one.said_at)}; version {one.version}")))
        parts.append(under(Text(f"expires at {until(one.expires_at)}", style="dim")))
        parts.append(_record(one.record_id))
    return Group(*parts) if parts else Text("No current preference.")


def history(found: Iterable[PreferenceVersion]) -> RenderableType:
    """Versions, oldest first; the last one is current."""
    table = grid("version", "value", "", "origin", "current from", "to")
    for one in found:
        current = one.valid_to is None
        table.add_row(
            str(one.version),
            cell(one.value, "bold" if current else ""),
            str(one.change),
            cell(origin(one.origin)),
            moment(one.valid_from),
            "now" if one.valid_to is None else moment(one.valid_to),
        )
    return table if table.rows else Text("No history: nothing current is stored for this preference.")


def episodes(page: Page[Episode]) -> RenderableType:
    """What happened, newest first."""
    if not page.items:
        return Text("No episodes.")
    parts: list[RenderableType] = []
    for one in page.items:
        named = (one.definition, one.case_id, one.status)
        parts.append(cell("  ".join([moment(one.occurred_at), *(name for name in named if name)]), "cyan"))
        said = [f"{name}: {value}" for name, value in one.fields.items()]
        parts.extend(under(Text(plain(line))) for line in said)
        parts.append(under(cell(origin(one.origin), "dim")))
        parts.append(_record(one.record_id))
    more = [] if page.next_cursor is None else [Text(f"More: --cursor {page.next_cursor}", style="dim")]
    return Group(*parts, *more)


def _record(record_id: UUID) -> RenderableType:
    return under(Text(f"record id {record_id}", style="dim"))


def written(result: Written[Preference] | Written[Episode]) -> RenderableType:
    """What a write did, and what it left out."""
    record = result.record
    said = "Stored." if result.changed else "Already there; nothing was written."
    facts = [f"record id {record.record_id}", f"expires at {until(record.expires_at)}"]
    if result.dropped:
        facts.append(f"dropped before storage, because the policy does not name them: {', '.join(result.dropped)}")
    if result.masked:
        facts.append(f"masked before storage: {', '.join(result.masked)}")
    if result.index_state != "indexed":
        facts.append("found by its words only: the embedder did not answer")
    return Text("\n".join([said, *(f"  {plain(fact)}" for fact in facts)]))


def recall(found: Recall, *, explain: bool = False) -> RenderableType:
    """Preferences, history with its labels, and what to consult instead."""
    parts: list[RenderableType] = []
    if found.consult:
        parts.append(Text("Consult", style="bold"))
        parts.extend(under(cell(one.label, "yellow")) for one in found.consult)
    if found.preferences:
        parts.append(Text("Current preferences, always offered", style="bold"))
    for preference in found.preferences:
        parts.extend([under(cell(preference.label)), _ids(preference, explain=explain)])
    if found.items:
        parts.append(Text("History, best match first", style="bold"))
    for one in found.items:
        parts.append(under(cell(one.label, "cyan")))
        said = [f"{name}: {value}" for name, value in one.record.fields.items()]
        parts.extend(under(Text(plain(line)), 4) for line in said)
        parts.append(_ids(one, explain=explain))
        again = (f"also {origin(other.origin)}, {moment(other.at)}, record id {other.record_id}" for other in one.also)
        parts.extend(under(cell(line, "dim"), 4) for line in again)
    if not parts:
        parts.append(Text("Nothing is recalled: nothing stored for this person bears on the question."))
    if found.omitted:
        parts.append(Text(f"Not shown, as too weak or beyond the limit: {found.omitted}.", style="dim"))
    if not found.index_complete:
        parts.append(Text("Some of these were compared by their words only, without their meaning.", style="dim"))
    return Group(*parts)


def _ids(item: RecallItem[Preference] | RecallItem[Episode], *, explain: bool) -> RenderableType:
    detail = f"{item.strength}, score {item.score:.2f}, record id {item.record_id}"
    if explain and item.parts is not None:
        numbers = ((part.name, getattr(item.parts, part.name)) for part in fields(item.parts) if part.name != "score")
        detail += "; " + ", ".join(f"{name} {'-' if number is None else f'{number:.3f}'}" for name, number in numbers)
    return under(Text(detail, style="dim"), 4)


def context_note(block: ContextBlock) -> str:
    """What the block took of its budget and what it left out, with how to fetch it."""
    lines = [f"{block.tokens} of at most {block.max_tokens} tokens."]
    if block.omitted:
        lines.append(f"Left out for length: {len(block.omitted)}")
        lines.extend(f"  {plain(one.label)}  {one.record_id or ''}".rstrip() for one in block.omitted)
    if block.more:
        lines.append(f"Not chosen by recall, as too weak or beyond its limit: {block.more}.")
    return "\n".join(lines)


def summaries(found: Sequence[Summary]) -> RenderableType:
    """One case a line: references and dates, the last reported status, never a conclusion."""
    table = grid("case", "reports", "first", "last", "last reported status", "least origin", "record id")
    for one in found:
        table.add_row(
            cell(one.case_id),
            str(len(one.entries)),
            moment(one.first_at),
            moment(one.last_at),
            cell(one.last_reported_status or "none"),
            str(one.origin_class),
            str(one.record_id),
        )
    return table if table.rows else Text("No episode names a case, so there is nothing to summarise.")
