"""A verified receipt as a person reads it: what it attests, what is open, and what it does not say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from olvido.domain.erasure import FILES
from olvido.surfaces.erasure_reports import applied_again
from olvido.surfaces.reports import moment
from olvido.surfaces.terminal import cell, grid, under

if TYPE_CHECKING:
    from olvido.domain.receipt import Receipt, ReceiptStep, VerifiedReceipt

_TARGETS = {
    "record": "one record",
    "selection": "several records",
    "subject": "everything of one person",
    "tenant": "everything of one person, as part of a whole company",
    "hold": "what a legal hold had kept",
}
_OWN = (
    "So it is one of your own receipts, as it was issued. Whoever else checks it takes the keys that you publish: "
    "`olvido keys publish`."
)
_NAMED = (
    "That proves as much as you know that these are the keys of the issuer: get them there, not from whoever brings "
    "the receipt."
)
_STATUS = {
    "rows_absent": "The rows were read back as absent. Files, log and copies outside are not verified yet.",
    "local_verified": "Gone from rows, files, write-ahead log and replicas; no copy outside is open.",
    "local_verified_external_open": "Gone from rows, files, write-ahead log and replicas; copies outside are open.",
    "incomplete": "Not known to be gone: see the steps below.",
    "failed": "Rows were still there when they were read back.",
}
_HELD = (
    "No read found any of it. What a legal hold kept stays apart until the hold is released; files, log and copies "
    "outside are not verified yet."
)
_NOBODY = "Who the person was: it has random keys only, which the issuer cannot lead back to anybody any more."
_BY_THE_HOLD = (
    "Who the person was: it has random keys only. The legal hold leads back to the person, for those at the issuer who "
    "may see what it keeps, as long as it stands."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedAgainst:
    """Whose keys a signature was checked with. source: their file. own: those of this installation, not of --jwks.

    key_since: when the key that signed was made, as the file says (UTC); None if it does not say that.
    """

    source: str
    own: bool
    key_since: datetime | None

    @property
    def words(self) -> tuple[str, str]:
        """Which keys these are, and what it takes for that to prove something."""
        if self.own:
            return f"Checked with the keys of this installation, in {self.source}.", _OWN
        return f"Checked with the keys in {self.source}, which you named.", _NAMED


def verified(found: VerifiedReceipt, against: CheckedAgainst) -> RenderableType:
    """The whole receipt, with every open copy, and whose keys it was checked with."""
    receipt = found.receipt
    removed = ", ".join(f"{name} {rows}" for name, rows in receipt.removed.items() if rows) or "none"
    whose = "a record" if receipt.held == 1 else f"{receipt.held} records"
    apart = f" Of these, those of {whose} were not deleted but kept apart by a legal hold, out of every read."
    kept = apart if receipt.held else ""
    since = "" if against.key_since is None else f", made {moment(against.key_since)}"
    facts = [
        *against.words,
        f"Signed by key {found.key_id} (Ed25519){since}.",
        f"Issued {moment(receipt.issued_at)} by olvido {receipt.issuer.version}, for request {receipt.erasure_id}.",
        f"Forgotten {moment(receipt.requested_at)} at {receipt.tenant}: {_TARGETS[receipt.target]}.",
        *applied_again(receipt.steps),
        f"Rows removed: {removed}.{kept}",
        f"Status: {receipt.status}. {_status(receipt)}",
    ]
    return Group(
        Text("The signature holds.", style="bold"),
        *(cell(fact) for fact in facts),
        _steps(receipt),
        Text("What this receipt does not attest", style="bold"),
        *(under(cell(line)) for line in does_not_attest(receipt)),
    )


def does_not_attest(receipt: Receipt) -> tuple[str, ...]:
    """The limits of what is signed, in sentences."""
    open_steps = [step for step in receipt.steps if step.settled_at is None]
    kept = _may_be_kept(receipt)
    said = [
        (_BY_THE_HOLD if kept else _NOBODY)
        if receipt.subject_key is not None
        else "Whose records these were: it has their random ids only.",
        "That the issuer's software, database and clock were honest: it says what they measured.",
        f"Anything after {moment(receipt.issued_at)}: ask the issuer for a newer receipt.",
        "Copies that nobody declared in the policy of the issuer.",
    ]
    if kept:
        which = "the rows of a record" if receipt.held == 1 else f"the rows of {receipt.held} records"
        said.insert(0, f"That {which}, which a legal hold kept apart, are deleted: they are stored while it stands.")
    if open_steps:
        said.insert(0, f"That it is gone from: {', '.join(step.step for step in open_steps)}. These are open.")
    return tuple(said)


def _may_be_kept(receipt: Receipt) -> bool:
    """Whether a hold may stand that keeps something of it: files are verified only after its release."""
    return bool(receipt.held) and any(step.step == FILES and step.settled_at is None for step in receipt.steps)


def _status(receipt: Receipt) -> str:
    return _HELD if _may_be_kept(receipt) and receipt.status == "rows_absent" else _STATUS[receipt.status]


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
