"""Apply entries of the erasure ledger to a database that lacks them: a copy that was put back, or one after a crash.

The removal is the one that every forget makes, with its steps, under the number and as the request that the entry has.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from uuid import UUID

from olvido.domain.copies import concerned
from olvido.domain.erasure import HOLD
from olvido.domain.ledger import Entry, LedgerState, Request
from olvido.domain.report import plan_hash
from olvido.domain.scope import Scope
from olvido.errors import Conflict, InvalidInput, NotFound, Refused, TenantClosed
from olvido.operations.copies import registered_copies
from olvido.operations.environment import Caller, Environment
from olvido.operations.erasure_requests import again_in, first_steps, noted
from olvido.operations.forget import forget_life, forget_records, read_back
from olvido.operations.forget_tenant import close_tenant
from olvido.operations.holds import release_hold
from olvido.operations.reopen import forget_superseded, reopen_previous
from olvido.ports import Ledger
from olvido.storage import rows
from olvido.storage.database import Life, Transaction
from olvido.storage.ledger_marks import has
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

log = logging.getLogger("olvido.ledger")

_IMPORTED = ("imported", "subject")

TRIES = 3
"""How often an entry is tried that others are trying too."""

_SQL = statements("ledger")
_PREFERENCES = statements("preferences")
_ERASURES = statements("erasures")


class _Withdrawn(Exception):
    """Whoever intended this entry took it back while we waited for the life."""


class _Done(Exception):
    """Another version is current by now: somebody else has applied this entry, or corrected the preference."""


class _Again:
    """The ledger while one entry of it is applied again: what is removed for it goes under its number."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self._ledger = ledger
        self._entry = entry

    @property
    def place(self) -> str:
        """As of the ledger."""
        return self._ledger.place

    @property
    def ledger_id(self) -> UUID:
        """As of the ledger."""
        return self._ledger.ledger_id

    async def state(self) -> LedgerState | None:
        """As of the ledger."""
        return await self._ledger.state()

    async def begin(self, replaces: Collection[UUID] = ()) -> LedgerState:
        """As of the ledger."""
        return await self._ledger.begin(replaces)

    async def entries(self, numbers: Sequence[int]) -> list[Entry]:
        """As of the ledger."""
        return await self._ledger.entries(numbers)

    async def intend(
        self,
        tenant: str,
        key: UUID | None,
        record_ids: Sequence[UUID] | None,
        version: int | None = None,
        request: Request | None = None,
        *,
        took_in: Sequence[UUID] = (),
    ) -> int:
        """The number that the entry has, or a new one for what goes beyond it. Raises _Withdrawn, _Done."""
        entry = self._entry
        if None not in (version, entry.version) and version != entry.version:
            raise _Done
        within = record_ids is None if entry.record_ids is None else set(record_ids or ()) <= set(entry.record_ids)
        if not within or (tenant, key, version) != (entry.tenant, entry.key, entry.version):
            return await self._ledger.intend(tenant, key, record_ids, version, request, took_in=took_in)
        # The life is held now, so whoever intended it has ended, one way or the other.
        state = await self._ledger.state()
        if state is not None and entry.number in state.unapplied:
            raise _Withdrawn
        return entry.number

    async def applied(self, entry: int) -> None:
        """As of the ledger."""
        await self._ledger.applied(entry)

    async def withdrawn(self, entry: int) -> None:
        """An entry that was applied once, or is to be, stands: only one that is new here can be withdrawn."""
        if entry != self._entry.number:
            await self._ledger.withdrawn(entry)

    async def write_back(self, removals: Sequence[Entry], *, above: int) -> list[int]:
        """As of the ledger."""
        return await self._ledger.write_back(removals, above=above)


async def settle(environment: Environment) -> int:
    """Finish what was intended and has no outcome in the ledger: its process died, or is at it now. Returns how many.

    What is committed is noted as applied, also where somebody else took it back meanwhile; what is not is removed.
    Several may do this at once. Takes the login of a worker. Raises UnsafeDatabase, LedgerUnavailable,
    DatabaseUnavailable, Conflict.
    """
    ledger = environment.ledger
    state = await ledger.state()
    if state is None:
        return 0
    await _note_committed(environment, state)
    for entry in await ledger.entries(state.in_flight):
        for others in reversed(range(TRIES)):
            try:
                await _settle(environment, entry)
                break
            except Conflict:  # with somebody who does the same
                if not others:
                    raise
    return len(state.in_flight)


async def _note_committed(environment: Environment, state: LedgerState) -> None:
    """Note as applied what the ledger calls withdrawn and this database has: a copy put back has to forget it as well.

    That is where a program could not carry it out, could not say so at once, and took it back after others had done it.
    """
    if not state.unapplied:
        return
    async with environment.database.administer() as transaction:
        found = await transaction.all(_SQL["marked"], ledger=state.ledger_id, entries=sorted(state.unapplied))
    if found:
        # Numbers that were skipped stand for no entry here, whatever they were in another copy of the ledger.
        for entry in await environment.ledger.entries([row["entry"] for row in found]):
            await environment.ledger.applied(entry.number)


