"""What sealing and verifying the audit found, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, grid

if TYPE_CHECKING:
    from datetime import datetime

    from olvido.domain.audit import AuditChain, AuditReport, SealReport

NO_ANCHORS = (
    "No anchors are kept here: whether a chain was shortened, or written anew as a whole, cannot be told. Name the "
    "directory of the keys with OLVIDO_KEYS."
)
UNSEALED = "What is not sealed yet could be changed or removed without a trace."


def sealed(report: SealReport) -> RenderableType:
    """Counts, and how long the oldest row had waited."""
    lines = [f"Sealed {report.rows} rows under {report.seals} seals; companies looked at: {report.companies}."]
    if report.longest_unsealed is not None:
        lines.append(
            f"The oldest of these rows was without a seal for {report.longest_unsealed.total_seconds():.0f} s."
        )
    if report.not_anchored:
        lines.append(f"Heads that could not be written down beside the keys: {report.not_anchored}. Run it again.")
    elif report.rows and not report.anchored:
        lines.append(NO_ANCHORS)
    return Text("\n".join(lines))


def verified(report: AuditReport) -> RenderableType:
    """One line a company, then what is wrong with each."""
    table = grid("company", "rows", "seals", "last sealed at", "anchored to seal", "not sealed yet", "")
    for chain in report.chains:
        table.add_row(
            cell(chain.tenant),
            str(chain.rows),
            str(chain.seals),
            _when(chain.last_sealed_at),
            "" if chain.anchored_seal is None else str(chain.anchored_seal),
            _open(chain),
            Text("broken", style="red") if chain.problems else Text("as sealed"),
        )
    parts: list[RenderableType] = [table if table.rows else Text("No company has an audit here.")]
    for chain in report.chains:
        if chain.problems:
            parts.append(cell(chain.tenant, "bold"))
        for problem in chain.problems:
            said = f"{problem.breach}, seal {problem.seal}: {problem.detail}."
            parts.append(Padding(cell(said, "red"), (0, 0, 0, 2), expand=False))
        if chain.accepted_at is not None:
            said = f"{chain.tenant}: taken as it is after a restore, {moment(chain.accepted_at)}."
            parts.append(cell(said, "dim"))
    if report.unreadable_anchors:
        parts.append(
            cell(f"Lines among the anchors that nobody with these keys wrote: {report.unreadable_anchors}.", "red")
        )
    if any(chain.anchors is None for chain in report.chains):
        parts.append(Text(NO_ANCHORS))
    if any(chain.unsealed_rows for chain in report.chains):
        parts.append(Text(UNSEALED))
    verdict = "What is sealed is what was sealed." if report.intact else "The audit is not what was sealed."
    parts.append(Text(verdict, style="bold"))
    if not report.intact:
        parts.append(Text(AFTER_A_RESTORE))
    return Group(*parts)


AFTER_A_RESTORE = (
    "If a backup was put back, this is what it looks like: compare with what you know, then take it as it is with "
    "`olvido audit accept`."
)


def _open(chain: AuditChain) -> str:
    if not chain.unsealed_rows:
        return "nothing"
    return f"{chain.unsealed_rows} rows since {_when(chain.oldest_unsealed_at)}"


def _when(value: datetime | None) -> str:
    return "" if value is None else moment(value)
