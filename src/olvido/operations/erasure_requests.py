"""What every forget does around the removal itself: compare the plan, write the ledger, leave a request to follow up.

The ledger comes first and is durable before anything is removed; the request and its steps commit with the removal; the
outcome is noted in the ledger after that. So a crash at any moment leaves either nothing, or something that goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from olvido.domain.copies import FirstStep, RegisteredCopy, concerned, first_step
from olvido.domain.erasure import ABSENT, AGAIN, FILES, LOG, ROWS, Level, StepStatus
from olvido.domain.ledger import Request
from olvido.domain.report import HeldRecord, Plan, plan_hash, refuse_another_plan
from olvido.errors import LedgerUnavailable
from olvido.operations.copies import registered_copies
from olvido.operations.environment import Environment
from olvido.operations.session_cache import forget_cached
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

log = logging.getLogger("olvido.forget")

_SQL = statements("erasures")
_AUDIT = statements("audit_log")
HERE = "olvido"
"""Who holds what lies in this database."""
_STANDS = (
    "Nothing was removed: that failed, and the erasure ledger at {place} could not be told so. What was asked stands "
    "in it: unless this program can write there first, whoever opens the database next carries it out. Mend the ledger "
    "and ask again, or look with `olvido restore check`."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a forget is about.

    target, named: the words and the id that the plan is of. record_ids: None is the whole life. version: only this one
    of the one record. external: the id by which copies outside find the person; None where the caller has to look.
    audited: whether the audit rows are written here; False where the removal writes its own. inside: nothing outside
    this database ever had it but what copies the database whole. took_in: of a whole life, the lives whose exports it
    took in.
    """

    target: str
    named: str
    record_ids: tuple[UUID, ...] | None = None
    version: int | None = None
    external: str | None = None
    plan: Plan | None = None
    audited: bool = True
    inside: bool = False
    took_in: tuple[UUID, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """What one removal did, in a transaction that has yet to commit.

    tenant, key: the life it was in; whole: whether all of it. entry: its number in the ledger. rows: that were
    removed, by relation; kept: of these, rows that a legal hold keeps apart.
    """

    tenant: str
    key: UUID
    whole: bool
    erasure_id: UUID
    entry: int
    rows: Mapping[str, int]
    held: tuple[HeldRecord, ...]
    kept: Mapping[str, int]


async def remove(
    environment: Environment,
    transaction: Transaction,
    asked: Asked,
    planned: Mapping[str, int],
    act: Callable[[], Awaitable[Mapping[str, int]]],
) -> Removed:
    """Remove with `act` what was counted as `planned`, in the caller's transaction, which holds it against writers.

    Call `noted` after the commit. Raises PlanChanged, LedgerUnavailable (nothing was removed), and what `act` raises.
    """
    refuse_another_plan(
        asked.plan, target=asked.target, named=asked.named, planned=planned, drift=environment.policy.limits.plan_drift
    )
    key = transaction.key
    if key is None:
        raise LookupError  # what is removed has been counted inside a life
    external = asked.external
    if external is None and not asked.inside:
        row = await transaction.one(_SQL["external_id"])
        external = None if row is None else str(row["external_id"])
    request = Request(erasure_id=new_record_id(), requested_at=transaction.now, target=asked.target)
    entry = await environment.ledger.intend(
        transaction.tenant, key, asked.record_ids, asked.version, request, took_in=asked.took_in
    )
    again, known = environment.again, None
    if again is not None and again.number == entry:
        known = again.request
        request = known or request
    try:
        counts = await act()
        copies = concerned(await registered_copies(transaction, environment.policy), inside=asked.inside)
        steps = columns(first_steps(copies, request.requested_at, now=transaction.now, removed_at=transaction.now))
        await transaction.run(
            _SQL["write_down"],
            erasure_id=request.erasure_id,
            requested_at=request.requested_at,
            target=request.target,
            record_ids=list(asked.record_ids or ()),
            version=asked.version,
            ledger_id=environment.ledger.ledger_id,
            entry=entry,
            plan_hash=plan_hash(request.target, asked.named, planned),
            planned=rows.json_value(dict(planned)),
            removed=rows.json_value(dict(counts)),
            # Of a life that a hold keeps nothing else of, it keeps whose it was.
            held=len({kept.record_id for kept in transaction.held}) or int(bool(transaction.kept)),
            external=external if any(copy.connector for copy in copies) else None,
            policy_version=environment.policy.version,
            noted=rows.json_value(again_in(transaction) if environment.restored and known is not None else {}),
            **steps,
        )
        if asked.audited:
            await _audit(environment, transaction, asked, counts)
    except BaseException as error:
        # What is raised in the block of a transaction rolls it back.
        await take_back(environment, entry, error)
        raise
    return Removed(
        tenant=transaction.tenant,
        key=key,
        whole=asked.record_ids is None,
        erasure_id=request.erasure_id,
        entry=entry,
        rows=counts,
        held=tuple(transaction.held),
        kept=dict(transaction.kept),
    )


async def noted(environment: Environment, removed: Removed | None) -> None:
    """Note in the ledger that the removal is committed. If that fails, whoever opens next finds out by looking.

    The cache of sessions drops what it has of it, if there is one.
    """
    if removed is not None:
        await note_applied(environment, removed.entry)
        await forget_cached(environment, removed.tenant, removed.key, whole=removed.whole)


async def note_applied(environment: Environment, entry: int) -> None:
    """Note in the ledger that an entry is committed. If that fails, whoever opens next finds out by looking."""
    await _note(environment.ledger.applied, entry)


async def take_back(environment: Environment, entry: int, error: BaseException) -> None:
    """Take an entry back whose removal failed with `error`, and is rolled back.

    Raises LedgerUnavailable, in the place of that error, if the ledger cannot be told: what was asked stands then.
    """
    is_noted = await _note(environment.ledger.withdrawn, entry)
    if not is_noted and isinstance(error, Exception):
        raise LedgerUnavailable(_STANDS.format(place=environment.ledger.place)) from None


def again_in(transaction: Transaction, *, absent: bool = False) -> dict[str, object]:
    """What the step `rows` says of a request that goes on in an older copy of the database, which was put back.

    absent: nothing of it was in that copy.
    """
    return {AGAIN: transaction.now.isoformat(), **({ABSENT: True} if absent else {})}


async def settle_rows(transaction: Transaction, removed: Removed, remaining: Mapping[str, int]) -> None:
    """Write down what the read-back found, as the evidence of level E1."""
    absent = not any(remaining.values())
    await transaction.run(
        _SQL["settle_rows"],
        erasure_id=removed.erasure_id,
        status=StepStatus.ROWS_ABSENT if absent else StepStatus.REMAINING,
        evidence=rows.json_value({"read_at": transaction.now.isoformat(), "remaining": dict(remaining)}),
    )


async def _audit(environment: Environment, transaction: Transaction, asked: Asked, counts: Mapping[str, int]) -> None:
    """One row for the life, or one for each record: an import asks for each whether it was forgotten."""
    version = environment.policy.version
    if asked.record_ids is None:
        await transaction.audit("forget", "subject", policy_version=version, counts=counts)
        return
    await transaction.run(
        _AUDIT["write_forgotten"],
        audit_ids=[new_record_id() for _ in asked.record_ids],
        record_ids=list(asked.record_ids),
        counts=rows.json_value(dict(counts)),
        policy_version=version,
    )


async def _note(write: Callable[[int], Awaitable[None]], entry: int) -> bool:
    """Write an outcome, and say whether that was possible."""
    try:
        await write(entry)
    except LedgerUnavailable:
        log.warning("ledger not brought up to date", extra={"action": "ledger_behind", "entry": entry})
        return False
    return True


def first_steps(
    copies: Iterable[RegisteredCopy], requested_at: datetime, *, now: datetime, removed_at: datetime | None
) -> list[FirstStep]:
    """How a request of `requested_at` begins: inside this database first, then with each copy outside.

    now: nothing is due before, so that a request which goes on is not taken for one that nobody came to. removed_at:
    when its rows left this database; None is that none were in it.
    """
    here = [
        FirstStep(
            step=step,
            level=level,
            kind="database",
            holder=HERE,
            status=StepStatus.OPEN,
            due_at=requested_at,
            deadline=None,
        )
        for step, level in ((ROWS, Level.E1), (FILES, Level.E2), (LOG, Level.E3))
    ]
    steps = [*here, *(first_step(copy, requested_at, removed_at) for copy in copies)]
    return [replace(step, due_at=max(step.due_at, now)) for step in steps]


def columns(steps: Sequence[FirstStep]) -> dict[str, list[Any]]:
    """Steps as the columns that statements take."""
    names = ("steps", "levels", "kinds", "holders", "statuses", "due_ats", "deadlines")
    table = zip(*map(astuple, steps), strict=True)
    return {name: list(column) for name, column in zip(names, table, strict=True)}
