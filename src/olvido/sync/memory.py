"""The sync face. Derived from `olvido.memory` by tools/generate_sync.py: do not edit, run `make sync`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self
from uuid import UUID

from olvido import memory as core
from olvido.domain.audit import Anchor, AuditReport, SealReport
from olvido.domain.compaction import Summarise
from olvido.domain.context import ContextBlock
from olvido.domain.erasure import Step
from olvido.domain.erasure_report import EraseReport, ErasureReport
from olvido.domain.export import Export, ImportedExport, ImportedRecord
from olvido.domain.holds import HeldContent, Hold, HoldReleased
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.origin import ALL_ORIGINS, Origin, OriginClass
from olvido.domain.policy import Policy
from olvido.domain.proposal import Proposal
from olvido.domain.recalled import Recall
from olvido.domain.records import (
    Compaction,
    Episode,
    Fact,
    Kind,
    Message,
    NewEpisode,
    Page,
    Preference,
    PreferenceVersion,
    RecordKind,
    Role,
    Session,
    SessionView,
    Summary,
    Written,
)
from olvido.domain.report import ForgetReport, IndexReport, Plan, PurgeReport
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput
from olvido.operations import (
    compact,
    sessions,
)
from olvido.operations.import_records import Incoming
from olvido.sync.portal import Portal


class SessionMemory:
    """The session of one person, for callers without an event loop. See `olvido.memory.SessionMemory`."""

    def __init__(self, portal: Portal, inner: core.SessionMemory) -> None:
        self._portal = portal
        self._inner = inner

    def open(
        self,
        *,
        goal: str | None = None,
        decisions: Sequence[str] | None = None,
        constraints: Sequence[str] | None = None,
        pending: Sequence[str] | None = None,
        expires_at: datetime | KeepType | None = KEEP,
    ) -> Session:
        """Open the session, or resume it; what is given replaces what stands. See `olvido.operations.sessions`."""
        return self._portal.call(
            self._inner.open(
                goal=goal, decisions=decisions, constraints=constraints, pending=pending, expires_at=expires_at
            )
        )

    def set(
        self,
        *,
        goal: str | None = None,
        decisions: Sequence[str] | None = None,
        constraints: Sequence[str] | None = None,
        pending: Sequence[str] | None = None,
    ) -> Session:
        """Replace what is given; None keeps what stands, an empty list clears it. Raises NotFound, SessionClosed."""
        return self._portal.call(
            self._inner.set(goal=goal, decisions=decisions, constraints=constraints, pending=pending)
        )

    def append(self, role: Role | str, content: str, group: str | None = None) -> Message:
        """Append one message and return it with its number; the first message opens the session.

        group: an id that it shares with messages it must not be parted from, such as that of a tool call.
        """
        return self._portal.call(self._inner.append(role, content, group))

    def extend(self, messages: Iterable[tuple[Role | str, str]], group: str | None = None) -> tuple[Message, ...]:
        """Append several messages, pairs of a role and a text, in their order, all or none.

        group: as in `append`; all of them belong to it.
        """
        return self._portal.call(self._inner.extend(messages, group))

    def add_fact(self, text: str, *, origin: Origin | None = None, messages: Sequence[int] = ()) -> Fact:
        """Store what is known now, with its origin and the numbers of the messages it rests on.

        Forget it with `forget(fact.record_id)`. See `olvido.operations.add_fact` for limits and for what it raises.
        """
        return self._portal.call(self._inner.add_fact(text, origin=origin, messages=messages))

    def compact(
        self, keep_last: int, *, summarise: Summarise | None = None, timeout_seconds: float = compact.SECONDS
    ) -> Compaction:
        """Fold all but the last messages; the state stays, and what is folded can still be read.

        summarise: an async function from the messages to fold to facts, each a text and the numbers of its messages.
        Raises CompactionFailed or Conflict, and nothing changed. See `olvido.operations.compact`.
        """
        return self._portal.call(self._inner.compact(keep_last, summarise=summarise, timeout_seconds=timeout_seconds))

    def read(self) -> Session:
        """The state of the session. Raises NotFound if it is not there or is expired."""
        return self._portal.call(self._inner.read())

    def view(self, *, last: int = sessions.MESSAGE_PAGE) -> SessionView:
        """What to go on from: the state, and the newest of the messages that are not folded. Raises NotFound."""
        return self._portal.call(self._inner.view(last=last))

    def messages(
        self, *, first: int = 0, limit: int = sessions.MESSAGE_PAGE, last: int | None = None
    ) -> tuple[Message, ...]:
        """Messages, folded ones too, oldest first: from number `first` on, or the newest `last`. Raises NotFound."""
        return self._portal.call(self._inner.messages(first=first, limit=limit, last=last))

    def close(self) -> Session:
        """Take no more writes; the session stays readable until it expires. Raises NotFound."""
        return self._portal.call(self._inner.close())

    def hand_over(
        self, *, case_id: str | None = None, origin: Origin | None = None, expires_at: datetime | KeepType | None = KEEP
    ) -> Written[Episode]:
        """Keep of the session what the policy's `sessions.hand_over` says, as an episode; a retry changes nothing.

        Raises NotInPolicy, with the lines to add, if the policy has no such rule. See `olvido.operations.hand_over`.
        """
        return self._portal.call(self._inner.hand_over(case_id=case_id, origin=origin, expires_at=expires_at))


class ScopedMemory:
    """The memory of one person, for callers without an event loop. See `olvido.memory.ScopedMemory`."""

    def __init__(self, portal: Portal, inner: core.ScopedMemory) -> None:
        self._portal = portal
        self._inner = inner

    @property
    def scope(self) -> Scope:
        """Whose memory this is."""
        return self._inner.scope

    def acting(self, origin: Origin) -> ScopedMemory:
        """The same memory, with `origin` for writes that name none. Usable as `with ana.acting(o) as ana:`."""
        return ScopedMemory(self._portal, self._inner.acting(origin))

    def remember(
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
        return self._portal.call(
            self._inner.remember(
                text,
                origin=origin,
                event_id=event_id,
                occurred_at=occurred_at,
                expires_at=expires_at,
                language=language,
            )
        )

    def set_preference(
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
        return self._portal.call(
            self._inner.set_preference(
                key, value, origin=origin, expires_at=expires_at, expected_version=expected_version
            )
        )

    def correct_preference(
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
        return self._portal.call(
            self._inner.correct_preference(
                key, value, origin=origin, expires_at=expires_at, expected_version=expected_version
            )
        )

    def get_preference(self, key: str) -> Preference | None:
        """The current value of `key`; None if there is none or it is expired. Raises NotInPolicy, LiveState."""
        return self._portal.call(self._inner.get_preference(key))

    def preferences(self) -> tuple[Preference, ...]:
        """The current values of all keys, by key."""
        return self._portal.call(self._inner.preferences())

    def history(self, key: str) -> tuple[PreferenceVersion, ...]:
        """Every kept version of the live value of `key`, oldest first. Raises NotInPolicy, LiveState."""
        return self._portal.call(self._inner.history(key))

    def record_episode(
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
        return self._portal.call(
            self._inner.record_episode(
                definition,
                event_id=event_id,
                occurred_at=occurred_at,
                fields=fields,
                case_id=case_id,
                status=status,
                origin=origin,
                expires_at=expires_at,
                language=language,
            )
        )

    def record_episodes(self, episodes: Sequence[NewEpisode]) -> tuple[Written[Episode], ...]:
        """Record many episodes at once, all or none. See `olvido.operations.record_episodes`."""
        return self._portal.call(self._inner.record_episodes(episodes))

    def import_records(
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
        return self._portal.call(
            self._inner.import_records(records, resume=resume, new_consent=new_consent, progress=progress)
        )

    def get_episode(self, record_id: UUID | str) -> Episode:
        """One live episode. Raises NotFound, for a foreign id as for one that never was, and InvalidScope for no id."""
        return self._portal.call(self._inner.get_episode(record_id))

    def episodes(
        self,
        *,
        definition: str | None = None,
        case_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Episode]:
        """One page of live episodes, newest first; pass `next_cursor` back as `cursor` for the next."""
        return self._portal.call(
            self._inner.episodes(definition=definition, case_id=case_id, status=status, limit=limit, cursor=cursor)
        )

    def session(self, session_id: str) -> SessionMemory:
        """The session by this id, which may not exist yet; nothing is read or written by this call."""
        return SessionMemory(self._portal, self._inner.session(session_id))

    def recall(
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
        return self._portal.call(
            self._inner.recall(
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
        )

    def context(
        self,
        query: str,
        *,
        max_tokens: int,
        session_id: str | None = None,
        purpose: str | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> ContextBlock:
        """A block of text for a prompt, never longer than `max_tokens`. See operations.context."""
        return self._portal.call(
            self._inner.context(
                query, max_tokens=max_tokens, session_id=session_id, purpose=purpose, count_tokens=count_tokens
            )
        )

    def consolidate(self) -> tuple[Summary, ...]:
        """Bring the summaries up to date with the episodes of each case, and return them."""
        return self._portal.call(self._inner.consolidate())

    def summaries(self, *, case_id: str | None = None) -> tuple[Summary, ...]:
        """The live summaries, all or those of one case."""
        return self._portal.call(self._inner.summaries(case_id=case_id))

    def forget(
        self, record_id: UUID | str, *, dry_run: bool = False, plan: Plan | None = None, reopen_previous: bool = False
    ) -> ForgetReport:
        """Forget one record with all that derives from it.

        Of a preference this is the whole chain of versions; with reopen_previous only the current version goes and the
        value before it becomes current again. plan: the report of a dry run, or its plan hash.
        Raises NotFound (only with reopen_previous), InvalidScope, PlanChanged.
        """
        return self._portal.call(
            self._inner.forget(record_id, dry_run=dry_run, plan=plan, reopen_previous=reopen_previous)
        )

    def forget_all(self, *, dry_run: bool = False, plan: Plan | None = None) -> ForgetReport:
        """Forget this subject. Afterwards this handle reads nothing and writes nothing.

        plan: the report of a dry run, or its plan hash: if it does not hold any more, PlanChanged is raised.
        """
        return self._portal.call(self._inner.forget_all(dry_run=dry_run, plan=plan))

    def forget_where(
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
        return self._portal.call(
            self._inner.forget_where(
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
        )

    def propose_forget(self, query: str) -> Proposal:
        """The records that a request such as "forget my address" may mean. See `olvido.operations.propose_forget`."""
        return self._portal.call(self._inner.propose_forget(query))

    def forget_proposed(self, token: str, *, record_ids: Collection[UUID | str]) -> ForgetReport:
        """Forget what was chosen from a proposal. See `olvido.operations.propose_forget`."""
        return self._portal.call(self._inner.forget_proposed(token, record_ids=record_ids))

    def export(self) -> Export:
        """Everything that is live of this person, at one instant: `export.document` is it in plain JSON types.

        See `olvido.operations.export`. Raises TenantClosed.
        """
        return self._portal.call(self._inner.export())

    def import_export(self, document: object, *, new_consent: bool = False) -> ImportedExport:
        """Store an export, of this or another scope, under the policy in force; all or nothing, and once.

        What was forgotten since is not revived, unless the person consented again (new_consent).
        See `olvido.operations.import_export`. Raises InvalidInput, ConsentNeeded, OriginNotGranted, UnsafeDatabase.
        """
        return self._portal.call(self._inner.import_export(document, new_consent=new_consent))

    def forgotten_until(self) -> datetime | None:
        """The last forget that may have been of this person (UTC), None if none can have been: for whoever imports.

        An import from elsewhere should take nothing that happened before it without a new consent.
        See `olvido.operations.consent`. Raises UnsafeDatabase without a worker's login, TenantClosed.
        """
        return self._portal.call(self._inner.forgotten_until())

    def checksums(self) -> dict[str, str]:
        """SHA-256 of all rows of this scope, by relation: equal before and after somebody else was forgotten."""
        return self._portal.call(self._inner.checksums())

    def stored_rows(self) -> dict[str, int]:
        """How many rows are stored for this scope, by relation, expired ones included."""
        return self._portal.call(self._inner.stored_rows())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Memory:
    """One open Olvido, for callers without an event loop. See `olvido.memory.Memory`."""

    def __init__(self, portal: Portal, inner: core.Memory) -> None:
        self._portal = portal
        self._inner = inner

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._inner.policy

    def scope(self, *, tenant: str, subject: str, asserts: Collection[OriginClass | str] = ALL_ORIGINS) -> ScopedMemory:
        """The memory of `subject` at `tenant`. Call this from trusted host code, with ids that you authenticated.

        asserts: the origin classes that this caller may claim; a payload can never widen them.
        Take a new handle for each request or job: a handle is tied to the life of the subject that it first saw, so
        that work begun before a forget cannot write after it. Where nothing of the subject is stored yet there is no
        life to be tied to: a first write that is under way then may be stored after a forget. Let such writes end
        before you forget. Raises InvalidScope, InvalidInput.
        """
        return ScopedMemory(self._portal, self._inner.scope(tenant=tenant, subject=subject, asserts=asserts))

    def now(self) -> datetime:
        """The instant by which this store judges (UTC): that of its database, not of this machine.

        Take it for an event that happens now, or to count an expiry from. Raises DatabaseUnavailable.
        """
        return self._portal.call(self._inner.now())

    def purge_expired(
        self, *, batch_size: int = 1000, limit: int | None = None, progress: Callable[[int], None] | None = None
    ) -> PurgeReport:
        """Remove what has expired, in every scope. See `olvido.operations.purge`."""
        return self._portal.call(self._inner.purge_expired(batch_size=batch_size, limit=limit, progress=progress))

    def repair_index(
        self,
        *,
        limit: int | None = None,
        batch_size: int = 64,
        tried_before: datetime | None = None,
        made_before: datetime | None = None,
        recheck: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> IndexReport:
        """Index anew what has no entry, no vector, or one of another model, in every scope; recall goes on meanwhile.

        See `olvido.operations.reindex`.
        """
        return self._portal.call(
            self._inner.repair_index(
                limit=limit,
                batch_size=batch_size,
                tried_before=tried_before,
                made_before=made_before,
                recheck=recheck,
                progress=progress,
            )
        )

    def forget_tenant(
        self, tenant: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> ForgetReport:
        """Close a company and forget everyone in it. See `olvido.operations.forget_tenant`."""
        return self._portal.call(self._inner.forget_tenant(tenant, dry_run=dry_run, progress=progress))

    def place_hold(
        self, tenant: str, *, subject: str, basis: str, review_at: datetime, record_id: UUID | str | None = None
    ) -> Hold:
        """Keep by law what is stored of a person, or one record, when it is forgotten. See `olvido.operations.holds`.

        What is kept is out of every read, and each report names it with the basis and the review date.
        """
        return self._portal.call(
            self._inner.place_hold(tenant, subject=subject, basis=basis, review_at=review_at, record_id=record_id)
        )

    def holds(self, tenant: str) -> tuple[Hold, ...]:
        """The legal holds of a company, those to be reviewed first. Raises UnsafeDatabase without a worker's login."""
        return self._portal.call(self._inner.holds(tenant))

    def hold(self, tenant: str, hold_id: UUID | str) -> Hold:
        """One legal hold. Raises NotFound, UnsafeDatabase without a worker's login."""
        return self._portal.call(self._inner.hold(tenant, hold_id))

    def hold_content(self, tenant: str, hold_id: UUID | str) -> HeldContent:
        """What a legal hold keeps, for those who must see it; the audit log says that somebody looked.

        Raises NotFound, UnsafeDatabase without a worker's login.
        """
        return self._portal.call(self._inner.hold_content(tenant, hold_id))

    def release_hold(self, tenant: str, hold_id: UUID | str) -> HoldReleased:
        """End a legal hold and delete what it kept. See `olvido.operations.holds`."""
        return self._portal.call(self._inner.release_hold(tenant, hold_id))

    def receipt(self, tenant: str, erasure_id: UUID | str) -> str:
        """A signed receipt of how far a request to forget is now. See `olvido.operations.receipts`.

        Verify it with `olvido.verify_receipt`, or `olvido receipt verify`, anywhere and offline.
        """
        return self._portal.call(self._inner.receipt(tenant, erasure_id))

    def seal_audit(
        self,
        *,
        tenant: str | None = None,
        only_due: bool = False,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SealReport:
        """Chain the rows of the audit, so that none is changed unnoticed. See `olvido.operations.seal_audit`."""
        return self._portal.call(
            self._inner.seal_audit(tenant=tenant, only_due=only_due, limit=limit, progress=progress)
        )

    def verify_audit(self, tenant: str | None = None, *, progress: Callable[[int], None] | None = None) -> AuditReport:
        """Look whether the sealed audit is what was sealed. See `olvido.operations.verify_audit`."""
        return self._portal.call(self._inner.verify_audit(tenant, progress=progress))

    def accept_audit(self, tenant: str) -> Anchor:
        """Take the audit of a company as it is after a restore. See `olvido.operations.verify_audit`."""
        return self._portal.call(self._inner.accept_audit(tenant))

    def confirm_copy(self, tenant: str, erasure_id: UUID | str, copy: str, *, evidence: str) -> Step:
        """Settle a copy outside of a request to forget by the word of its holder. See `olvido.operations.copies`.

        evidence: where it is written down, such as "ticket 42". Raises NotFound, InvalidValue, UnsafeDatabase without a
        worker's login.
        """
        return self._portal.call(self._inner.confirm_copy(tenant, erasure_id, copy, evidence=evidence))

    def erase_pending(
        self, *, limit: int | None = None, longest_lock: float = 60.0, progress: Callable[[int], None] | None = None
    ) -> EraseReport:
        """Follow up requests to forget in files, log and copies outside, as a worker does, until nothing is due.

        See `olvido.operations.erase`.
        """
        return self._portal.call(self._inner.erase_pending(limit=limit, longest_lock=longest_lock, progress=progress))

    def erasure(self, tenant: str, erasure_id: UUID | str) -> ErasureReport:
        """How far one request to forget is with every copy. See `olvido.operations.erasures`."""
        return self._portal.call(self._inner.erasure(tenant, erasure_id))

    def erasures(self, tenant: str, *, limit: int = 100, cursor: str | None = None) -> Page[ErasureReport]:
        """The requests to forget of a company, the newest first. See `olvido.operations.erasures`."""
        return self._portal.call(self._inner.erasures(tenant, limit=limit, cursor=cursor))

    def close(self) -> None:
        """Close connections, and stop the embedded server if this was its last handle. Closing twice is harmless."""
        if self._portal.is_open:
            try:
                self._portal.call(self._inner.close())
            except InvalidInput:
                if self._portal.is_open:  # it comes from inside a call; otherwise another thread was first
                    raise
            self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
