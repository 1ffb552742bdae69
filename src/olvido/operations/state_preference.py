"""Set or correct a preference: one current value, its history kept, the index updated with it (rules 5 and 12)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from olvido.domain.context import require_count
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.lifecycle import Decision, Statement, Verdict, judge, require_past
from olvido.domain.origin import Origin
from olvido.domain.policy import Policy, PreferenceRule, expiry
from olvido.domain.records import Change, JsonScalar, Preference, Written
from olvido.errors import Conflict
from olvido.operations.admission import refuse_secret, require_accepted
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_preferences

_SQL = statements("preferences")


async def state_preference(
    environment: Environment,
    caller: Caller,
    key: str,
    value: object,
    *,
    change: Change,
    origin: Origin | None,
    expires_at: datetime | KeepType | None = KEEP,
    expected_version: int | None = None,
) -> Written[Preference]:
    """Make `value` the current value of `key`, or say why not.

    change: Change.SET for a statement, Change.CORRECTED for an explicit correction, which needs a current value.
    expires_at: KEEP keeps the instant that stands (a first value takes the policy's retention); None takes the
    policy's retention from now; an aware datetime is taken as it is.
    Raises NotInPolicy, LiveState, InvalidValue, InvalidTime, OriginNotGranted, OriginNotAccepted, WeakerOrigin,
    SecretRefused, VersionConflict, OlderStatement, NotFound, SubjectForgotten, TenantClosed.
    """
    if expected_version is not None:
        require_count(expected_version, "expected_version")
    environment.policy.preference(key)  # refused as not in the policy, whatever else is missing
    source = caller.origin(origin)
    rule, checked = admit_value(environment.policy, source, key, value)
    await environment.database.pin(caller.life)
    prepared = await prepare(environment, f"{rule.key}: {checked}", language="other")
    async with environment.database.write(caller.life, inserting=True) as transaction:
        stating = _Stating(environment, rule, source, prepared, transaction)
        return await stating.apply(checked, change=change, expires_at=expires_at, expected_version=expected_version)


def admit_value(policy: Policy, source: Origin, key: str, value: object) -> tuple[PreferenceRule, JsonScalar]:
    """The rule for `key` and the value as it is to be stored; nothing is read or written.

    source: an origin whose class is known to be granted. Raises NotInPolicy, LiveState, InvalidValue,
    OriginNotAccepted, SecretRefused.
    """
    rule = policy.preference(key)
    checked = rule.check(value)
    require_accepted(rule, source, f"preference {rule.key}")
    refuse_secret(checked, f"preference {rule.key}")
    return rule, checked


class _Stating:
    """One statement on its way into the database, inside its transaction."""

    def __init__(
        self,
        environment: Environment,
        rule: PreferenceRule,
        origin: Origin,
        prepared: Prepared,
        transaction: Transaction,
    ) -> None:
        self._environment = environment
        self._rule = rule
        self._origin = origin
        self._prepared = prepared
        self._transaction = transaction

    async def apply(
        self,
        value: JsonScalar,
        *,
        change: Change,
        expires_at: datetime | KeepType | None,
        expected_version: int | None,
    ) -> Written[Preference]:
        """Judge the statement against the locked current value and store what follows from it."""
        now = self._transaction.now
        said_at = require_past(self._origin.at or now, now, "origin at")
        given = expiry(self._rule.retention, now, expires_at)
        # Two rounds: only a concurrent first write can put a row where this transaction saw none.
        for _ in range(2):
            head = await self._transaction.one(_SQL["head_for_update"], key=self._rule.key)
            if head is not None and head["expires_at"] is not None and head["expires_at"] <= now:
                await remove_preferences(self._transaction, [head["record_id"]])
                await self._audit("purge", head["record_id"])
                head = None
            current = None if head is None else rows.preference(head)
            statement = Statement(
                value=value,
                change=change,
                origin=self._origin,
                said_at=said_at,
                expires_at=current.expires_at if current is not None and expires_at is KEEP else given,
                keeps_expiry=expires_at is KEEP,
                expected_version=expected_version,
            )
            decision = judge(current, statement, corrected=await self._is_corrected(current, said_at))
            written = await self._store(decision, current, statement)
            if written is not None:
                return written
        raise Conflict("Other writers set this preference at the same moment. Read it again and decide.")

    async def _is_corrected(self, current: Preference | None, said_at: datetime) -> bool:
        """Whether the locked current value was chosen explicitly, by a correction or by reopening it.

        What is said after it was recorded is newer in either case, and the database is not asked.
        """
        if current is None or said_at >= max(current.said_at, current.recorded_at):
            return False
        row = await self._transaction.one(_SQL["change_of"], record_id=current.record_id, version=current.version)
        return row is not None and row["change"] in {Change.CORRECTED, Change.REOPENED}

    async def _store(
        self, decision: Decision, current: Preference | None, statement: Statement
    ) -> Written[Preference] | None:
        if decision.refusal is not None:
            raise decision.refusal
        if decision.verdict is Verdict.UNCHANGED and current is not None:
            return Written(record=await self._restate(current, statement), changed=False)
        columns = {
            "key": self._rule.key,
            "value": rows.json_value(statement.value),
            "change": statement.change,
            "purpose": self._rule.purpose,
            "said_at": statement.said_at,
            "expires_at": statement.expires_at,
            "policy_version": self._environment.policy.version,
            "audit_id": new_record_id(),
            **self._prepared.columns(),
            **rows.origin_columns(statement.origin),
        }
        kept = self._rule.history_retention
        if current is None:
            row = await self._transaction.one(_SQL["begin"], record_id=new_record_id(), **columns)
        else:
            row = await self._transaction.one(
                _SQL["supersede"],
                record_id=current.record_id,
                current_version=current.version,
                retain_until=None if kept is None else self._transaction.now + kept,
                counts=rows.json_value({}),
                **columns,
            )
        if row is None:
            return None
        stored = rows.preference(row)
        return Written(record=stored, changed=True, index_state=self._prepared.state)

    async def _restate(self, current: Preference, statement: Statement) -> Preference:
        """Note that the same value was said again later, so that what was said in between does not beat it."""
        if statement.said_at <= current.said_at:
            return current
        row = await self._transaction.one(
            _SQL["restate"], record_id=current.record_id, version=current.version, said_at=statement.said_at
        )
        if row is None:
            return current
        await self._audit("restated", current.record_id)
        return rows.preference(row)

    async def _audit(self, action: str, record_id: UUID) -> None:
        await self._transaction.audit(
            action, "preference", policy_version=self._environment.policy.version, record_id=record_id
        )
