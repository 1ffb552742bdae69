"""What an export has, and what importing one did, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.export import Export, ImportedExport
from olvido.surfaces.terminal import cell, grid


def exported(found: Export) -> RenderableType:
    """Rows by relation; what is derived is counted, not shown."""
    table = grid("rows", "relation")
    for relation, number in found.counts.items():
        table.add_row(str(number), relation)
    derived = ", ".join(f"{relation} ({number})" for relation, number in found.derived.items())
    return Group(
        table,
        Text(f"Derived from these, and not shown: {derived}."),
        Text("The file is a copy that a forget does not reach: delete it when it has served.", style="dim"),
    )


def imported(report: ImportedExport) -> RenderableType:
    """Counts, and each record that was left out with its reason."""
    lines: list[RenderableType] = [
        Text(f"Written: {_listed(report.written)}. There already: {_listed(report.unchanged)}."),
        Text(f"Not imported: {_listed(report.not_imported)}. Summaries are made anew by `olvido consolidate`."),
    ]
    for verb, names in (("Dropped", report.dropped), ("Masked", report.masked)):
        if names:
            lines.append(Text(f"{verb} before storage: {_listed(names)}."))
    if report.text_only:
        lines.append(Text(f"{report.text_only} were stored without their meaning: the embedder did not answer."))
    if report.left_out:
        table = grid("left out", "name", "reason", "record id")
        for one in report.left_out:
            table.add_row(one.relation, cell(one.name), one.code, str(one.record_id))
        lines.append(table)
    return Group(*lines)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in counts.items()) or "nothing"
