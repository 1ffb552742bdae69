"""The register of copies outside: what policies declared, whom a copy is to erase, and a holder's word that it did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from olvido.domain.copies import RegisteredCopy, declared_copies, needs_note
from olvido.domain.erasure import COPY, WHOLE_LIVES, Step, StepStatus, Target
from olvido.domain.identifiers import record_uuid, required_identifier
from olvido.domain.policy import Policy
from olvido.domain.policy_values import TextValue
from olvido.errors import Conflict, InvalidValue, NotFound
from olvido.operations.admission import refuse_secret
from olvido.operations.environment import Environment
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.rows import Row, utc, utc_or_none

LONGEST_EVIDENCE = 200
"""Characters of what a person gives as evidence: a reference to where it is kept, and no more."""
SHORTEST_NAME = 4
"""Characters of an external id that evidence is searched for."""

_SQL = statements("copies")
_EVIDENCE = TextValue(type="text", max_length=LONGEST_EVIDENCE)
_STILL_THERE = (
    "The last look found something still there, so nobody's word settles it. Have it erased; a worker looks again, or "
    "run `olvido erasure run`."
)
_UNKNOWN = "No copy by this name in a request by this id at this company. See `olvido erasure show`."


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownCopy:
    """One copy of one request. copy: as it was last declared; None if it never was. now: when this was looked up.

    gone_here_at: when the last byte of the request left this database and its log; None as long as one is there.
    """

    copy: RegisteredCopy | None
    requested_at: datetime
    gone_here_at: datetime | None
    now: datetime


async def register_copies(environment: Environment) -> None:
    """Note which copies the policy declares, so that they are known when it does not declare them any more."""
    async with environment.database.remains("", None) as transaction:
        await registered_copies(transaction, environment.policy)


async def registered_copies(transaction: Transaction, policy: Policy) -> tuple[RegisteredCopy, ...]:
    """Every copy that may hold something: those that `policy` declares, in its order, then those of older policies.

    What the policy declares is noted in passing, where that is not noted yet.
    """
    noted = {row["name"]: _registered(row) for row in await transaction.all(_SQL["all"])}
    declared = declared_copies(policy.copies, transaction.now)
    fresh = [copy for copy in declared if needs_note(copy, noted.pop(copy.name, None))]
    if fresh:
        await transaction.run(
            _SQL["note"],
            names=[copy.name for copy in fresh],
            kinds=[copy.kind for copy in fresh],
            holders=[copy.holder for copy in fresh],
            retentions=[_seconds(copy.retention) for copy in fresh],
            connectors=[copy.connector for copy in fresh],
        )
    return (*declared, *(copy for copy in noted.values() if copy.may_hold(transaction.now)))


async def known_copy(environment: Environment, step: Step) -> KnownCopy:
    """What is known of the copy of one step. Raises NotFound if the request is not there."""
    async with environment.database.administer(step.tenant) as transaction:
        row = await transaction.one(_SQL["one"], erasure_id=step.erasure_id, name=step.step.removeprefix(COPY))
        if row is None:
            raise NotFound(_UNKNOWN)
        copy = None if row["name"] is None else _registered(row)
        return KnownCopy(
            copy=copy,
            requested_at=utc(row["requested_at"]),
            gone_here_at=utc_or_none(row["gone_here_at"]),
            now=transaction.now,
        )


async def copy_target(transaction: Transaction, erasure_id: UUID) -> Target | None:
    """Whom the copies of a request are to erase; None if its external id is deleted or was never kept."""
    row = await transaction.one(_SQL["target"], erasure_id=erasure_id)
    if row is None:
        return None
    return Target(
        tenant=transaction.tenant,
        subject=row["external_id"],
        key=row["subject_key"],
        record_ids=None if row["target"] in WHOLE_LIVES else tuple(row["record_ids"]),
        erasure_id=erasure_id,
        before=utc(row["requested_at"]),
        asked_at=utc(transaction.now),
    )


async def let_identifier_go(transaction: Transaction, erasure_id: UUID) -> bool:
    """Delete the external id if the step that this transaction settled was the last that needed it; whether it did.

    Files and log are open again then: the id stood in them as well.
    """
    await transaction.one(_SQL["lock_request"], erasure_id=erasure_id)
    if not await transaction.run(_SQL["let_go"], erasure_id=erasure_id):
        return False
    await transaction.run(_SQL["begin_anew"], erasure_id=erasure_id)
    await transaction.run(_SQL["begin_backups_anew"], erasure_id=erasure_id)
    return True


async def confirm_copy(
    environment: Environment, tenant: str, erasure_id: UUID | str, copy: str, *, evidence: str
) -> Step:
    """Settle one copy of a request by the word of a person that its holder erased it. The step as it stands then.

    evidence: where that is written down, such as "ticket 42": at most 200 characters, and no name of anybody. A copy
    that is settled already stays as it is. Raises Conflict if the last look found something still there, NotFound,
    InvalidScope, InvalidValue, SecretRefused, UnsafeDatabase if the login is not a worker, DatabaseUnavailable.
    """
    required_identifier(tenant, "tenant")
    request = record_uuid(erasure_id, "erasure_id")
    step = f"{COPY}{required_identifier(copy, 'copy')}"
    said = str(_EVIDENCE.check(evidence, "evidence"))
    refuse_secret(said, "evidence")
    async with environment.database.administer(tenant) as transaction:
        found = await transaction.one(_SQL["step"], erasure_id=request, step=step)
        if found is None:
            raise NotFound(_UNKNOWN)
        if found["status"] == StepStatus.REMAINING:
            raise Conflict(_STILL_THERE)
        target = await copy_target(transaction, request)
        if target is not None and _names(said, target.subject):
            raise InvalidValue("evidence names the person who was forgotten. Give a reference, such as a ticket.")
        settled = await transaction.run(
            _SQL["confirm"],
            erasure_id=request,
            step=step,
            status=StepStatus.CONFIRMED,
            evidence=rows.json_value({"confirmed": said, "confirmed_at": transaction.now.isoformat()}),
        )
        if settled:
            await let_identifier_go(transaction, request)
            await transaction.audit("confirmed", "copy", policy_version=environment.policy.version, record_id=request)
        row = await transaction.one(_SQL["step"], erasure_id=request, step=step)
        if row is None:
            raise NotFound(_UNKNOWN)
        return rows.step(row)


def _names(said: str, external: str) -> bool:
    """Whether a text has an external id in it as a word; one of three characters or less may be any number."""
    word = rf"(?<!\w){re.escape(external.casefold())}(?!\w)"
    return len(external) >= SHORTEST_NAME and re.search(word, said.casefold()) is not None


def _registered(row: Row) -> RegisteredCopy:
    seconds = row["retention_seconds"]
    return RegisteredCopy(
        name=row["name"],
        kind=row["kind"],
        holder=row["holder"],
        retention=None if seconds is None else timedelta(seconds=seconds),
        connector=row["connector"],
        deadline=None,
        last_declared_at=utc(row["last_declared_at"]),
    )


def _seconds(duration: timedelta | None) -> int | None:
    return None if duration is None else int(duration.total_seconds())
