"""Issue a receipt of one request to forget: what stands in the database about it, signed."""

from __future__ import annotations

from importlib.metadata import version
from uuid import UUID

from olvido.domain.canonical import read_json
from olvido.domain.erasure import WHOLE_LIVES, Level, StepStatus
from olvido.domain.erasure_status import erasure_status
from olvido.domain.identifiers import record_uuid, required_identifier
from olvido.domain.receipt import RECEIPT_TYPE, Issuer, Receipt, ReceiptStep, receipt_bytes
from olvido.errors import KeysUnavailable, NotFound
from olvido.operations.environment import Environment
from olvido.operations.ledger_entries import ledger_entries
from olvido.storage.queries import statements
from olvido.storage.rows import Row

NO_KEYS = (
    "There is no place for the keys that sign receipts. Name a directory outside the database and its backups with "
    "OLVIDO_KEYS or olvido.open(keys=...); it is made with its first key when it is needed."
)

_SQL = statements("receipts")


async def receipt(environment: Environment, tenant: str, erasure_id: UUID | str) -> str:
    """A signed receipt of how far a request to forget is now, as a compact JWS: text of one line.

    It holds no forgotten value, no external id and no hash of either. Ask again later for one that says more.
    Raises InvalidScope, NotFound, KeysUnavailable, LedgerUnavailable, and UnsafeDatabase if the login is not a worker.
    """
    required_identifier(tenant, "tenant")
    wanted = record_uuid(erasure_id, "erasure_id")
    signer = environment.signer
    if signer is None:
        raise KeysUnavailable(NO_KEYS)
    # Before the instant of the receipt, which is not to look older than its key.
    await signer.prepare()
    async with environment.database.administer(tenant) as transaction:
        request = await transaction.one(_SQL["request"], erasure_id=wanted)
        if request is None:
            raise NotFound("There is no request to forget by this id at this company.")
        steps = tuple(_step(row) for row in await transaction.all(_SQL["steps"], erasure_id=wanted))
        now = transaction.now
    issued = Receipt(
        issuer=Issuer(
            version=version("olvido"),
            ledger_id=environment.ledger.ledger_id,
            ledger_entry=(await ledger_entries(environment.ledger, tenant, [request])).get(wanted),
        ),
        issued_at=now,
        erasure_id=wanted,
        tenant=tenant,
        target=request["target"],
        # The key of a life that may go on is not for a receipt to spread.
        subject_key=request["subject_key"] if request["target"] in WHOLE_LIVES else None,
        record_ids=tuple(request["record_ids"]),
        version=request["version"],
        requested_at=request["requested_at"],
        policy_version=request["policy_version"],
        plan_hash=request["plan_hash"],
        planned=request["planned"],
        removed=request["removed"],
        held=request["held"],
        status=erasure_status(steps),
        steps=steps,
    )
    return await signer.sign(receipt_bytes(issued), token_type=RECEIPT_TYPE)


def _step(row: Row) -> ReceiptStep:
    return ReceiptStep(
        step=row["step"],
        level=Level(row["level"]),
        kind=row["kind"],
        holder=row["holder"],
        status=StepStatus(row["status"]),
        attempts=row["attempts"],
        deadline=row["deadline"],
        blocker=row["blocker"],
        evidence=read_json(row["evidence"]),
        settled_at=row["settled_at"],
    )
