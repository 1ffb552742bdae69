"""Walk the lives of a database as a worker and count what recall can find.

Row security lets a worker see one life at a time, so a count is a walk: from company to company through `lives`, from
life to life through `subjects` of that company, entering each. The walk is bounded, and says where it ended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from olvido.storage.inspection import Looking, all_rows, first_row
from olvido.storage.queries import statements

LIVES_AT_ONCE = 100

_SQL = statements("doctor")
_SCOPE = statements("scope")
_REMOVAL = statements("removal")


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What the walk counted.

    complete: False if it ended at its limit.
    tenants, lives, records: how many were looked at; records are live preferences and episodes.
    without_entry, without_vector: of these, how many recall cannot find, and how many by their words only.
    embedders: how many have a vector of each embedder.
    closed: companies that were closed to be forgotten and still have lives, and how many.
    """

    complete: bool
    tenants: int
    lives: int
    records: int
    without_entry: int
    without_vector: int
    embedders: dict[str, int]
    closed: dict[str, int]


async def survey(connection: Looking, *, tenant: str | None, limit: int) -> Survey:
    """Look at up to `limit` lives, and as many companies. tenant: only this one; None is all.

    The connection is a worker's, and is committed after each batch, so that no snapshot or lock is held for long.
    """
    walk = _Walk(connection, limit)
    await walk.run(tenant)
    return walk.counted()


class _Walk:
    """One walk on its way."""

    def __init__(self, connection: Looking, limit: int) -> None:
        self._connection = connection
        self._limit = limit
        self._complete = True
        self._tenants = self._lives = 0
        self._closed: dict[str, int] = {}
        self._records = Counter[tuple[bool, str | None]]()

    async def run(self, named: str | None) -> None:
        """Company after company, in order; or the one that is named."""
        tenant = named if named is not None else await self._next_tenant("")
        while tenant is not None:
            if self._tenants >= self._limit or self._lives >= self._limit:
                self._complete = False
                return
            await self._company(tenant)
            tenant = None if named is not None else await self._next_tenant(tenant)

    async def _next_tenant(self, after: str) -> str | None:
        row = await first_row(self._connection, _SQL["next_tenant"], after=after)
        found: str | None = row["tenant"]
        return found

    async def _company(self, tenant: str) -> None:
        self._tenants += 1
        entered = await self._enter(tenant, None)
        if entered["closed"]:
            row = await first_row(self._connection, _REMOVAL["tenant_size"], tenant=tenant)
            if row["lives"]:
                self._closed[tenant] = row["lives"]
            await self._connection.commit()
            return
        after: UUID | None = None
        while True:
            await self._enter(tenant, None)
            batch = min(LIVES_AT_ONCE, self._limit - self._lives)
            found = await all_rows(
                self._connection, _REMOVAL["tenant_lives"], tenant=tenant, after=after, batch=batch + 1
            )
            for row in found[:batch]:
                after = row["subject_key"]
                await self._life(tenant, row["subject_key"])
            await self._connection.commit()
            if len(found) <= batch:
                return
            if self._lives >= self._limit:
                self._complete = False
                return

    async def _life(self, tenant: str, key: UUID) -> None:
        self._lives += 1
        entered = await self._enter(tenant, key)
        now = entered["entered_at"]
        for row in await all_rows(self._connection, _SQL["indexed"], tenant=tenant, subject=key, now=now):
            self._records[row["entry"], row["embedder"]] += row["records"]

    async def _enter(self, tenant: str, key: UUID | None) -> dict[str, Any]:
        return await first_row(
            self._connection, _SCOPE["enter_life"], tenant=tenant, external=None, pinned=key, lock=False
        )

    def counted(self) -> Survey:
        """What was counted until now."""
        embedders = {name: count for (_, name), count in sorted(self._records.items(), key=str) if name is not None}
        return Survey(
            complete=self._complete,
            tenants=self._tenants,
            lives=self._lives,
            records=self._records.total(),
            without_entry=self._records[False, None],
            without_vector=self._records[True, None],
            embedders=embedders,
            closed=self._closed,
        )
