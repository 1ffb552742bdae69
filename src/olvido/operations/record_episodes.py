"""Record many episodes of one person at once: the rules of `record_episode`, in one transaction, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from olvido.domain.records import Episode, NewEpisode, Written
from olvido.errors import Conflict, InvalidInput, InvalidTime, OlvidoError
from olvido.operations.embedding import passage_vectors
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare_many, require_languages
from olvido.operations.record_episode import Report, admit, row_of, same_body, store
from olvido.ports import Vectors
from olvido.storage import rows
from olvido.storage.arrays import half_vectors, sparse_vectors
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

MAX_EPISODES = 10_000
AT_ONCE = 250
"""Episodes stored in one statement."""

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
    require_languages(report.language for report in reports)
    # All of them before the transaction, which is not held open while an embedder works.
    vectors = await passage_vectors(environment, [report.text for report in reports])
    batches = [slice(start, start + AT_ONCE) for start in range(0, len(reports), AT_ONCE)]
    prepared = await _prepared(environment, reports, vectors, batches[0])
    written: list[Written[Episode]] = []
    async with environment.database.write(caller.life, inserting=True) as transaction:
        for batch, following in zip(batches, [*batches[1:], None], strict=True):
            # The next ones are read for their words while the database is at these.
            answers, ahead = await asyncio.gather(
                store_many(environment, transaction, reports[batch], prepared),
                _prepared(environment, reports, vectors, following),
                return_exceptions=True,
            )
            if isinstance(answers, BaseException):
                raise answers
            for report, ready, answer in zip(reports[batch], prepared, answers, strict=True):
                if isinstance(answer, OlvidoError):
                    with _At(len(written)):
                        raise answer
                row, changed = answer
                written.append(report.written(row, ready, changed=changed))
            if isinstance(ahead, BaseException):
                raise ahead
            prepared = ahead
    return tuple(written)


async def _prepared(
    environment: Environment, reports: Sequence[Report], vectors: Vectors | None, batch: slice | None
) -> list[Prepared]:
    """Those of a batch, whose vectors are known; none if there is no batch."""
    if batch is None:
        return []

    async def known(_: Environment, __: Sequence[str]) -> Vectors | None:
        return None if vectors is None else vectors[batch]

    return await prepare_many(
        environment,
        [report.text for report in reports[batch]],
        [report.language for report in reports[batch]],
        [report.case_id for report in reports[batch]],
        [report.rule.definition for report in reports[batch]],
        embed=known,
    )


async def store_many(
    environment: Environment, transaction: Transaction, reports: Sequence[Report], prepared: Sequence[Prepared]
) -> list[tuple[rows.Row, bool] | OlvidoError]:
    """Store episodes and say of each, in their order, what `record_episode.store` would answer or raise.

    The transaction can go on after an error. Those of the others that are new are stored in one statement.
    """
    answers: list[tuple[rows.Row, bool] | OlvidoError | None] = [None] * len(reports)
    places = []
    columns = []
    for place, (report, ready) in enumerate(zip(reports, prepared, strict=True)):
        try:
            columns.append(row_of(report, ready, transaction.now, environment.policy.version))
            places.append(place)
        except InvalidTime as error:
            answers[place] = error
    passed_over = (
        await _insert(environment, transaction, columns, [prepared[place] for place in places]) if columns else set()
    )
    known = [place for place in places if reports[place].record_id in passed_over]
    there = await _stored_events(transaction, [reports[place] for place in known])
    for place, one in zip(places, columns, strict=True):
        report = reports[place]
        if report.record_id not in passed_over:
            answers[place] = one, True
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


async def _stored_events(transaction: Transaction, reports: Sequence[Report]) -> dict[tuple[str, str], rows.Row]:
    """The rows of the live episodes of the events that `reports` are about, which stay until the transaction ends."""
    if not reports:
        return {}
    await transaction.reorganise()
    found = await transaction.all(
        _SQL["by_events"],
        definitions=[report.rule.definition for report in reports],
        event_ids=[report.event_id for report in reports],
    )
    return {(row["definition"], row["event_id"]): row for row in found}


async def _insert(
    environment: Environment,
    transaction: Transaction,
    columns: Sequence[rows.Row],
    prepared: Sequence[Prepared],
) -> set[UUID]:
    """Store episodes from their columns (see `row_of`), at least one, in one statement.

    The record ids of those that were passed over, since their event is there already.
    """
    found = await transaction.all(
        _SQL["record_many"],
        records=rows.json_rows(columns),
        words=sparse_vectors([ready.terms.frequencies for ready in prepared]),
        embeddings=half_vectors([ready.embedding for ready in prepared]),
        embedder=next((ready.embedder for ready in prepared if ready.embedder is not None), None),
        indexed_by=None if any(ready.embedder is None for ready in prepared) else prepared[0].indexed_by,
        policy_version=environment.policy.version,
    )
    return {row["record_id"] for row in found}


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
