"""Check a database that was put back against its ledger, and forget again before it is served (rule 23)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from olvido.domain.ledger import Entry, LedgerState, ReplayReport, Request, RestoreReport, Standing, explain
from olvido.errors import InvalidInput, LedgerUnavailable, StoreLocked
from olvido.operations.apply_again import apply_again, forget_again, have, settle
from olvido.operations.environment import Environment
from olvido.operations.ledger_gate import Seen, look_at
from olvido.storage.ledger_marks import adopt, missing, read_marks
from olvido.storage.queries import statements
from olvido.storage.rows import utc

BATCH = 500
"""Entries, or requests of one company, in one transaction."""

_SQL = statements("ledger")

Progress = Callable[[int, int], None]

_KNOWS_MORE = {Standing.UNMARKED, Standing.OLDER_LEDGER, Standing.NO_LEDGER, Standing.REPLACED_LEDGER}
"""Where the database may know of erasures that the ledger does not."""


async def check(environment: Environment) -> RestoreReport:
    """Compare the database with its ledger, and look for lives that the ledger calls forgotten. Changes nothing.

    It reads the whole ledger. Raises LedgerUnavailable, UnsafeDatabase without a worker's login, DatabaseUnavailable.
    """
    async with environment.database.administer() as transaction:
        seen = await look_at(environment.ledger, transaction.connection, worker=True)
        state, marks = seen.state, seen.marks
        beyond = 0
        if state is not None:
            row = await transaction.one(_SQL["beyond"], ledger=state.ledger_id, last=state.last)
            beyond = 0 if row is None else row["entries"]
        now = utc(transaction.now)
    still_here = 0
    if state is not None:
        async for tenant, entries in _by_company(environment, range(1, state.last + 1)):
            still_here += len(await _living(environment, tenant, entries, state))
    return RestoreReport(
        locked=seen.standing not in {Standing.FITS, Standing.ADOPT},
        standing=seen.standing,
        explanation=explain(seen.standing, state, marks, environment.ledger.place),
        ledger=environment.ledger.place,
        ledger_id=None if state is None else state.ledger_id,
        belongs_to=tuple(sorted(marks.ledgers)),
        entries=0 if state is None else state.applied,
        withdrawn=0 if state is None else len(state.unapplied),
        in_flight=0 if state is None else len(state.in_flight),
        missing_here=0 if state is None else state.applied - marks.applied,
        missing_in_ledger=beyond if seen.standing is Standing.OLDER_LEDGER else 0,
        still_here=still_here,
        checked_at=now,
    )


async def replay(
    environment: Environment, *, new_ledger: bool = False, progress: Progress | None = None
) -> ReplayReport:
    """Remove again what the ledger says and the database lacks, single records included; then the store opens.

    What the database knows and the ledger does not, since an older one was put back, is written into it first. Safe to
    run twice, and to go on with after it was cut short: until its end the store is locked.
    new_ledger: make one, from what the database knows, where there is none any more. progress: called with the entries
    that are done and how many there are. Raises StoreLocked if the ledger is of another database or is missing,
    InvalidInput for a new ledger where there is one, LedgerUnavailable, UnsafeDatabase, DatabaseUnavailable, Conflict.
    """
    async with environment.database.administer() as transaction:
        seen = await look_at(environment.ledger, transaction.connection, worker=True)
        _refuse_hopeless(environment, seen, new_ledger=new_ledger)
    if seen.state is None:
        await environment.ledger.begin(seen.marks.ledgers)
    written_back = 0
    if seen.standing in _KNOWS_MORE:
        written_back = await _write_back(environment, seen)
    done = await _apply_missing(environment, progress)
    # Last of all, so that a database which belonged to another ledger or to none stays locked until then.
    if seen.standing is Standing.ADOPT:
        async with environment.database.administer() as transaction:
            await adopt(transaction.connection, environment.ledger.ledger_id)
    else:
        await _mark(environment, [0])
    await settle(environment)
    done = done.and_(await _forget_living(environment))
    return ReplayReport(
        applied=done.applied,
        absent=done.absent,
        written_back=written_back,
        removed=dict(done.removed),
        new_ledger=seen.standing is Standing.NO_LEDGER,
        after=await check(environment),
        requests=done.requests,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Done:
    """Entries of which something was here, those of which nothing was, and the rows that were removed.

    requests: how many of these entries say whose request they are.
    """

    applied: int = 0
    absent: int = 0
    requests: int = 0
    removed: Counter[str] = field(default_factory=Counter)

    def and_(self, other: _Done) -> _Done:
        return _Done(
            applied=self.applied + other.applied,
            absent=self.absent + other.absent,
            requests=self.requests + other.requests,
            removed=self.removed + other.removed,
        )

    def entry(self, removed: Mapping[str, int], *, here: bool) -> _Done:
        """With one entry more, and what was removed for it."""
        return self.and_(_Done(applied=int(here), absent=int(not here), removed=Counter(removed)))


def _refuse_hopeless(environment: Environment, seen: Seen, *, new_ledger: bool) -> None:
    if new_ledger and seen.state is not None:
        raise InvalidInput(
            f"There is a ledger at {environment.ledger.place}, so that none is to be made. Run `olvido restore check` "
            "to see how the database and it go together."
        )
    if seen.standing is Standing.OTHER_LEDGER or (seen.standing is Standing.NO_LEDGER and not new_ledger):
        raise StoreLocked(explain(seen.standing, seen.state, seen.marks, environment.ledger.place))


async def _apply_missing(environment: Environment, progress: Progress | None) -> _Done:
    state = await _state(environment)
    after, total, done = 0, 0, _Done()
    async with environment.database.administer() as transaction:
        total = state.applied - (await read_marks(transaction.connection, state)).applied
    while True:
        async with environment.database.administer() as transaction:
            numbers = await missing(transaction.connection, state, after=after, batch=BATCH)
        if not numbers:
            return done
        after = numbers[-1]
        async for tenant, entries in _by_company(environment, numbers):
            here, gone = await _split(environment, tenant, entries)
            await have(environment, tenant, gone)
            requests = sum(entry.request is not None for entry in entries)
            done = done.and_(_Done(absent=len(gone), requests=requests))
            for entry in here:
                removed = await apply_again(environment, entry, follow_up=True) or {}
                done = done.entry(removed, here=entry.key is None or any(removed.values()))
            if progress is not None:
                progress(done.applied + done.absent, total)


async def _split(environment: Environment, tenant: str, entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Entries of one company: those that something may be here of, and those of lives that are not."""
    keys = [entry.key for entry in entries if entry.key is not None]
    ids = [record_id for entry in entries for record_id in entry.record_ids or ()]
    async with environment.database.administer(tenant) as transaction:
        living = {row["subject_key"] for row in await transaction.all(_SQL["living"], keys=keys)}
        # The release of a hold has its id where others have those of records, and concerns a life that may be over.
        holds = {row["hold_id"] for row in await transaction.all(_SQL["holds"], ids=ids)}
    here = [
        entry
        for entry in entries
        if entry.key is None or entry.key in living or not holds.isdisjoint(entry.record_ids or ())
    ]
    numbers = {entry.number for entry in here}
    return here, [entry for entry in entries if entry.number not in numbers]


