"""Forget what meets conditions: one transaction, one report, never more than the same conditions would list."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from olvido.domain.records import RecordKind
from olvido.domain.redaction import safe_name
from olvido.domain.report import ForgetReport, Plan
from olvido.domain.selection import Selection, selection
from olvido.errors import NotInPolicy
from olvido.operations.environment import Caller, Environment
from olvido.operations.forget import forget_records
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_SQL = statements("selection")
TARGET = "selection"


async def forget_where(
    environment: Environment,
    caller: Caller,
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
    """Forget the records of this scope, live and expired, that meet every condition given; at least one.

    kind: "preference", "episode", "session", "fact" or "summary"; None is all, with summaries only by their ids, since
    they follow their episodes. definition: a kind of episode, or the key of a preference. since, until: with the start
    and without the end, of when a preference was said, an episode happened, a fact was stored; a session is in if all
    of it is, and the report names those that reach over a border. record_ids: only among these.
    plan: the report of a dry run, or its plan hash. A plan is of exactly the records that were found then.
    Raises InvalidInput (no condition, or conditions that no record can meet together), InvalidValue, InvalidScope,
    InvalidTime, NotInPolicy (a definition that neither the policy has nor any record), and what `forget` raises.
    """
    wanted = selection(
        kind=kind,
        definition=definition,
        case_id=case_id,
        session_id=session_id,
        since=since,
        until=until,
        record_ids=record_ids,
    )
    choice = _Choice(environment, wanted)
    report = await forget_records(environment, caller, choice.choose, target=TARGET, dry_run=dry_run, plan=plan)
    return replace(report, overlapping=choice.overlapping)


class _Choice:
    """Conditions on their way into a transaction. overlapping: sessions that they touch and leave."""

    def __init__(self, environment: Environment, wanted: Selection) -> None:
        self._environment = environment
        self._wanted = wanted
        self.overlapping: tuple[UUID, ...] = ()

    async def choose(self, transaction: Transaction, among: tuple[UUID, ...] | None) -> tuple[UUID, ...]:
        """The records that meet the conditions now. among: only of these, which are held."""
        wanted = self._wanted
        if among is None:
            await self._require_definition(transaction)
            if wanted.spans_sessions:
                parameters = wanted.parameters()
                names = ("session_id", "since", "until", "record_ids")
                found = await transaction.all(_SQL["overlapping"], **{name: parameters[name] for name in names})
                self.overlapping = tuple(row["record_id"] for row in found)
        found = await transaction.all(
            _SQL["chosen"], among=None if among is None else list(among), **wanted.parameters()
        )
        return tuple(sorted(row["record_id"] for row in found))

    async def _require_definition(self, transaction: Transaction) -> None:
        """Raise for a name that means nothing here; one that the policy dropped finds what was stored under it."""
        name, policy = self._wanted.definition, self._environment.policy
        if name is None or name in policy.episodes or name in policy.preferences:
            return
        row = await transaction.one(_SQL["has_definition"], definition=name)
        if row is None or not row["stored"]:
            known = ", ".join([*policy.episodes, *policy.preferences])
            raise NotInPolicy(
                f"Nothing is stored under the definition {safe_name(name)}, and policy {policy.name} has none by that "
                f"name. It has: {known}."
            )
