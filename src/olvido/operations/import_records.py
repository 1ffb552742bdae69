"""Take records of one person from elsewhere: many in one transaction, in order, each told apart (rules 12 and 20)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic

from olvido.domain.export import ImportedRecord
from olvido.domain.policy import Policy
from olvido.domain.records import IndexState, NewEpisode, NewPreference, Preference, Written
from olvido.domain.words import Keys
from olvido.errors import (
    Conflict,
    ConsentNeeded,
    InvalidInput,
    InvalidTime,
    InvalidValue,
    OlvidoError,
    OriginNotGranted,
    Refused,
)
from olvido.operations.consent import last_forget
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare_many, require_languages
from olvido.operations.off_loop import A_PIECE, ahead, in_turn
from olvido.operations.record_episode import REQUESTED, Report, admit_report
from olvido.operations.record_episode import admit as admit_episode
from olvido.operations.record_episodes import store_many
from olvido.operations.state_preference import PREFERENCE_LANGUAGE, Stated, admit_statement, store_statement
from olvido.operations.state_preference import admit as admit_preference
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

AT_FIRST = 25
AT_MOST = 1000
"""Records of one person stored in one transaction and embedded in one call (`paced`), so that progress shows."""

MORE = 10
"""How many times as many are next, at most."""

Admitted = Stated | Report
"""A record that passed admission by the policy in force: see `admit_record`."""

Incoming = NewPreference | NewEpisode | Admitted

_PACE: dict[str, int] = {}
"""Records that took about a second to make ready, by the embedder, as last seen: the next ones are as many."""

_Identity = tuple[object, ...]
_Outcomes = dict[int, ImportedRecord]
"""What became of the records of a batch, by place."""

_EPISODES = statements("episodes")
_PREFERENCES = statements("preferences")


def admit_record(policy: Policy, new: NewPreference | NewEpisode) -> Admitted:
    """All that can be known of a record before it is imported; nothing is read or written.

    What comes of it can be imported in its place, and is not looked through for secrets again. Raises as a write does.
    """
    if isinstance(new, NewPreference):
        return admit_statement(policy, new.origin or REQUESTED, new)
    return admit_report(policy, new.origin or REQUESTED, new)


async def import_records(
    environment: Environment,
    caller: Caller,
    records: Iterable[Incoming],
    *,
    resume: bool = False,
    new_consent: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[ImportedRecord, ...]:
    """Store `records` in their order, by the rules of single writes, and say of each what became of it.

    One that is refused does not stop the others. Up to a thousand are stored in one transaction: if the call fails,
    what was stored stands, and a second call with the same records goes on.

    What may have been forgotten is not revived: a record is refused with ConsentNeeded if it is not stored and its
    event is not later than the last forget that may have been of this person. new_consent: the person consented again,
    so nobody asks; asking takes a worker's login, which may read the audit log.
    resume: pass over events that are stored already, without comparing or embedding them again.
    progress: called with how many records are done since the last time.
    Raises InvalidInput for what is no record, OriginNotGranted, UnsafeDatabase without a worker's login,
    SubjectForgotten, TenantClosed, and as any write.
    """
    given = tuple(records)
    if not all(isinstance(one, Incoming) for one in given):
        raise InvalidInput("Pass NewPreference or NewEpisode values.")
    taking = _Taking(environment, caller, given, resume=resume, new_consent=new_consent)
    done: list[ImportedRecord] = []
    async with aclosing(ahead(taking.batches())) as batches:
        async for batch in batches:
            done += await taking.store(batch)
            if progress is not None:
                progress(len(batch.given))
    return tuple(done)


def paced(size: int, seconds: float) -> int:
    """How many records are next, after `size` were made ready in so long: as many as take a second, from 25 to 1,000.

    With an embedder it takes some hundred times as long as without.
    """
    return max(min(int(size / max(seconds, 0.001)), MORE * size, AT_MOST), AT_FIRST)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Batch:
    """Records made ready before the transaction that stores them.

    known: what became of some of them already. ready: the others, by place.
    """

    given: Sequence[Incoming]
    known: _Outcomes
    ready: Mapping[int, tuple[Admitted, Prepared]]


class _Taking:
    """One import of one person."""

    def __init__(
        self, environment: Environment, caller: Caller, records: Sequence[Incoming], *, resume: bool, new_consent: bool
    ) -> None:
        self._environment = environment
        self._caller = caller
        self._records = records
        self._resume = resume
        self._new_consent = new_consent
        self._keys = Keys()
        self._until: datetime | None = None
        self._has_asked = False

    async def prepare(self, given: Sequence[Incoming], keys: Keys | None = None) -> _Batch:
        """Admit the records, and embed those that are left. keys: as `prepare_many` takes them."""
        admit = partial(self._admitted, given)
        admitted = await in_turn(admit) if len(given) > A_PIECE else admit()
        known = {place: one for place, one in enumerate(admitted) if isinstance(one, ImportedRecord)}
        stated = {place: one for place, one in enumerate(admitted) if not isinstance(one, ImportedRecord)}
        early = await self._left_out_early(stated)
        left = {place: one for place, one in stated.items() if place not in early}
        prepared = await prepare_many(
            self._environment,
            [one.text for one in left.values()],
            [one.language if isinstance(one, Report) else PREFERENCE_LANGUAGE for one in left.values()],
            [one.case_id if isinstance(one, Report) else None for one in left.values()],
            [one.rule.definition if isinstance(one, Report) else None for one in left.values()],
            keys=keys,
        )
        ready = {place: (one, made) for (place, one), made in zip(left.items(), prepared, strict=True)}
        return _Batch(given=given, known=known | early, ready=ready)

    async def batches(self) -> AsyncGenerator[_Batch]:
        """All records in batches."""
        embedder = self._environment.embedder.id
        taken = 0
        while given := self._records[taken : taken + _PACE.get(embedder, AT_FIRST)]:
            taken += len(given)
            began = monotonic()
            batch = await self.prepare(given, self._keys)
            _PACE[embedder] = paced(len(given), monotonic() - began)
            yield batch

    async def store(self, batch: _Batch) -> list[ImportedRecord]:
        """Store a batch and say of each record, in its order, what became of it."""
        try:
            outcomes = batch.known | await self._in_one_transaction(batch)
        except (Conflict, InvalidValue) as error:
            # The database itself raised it and took the whole batch back: one by one it is known for which.
            if len(batch.given) == 1:
                return [_refused(error)]
            return [outcome for one in batch.given for outcome in await self.store(await self.prepare([one]))]
        return [outcomes[place] for place in range(len(batch.given))]

    async def _left_out_early(self, stated: Mapping[int, Admitted]) -> _Outcomes:
        """What becomes of those that need not be embedded; the transaction that stores the others looks again."""
        if self._new_consent and not self._resume:
            await self._environment.database.pin(self._caller.life)
            return {}
        if len(stated) <= A_PIECE and not self._resume:
            return {}
        life = self._caller.life
        await self._environment.database.pin(life)
        if not (self._new_consent or self._has_asked):
            # Once an import: what is forgotten meanwhile is found in the transaction.
            self._until = await last_forget(self._environment, life.scope.tenant, life.key)
            self._has_asked = True
        if self._until is None and not self._resume:
            return {}
        async with self._environment.database.read(life) as transaction:
            return await self._left_out(transaction, stated, self._until)

    async def _in_one_transaction(self, batch: _Batch) -> _Outcomes:
        if not batch.ready:
            return {}
        environment, life = self._environment, self._caller.life
        outcomes: _Outcomes = {}
        try:
            async with environment.database.write(life, inserting=True) as transaction:
                if life.key is not None:
                    # First, so that a forget of one of these is over before the look at the audit log, or waits.
                    await transaction.reorganise()
                until = None
                if not self._new_consent:
                    until = await last_forget(environment, transaction.tenant, transaction.key)
                stated = {place: one for place, (one, _) in batch.ready.items()}
                outcomes = await self._left_out(transaction, stated, until)
                outcomes |= await self._stored(transaction, batch, leaving=outcomes)
                _require_one(outcomes)
        except _NothingStored:
            pass  # and a life that began for it is taken back
        return outcomes

    async def _left_out(
        self, transaction: Transaction, stated: Mapping[int, Admitted], until: datetime | None
    ) -> _Outcomes:
        """What becomes of those that are not to be stored. until: the last forget that may have been of this person."""
        if until is None and not self._resume:
            return {}
        events = [one for one in stated.values() if isinstance(one, Report)]
        found = await transaction.all(
            _EPISODES["by_events"],
            definitions=[one.rule.definition for one in events],
            event_ids=[one.event_id for one in events],
        )
        there: set[_Identity] = {(row["definition"], row["event_id"]) for row in found}
        for row in await transaction.all(_PREFERENCES["all"]):
            value = rows.preference(row)
            there.add((value.key, type(value.value), value.value, value.origin.origin_class))
        outcomes = {}
        for place, one in stated.items():
            is_event = isinstance(one, Report)
            if _identity(one) in there:
                if self._resume and is_event:
                    outcomes[place] = ImportedRecord(changed=False)
            elif until is not None and not _is_later(one, until):
                outcomes[place] = ImportedRecord(changed=False, code=ConsentNeeded.code)
        return outcomes

    async def _stored(self, transaction: Transaction, batch: _Batch, *, leaving: _Outcomes) -> _Outcomes:
        outcomes: _Outcomes = {}
        left = {place: one for place, one in batch.ready.items() if place not in leaving}
        episodes = {place: (one, made) for place, (one, made) in left.items() if isinstance(one, Report)}
        answers = await store_many(
            self._environment,
            transaction,
            [one for one, _ in episodes.values()],
            [made for _, made in episodes.values()],
        )
        for (place, (report, made)), answer in zip(episodes.items(), answers, strict=True):
            if isinstance(answer, OlvidoError):
                outcomes[place] = _refused(answer)
            else:
                _, changed = answer
                outcomes[place] = _told(report, made.state, changed=changed)
        for place, (one, made) in left.items():
            if isinstance(one, Stated):
                try:
                    written = await store_statement(self._environment, transaction, one, made)
                    outcomes[place] = _told(written, written.index_state, changed=written.changed)
                except (Conflict, InvalidTime, Refused) as error:
                    outcomes[place] = _refused(error)
        return outcomes

    def _admitted(self, given: Sequence[Incoming]) -> list[Admitted | ImportedRecord]:
        admitted: list[Admitted | ImportedRecord] = []
        for one in given:
            try:
                admitted.append(_spoken(self._admit(one)))
            except OriginNotGranted:
                raise
            except (Refused, InvalidInput) as error:
                admitted.append(_refused(error))
        return admitted

    def _admit(self, one: Incoming) -> Admitted:
        policy = self._environment.policy
        if isinstance(one, NewPreference):
            return admit_preference(self._environment, self._caller, one)
        if isinstance(one, NewEpisode):
            return admit_episode(self._environment, self._caller, one)
        self._caller.origin(one.origin)
        known = policy.episode(one.rule.definition) if isinstance(one, Report) else policy.preference(one.rule.key)
        if known is not one.rule:
            raise InvalidInput("This was admitted by another policy than the one in force. Admit it again.")
        return one


def _spoken(one: Admitted) -> Admitted:
    """The same, if its language is known: of one record only, while `prepare_many` refuses all of a call."""
    if isinstance(one, Report):
        require_languages((one.language,))
    return one


class _NothingStored(Exception):
    """Every record of a transaction was refused."""


def _require_one(outcomes: _Outcomes) -> None:
    if all(outcome.code is not None for outcome in outcomes.values()):
        raise _NothingStored


def _identity(one: Admitted) -> _Identity:
    """What makes it the same as one that is stored: of a preference, another value is another statement."""
    if isinstance(one, Report):
        return (one.rule.definition, one.event_id)
    return (one.rule.key, type(one.value), one.value, one.origin.origin_class)


def _is_later(one: Admitted, until: datetime) -> bool:
    """Whether its event is later than `until`; one without a time may be of any time."""
    at = one.occurred_at if isinstance(one, Report) else one.origin.at
    return at is not None and at > until


def _refused(error: OlvidoError) -> ImportedRecord:
    return ImportedRecord(changed=False, code=error.code)


def _told(of: Report | Written[Preference], state: IndexState, *, changed: bool) -> ImportedRecord:
    return ImportedRecord(
        changed=changed,
        dropped=of.dropped,
        masked=of.masked,
        index_state=state if changed else IndexState.INDEXED,
    )