async def _settle(environment: Environment, entry: Entry) -> None:
    async with environment.database.administer(entry.tenant) as transaction:
        is_marked = await has(transaction.connection, environment.ledger.ledger_id, [entry.number])
    if is_marked:
        await environment.ledger.applied(entry.number)
        return
    removed = await apply_again(environment, entry, follow_up=False)
    facts = {"action": "ledger_settled", "entry": entry.number, "rows": sum((removed or {}).values())}
    log.info("settled an erasure that was under way", extra=facts)


async def apply_again(environment: Environment, entry: Entry, *, follow_up: bool) -> Mapping[str, int] | None:
    """Remove what an entry says, as far as it is here, and have the entry. Rows removed, by relation.

    None if the entry was withdrawn meanwhile, so that nothing is to be removed. follow_up: this database is an older
    copy that was put back, so the request goes on, also where nothing of it is here; not one of which nobody learnt.
    """
    again = replace(
        environment,
        ledger=_Again(environment.ledger, entry),
        again=await _asked_once(environment, entry),
        restored=follow_up,
    )
    try:
        removed = await _removed(again, entry)
    except _Withdrawn:
        return None
    ledger = environment.ledger
    if not any(removed.values()):
        state = await ledger.state()
        if state is not None and entry.number in state.unapplied:
            return None
    async with environment.database.administer(entry.tenant) as transaction:
        if not await has(transaction.connection, ledger.ledger_id, [entry.number]):
            await _have(transaction, [entry], environment, follow_up=follow_up)
    await ledger.applied(entry.number)
    return removed


async def _asked_once(environment: Environment, entry: Entry) -> Entry:
    """The entry, without its request if this database has that already: what came back by itself is asked for anew."""
    if entry.request is None:
        return entry
    async with environment.database.administer(entry.tenant) as transaction:
        known = await transaction.one(_SQL["is_asked"], erasure_id=entry.request.erasure_id)
    return entry if known is None else replace(entry, request=None)


async def have(environment: Environment, tenant: str, entries: Sequence[Entry]) -> None:
    """Have entries of one company of which nothing is here, and let their requests go on."""
    async with environment.database.administer(tenant) as transaction:
        await _have(transaction, entries, environment, follow_up=True)


async def forget_again(
    environment: Environment, tenant: str, key: UUID, *, took_in: Sequence[UUID] = ()
) -> Counter[str]:
    """Forget one life, as a worker. Rows removed, by relation. took_in: lives whose exports it took in elsewhere."""
    async with environment.database.work(tenant, key, lock=False) as transaction:
        await _note(transaction, [(key, *_IMPORTED, life) for life in took_in], environment.policy.version)
        _, removed = await forget_life(environment, transaction, target="subject", worker=True)
    await noted(environment, removed)
    if removed is None:
        return Counter()
    await read_back(environment, tenant, key, removed=removed, worker=True)
    return Counter(removed.rows)


async def _have(
    transaction: Transaction, entries: Sequence[Entry], environment: Environment, *, follow_up: bool
) -> None:
    # First, so that of several who apply the same entries at once only one says so.
    numbers = [entry.number for entry in entries]
    found = await transaction.all(_SQL["mark"], ledger=environment.ledger.ledger_id, entries=numbers)
    marked = {row["entry"] for row in found}
    new = [entry for entry in entries if entry.number in marked]
    await _note_forgotten(transaction, new, environment.policy.version)
    if follow_up:
        await _ask_again(transaction, new, environment)


async def _ask_again(transaction: Transaction, entries: Sequence[Entry], environment: Environment) -> None:
    """Let requests go on of which nothing is here: copies outside that are older or newer than this one may have it.

    Where only records are not here, the person is, by whose external id connectors find them. Otherwise nobody knows
    that id any more, so whoever holds such a copy has to confirm it.
    """
    asked = [(entry, entry.key, entry.request) for entry in entries]
    known = [(entry, key, request) for entry, key, request in asked if key is not None and request is not None]
    if not known:
        return
    copies = await registered_copies(transaction, environment.policy)
    living = {
        row["subject_key"]: row["external_id"]
        for row in await transaction.all(_SQL["living"], keys=[key for _, key, _ in known])
    }
    requests: list[Mapping[str, object]] = []
    steps: list[Mapping[str, object]] = []
    for entry, key, request in known:
        inside = request.target == HOLD
        theirs = concerned(copies, inside=inside)
        asks = not inside and any(copy.connector for copy in theirs)
        requests.append(
            {
                "erasure_id": request.erasure_id,
                "subject_key": key,
                "target": request.target,
                "record_ids": list(entry.record_ids or ()),
                "version": entry.version,
                "ledger_entry": entry.number,
                "plan_hash": plan_hash(request.target, str(key), {}),
                "requested_at": request.requested_at,
                "external": living.get(key) if asks else None,
            }
        )
        first = first_steps(theirs, request.requested_at, now=transaction.now, removed_at=None)
        steps += [{"erasure_id": request.erasure_id, **asdict(step)} for step in first]
    await transaction.run(
        _SQL["ask_again"],
        requests=rows.json_rows(requests),
        steps=rows.json_rows(steps),
        noted=rows.json_value(again_in(transaction, absent=True)),
        policy_version=environment.policy.version,
    )


