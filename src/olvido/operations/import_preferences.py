"""The preferences of an export: admitted anew, then stored with their history, or judged against what stands here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from olvido.domain.export_document import PreferenceRow, StatedValue, VersionRow
from olvido.domain.instants import is_expired
from olvido.domain.lifecycle import Statement, Verdict, judge, require_past, stands
from olvido.domain.origin import Origin
from olvido.domain.policy import PreferenceRule
from olvido.domain.records import Change, IndexState, JsonScalar, Preference
from olvido.errors import Conflict, InvalidInput, InvalidTime, OriginNotGranted, Refused
from olvido.operations.admission import refuse_secret, require_accepted
from olvido.operations.environment import Caller, Environment
from olvido.operations.import_tally import EXPIRED, Tally, ends_at
from olvido.operations.indexing import Prepared
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.removal import remove_preferences

HEADS, VERSIONS = "preferences", "preference_versions"

_SQL = statements("preferences")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """One value that passed admission. change: what made it; a value that was reopened counts as corrected here."""

    value: JsonScalar
    origin: Origin
    change: Change
    said_at: datetime
    retain_until: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmittedPreference:
    """A preference that passed admission. head: its current value. earlier: values before it, oldest first."""

    row: PreferenceRow
    rule: PreferenceRule
    head: Stated
    earlier: tuple[Stated, ...]

    @property
    def text(self) -> str:
        """What is indexed of it."""
        return f"{self.rule.key}: {self.head.value}"


def admit_preference(environment: Environment, caller: Caller, row: PreferenceRow, tally: Tally) -> AdmittedPreference:
    """What the rules let through of `row`; an earlier value that they do not is left out. Raises as a write does."""
    rule = environment.policy.preference(row.key)
    head = _admit(caller, rule, row, Change.CORRECTED if row.chosen else Change.SET, None)
    earlier = []
    for version in row.earlier:
        try:
            change = Change.SET if version.change is Change.SET else Change.CORRECTED
            earlier.append(_admit(caller, rule, version, change, version))
        except OriginNotGranted:
            raise
        except (Refused, InvalidInput) as error:
            tally.leave(VERSIONS, rule.key, row.record_id, error.code)
    return AdmittedPreference(row=row, rule=rule, head=head, earlier=tuple(earlier))


async def store_preference(
    environment: Environment, transaction: Transaction, ready: AdmittedPreference, prepared: Prepared, tally: Tally
) -> None:
    """Store one preference, or note why not. Raises Conflict if another writer of its key was first."""
    await _Storing(environment, transaction, ready, prepared, tally).run()


class _Storing:
    """One preference on its way into the database, inside the transaction of its import."""

    def __init__(
        self,
        environment: Environment,
        transaction: Transaction,
        ready: AdmittedPreference,
        prepared: Prepared,
        tally: Tally,
    ) -> None:
        self._version = environment.policy.version
        self._transaction = transaction
        self._ready = ready
        self._prepared = prepared
        self._tally = tally

    async def run(self) -> None:
        """Judge it against what stands, and store what follows."""
        row, rule, now = self._ready.row, self._ready.rule, self._transaction.now
        ends = ends_at(rule.retention, now, row.expires_at)
        if is_expired(ends, now):
            self._leave(EXPIRED)
            return
        code = _future(self._ready.head, now)
        if code is not None:
            self._leave(code)
            return
        found = await self._transaction.one(_SQL["head_for_update"], key=rule.key)
        if found is not None and is_expired(found["expires_at"], now):
            await remove_preferences(self._transaction, [found["record_id"]])
            await self._transaction.audit(
                "purge", "preference", policy_version=self._version, record_id=found["record_id"]
            )
            found = None
        if found is None:
            await self._begin(ends)
        else:
            await self._weigh(rows.preference(found), ends)

    async def _begin(self, ends: datetime | None) -> None:
        """Store the whole chain: nothing stands here."""
        now = self._transaction.now
        chain = []
        for stated in self._ready.earlier:
            code = EXPIRED if is_expired(stated.retain_until, now) else _future(stated, now)
            if code is None:
                chain.append(stated)
            else:
                self._tally.leave(VERSIONS, self._ready.rule.key, self._ready.row.record_id, code)
        chain.append(self._ready.head)
        record_id = self._ready.row.record_id
        begun = await self._transaction.one(_SQL["begin"], record_id=record_id, **self._columns(chain[0], ends))
        if begun is None:
            raise Conflict("Other writers set a preference of this import at the same moment. Import again.")
        for number, (previous, stated) in enumerate(pairwise(chain), start=1):
            await self._supersede(rows.preference(begun), number, previous, stated, ends)
        self._written(earlier=len(chain) - 1)

    async def _weigh(self, current: Preference, ends: datetime | None) -> None:
        """Judge the exported value against the one that stands, as one that was said or chosen when it says."""
        head, row = self._ready.head, self._ready.row
        if stands(current, head.value, head.origin, self._ready.rule.purpose):
            self._tally.unchanged[HEADS] += 1
            if head.said_at > current.said_at:
                await self._transaction.run(
                    _SQL["restate"], record_id=current.record_id, version=current.version, said_at=head.said_at
                )
            return
        made = await self._transaction.one(_SQL["change_of"], record_id=current.record_id, version=current.version)
        decision = judge(
            current,
            Statement(
                value=head.value,
                purpose=self._ready.rule.purpose,
                change=Change.SET,
                origin=head.origin,
                # A correction counts from when it was made, whatever it was about.
                said_at=max(head.said_at, row.recorded_at) if head.change is Change.CORRECTED else head.said_at,
                expires_at=ends,
                keeps_expiry=False,
            ),
            corrected=made is not None and made["change"] != Change.SET,
        )
        if decision.verdict is not Verdict.SUPERSEDE:
            self._leave("conflict" if decision.refusal is None else decision.refusal.code)
            return
        await self._supersede(current, current.version, None, head, ends)
        for _ in self._ready.earlier:
            self._tally.leave(VERSIONS, self._ready.rule.key, row.record_id, "older_statement")
        self._written(earlier=0)

    async def _supersede(
        self, current: Preference, number: int, closing: Stated | None, stated: Stated, ends: datetime | None
    ) -> None:
        """The next version after version `number`. closing: that version, if this import brought it."""
        retain_until = ends_at(
            self._ready.rule.history_retention, self._transaction.now, None if closing is None else closing.retain_until
        )
        await self._transaction.one(
            _SQL["supersede"],
            record_id=current.record_id,
            current_version=number,
            retain_until=retain_until,
            counts=rows.json_value({}),
            **self._columns(stated, ends),
        )

    def _columns(self, stated: Stated, ends: datetime | None) -> Mapping[str, object]:
        return {
            "key": self._ready.rule.key,
            "value": rows.json_value(stated.value),
            "change": stated.change,
            "purpose": self._ready.rule.purpose,
            "said_at": stated.said_at,
            "expires_at": ends,
            "policy_version": self._version,
            "audit_id": new_record_id(),
            **self._prepared.columns(),
            **rows.origin_columns(stated.origin),
        }

    def _written(self, *, earlier: int) -> None:
        self._tally.written[HEADS] += 1
        if earlier:
            self._tally.written[VERSIONS] += earlier
        self._tally.text_only += self._prepared.state is IndexState.TEXT_ONLY

    def _leave(self, code: str) -> None:
        self._tally.leave(HEADS, self._ready.rule.key, self._ready.row.record_id, code)


def _future(stated: Stated, now: datetime) -> str | None:
    """The code of the error that a statement from the future meets."""
    try:
        require_past(stated.said_at, now, "said_at")
    except InvalidTime as error:
        return error.code
    return None


def _admit(
    caller: Caller, rule: PreferenceRule, stated: StatedValue, change: Change, version: VersionRow | None
) -> Stated:
    origin = caller.origin(stated.origin.value())
    value = rule.check(stated.value)
    require_accepted(rule, origin, f"preference {rule.key}")
    refuse_secret(value, f"preference {rule.key}")
    return Stated(
        value=value,
        origin=origin,
        change=change,
        said_at=rows.utc(stated.said_at),
        retain_until=None if version is None else version.retain_until,
    )
