"""Get and list what is live: preferences with their history, episodes page by page (rule 14)."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from uuid import UUID

from olvido.domain.eligibility import eligibility
from olvido.domain.identifiers import record_uuid
from olvido.domain.instants import require_utc
from olvido.domain.records import Episode, Page, Preference, PreferenceVersion
from olvido.errors import InvalidCursor, InvalidInput, InvalidTime, NotFound
from olvido.operations.environment import Caller, Environment
from olvido.storage import rows
from olvido.storage.queries import statements

_PREFERENCES = statements("preferences")
_EPISODES = statements("episodes")
_DATA_MAP = statements("data_map")


async def get_preference(environment: Environment, caller: Caller, key: str) -> Preference | None:
    """The current value of `key`, or None if there is none or it is expired. Raises NotInPolicy, TenantClosed."""
    rule = environment.policy.preference(key)
    async with environment.database.read(caller.life) as transaction:
        row = await transaction.one(_PREFERENCES["get"], key=rule.key)
        return None if row is None else rows.preference(row)


async def list_preferences(environment: Environment, caller: Caller) -> tuple[Preference, ...]:
    """The current values of all keys, by key. Raises TenantClosed."""
    async with environment.database.read(caller.life) as transaction:
        found = await transaction.all(_PREFERENCES["all"])
        return tuple(rows.preference(row) for row in found)


async def preference_history(environment: Environment, caller: Caller, key: str) -> tuple[PreferenceVersion, ...]:
    """Every kept version of the live value of `key`, oldest first; empty when it is expired or was never set.

    Raises NotInPolicy, TenantClosed.
    """
    rule = environment.policy.preference(key)
    async with environment.database.read(caller.life) as transaction:
        found = await transaction.all(_PREFERENCES["history"], key=rule.key)
        return tuple(rows.preference_version(row) for row in found)


async def get_episode(environment: Environment, caller: Caller, record_id: UUID | str) -> Episode:
    """One live episode. Raises NotFound if there is none by this id in this scope, InvalidScope, TenantClosed."""
    wanted = record_uuid(record_id, "record_id")
    async with environment.database.read(caller.life) as transaction:
        row = await transaction.one(_EPISODES["get"], record_id=wanted)
    if row is None:
        raise NotFound("No episode by this id in this scope.")
    return rows.episode(row)


async def list_episodes(
    environment: Environment,
    caller: Caller,
    *,
    definition: str | None = None,
    case_id: str | None = None,
    status: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Page[Episode]:
    """One page of live episodes, newest first, stable while others write.

    limit: 1 up to the policy's page_size_max; None takes its page_size. cursor: `next_cursor` of the page before.
    Raises NotInPolicy, LiveState, InvalidValue, InvalidScope, InvalidInput, InvalidCursor, TenantClosed.
    """
    limits = environment.policy.limits
    size = limits.page_size if limit is None else limit
    if type(size) is not int or not 1 <= size <= limits.page_size_max:
        raise InvalidInput(f"limit must be a whole number between 1 and {limits.page_size_max}.")
    choice = eligibility(environment.policy, definition=definition, case_id=case_id, status=status)
    before_at, before_id = (None, None) if cursor is None else _position(cursor)
    async with environment.database.read(caller.life) as transaction:
        found = await transaction.all(
            _EPISODES["page"],
            definition=choice.definition,
            case_id=choice.case_id,
            status=choice.status,
            before_at=before_at,
            before_id=before_id,
            size=size + 1,
        )
    items = tuple(rows.episode(row) for row in found[:size])
    return Page(items=items, next_cursor=_cursor(items[-1]) if len(found) > size else None)


async def checksums(environment: Environment, caller: Caller) -> dict[str, str]:
    """SHA-256 of all rows of this scope, by relation, expired ones included; equal rows give equal checksums.

    This is how a forget shows that its neighbours are untouched (rule 22). Raises TenantClosed.
    """
    async with environment.database.read(caller.life) as transaction:
        return {row["relation"]: row["checksum"] for row in await transaction.all(_DATA_MAP["checksums"])}


async def stored_rows(environment: Environment, caller: Caller) -> dict[str, int]:
    """How many rows this scope has in each relation, expired ones included: what is stored, not what is served.

    Raises TenantClosed.
    """
    async with environment.database.read(caller.life) as transaction:
        return {row["relation"]: row["rows"] for row in await transaction.all(_DATA_MAP["counts"])}


def _cursor(last: Episode) -> str:
    position = json.dumps([last.occurred_at.isoformat(), str(last.record_id)])
    return base64.urlsafe_b64encode(position.encode()).decode()


def _position(cursor: str) -> tuple[datetime, UUID]:
    try:
        at, record_id = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
        return require_utc(datetime.fromisoformat(at), "cursor"), UUID(record_id)
    except (ValueError, TypeError, AttributeError, binascii.Error, InvalidTime):
        raise InvalidCursor("This cursor was not handed out here. Start again without one.") from None
