"""Set or correct a preference: one current value, its history kept, the index updated with it (rules 5 and 12)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.context import require_count
from olvido.domain.instants import KEEP, KeepType
from olvido.domain.lifecycle import Decision, Statement, Verdict, judge, require_past
from olvido.domain.origin import Origin
from olvido.domain.policy import Policy, PreferenceRule, expiry
from olvido.domain.records import Change, JsonScalar, NewPreference, Preference, Written
from olvido.errors import Conflict
from olvido.operations.admission import refuse_secret, require_accepted
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare
from olvido.storage import rows
from olvido.storage.database import Entering, Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_preferences

PREFERENCE_LANGUAGE = "other"
"""Of the text by which a preference is found: a key and a value are no sentence of any language."""

_SQL = statements("preferences")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """A value that passed admission. value: as it is to be stored. expires_at: as it was given."""

    rule: PreferenceRule
    value: JsonScalar
    origin: Origin
    expires_at: datetime | KeepType | None

    @property
    def text(self) -> str:
        """What is indexed of it."""
        return f"{self.rule.key}: {self.value}"


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
    stated = admit(environment, caller, NewPreference(key=key, value=value, origin=origin, expires_at=expires_at))
    await environment.database.pin(caller.life)
    prepared = await prepare(environment, stated.text, language=PREFERENCE_LANGUAGE)
    entering = Entering(statement=_SQL["enter"], parameters={"key": stated.rule.key})
    async with environment.database.write(caller.life, entering=entering) as transaction:
        head = transaction.entered
        stating = _Stating(environment, stated, prepared, transaction)
        return await stating.apply(
            None if head["record_id"] is None else head, change=change, expected_version=expected_version
        )


def admit(environment: Environment, caller: Caller, new: NewPreference) -> Stated:
    """What the rules let through; nothing is read or written. Raises as `state_preference` does."""
    environment.policy.preference(new.key)  # refused as not in the policy, whatever else is missing
    return admit_statement(environment.policy, caller.origin(new.origin), new)


def admit_statement(policy: Policy, source: Origin, new: NewPreference) -> Stated:
    """The same for an origin whose class is known to be granted."""
    rule = policy.preference(new.key)
    value = rule.check(new.value)
    require_accepted(rule, source, f"preference {rule.key}")
    refuse_secret(value, f"preference {rule.key}")
    return Stated(rule=rule, value=value, origin=source, expires_at=new.expires_at)


async def store_statement(
    environment: Environment, transaction: Transaction, stated: Stated, prepared: Prepared
) -> Written[Preference]:
    """Make the value current in the caller's transaction, unless a stronger or newer statement stands.

    Raises InvalidTime, WeakerOrigin, OlderStatement, Conflict; the transaction can go on then.
    """
    head = await transaction.one(_SQL["head_for_update"], key=stated.rule.key)
    stating = _Stating(environment, stated, prepared, transaction)
    return await stating.apply(head, change=Change.SET)


class _Stating:
    """One statement on its way into the database, inside its transaction."""

    def __init__(
        self,
        environment: Environment,
        stated: Stated,
        prepared: Prepared,
        transaction: Transaction,
    ) -> None:
        self._environment = environment
        self._rule = stated.rule
        self._value = stated.value
        self._origin = stated.origin
        self._expires_at = stated.expires_at
        self._prepared = prepared
        self._transaction = transaction

    async def apply(
        self, head: rows.Row | None, *, change: Change, expected_version: int | None = None
    ) -> Written[Preference]:
        """Judge the statement against the locked current value and store what follows from it. head: that value."""
        now = self._transaction.now
        # A clock that runs ahead would make what the person says next the older statement.
        said_at = min(require_past(self._origin.at or now, now, "origin at"), now)
        keeps = self._expires_at is KEEP
        given = expiry(self._rule.retention, now, self._expires_at)
        # Two rounds: only a concurrent first write can put a row where this transaction saw none.
        for _ in range(2):
            if head is not None and head["expires_at"] is not None and head["expires_at"] <= now:
                await remove_preferences(self._transaction, [head["record_id"]])
                await self._audit("purge", head["record_id"])
                head = None
            current = None if head is None else rows.preference(head)
            statement = Statement(
                value=self._value,
                purpose=self._rule.purpose,
                change=change,
                origin=self._origin,
                said_at=said_at,
                expires_at=current.expires_at if current is not None and keeps else given,
                keeps_expiry=keeps,
                expected_version=expected_version,
            )
            decision = judge(current, statement, corrected=await self._is_corrected(current, said_at))
            written = await self._store(decision, current, statement)
            if written is not None:
                return written
            head = await self._transaction.one(_SQL["head_for_update"], key=self._rule.key)
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
