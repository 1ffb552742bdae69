"""The same transaction by hand: BEGIN, Olvido's own statements with values made beforehand, COMMIT.

This floor stores what Olvido stores, the index entry, the history, the audit and when the life is due, and leaves out
what Olvido does in Python: policy, masking, words, judgement, the making of results.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

import olvido
from bench.data import LANGUAGES, moment_of, text_of
from olvido import NewEpisode, NewPreference, Origin
from olvido.domain.records import Change
from olvido.domain.scope import Scope
from olvido.operations import record_episode, state_preference
from olvido.operations.environment import Environment
from olvido.operations.indexing import prepare
from olvido.storage import rows
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

_SCOPE = statements("scope")
_EPISODES = statements("episodes")
_PREFERENCES = statements("preferences")
SAID = Origin.declared("user-confirmation")


@dataclass(kw_only=True, slots=True)
class Same:
    """Writes of one person. entered: what Olvido passes to enter the scope; key: of the life."""

    pool: AsyncConnectionPool[AsyncConnection[DictRow]]
    scope: Scope
    key: UUID
    episode: dict[str, Any]
    preferences: tuple[dict[str, Any], ...]

    @classmethod
    async def of(cls, memory: olvido.Memory, pool: AsyncConnectionPool[AsyncConnection[DictRow]], scope: Scope) -> Same:
        """Make the values once, as Olvido would. The person must have a record already."""
        environment: Environment = memory._environment  # noqa: SLF001 - what is measured is what is in there
        now = await memory.now()
        version = environment.policy.version
        new = NewEpisode(definition="note", event_id="e", fields={"text": text_of(0)}, occurred_at=moment_of(0))
        report = record_episode.admit_report(environment.policy, SAID, new)
        prepared = await prepare(environment, report.text, language="en", definition=report.rule.definition)
        columns = record_episode.row_of(report, prepared, now, version)
        preferences = []
        for value in LANGUAGES[:2]:
            stated = state_preference.admit_statement(
                environment.policy, SAID, NewPreference(key="language", value=value)
            )
            worded = await prepare(environment, stated.text, language="other")
            preferences.append(
                {
                    "value": rows.json_value(value),
                    "purpose": stated.rule.purpose,
                    "said_at": now,
                    "expires_at": now + timedelta(days=300),
                    "policy_version": version,
                    "retain_until": now + timedelta(days=90),
                    "counts": rows.json_value({}),
                    **worded.columns(),
                    **rows.origin_columns(SAID),
                }
            )
        async with pool.connection() as connection:
            entered = await _first(
                connection, _SCOPE["enter"].text, tenant=scope.tenant, external=scope.subject, subject=None, lock=False
            )
        return cls(
            pool=pool,
            scope=scope,
            key=entered["subject_key"],
            episode={**columns, **prepared.columns(), "fields": rows.json_value(columns["fields"])},
            preferences=tuple(preferences),
        )

    async def record(self, number: int) -> None:
        """Store one episode."""
        async with self.pool.connection() as connection:
            entered = await _first(connection, _SCOPE["enter_to_insert"].text, **self._entering())
            await connection.execute(
                _EPISODES["record"].text,
                {
                    **self.episode,
                    **self._scope(entered),
                    "record_id": new_record_id(),
                    "audit_id": new_record_id(),
                    "event_id": f"same-{number}-{new_record_id()}",
                },
            )

    async def state(self, number: int, key: str) -> None:
        """Store the first value of a key, or the next one."""
        async with self.pool.connection() as connection:
            entered = await _first(connection, _PREFERENCES["enter"].text, key=key, **self._entering())
            first = entered["record_id"] is None
            await connection.execute(
                _PREFERENCES["begin" if first else "supersede"].text,
                {
                    **self.preferences[number % 2],
                    **self._scope(entered),
                    "key": key,
                    "change": Change.SET if first else Change.CORRECTED,
                    "audit_id": new_record_id(),
                    "record_id": new_record_id() if first else entered["record_id"],
                    "current_version": entered["version"],
                },
            )

    def _entering(self) -> dict[str, object]:
        return {"tenant": self.scope.tenant, "external": self.scope.subject, "subject": self.key}

    def _scope(self, entered: DictRow) -> dict[str, object]:
        return {"tenant": self.scope.tenant, "subject": entered["subject_key"], "now": entered["entered_at"]}


async def _first(connection: AsyncConnection[DictRow], text: bytes, **parameters: object) -> DictRow:
    cursor = await connection.execute(text, parameters)
    row = await cursor.fetchone()
    if row is None:
        raise LookupError
    return row
