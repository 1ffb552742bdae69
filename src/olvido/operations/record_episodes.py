"""Record many episodes of one person at once: the rules of `record_episode`, in one transaction, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from olvido.domain.records import Episode, NewEpisode, Written
from olvido.domain.words import Keys
from olvido.errors import Conflict, InvalidInput, InvalidTime, OlvidoError
from olvido.operations.embedding import passage_vectors
from olvido.operations.environment import Caller, Environment
from olvido.operations.indexing import Prepared, prepare_many, require_languages
from olvido.operations.off_loop import A_PIECE, ahead, in_turn, let_others_on
from olvido.operations.record_episode import Report, admit, row_of, same_body, store
from olvido.ports import Vectors
from olvido.storage import rows
from olvido.storage.arrays import half_vectors, sparse_vectors
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

MAX_EPISODES = 10_000
AT_ONCE = 250
"""Episodes stored in one statement."""

Answer = tuple[rows.Row, bool] | OlvidoError
"""What `record_episode.store` answers or raises."""

Prepare = Callable[[slice], Awaitable[Sequence[Prepared]]]
"""Makes the episodes of a batch ready to be found."""

_SQL = statements("episodes")


async def record_episodes(
    environment: Environment, caller: Caller, episodes: Sequence[NewEpisode]
) -> tuple[Written[Episode], ...]:
    """Store all of `episodes` or none, and say of each, in their order, what `record_episode` says.

    episodes: up to 10,000. An event that is stored already, or comes twice, is a no-op with the same body and a
    conflict with another one. Raises InvalidInput, and as `record_episode` does; a note of the error (PEP 678) says at
    which place the episode stands.
    """
    episodes = tuple(episodes)
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

    keys = Keys()

    async def prepare(batch: slice) -> Sequence[Prepared]:
        return await _prepared(environment, reports[batch], None if vectors is None else vectors[batch], keys)

    first = await prepare(slice(AT_ONCE))
    written: list[Written[Episode]] = []
    async with (
        environment.database.write(caller.life, inserting=True) as transaction,
        aclosing(_stored(environment, transaction, reports, first, prepare)) as stored,
    ):
        async for made, answers in stored:
            for report, ready, answer in zip(made.reports, made.prepared, answers, strict=True):
                if isinstance(answer, OlvidoError):
                    with _At(len(written)):
                        raise answer
                row, changed = answer
                written.append(report.written(row, ready, changed=changed))
    return tuple(written)


async def store_many(
    environment: Environment, transaction: Transaction, reports: Sequence[Report], prepared: Sequence[Prepared]
) -> list[Answer]:
    """Store episodes and say of each, in their order, what `record_episode.store` would answer or raise.

    The transaction can go on after an error.
    """

    async def known(batch: slice) -> Sequence[Prepared]:
        return prepared[batch]

    async with aclosing(_stored(environment, transaction, reports, prepared[:AT_ONCE], known)) as stored:
        return [answer async for _, answers in stored for answer in answers]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Made:
    """A batch made ready for its statement.

    columns: of each episode by its place (see `row_of`); refused: why others have none. parameters: of the statement,
    which is not needed if there are none.
    """

    reports: Sequence[Report]
    prepared: Sequence[Prepared]
    columns: Mapping[int, rows.Row]
    refused: Mapping[int, InvalidTime]
    parameters: Mapping[str, object]


async def _stored(
    environment: Environment,
    transaction: Transaction,
    reports: Sequence[Report],
    first: Sequence[Prepared],
    prepare: Prepare,
) -> AsyncGenerator[tuple[_Made, list[Answer]]]:
    """What `store_many` answers, batch by batch; the next ones are made ready while the database is at this one.

    first: those of the first batch. prepare: gives those of each other one.
    """

    async def make_all() -> AsyncGenerator[_Made]:
        for start in range(0, len(reports), AT_ONCE):
            batch = slice(start, start + AT_ONCE)
            prepared = first if start == 0 else await prepare(batch)
            make = partial(_make, environment.policy.version, transaction.now, reports[batch], prepared)
            yield await in_turn(make) if len(prepared) > A_PIECE else make()

    async with aclosing(ahead(make_all())) as batches:
        async for made in batches:
            yield made, await _store(environment, transaction, made)


async def _prepared(
    environment: Environment, reports: Sequence[Report], vectors: Vectors | None, keys: Keys
) -> Sequence[Prepared]:
    """Those of `reports`, whose vectors are known."""

    async def known(_: Environment, __: Sequence[str]) -> Vectors | None:
        return vectors

    return await prepare_many(
        environment,
        [report.text for report in reports],
        [report.language for report in reports],
        [report.case_id for report in reports],
        [report.rule.definition for report in reports],
        embed=known,
        keys=keys,
    )


def _make(policy_version: str, now: datetime, reports: Sequence[Report], prepared: Sequence[Prepared]) -> _Made:
    columns: dict[int, rows.Row] = {}
    refused: dict[int, InvalidTime] = {}
    for place, (report, ready) in enumerate(zip(reports, prepared, strict=True)):
        let_others_on(place)
        try:
            columns[place] = row_of(report, ready, now, policy_version)
        except InvalidTime as error:
            refused[place] = error
    parameters: dict[str, object] = {}
    if columns:
        kept = [prepared[place] for place in columns]
        parameters = {
            "records": rows.json_rows(list(columns.values())),
            "words": sparse_vectors([ready.terms.frequencies for ready in kept]),
            "embeddings": half_vectors([ready.embedding for ready in kept]),
            "embedder": next((ready.embedder for ready in kept if ready.embedder is not None), None),
            "indexed_by": None if any(ready.embedder is None for ready in kept) else kept[0].indexed_by,
            "policy_version": policy_version,
        }
    return _Made(reports=reports, prepared=prepared, columns=columns, refused=refused, parameters=parameters)


async def _store(environment: Environment, transaction: Transaction, made: _Made) -> list[Answer]:
    """Those of a batch that are new are stored in one statement."""
    found = await transaction.all(_SQL["record_many"], **made.parameters) if made.parameters else []
    passed_over = {row["record_id"] for row in found}
    known = [report for report in made.reports if report.record_id in passed_over]
    there = await _stored_events(transaction, known)
    answers: list[Answer] = []
    for place, report in enumerate(made.reports):
        if place in made.refused:
            answers.append(made.refused[place])
        elif report.record_id not in passed_over:
            answers.append((made.columns[place], True))
        else:
            try:
                existing = there.get((report.rule.definition, report.event_id))
                if existing is not None:
                    answers.append((same_body(existing, report), False))
                else:
                    answers.append(await store(environment, transaction, report, made.prepared[place]))
            except Conflict as error:
                answers.append(error)
    return answers


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
