"""Record many episodes of one person at once: the rules of `record_episode`, in one transaction, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from olvido.domain.records import Episode, NewEpisode, Written
from olvido.errors import Conflict, InvalidInput, InvalidTime, OlvidoError
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare_many
from olvido.operations.record_episode import Report, admit, row_of, same_body, store
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

MAX_EPISODES = 10_000

_SQL = statements("episodes")


async def record_episodes(
    environment: Environment, caller: Caller, episodes: Sequence[NewEpisode]
) -> tuple[Written[Episode], ...]:
    """Store all of `episodes` or none, and say of each, in their order, what `record_episode` says.

    episodes: up to 10,000. An event that is stored already, or comes twice, is a no-op with the same body and a
    conflict with another one. Raises InvalidInput, and as `record_episode` does; a note of the error (PEP 678) says at
    which place the episode stands.
    """
    if len(episodes) > MAX_EPISODES:
        raise InvalidInput(f"Record at most {MAX_EPISODES} episodes in one call; make several calls of more.")
    if not episodes:
        return ()
    # Off the event loop: a thousand long texts take a while to be looked through for secrets.
    reports = await asyncio.to_thread(_admit, environment, caller, episodes)
    await environment.database.pin(caller.life)
    prepared = await prepare_many(
        environment,
        [report.text for report in reports],
        [report.language for report in reports],
        [report.case_id for report in reports],
        [report.rule.definition for report in reports],
    )
    async with environment.database.write(caller.life, inserting=True) as transaction:
        written = []
        for place, answer in enumerate(await store_many(environment, transaction, reports, prepared)):
            if isinstance(answer, OlvidoError):
                with _At(place):
                    raise answer
            episode, changed = answer
            written.append(reports[place].written(episode, prepared[place], changed=changed))
    return tuple(written)


async def store_many(
    environment: Environment, transaction: Transaction, reports: Sequence[Report], prepared: Sequence[Prepared]
) -> list[tuple[Episode, bool] | OlvidoError]:
    """Store episodes and say of each, in their order, what `record_episode.store` would answer or raise.

    The transaction can go on after an error. Those of the others that are new are stored in one statement.
    """
    answers: list[tuple[Episode, bool] | OlvidoError | None] = [None] * len(reports)
    places = []
    columns = []
    for place, (report, ready) in enumerate(zip(reports, prepared, strict=True)):
        try:
            columns.append(row_of(report, ready, transaction.now, environment.policy.version))
            places.append(place)
        except InvalidTime as error:
            answers[place] = error
    stored = await _insert(environment, transaction, columns, [prepared[place] for place in places]) if columns else {}
    known = [place for place in places if reports[place].record_id not in stored]
    there = await _stored_events(transaction, [reports[place] for place in known])
    for place in places:
        report = reports[place]
        episode = stored.get(report.record_id)
        if episode is not None:
            answers[place] = episode, True
            continue
        try:
            existing = there.get((report.rule.definition, report.event_id))
            if existing is not None:
                answers[place] = same_body(existing, report), False
            else:
                answers[place] = await store(environment, transaction, report, prepared[place])
        except Conflict as error:
            answers[place] = error
    return [answer for answer in answers if answer is not None]


async def _stored_events(transaction: Transaction, reports: Sequence[Report]) -> dict[tuple[str, str], Episode]:
    """The live episodes of the events that `reports` are about, which stay until the transaction ends."""
    if not reports:
        return {}
    await transaction.reorganise()
    found = await transaction.all(
        _SQL["by_events"],
        definitions=[report.rule.definition for report in reports],
        event_ids=[report.event_id for report in reports],
    )
    return {(row["definition"], row["event_id"]): rows.episode(row) for row in found}


async def _insert(
    environment: Environment,
    transaction: Transaction,
    columns: Sequence[rows.Row],
    prepared: Sequence[Prepared],
) -> dict[UUID, Episode]:
    """Store episodes from their columns (see `row_of`), at least one, in one statement: those stored, by record id.

    Those that are missing from the answer have an event that was there already.
    """
    found = await transaction.all(
        _SQL["record_many"],
        records=rows.json_rows(columns),
        words=[ready.words() for ready in prepared],
        embeddings=[ready.embedding for ready in prepared],
        embedder=next((ready.embedder for ready in prepared if ready.embedder is not None), None),
        indexed_by=None if any(ready.embedder is None for ready in prepared) else prepared[0].indexed_by,
        policy_version=environment.policy.version,
    )
    stored = {row["record_id"] for row in found}
    return {one["record_id"]: rows.episode(one) for one in columns if one["record_id"] in stored}


def _admit(environment: Environment, caller: Caller, episodes: Sequence[NewEpisode]) -> list[Report]:
    reports = []
    for place, episode in enumerate(episodes):
        with _At(place):
            reports.append(admit(environment, caller, episode))
    return reports


class _At:
    """Adds to an error the place, from 0, of the episode that it is about."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OlvidoError):
            error.add_note(f"The episode at place {self._place} of this call; nothing of the call was stored.")
