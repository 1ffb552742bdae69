"""What a receipt of one request to forget says: counts, levels with their evidence, and what is open. Never content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from olvido.domain.canonical import canonical
from olvido.domain.erasure import Level, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.plain import plain
from olvido.errors import InvalidReceipt

RECEIPT_TYPE = "olvido-receipt+jws"
"""The header `typ`: a signature over something else is not taken for a receipt."""
VERSION: Literal[1] = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Issuer:
    """Who says so. version: of Olvido. ledger_id, ledger_entry: where the erasure ledger has this request.

    It is the ledger that was in use then. ledger_entry: None if that did not have the request.
    """

    name: Literal["olvido"] = "olvido"
    version: str
    ledger_id: UUID
    ledger_entry: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceiptStep:
    """Where one copy stood when the receipt was issued. Fields as of `olvido.domain.erasure.Step`.

    settled_at: since when nothing more is to be done about it; None is open. deadline: when its holder has to have
    acted, or when it is gone by its retention. evidence: what was measured.
    """

    step: str
    level: Level
    kind: str
    holder: str
    status: StepStatus
    attempts: int
    deadline: datetime | None
    blocker: str | None
    evidence: Mapping[str, object]
    settled_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """One request to forget, as it stood at `issued_at`.

    target: "record", "selection", "subject", "tenant" (one person of a company that was forgotten) or "hold" (what a
    legal hold had kept). subject_key: the random key of the life that is over; None where single records were
    forgotten, since that life may go on. record_ids: those records; empty for a whole life.
    version: only this version of the one record; None is all of it.
    plan_hash: SHA-256 of target, opaque key and counts, as the report of the forget had it. planned, removed: rows by
    relation. held: records that a legal hold keeps, out of every read.
    After an older copy of the database was put back and the request applied to it again, these four are of that copy,
    as all evidence is: the evidence of the step "rows" then has `applied_again_at`, and `absent` if nothing of it was
    in the copy. A receipt from before says what there was then.
    """

    receipt_version: Literal[1] = VERSION
    issuer: Issuer
    issued_at: datetime
    erasure_id: UUID
    tenant: str
    target: Literal["record", "selection", "subject", "tenant", "hold"]
    subject_key: UUID | None
    record_ids: tuple[UUID, ...]
    version: int | None
    requested_at: datetime
    policy_version: str
    plan_hash: str
    planned: Mapping[str, int]
    removed: Mapping[str, int]
    held: int
    status: ErasureStatus
    steps: tuple[ReceiptStep, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedReceipt:
    """A receipt whose signature holds. key_id: the thumbprint of the key that signed it (RFC 7638)."""

    receipt: Receipt
    key_id: str


_RECEIPT = TypeAdapter(Receipt)

OTHER_FORM = (
    "The signature holds, but what is signed is not a receipt as this release of Olvido writes it: it has other "
    "fields, or another form than canonical JSON. Verify it with the release that issued it."
)


def receipt_bytes(receipt: Receipt) -> bytes:
    """What is signed: the receipt as canonical JSON."""
    return canonical(plain(receipt))


def read_receipt(payload: bytes) -> Receipt:
    """The reverse of `receipt_bytes`. Raises InvalidReceipt for all that it would not have written, byte for byte."""
    try:
        receipt = _RECEIPT.validate_json(payload)
        same = receipt_bytes(receipt) == payload
    except (ValidationError, ValueError, TypeError, RecursionError):
        raise InvalidReceipt(OTHER_FORM) from None
    if not same:
        raise InvalidReceipt(OTHER_FORM)
    return receipt
