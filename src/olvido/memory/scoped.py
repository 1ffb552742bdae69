"""The memory of one person at one company."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Self
from uuid import UUID

from olvido.domain.context import ContextBlock
from olvido.domain.export import Export, ImportedExport, ImportedRecord
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.origin import Origin, OriginClass
from olvido.domain.proposal import Proposal
from olvido.domain.recalled import Recall
from olvido.domain.records import (
    Change,
    Episode,
    Kind,
    NewEpisode,
    Page,
    Preference,
    PreferenceVersion,
    RecordKind,
    Summary,
    Written,
)
from olvido.domain.report import ForgetReport, Plan
from olvido.domain.scope import Scope
from olvido.memory.session import SessionMemory
from olvido.operations import (
    consent,
    consolidate,
    context,
    export,
    forget,
    forget_where,
    import_export,
    import_records,
    propose_forget,
    read,
    recall,
    record_episode,
    record_episodes,
    reopen,
    state_preference,
)
from olvido.operations.environment import Caller, Environment
from olvido.operations.import_records import Incoming


class ScopedMemory:
    """The memory of one person at one company.

    Every call raises TenantClosed once the tenant was closed; every write raises SubjectForgotten once the subject was
    forgotten after this handle was first used. Instants are aware and in UTC.
    """

    def __init__(self, environment: Environment, caller: Caller) -> None:
        self._environment = environment
        self._caller = caller

    @property
    def scope(self) -> Scope:
        """Whose memory this is."""
        return self._caller.life.scope

    def acting(self, origin: Origin) -> ScopedMemory:
        """The same memory, with `origin` for writes that name none. Usable as `with ana.acting(o) as ana:`."""
        return ScopedMemory(self._environment, replace(self._caller, acting=self._caller.origin(origin)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def remember(
        self,
        text: str,
        *,
        origin: Origin | None = None,
        event_id: str | None = None,
        occurred_at: datetime | None = None,
        expires_at: datetime | KeepType | None = KEEP,
        language: str | None = None,
    ) -> Written[Episode]:
        """Remember one sentence as a note: an episode, marked as untrusted text.

        origin: None is "declared, remember-request". event_id: give one to make a retry harmless.
        Raises as `record_episode` does.
        """
        return await record_episode.record_episode(
            self._environment,
            self._caller,
            record_episode.NOTE,
            event_id=event_id,
            fields={"text": text},
            occurred_at=occurred_at,
            origin=origin,
            expires_at=expires_at,
            language=language,
        )

    async def set_preference(
        self,
        key: str,
        value: object,
        *,
        origin: Origin | None = None,
        expires_at: datetime | KeepType | None = KEEP,
        expected_version: int | None = None,
    ) -> Written[Preference]:
        """State a value. It becomes current unless a stronger or newer statement stands.

        expected_version: the version you saw, 0 for none; another one raises VersionConflict.
        See `olvido.operations.state_preference` for expiry and for what it raises.
        """
        return await state_preference.state_preference(
            self._environment,
            self._caller,
            key,
            value,
            change=Change.SET,
            origin=origin,
            expires_at=expires_at,
            expected_version=expected_version,
        )

    async def correct_preference(
        self,
        key: str,
        value: object,
        *,
        origin: Origin | None = None,
        expires_at: datetime | KeepType | None = KEEP,
        expected_version: int | None = None,
    ) -> Written[Preference]:
        """Correct the current value: version + 1, the previous one kept as history, the expiry kept unless given.

        Raises NotFound if there is no current value, and as `set_preference` does otherwise.
        """
        return await state_preference.state_preference(
            self._environment,
            self._caller,
            key,
            value,
            change=Change.CORRECTED,
            origin=origin,
            expires_at=expires_at,
            expected_version=expected_version,
        )

    async def get_preference(self, key: str) -> Preference | None:
        """The current value of `key`; None if there is none or it is expired. Raises NotInPolicy, LiveState."""
        return await read.get_preference(self._environment, self._caller, key)

    async def preferences(self) -> tuple[Preference, ...]:
        """The current values of all keys, by key."""
        return await read.list_preferences(self._environment, self._caller)

    async def history(self, key: str) -> tuple[PreferenceVersion, ...]:
        """Every kept version of the live value of `key`, oldest first. Raises NotInPolicy, LiveState."""
        return await read.preference_history(self._environment, self._caller, key)

    async def record_episode(
        self,
        definition: str,
        *,
        event_id: str,
        occurred_at: datetime,
        fields: Mapping[str, object] | None = None,
        case_id: str | None = None,
        status: str | None = None,
        origin: Origin | None = None,
        expires_at: datetime | KeepType | None = KEEP,
        language: str | None = None,
    ) -> Written[Episode]:
        """Record that something happened. The same event id with the same body is a no-op.

        fields: what the policy does not name is dropped before storage, and its names are returned as `dropped`.
        See `olvido.operations.record_episode` for what it raises.
        """
        return await record_episode.record_episode(
            self._environment,
            self._caller,
            definition,
            event_id=event_id,
            fields=fields or {},
            case_id=case_id,
            status=status,
            occurred_at=occurred_at,
            origin=origin,
            expires_at=expires_at,
            language=language,
        )

    async def record_episodes(self, episodes: Sequence[NewEpisode]) -> tuple[Written[Episode], ...]:
        """Record many episodes at once, all or none. See `olvido.operations.record_episodes`."""
        return await record_episodes.record_episodes(self._environment, self._caller, episodes)

    async def import_records(
        self,
        records: Sequence[Incoming],
        *,
        resume: bool = False,
        new_consent: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[ImportedRecord, ...]:
        """Store records from elsewhere, in their order, and say of each what became of it; refused ones stop no other.

        records: each a NewPreference or a NewEpisode, or what `olvido.operations.import_records.admit_record` made of
        it. What may have been forgotten is refused, unless the person consented again (new_consent). resume: pass over
        events that are stored already. progress: called with how many are done since the last time.
        See `olvido.operations.import_records`. Raises OriginNotGranted, UnsafeDatabase without a worker's login.
        """
        return await import_records.import_records(
            self._environment, self._caller, records, resume=resume, new_consent=new_consent, progress=progress
        )

    async def get_episode(self, record_id: UUID | str) -> Episode:
        """One live episode. Raises NotFound, for a foreign id as for one that never was, and InvalidScope for no id."""
        return await read.get_episode(self._environment, self._caller, record_id)

    async def episodes(
        self,
        *,
        definition: str | None = None,
        case_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Episode]:
        """One page of live episodes, newest first; pass `next_cursor` back as `cursor` for the next."""
        return await read.list_episodes(
            self._environment,
            self._caller,
            definition=definition,
            case_id=case_id,
            status=status,
            limit=limit,
            cursor=cursor,
        )

    def session(self, session_id: str) -> SessionMemory:
        """The session by this id, which may not exist yet; nothing is read or written by this call."""
        return SessionMemory(self._environment, self._caller, session_id)

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        purpose: str | None = None,
        kinds: Collection[Kind] | None = None,
        definition: str | None = None,
        case_id: str | None = None,
        product: str | None = None,
        status: str | None = None,
        origin_class: OriginClass | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        explain: bool = False,
    ) -> Recall:
        """What is known that bears on `query`, labelled as history, exact within this scope. See operations.recall."""
        return await recall.recall(
            self._environment,
            self._caller,
            query,
            limit=limit,
            purpose=purpose,
            kinds=kinds,
            definition=definition,
            case_id=case_id,
            product=product,
            status=status,
            origin_class=origin_class,
            since=since,
            until=until,
            explain=explain,
        )

    async def context(
        self,
        query: str,
        *,
        max_tokens: int,
        session_id: str | None = None,
        purpose: str | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> ContextBlock:
        """A block of text for a prompt, never longer than `max_tokens`. See operations.context."""
        return await context.context(
            self._environment,
            self._caller,
            query,
            max_tokens=max_tokens,
            session_id=session_id,
            purpose=purpose,
            count_tokens=count_tokens,
        )

    async def consolidate(self) -> tuple[Summary, ...]:
        """Bring the summaries up to date with the episodes of each case, and return them."""
        return await consolidate.consolidate(self._environment, self._caller)

    async def summaries(self, *, case_id: str | None = None) -> tuple[Summary, ...]:
        """The live summaries, all or those of one case."""
        return await consolidate.read_summaries(self._environment, self._caller, case_id=case_id)

    async def forget(
        self, record_id: UUID | str, *, dry_run: bool = False, plan: Plan | None = None, reopen_previous: bool = False
    ) -> ForgetReport:
        """Forget one record with all that derives from it.

        Of a preference this is the whole chain of versions; with reopen_previous only the current version goes and the
        value before it becomes current again. plan: the report of a dry run, or its plan hash.
        Raises NotFound (only with reopen_previous), InvalidScope, PlanChanged.
        """
        if reopen_previous:
            return await reopen.reopen_previous(self._environment, self._caller, record_id, dry_run=dry_run, plan=plan)
        return await forget.forget_record(self._environment, self._caller, record_id, dry_run=dry_run, plan=plan)

    async def forget_all(self, *, dry_run: bool = False, plan: Plan | None = None) -> ForgetReport:
        """Forget this subject. Afterwards this handle reads nothing and writes nothing.

        plan: the report of a dry run, or its plan hash: if it does not hold any more, PlanChanged is raised.
        """
        return await forget.forget_subject(self._environment, self._caller, dry_run=dry_run, plan=plan)

    async def forget_where(
        self,
        *,
        kind: RecordKind | str | None = None,
        definition: str | None = None,
        case_id: str | None = None,
        session_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        record_ids: Collection[UUID | str] | None = None,
        dry_run: bool = False,
        plan: Plan | None = None,
    ) -> ForgetReport:
        """Forget all records that meet every condition given. See `olvido.operations.forget_where`."""
        return await forget_where.forget_where(
            self._environment,
            self._caller,
            kind=kind,
            definition=definition,
            case_id=case_id,
            session_id=session_id,
            since=since,
            until=until,
            record_ids=record_ids,
            dry_run=dry_run,
            plan=plan,
        )

    async def propose_forget(self, query: str) -> Proposal:
        """The records that a request such as "forget my address" may mean. See `olvido.operations.propose_forget`."""
        return await propose_forget.propose_forget(self._environment, self._caller, query)

    async def forget_proposed(self, token: str, *, record_ids: Collection[UUID | str]) -> ForgetReport:
        """Forget what was chosen from a proposal. See `olvido.operations.propose_forget`."""
        return await propose_forget.forget_proposed(self._environment, self._caller, token, record_ids=record_ids)

    async def export(self) -> Export:
        """Everything that is live of this person, at one instant: `export.document` is it in plain JSON types.

        See `olvido.operations.export`. Raises TenantClosed.
        """
        return await export.export(self._environment, self._caller)

    async def import_export(self, document: object, *, new_consent: bool = False) -> ImportedExport:
        """Store an export, of this or another scope, under the policy in force; all or nothing, and once.

        What was forgotten since is not revived, unless the person consented again (new_consent).
        See `olvido.operations.import_export`. Raises InvalidInput, ConsentNeeded, OriginNotGranted, UnsafeDatabase.
        """
        return await import_export.import_export(self._environment, self._caller, document, new_consent=new_consent)

    async def forgotten_until(self) -> datetime | None:
        """The last forget that may have been of this person (UTC), None if none can have been: for whoever imports.

        An import from elsewhere should take nothing that happened before it without a new consent.
        See `olvido.operations.consent`. Raises UnsafeDatabase without a worker's login, TenantClosed.
        """
        return await consent.forgotten_until(self._environment, self._caller)

    async def checksums(self) -> dict[str, str]:
        """SHA-256 of all rows of this scope, by relation: equal before and after somebody else was forgotten."""
        return await read.checksums(self._environment, self._caller)

    async def stored_rows(self) -> dict[str, int]:
        """How many rows are stored for this scope, by relation, expired ones included."""
        return await read.stored_rows(self._environment, self._caller)
