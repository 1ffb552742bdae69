"""What sealing and verifying the audit found, as a person reads it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.audit import RESTORED
from olvido.domain.plain import counted
from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, command, grid, under

if TYPE_CHECKING:
    from datetime import datetime

    from olvido.domain.audit import AuditChain, AuditReport, SealReport

NO_ANCHORS = (
    "No anchors are kept here: whether a chain was shortened, or written anew as a whole, cannot be told. Name the "
    "directory of the keys with OLVIDO_KEYS."
)
NO_ANCHOR_OF = (
    "There is no anchor of these companies: whether their chains were shortened, or written anew as a whole, cannot be "
    "told. If the directory of the keys is another one than it was, name the right one with OLVIDO_KEYS:"
)
UNSEALED = "What is not sealed yet could be changed or removed without a trace."
RESTORED_COPY = (
    "An older copy of the database that was put back looks like this, and so does a chain that somebody shortened or "
    "wrote anew. If it was put back on purpose, take the chain as it is; otherwise find out who could write in the "
    "database. To take it as it is:"
)
CHANGED = (
    "No restore looks like this: it was changed where it lies. Treat it as tampering. Keep the database as it is, "
    "compare it with a backup from before, and find out who could write in it past Olvido: its owner, superusers, "
    "whoever reaches its files. Nothing takes this back, and `olvido audit accept` does not accept it."
)
FOREIGN = (
    "Compare audit-anchors.log and jwks.json with your copies of them, and find out who could write in the directory "
    "of the keys. A line is also foreign if the key that signed it was taken out of jwks.json."
)


def sealed(report: SealReport) -> RenderableType:
    """Counts, and how long the oldest row had waited."""
    did = f"Sealed {counted(report.rows, 'row')} under {counted(report.seals, 'seal')}"
    lines = [f"{did}; companies looked at: {report.companies}."]
    if report.longest_unsealed is not None:
        lines.append(
            f"The oldest of these rows was without a seal for {report.longest_unsealed.total_seconds():.0f} s."
        )
    if report.not_anchored:
        lines.append(f"Heads that could not be written down beside the keys: {report.not_anchored}. Run it again.")
    elif report.rows and not report.anchored:
        lines.append(NO_ANCHORS)
    return Text("\n".join(lines))


def verified(report: AuditReport, *, store: str = "") -> RenderableType:
    """One line a company, then what is wrong with each, and what to do. store: options that name it, for commands."""
    table = grid("company", "rows", "seals", "last sealed at", "anchored to seal", "not sealed yet", "")
    for chain in report.chains:
        table.add_row(
            cell(chain.tenant),
            str(chain.rows),
            str(chain.seals),
            _when(chain.last_sealed_at),
            "" if chain.anchored_seal is None else str(chain.anchored_seal),
            _open(chain),
            _verdict(chain),
        )
    parts: list[RenderableType] = [table if table.rows else Text("No company has an audit here.")]
    for chain in report.chains:
        if chain.problems:
            parts.append(cell(chain.tenant, "bold"))
            parts.append(problems(chain))
            parts.append(under(Text(RESTORED_COPY if chain.is_as_restored else CHANGED)))
        if chain.is_as_restored:
            parts.append(command(f"  olvido audit accept --tenant {shlex.quote(chain.tenant)}{store}"))
        if chain.accepted_at is not None:
            parts.append(cell(_accepted(chain), "dim"))
    if report.unreadable_anchors:
        parts.append(
            cell(f"Lines among the anchors that nobody with these keys wrote: {report.unreadable_anchors}.", "red")
        )
        parts.append(under(Text(FOREIGN)))
    if any(chain.anchors is None for chain in report.chains):
        parts.append(Text(NO_ANCHORS))
    unanchored = [chain.tenant for chain in report.chains if chain.seals and chain.anchors == 0]
    if unanchored:
        parts.extend((Text(NO_ANCHOR_OF), *(under(cell(tenant)) for tenant in unanchored)))
    if any(chain.unsealed_rows for chain in report.chains):
        parts.append(Text(UNSEALED))
    verdict = "What is sealed is what was sealed." if report.intact else "The audit is not what was sealed."
    parts.append(Text(verdict, style="bold"))
    return Group(*parts)


def problems(chain: AuditChain) -> RenderableType:
    """What is wrong with one chain, a line each."""
    said = (f"{problem.breach}, seal {problem.seal}: {problem.detail}." for problem in chain.problems)
    return Group(*(under(cell(line, "red")) for line in said))


def to_accept(chain: AuditChain) -> RenderableType:
    """What somebody is asked to accept: what is gone, and what it looks like as well."""
    return Group(
        cell(f"The audit of {chain.tenant} is not what was anchored:", "bold"),
        problems(chain),
        Text(
            f"To be taken as it is: {counted(chain.rows, 'row')} under {counted(chain.seals, 'seal')}. What was sealed "
            "after that copy was made is gone, and earlier anchors will not count any more. That is right only if an "
            "older copy of the database was put back on purpose: a shortened chain looks the same."
        ),
    )


def _verdict(chain: AuditChain) -> Text:
    if chain.is_empty:
        return Text("nothing here")
    return Text("broken", style="red") if chain.problems else Text("as sealed")


def _accepted(chain: AuditChain) -> str:
    """When a chain was accepted. Another breach than those of a restore is covered by nothing that was accepted."""
    at = moment(chain.accepted_at) if chain.accepted_at is not None else ""
    if any(problem.breach not in RESTORED for problem in chain.problems):
        return f"{chain.tenant}: last accepted {at}, which covers nothing of what is wrong above."
    return f"{chain.tenant}: taken as it is after a restore, {at}."


def _open(chain: AuditChain) -> str:
    if not chain.unsealed_rows:
        return "nothing"
    return f"{counted(chain.unsealed_rows, 'row')} since {_when(chain.oldest_unsealed_at)}"


def _when(value: datetime | None) -> str:
    return "" if value is None else moment(value)
