"""The episodes of an export: admitted anew, then stored once an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from olvido.domain.export_document import EpisodeRow
from olvido.domain.instants import is_expired
from olvido.domain.records import IndexState, NewEpisode
from olvido.errors import OlvidoError
from olvido.operations.environment import Caller, Environment
from olvido.operations.import_tally import EXPIRED, Tally, ends_at
from olvido.operations.indexing import Prepared
from olvido.operations.record_episode import Report, admit
from olvido.operations.record_episodes import store_many
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
    leaving: Mapping[UUID, str],
    tally: Tally,
) -> None:
    """Store those that are not here yet, and note of each what became of it. leaving: why some stay out, by id."""
    ready: list[tuple[Report, Prepared]] = []
    for each, prepared in admitted:
        ends = ends_at(each.report.rule.retention, transaction.now, each.row.expires_at)
        report = replace(each.report, expires_at=ends)
        if report.record_id in leaving:
            _leave(tally, report, leaving[report.record_id])
        elif is_expired(ends, transaction.now):
            _leave(tally, report, EXPIRED)
        else:
            ready.append((report, prepared))
    for start in range(0, len(ready), AT_ONCE):
        batch = ready[start : start + AT_ONCE]
        answers = await store_many(
            environment, transaction, [report for report, _ in batch], [prepared for _, prepared in batch]
        )
        for (report, prepared), answer in zip(batch, answers, strict=True):
            if isinstance(answer, OlvidoError):
                _leave(tally, report, answer.code)
                continue
            _, changed = answer
            counted = tally.written if changed else tally.unchanged
            counted[EPISODES] += 1
            tally.screened(report.dropped, report.masked)
            tally.text_only += changed and prepared.state is IndexState.TEXT_ONLY


def _leave(tally: Tally, report: Report, code: str) -> None:
    tally.leave(EPISODES, report.rule.definition, report.record_id, code)
