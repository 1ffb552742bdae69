"""One open Olvido: scopes, and the operations that are not of one person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from types import TracebackType
from typing import Self
from uuid import UUID

from olvido.domain.audit import Anchor, AuditReport, SealReport
from olvido.domain.erasure import Step
from olvido.domain.erasure_report import EraseReport, ErasureReport
from olvido.domain.holds import HeldContent, Hold, HoldReleased
from olvido.domain.origin import ALL_ORIGINS, OriginClass
from olvido.domain.policy import Policy
from olvido.domain.records import Page
from olvido.domain.report import ForgetReport, IndexReport, PurgeReport
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput
from olvido.memory.scoped import ScopedMemory
from olvido.operations import (
    copies,
    erase,
    erasures,
    forget_tenant,
    holds,
    purge,
    read_clock,
    receipts,
    reindex,
    seal_audit,
    verify_audit,
)
from olvido.operations.environment import Caller, Environment
from olvido.storage.database import Life


class Memory:
    """One open Olvido. Get it from `olvido.open()`; close it, or use it as an async context manager."""

    def __init__(self, environment: Environment, close: Callable[[], Awaitable[None]]) -> None:
        self._environment = environment
        self._close = close

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._environment.policy

    def scope(self, *, tenant: str, subject: str, asserts: Collection[OriginClass | str] = ALL_ORIGINS) -> ScopedMemory:
        """The memory of `subject` at `tenant`. Call this from trusted host code, with ids that you authenticated.

        asserts: the origin classes that this caller may claim; a payload can never widen them.
        Take a new handle for each request or job: a handle is tied to the life of the subject that it first saw, so
        that work begun before a forget cannot write after it. Where nothing of the subject is stored yet there is no
        life to be tied to: a first write that is under way then may be stored after a forget. Let such writes end
        before you forget. Raises InvalidScope, InvalidInput.
        """
        try:
            granted = frozenset(OriginClass(origin_class) for origin_class in asserts)
        except (ValueError, TypeError):
            raise InvalidInput(f"asserts must hold origin classes: {', '.join(OriginClass)}.") from None
        life = Life(scope=Scope(tenant=tenant, subject=subject))
        return ScopedMemory(self._environment, Caller(life=life, asserts=granted))

    async def now(self) -> datetime:
        """The instant by which this store judges (UTC): that of its database, not of this machine.

        Take it for an event that happens now, or to count an expiry from. Raises DatabaseUnavailable.
        """
        return await read_clock.read_clock(self._environment)

    async def purge_expired(
        self,
        *,
        batch_size: int = 1000,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> PurgeReport:
        """Remove what has expired, in every scope. See `olvido.operations.purge`."""
        return await purge.purge_expired(self._environment, batch_size=batch_size, limit=limit, progress=progress)

    async def repair_index(
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
        return await reindex.repair_index(
            self._environment,
            limit=limit,
            batch_size=batch_size,
            tried_before=tried_before,
            made_before=made_before,
            recheck=recheck,
            progress=progress,
        )

    async def forget_tenant(
        self, tenant: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> ForgetReport:
        """Close a company and forget everyone in it. See `olvido.operations.forget_tenant`."""
        return await forget_tenant.forget_tenant(self._environment, tenant, dry_run=dry_run, progress=progress)

    async def place_hold(
        self, tenant: str, *, subject: str, basis: str, review_at: datetime, record_id: UUID | str | None = None
    ) -> Hold:
        """Keep by law what is stored of a person, or one record, when it is forgotten. See `olvido.operations.holds`.

        What is kept is out of every read, and each report names it with the basis and the review date.
        """
        return await holds.place_hold(
            self._environment, tenant, subject=subject, basis=basis, review_at=review_at, record_id=record_id
        )

    async def holds(self, tenant: str) -> tuple[Hold, ...]:
        """The legal holds of a company, those to be reviewed first. Raises UnsafeDatabase without a worker's login."""
        return await holds.list_holds(self._environment, tenant)

    async def hold(self, tenant: str, hold_id: UUID | str) -> Hold:
        """One legal hold. Raises NotFound, UnsafeDatabase without a worker's login."""
        return await holds.get_hold(self._environment, tenant, hold_id)

    async def hold_content(self, tenant: str, hold_id: UUID | str) -> HeldContent:
        """What a legal hold keeps, for those who must see it; the audit log says that somebody looked.

        Raises NotFound, UnsafeDatabase without a worker's login.
        """
        return await holds.hold_content(self._environment, tenant, hold_id)

    async def release_hold(self, tenant: str, hold_id: UUID | str) -> HoldReleased:
        """End a legal hold and delete what it kept. See `olvido.operations.holds`."""
        return await holds.release_hold(self._environment, tenant, hold_id)

    async def receipt(self, tenant: str, erasure_id: UUID | str) -> str:
        """A signed receipt of how far a request to forget is now. See `olvido.operations.receipts`.

        Verify it with `olvido.verify_receipt`, or `olvido receipt verify`, anywhere and offline.
        """
        return await receipts.receipt(self._environment, tenant, erasure_id)

    async def seal_audit(
        self,
        *,
        tenant: str | None = None,
        only_due: bool = False,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SealReport:
        """Chain the rows of the audit, so that none is changed unnoticed. See `olvido.operations.seal_audit`."""
        return await seal_audit.seal_audit(
            self._environment, tenant=tenant, only_due=only_due, limit=limit, progress=progress
        )

    async def verify_audit(
        self, tenant: str | None = None, *, progress: Callable[[int], None] | None = None
    ) -> AuditReport:
        """Look whether the sealed audit is what was sealed. See `olvido.operations.verify_audit`."""
        return await verify_audit.verify_audit(self._environment, tenant=tenant, progress=progress)

    async def accept_audit(self, tenant: str) -> Anchor:
        """Take the audit of a company as it is after a restore. See `olvido.operations.verify_audit`."""
        return await verify_audit.accept_audit(self._environment, tenant)

    async def confirm_copy(self, tenant: str, erasure_id: UUID | str, copy: str, *, evidence: str) -> Step:
        """Settle a copy outside of a request to forget by the word of its holder. See `olvido.operations.copies`.

        evidence: where it is written down, such as "ticket 42". Raises NotFound, InvalidValue, UnsafeDatabase without a
        worker's login.
        """
        return await copies.confirm_copy(self._environment, tenant, erasure_id, copy, evidence=evidence)

    async def erase_pending(
        self, *, limit: int | None = None, longest_lock: float = 60.0, progress: Callable[[int], None] | None = None
    ) -> EraseReport:
        """Follow up requests to forget in files, log and copies outside, as a worker does, until nothing is due.

        See `olvido.operations.erase`.
        """
        return await erase.erase_pending(self._environment, limit=limit, longest_lock=longest_lock, progress=progress)

    async def erasure(self, tenant: str, erasure_id: UUID | str) -> ErasureReport:
        """How far one request to forget is with every copy. See `olvido.operations.erasures`."""
        return await erasures.get_erasure(self._environment, tenant, erasure_id)

    async def erasures(self, tenant: str, *, limit: int = 100, cursor: str | None = None) -> Page[ErasureReport]:
        """The requests to forget of a company, the newest first. See `olvido.operations.erasures`."""
        return await erasures.list_erasures(self._environment, tenant, limit=limit, cursor=cursor)

    async def close(self) -> None:
        """Close connections, and stop the embedded server if this was its last handle. Closing twice is harmless."""
        await self._environment.database.close()
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
