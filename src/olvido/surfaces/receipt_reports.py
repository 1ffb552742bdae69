"""A verified receipt as a person reads it: what it attests, what is open, and what it does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, grid

if TYPE_CHECKING:
    from olvido.domain.receipt import Receipt, ReceiptStep, VerifiedReceipt

_TARGETS = {
    "record": "one record",
    "selection": "several records",
    "subject": "everything of one person",
    "tenant": "everything of one person, as part of a whole company",
    "hold": "what a legal hold had kept",
}
_STATUS = {
    "rows_absent": "The rows were read back as absent. Files, log and copies outside are not verified yet.",
    "local_verified": "Gone from rows, files, write-ahead log and replicas; no copy outside is open.",
    "local_verified_external_open": "Gone from rows, files, write-ahead log and replicas; copies outside are open.",
    "incomplete": "Not known to be gone: see the steps below.",
    "failed": "Rows were still there when they were read back.",
}


def verified(found: VerifiedReceipt) -> RenderableType:
    """The whole receipt, with every open copy."""
    receipt = found.receipt
    removed = ", ".join(f"{name} {rows}" for name, rows in receipt.removed.items() if rows) or "none"
    facts = [
        f"Signed by key {found.key_id} (Ed25519).",
        f"Issued {moment(receipt.issued_at)} by olvido {receipt.issuer.version}, for request {receipt.erasure_id}.",
        f"Forgotten {moment(receipt.requested_at)} at {receipt.tenant}: {_TARGETS[receipt.target]}.",
        f"Rows removed: {removed}.",
        f"Status: {receipt.status}. {_STATUS[receipt.status]}",
    ]
    if receipt.held:
        facts.append(f"Kept by a legal hold, out of every read: {receipt.held} records.")
    return Group(
        Text("The signature holds.", style="bold"),
        *(cell(fact) for fact in facts),
        _steps(receipt),
        Text("What this receipt does not attest", style="bold"),
        *(Padding(cell(line), (0, 0, 0, 2), expand=False) for line in does_not_attest(receipt)),
    )


def does_not_attest(receipt: Receipt) -> tuple[str, ...]:
    """The limits of what is signed, in sentences."""
    open_steps = [step for step in receipt.steps if step.settled_at is None]
    said = [
        "Who the person was: it has random keys only, which the issuer cannot lead back to anybody any more."
        if receipt.subject_key is not None
        else "Whose records these were: it has their random ids only.",
        "That the issuer's software, database and clock were honest: it says what they measured.",
        f"Anything after {moment(receipt.issued_at)}: ask the issuer for a newer receipt.",
        "Copies that nobody declared in the policy of the issuer.",
    ]
    if open_steps:
        said.insert(0, f"That it is gone from: {', '.join(step.step for step in open_steps)}. These are open.")
    return tuple(said)


def _steps(receipt: Receipt) -> RenderableType:
    table = grid("level", "copy", "holder", "status", "since", "due", "in the way")
    for step in receipt.steps:
        table.add_row(
            str(step.level),
            cell(step.step),
            cell(step.holder),
            cell(step.status),
            "" if step.settled_at is None else moment(step.settled_at),
            _due(step),
            cell(step.blocker or ""),
        )
    return table


def _due(step: ReceiptStep) -> str:
    return "" if step.settled_at is not None or step.deadline is None else moment(step.deadline)
