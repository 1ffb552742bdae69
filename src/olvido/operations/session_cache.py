"""Read the state of a session from a cache, and never one that is not so any more (rules 14 and 20).

The database is asked first, each time: in which life the subject is, and at which revision the session. So what is
cached is only served where it is what the database would answer, whoever wrote meanwhile and whatever was lost.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from olvido.domain.records import Session
from olvido.errors import CopyUnavailable, NotFound, Unavailable
from olvido.operations.environment import Caller, Environment
from olvido.operations.read_clock import read_clock
from olvido.operations.session_state import MISSING, state
from olvido.ports import SessionCache
from olvido.storage.queries import statements
from olvido.storage.rows import Row

log = logging.getLogger("olvido.session_cache")

_SQL = statements("sessions")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cached:
    """What is cached of a session: its state, with the revision it is of and how many facts it had."""

    revision: int
    facts: int
    session: Session

    def is_at(self, stand: Row, session_id: str) -> bool:
        """Whether the session is still what this says."""
        here = (self.session.session_id, self.session.record_id, self.revision, self.facts)
        return here == (session_id, stand["record_id"], stand["revision"], stand["facts"])


_WIRE = TypeAdapter(Cached)


async def read_through(environment: Environment, cache: SessionCache, caller: Caller, session_id: str) -> Session:
    """The state of one session, from the cache where that is right. Raises NotFound, TenantClosed."""
    tenant = caller.life.scope.tenant
    async with environment.database.read(caller.life) as transaction:
        key, stand = transaction.key, await transaction.one(_SQL["stand"], session_id=session_id)
    if key is None or stand is None:
        raise NotFound(MISSING)
    try:
        found = _decoded(await cache.get(tenant, key, session_id))
    except CopyUnavailable as error:
        log.warning("session cache not reached", extra={"action": "cache_not_read", "problem": str(error.problem)})
        found, cache_answers = None, False
    else:
        cache_answers = True
    if found is not None and found.is_at(stand, session_id):
        return found.session
    began = asyncio.get_running_loop().time()
    async with environment.database.snapshot(caller.life) as transaction:
        session = await state(transaction, session_id)
        key, now, stand = transaction.key, transaction.now, await transaction.one(_SQL["stand"], session_id=session_id)
    if cache_answers and key is not None and stand is not None:
        fresh = Cached(revision=stand["revision"], facts=stand["facts"], session=session)
        elapsed = asyncio.get_running_loop().time() - began
        seconds = (session.expires_at - now).total_seconds() - elapsed
        try:
            await cache.put(tenant, key, session_id, _WIRE.dump_json(fresh), seconds=seconds, read_at=now)
        except CopyUnavailable as error:
            log.warning("session not cached", extra={"action": "cache_not_written", "problem": str(error.problem)})
    return session


async def forget_cached(environment: Environment, tenant: str, key: UUID, *, whole: bool) -> None:
    """Drop what is cached of a life, after the commit that forgot it, or some of its records if not `whole`.

    Whoever read before that, and is about to put it there, is refused. If this fails, nothing of it is served all the
    same, and the connector of the cache erases it and looks.
    """
    if environment.cache is None:
        return
    try:
        until = None if whole else await read_clock(environment)
        await environment.cache.forget(tenant, key, until=until)
    except Exception as error:  # noqa: BLE001 - a cache is anybody's code, and the forget is committed
        # Whatever a cache raises may quote ids: only the name of its class is kept.
        problem = error.code if isinstance(error, Unavailable) else type(error).__name__
        log.warning("session cache not emptied", extra={"action": "cache_not_emptied", "problem": problem})


def _decoded(value: bytes | None) -> Cached | None:
    """What was cached; None for nothing, and for what another release or somebody else wrote."""
    if value is None:
        return None
    try:
        return _WIRE.validate_json(value)
    except ValidationError:
        return None