async def _note_forgotten(transaction: Transaction, entries: Sequence[Entry], policy_version: str) -> None:
    """The audit rows that the forget itself wrote, where nothing of it is here: without counts, of now."""
    audited = [
        (entry.key, *words, record_id)
        for entry in entries
        if entry.key is not None
        for words, record_id in _audited(entry)
    ]
    await _note(transaction, audited, policy_version)


async def _note(
    transaction: Transaction, audited: Sequence[tuple[UUID, str, str, UUID | None]], policy_version: str
) -> None:
    if not audited:
        return
    await transaction.run(
        _SQL["note_forgotten"],
        audit_ids=[new_record_id() for _ in audited],
        keys=[row[0] for row in audited],
        actions=[row[1] for row in audited],
        kinds=[row[2] for row in audited],
        record_ids=[row[3] for row in audited],
        policy_version=policy_version,
    )


def _audited(entry: Entry) -> list[tuple[tuple[str, str], UUID | None]]:
    if entry.record_ids is None:
        return [*((_IMPORTED, life) for life in entry.took_in), (("forget", "subject"), None)]
    words = ("forget", "record") if entry.version is None else ("reopened", "preference")
    return [(words, record_id) for record_id in entry.record_ids]


async def _removed(again: Environment, entry: Entry) -> Mapping[str, int]:
    if entry.key is None:
        await close_tenant(again, entry.tenant)
        return {}
    if entry.record_ids is None:
        return await forget_again(again, entry.tenant, entry.key, took_in=entry.took_in)
    removed = await _holds(again, entry.tenant, entry.record_ids)
    async with again.database.work(entry.tenant, entry.key, lock=False) as transaction:
        row = await transaction.one(_ERASURES["external_id"])
        is_here = row is not None and entry.version is not None and await _is_here(transaction, entry)
    if row is None:
        return removed
    scope = Scope(tenant=entry.tenant, subject=row["external_id"])
    caller = Caller(life=Life(scope=scope, key=entry.key), asserts=frozenset())
    try:
        if entry.version is None:
            return removed + await _records(again, caller, entry)
        return await _version(again, caller, entry, entry.version) if is_here else removed
    except TenantClosed:
        # A closed company is about to be forgotten, life by life, and takes no smaller request.
        return removed + await forget_again(again, entry.tenant, entry.key)


async def _records(again: Environment, caller: Caller, entry: Entry) -> Counter[str]:
    """Remove whole records; of an entry about one version only if that is there."""
    chosen = tuple(entry.record_ids or ())

    async def choose(transaction: Transaction, _: tuple[UUID, ...] | None) -> tuple[UUID, ...]:
        return chosen if entry.version is None or await _is_here(transaction, entry) else ()

    report = await forget_records(again, caller, choose, target="record" if len(chosen) == 1 else "selection")
    return Counter(report.removed)


async def _version(again: Environment, caller: Caller, entry: Entry, version: int) -> Counter[str]:
    """Only the version that was forgotten; the whole preference where the one before cannot be current.

    Where a later one is current by now, because whoever asked died before anything was removed, that one stays. That is
    looked at first: a preference without a version before would be forgotten whole, with the later one.
    """
    (record_id,) = entry.record_ids or ()
    removed = await forget_superseded(again, caller, record_id, version)
    if removed:
        return Counter(removed)
    try:
        report = await reopen_previous(again, caller, record_id)
    except _Done:
        return Counter(await forget_superseded(again, caller, record_id, version))
    except (InvalidInput, NotFound, Refused) as error:
        log.warning("cannot make the version before current", extra={"action": "reopen_failed", "code": error.code})
        return await _records(again, caller, entry)
    return Counter(report.removed)


async def _is_here(transaction: Transaction, entry: Entry) -> bool:
    """Whether the version that was forgotten is here: mostly as the current one, since nothing came after it."""
    (record_id,) = entry.record_ids or ()
    row = await transaction.one(_PREFERENCES["count_version"], record_id=record_id, version=entry.version)
    return row is not None and row["rows"] > 0


async def _holds(again: Environment, tenant: str, ids: Sequence[UUID]) -> Counter[str]:
    """Release the holds among these ids."""
    removed: Counter[str] = Counter()
    async with again.database.administer(tenant) as transaction:
        found = [row["hold_id"] for row in await transaction.all(_SQL["holds"], ids=list(ids))]
    for hold_id in found:
        # Somebody who does the same may have released it meanwhile.
        with suppress(NotFound):
            removed["held_records"] += (await release_hold(again, tenant, hold_id)).removed
    return removed
