"""Summarise the episodes of each case by reference, without a model and without a conclusion (rules 7 and 11)."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from olvido.domain.identifiers import optional_identifier
from olvido.domain.origin import OriginClass, weakest
from olvido.domain.records import Summary, SummaryEntry
from olvido.errors import SubjectForgotten
from olvido.operations.environment import Caller, Environment
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id
from olvido.storage.translation import FORGOTTEN

_SQL = statements("summaries")


async def consolidate(environment: Environment, caller: Caller) -> tuple[Summary, ...]:
    """Bring the summaries up to date with the live episodes that name a case, and return them.

    Deterministic: the same episodes give the same summaries, under the same record ids.
    Raises SubjectForgotten, TenantClosed.
    """
    async with environment.database.existing(caller.life, lock=True) as transaction:
        if transaction.over:
            raise SubjectForgotten(FORGOTTEN)
        if transaction.key is None:
            return ()
        await transaction.reorganise()
        found = await transaction.all(_SQL["cases"])
        for (definition, case_id), members in groupby(found, key=lambda row: (row["definition"], row["case_id"])):
            await _put(transaction, definition, case_id, list(members))
        if found:
            await transaction.audit("consolidated", "summary", policy_version=environment.policy.version)
        return await _read(transaction, case_id=None)


async def read_summaries(
    environment: Environment, caller: Caller, *, case_id: str | None = None
) -> tuple[Summary, ...]:
    """The live summaries, all or those of one case, by definition and case. Raises InvalidScope, TenantClosed."""
    optional_identifier(case_id, "case_id")
    async with environment.database.snapshot(caller.life) as transaction:
        return await _read(transaction, case_id=case_id)


async def _put(transaction: Transaction, definition: str, case_id: str, members: list[dict[str, Any]]) -> None:
    expiries = [row["expires_at"] for row in members if row["expires_at"] is not None]
    row = await transaction.one(
        _SQL["put"],
        record_id=new_record_id(),
        definition=definition,
        case_id=case_id,
        origin_class=weakest([OriginClass(row["origin_class"]) for row in members]),
        expires_at=min(expiries, default=None),
    )
    if row is not None:
        await transaction.run(
            _SQL["replace_sources"],
            record_id=row["record_id"],
            episode_ids=[member["record_id"] for member in members],
        )


async def _read(transaction: Transaction, *, case_id: str | None) -> tuple[Summary, ...]:
    found = await transaction.all(_SQL["all"], case_id=case_id)
    entries: dict[object, list[SummaryEntry]] = {}
    for row in await transaction.all(_SQL["entries"], record_ids=[row["record_id"] for row in found]):
        entries.setdefault(row["summary_id"], []).append(rows.summary_entry(row))
    return tuple(rows.summary(row, entries[row["record_id"]]) for row in found if entries.get(row["record_id"]))