async def _forget_living(environment: Environment) -> _Done:
    """Forget lives that came back although the database has the entries: rows that were put back by themselves."""
    state = await _state(environment)
    done = _Done()
    async for tenant, entries in _by_company(environment, range(1, state.last + 1)):
        for key in await _living(environment, tenant, entries, state):
            done = done.entry(await forget_again(environment, tenant, key), here=True)
    return done


async def _living(
    environment: Environment, tenant: str, entries: Sequence[Entry], state: LedgerState
) -> frozenset[UUID]:
    """Which lives of one company are here that these entries call forgotten. A key is never used again."""
    keys = [one.key for one in entries if one.key and one.record_ids is None and state.is_applied(one.number)]
    if not keys:
        return frozenset()
    async with environment.database.administer(tenant) as transaction:
        return frozenset(row["subject_key"] for row in await transaction.all(_SQL["living"], keys=keys))


async def _write_back(environment: Environment, seen: Seen) -> int:
    """Write down in the ledger what the database knows of and the ledger does not; how many.

    Compared by what they are about, as often as each has it: numbers may stand for something else in either.
    """
    state = await _state(environment)
    known: Counter[object] = Counter()
    async for _, entries in _by_company(environment, range(1, state.last + 1)):
        known.update(entry.target for entry in entries if entry.number not in state.unapplied)
    written = 0
    async for removals in _removals(environment):
        lacking = []
        for removal in removals:
            if known[removal.target]:
                known[removal.target] -= 1
            else:
                lacking.append(removal)
        written += len(lacking)
        await _mark(environment, await environment.ledger.write_back(lacking, above=seen.marks.newest))
    await environment.ledger.write_back([], above=seen.marks.newest)
    return written


async def _removals(environment: Environment) -> AsyncIterator[list[Entry]]:
    """What this database knows to be forgotten, company by company, in entries without a number."""
    tenant: str | None = ""
    while tenant is not None:
        async with environment.database.administer() as transaction:
            row = await transaction.one(_SQL["next_company"], after=tenant)
        tenant = None if row is None else str(row["tenant_id"])
        if tenant is None:
            return
        async with environment.database.administer(tenant) as transaction:
            closed = await transaction.one(_SQL["is_closed"])
        yield [] if closed is None else [Entry(number=0, tenant=tenant, key=None)]
        after = None
        while True:
            async with environment.database.administer(tenant) as transaction:
                rows = await transaction.all(_SQL["removals"], after=after, batch=BATCH)
            if not rows:
                break
            after = rows[-1]["erasure_id"]
            yield [
                Entry(
                    number=0,
                    tenant=tenant,
                    key=row["subject_key"],
                    record_ids=tuple(row["record_ids"]) or None,
                    version=row["version"],
                    request=Request(
                        erasure_id=row["erasure_id"], requested_at=utc(row["requested_at"]), target=row["target"]
                    ),
                    took_in=tuple(row["took_in"]),
                )
                for row in rows
            ]


async def _by_company(environment: Environment, numbers: Sequence[int]) -> AsyncIterator[tuple[str, list[Entry]]]:
    """Entries of these numbers, those of one company together and in their order, a batch at a time."""
    for start in range(0, len(numbers), BATCH):
        entries = await environment.ledger.entries(numbers[start : start + BATCH])
        entries.sort(key=attrgetter("tenant", "number"))
        for tenant, group in groupby(entries, key=attrgetter("tenant")):
            yield tenant, list(group)


async def _mark(environment: Environment, numbers: Sequence[int]) -> None:
    async with environment.database.administer() as transaction:
        await transaction.run(_SQL["mark"], ledger=environment.ledger.ledger_id, entries=list(numbers))


async def _state(environment: Environment) -> LedgerState:
    state = await environment.ledger.state()
    if state is None:
        raise LedgerUnavailable(f"There is no erasure ledger at {environment.ledger.place}. Open the store anew.")
    return state
