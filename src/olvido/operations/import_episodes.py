"""The episodes of an export: admitted anew, then stored once an event."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from olvido.domain.export_document import EpisodeRow
from olvido.domain.instants import is_expired
from olvido.domain.records import IndexState, NewEpisode
from olvido.errors import EventConflict, InvalidTime
from olvido.operations.environment import Caller, Environment
from olvido.operations.import_tally import EXPIRED, FORGOTTEN, Tally, ends_at
from olvido.operations.indexing import Prepared
from olvido.operations.record_episode import Report, admit, row_of, store
from olvido.operations.record_episodes import insert_many
from olvido.storage.database import Transaction

EPISODES = "episodes"
AT_ONCE = 1000
"""Episodes stored in one statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmittedEpisode:
    """An episode that passed admission, with the record id that it has in the export."""

    row: EpisodeRow
    report: Report


def admit_episode(environment: Environment, caller: Caller, row: EpisodeRow) -> AdmittedEpisode:
    """What the rules let through of `row`. Raises as a write does."""
    report = admit(
        environment,
        caller,
        NewEpisode(
            definition=row.definition,
            event_id=row.event_id,
            fields=row.fields,
            case_id=row.case_id,
            status=row.status,
            occurred_at=row.occurred_at,
            origin=row.origin.value(),
            language=row.language,
        ),
    )
    return AdmittedEpisode(row=row, report=replace(report, record_id=row.record_id))


async def store_episodes(
    environment: Environment,
    transaction: Transaction,
    admitted: Sequence[tuple[AdmittedEpisode, Prepared]],
    gone: Collection[UUID],
    tally: Tally,
) -> None:
    """Store those that are not here yet, and note of each what became of it. gone: record ids that were forgotten."""
    ready = []
    for each, prepared in admitted:
        ends = ends_at(each.report.rule.retention, transaction.now, each.row.expires_at)
        report = replace(each.report, expires_at=ends)
        if report.record_id in gone:
            _leave(tally, report, FORGOTTEN)
        elif is_expired(ends, transaction.now):
            _leave(tally, report, EXPIRED)
        else:
            try:
                ready.append((report, prepared, row_of(report, prepared, transaction.now)))
            except InvalidTime as error:
                _leave(tally, report, error.code)
    for start in range(0, len(ready), AT_ONCE):
        batch = ready[start : start + AT_ONCE]
        stored = await insert_many(
            environment, transaction, [columns for _, _, columns in batch], [prepared for _, prepared, _ in batch]
        )
        for report, prepared, _ in batch:
            changed = report.record_id in stored
            if not changed:
                try:
                    _, changed = await store(environment, transaction, report, prepared)
                except EventConflict as error:
                    _leave(tally, report, error.code)
                    continue
            counted = tally.written if changed else tally.unchanged
            counted[EPISODES] += 1
            tally.screened(report.dropped, report.masked)
            tally.text_only += changed and prepared.state is IndexState.TEXT_ONLY


def _leave(tally: Tally, report: Report, code: str) -> None:
    tally.leave(EPISODES, report.rule.definition, report.record_id, code)
