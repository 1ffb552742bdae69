"""One open Olvido: scopes, and the operations that are not of one person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from types import TracebackType
from typing import Self

from olvido.domain.origin import ALL_ORIGINS, OriginClass
from olvido.domain.policy import Policy
from olvido.domain.report import ForgetReport, IndexReport, PurgeReport
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput
from olvido.memory.scoped import ScopedMemory
from olvido.operations import forget_tenant, purge, read_clock, reindex
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
        that work begun before a forget cannot write after it. Raises InvalidScope, InvalidInput.
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
            recheck=recheck,
            progress=progress,
        )

    async def forget_tenant(
        self, tenant: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> ForgetReport:
        """Close a company and forget everyone in it. See `olvido.operations.forget_tenant`."""
        return await forget_tenant.forget_tenant(self._environment, tenant, dry_run=dry_run, progress=progress)

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
