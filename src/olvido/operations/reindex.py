"""Repair the index: a record with no entry, or with words or a vector of another model, is indexed anew (rule 8).

What is done stands in the rows themselves, so that a repair that was killed goes on where it ended. Nothing is held
while the embedder works: what was read is compared with what stands before its entry is written, and a record that was
corrected, forgotten or expired meanwhile is not. A record whose definition the policy no longer has is indexed as the
others are, an episode by all its fields: repair changes how a record is found, not whether.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from uuid import UUID

from olvido.domain.instants import require_utc
from olvido.domain.question import speaker
from olvido.domain.records import PRODUCT, Episode, Preference
from olvido.domain.report import IndexReport
from olvido.domain.words import LEXER
from olvido.errors import InvalidInput
from olvido.operations.embedding import vectors_apart
from olvido.operations.environment import Environment
from olvido.operations.indexing import Prepared, indexed_by, lexers, prepare_many, unfinished
from olvido.operations.recall import indexed_text
from olvido.ports import Vector
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

log = logging.getLogger("olvido.index")

BATCH = 64
MAX_BATCH = 1000
LIVES_AT_ONCE = 4
"""Lives that one call repairs at the same time: while one waits for the embedder, others read and write."""
DOUBTED_AT_ONCE = 10_000
ALONE = timedelta(minutes=10)
"""For how long a life belongs to whoever took it or wrote to it last: longer than any embedder is waited for."""
OUT = 3
"""After so many batches in a row for which the embedder gave nothing, a call asks for no more vectors."""

_SQL = statements("index_entries")
_LIVES = statements("lives")
_REMOVAL = statements("removal")

_Life = tuple[str, UUID]


async def repair_index(
    environment: Environment,
    *,
    limit: int | None = None,
    batch_size: int = BATCH,
    tried_before: datetime | None = None,
    made_before: datetime | None = None,
    recheck: bool = False,
    progress: Callable[[int], None] | None = None,
) -> IndexReport:
    """Repair the index of every life that may need it. Several processes may do so at once, all with one embedder.

    Where the embedder gives no vector, the words are repaired all the same; such a life is tried once in a call.
    limit: most records to look at, 1 or more; None is all. batch_size: most records in one call of the embedder and in
    one transaction, 1 to 1,000. tried_before: leave out the lives that were tried at this instant or later; None leaves
    out none. made_before: leave the lives that a repair with another embedder, policy or version finished, or left
    unfinished, at this instant or later, and count them as contested: a worker that runs passes when it began, so that
    two of them do not undo each other's work for ever. None leaves none. recheck: look at every life, whatever it is
    noted to be indexed by, as after a restore without the index.
    progress: called with the records looked at so far. Raises InvalidInput, InvalidTime, DatabaseUnavailable, Conflict,
    and UnsafeDatabase if the login is not a worker.
    """
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput("limit must be a whole number, 1 or more, or None.")
    if type(batch_size) is not int or not 1 <= batch_size <= MAX_BATCH:
        raise InvalidInput(f"batch_size must be a whole number between 1 and {MAX_BATCH}.")
    before = None if tried_before is None else require_utc(tried_before, "tried_before")
    began = None if made_before is None else require_utc(made_before, "made_before")
    repair = _Repair(environment, limit, batch_size, progress, made_before=began)
    report = await repair.run(before, recheck=recheck)
    log.info(
        "index repaired",
        extra={
            "action": "repair_index",
            "lives": report.lives,
            "rows": report.repaired,
            "failed": report.failed,
            "waiting": report.waiting,
            "contested": report.contested,
        },
    )
    return report


@dataclass(frozen=True, kw_only=True, slots=True)
class _Batch:
    """Records of one life whose entries differ, as they were read. last: no others of this life differ."""

    preferences: list[Preference]
    episodes: list[Episode]
    last: bool

    def __len__(self) -> int:
        return len(self.preferences) + len(self.episodes)

    def after(self, before: _Place) -> _Place:
        """Where to go on reading."""
        return _Place(
            preference=self.preferences[-1].record_id if self.preferences else before.preference,
            episode=self.episodes[-1].record_id if self.episodes else before.episode,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """How far a life was read. None: from its first record on."""

    preference: UUID | None = None
    episode: UUID | None = None


class _Repair:
    """One repair on its way through the lives that wait."""

    def __init__(
        self,
        environment: Environment,
        limit: int | None,
        batch_size: int,
        progress: Callable[[int], None] | None,
        *,
        made_before: datetime | None,
    ) -> None:
        self._environment = environment
        self._database = environment.database
        self._left = inf if limit is None else limit
        self._batch_size = batch_size
        self._progress = progress
        self._made_before = made_before
        self._made_by = {
            "lexer": LEXER,
            "lexers": rows.json_value(dict(lexers(environment.policy))),
            "embedder": environment.embedder.id,
            "dimensions": environment.embedder.dimensions,
        }
        self._name = indexed_by(environment.policy, environment.embedder.id)
        self._unfinished = unfinished(self._name)
        self._unanswered = 0
        self._seen = self._lives = self._settled = self._repaired = self._failed = 0

    async def run(self, tried_before: datetime | None, *, recheck: bool) -> IndexReport:
        """Repair until nothing waits or the limit is reached."""
        async with self._database.administer() as transaction:
            started_at = rows.utc(transaction.now)
        if recheck:
            await self._doubt()
        before = started_at if tried_before is None else min(tried_before, started_at)
        ended = await asyncio.gather(*(self._lane(before) for _ in range(LIVES_AT_ONCE)), return_exceptions=True)
        for failure in ended:
            if failure is not None:
                raise failure
        async with self._database.administer() as transaction:
            row = await transaction.one(
                _LIVES["waiting"],
                indexed_by=self._name,
                tried=self._unfinished["tried"],
                made_before=self._made_before,
            )
        return IndexReport(
            lives=self._lives,
            settled=self._settled,
            repaired=self._repaired,
            failed=self._failed,
            waiting=0 if row is None else row["lives"],
            contested=0 if row is None else row["contested"],
            limit_reached=self._left < 1,
            started_at=started_at,
        )

    async def _doubt(self) -> None:
        while True:
            async with self._database.administer() as transaction:
                if not await transaction.run(_LIVES["doubt"], batch=DOUBTED_AT_ONCE):
                    return

    async def _lane(self, tried_before: datetime) -> None:
        """Life after life. What fails in one lane ends the others as soon as they have written what they hold."""
        try:
            while self._left >= 1 and (life := await self._claim(tried_before)) is not None:
                self._lives += 1
                await self._life(life)
        except BaseException:
            self._left = -inf
            raise

    async def _claim(self, tried_before: datetime) -> _Life | None:
        async with self._database.administer() as transaction:
            row = await transaction.one(
                _LIVES["claim"],
                indexed_by=self._name,
                tried_before=tried_before,
                made_before=self._made_before,
                until=transaction.now + ALONE,
                **self._unfinished,
            )
            return None if row is None else (row["tenant_id"], row["subject_key"])

    async def _life(self, life: _Life) -> None:
        place = _Place()
        while self._left >= 1:
            size = int(min(self._batch_size, self._left))
            self._left -= size  # before it is read: the other lives take of the same limit
            batch = await self._read(life, place, size)
            self._left += size - (0 if batch is None else len(batch))
            if batch is None:
                return
            await self._write(life, batch, await self._prepare([*batch.preferences, *batch.episodes]))
            self._seen += len(batch)
            if self._progress is not None:
                self._progress(self._seen)
            if batch.last:
                return
            place = batch.after(place)
        async with self._database.work(*life, lock=False) as transaction:
            await transaction.run(_LIVES["leave"], unfinished=self._unfinished["half"])

    async def _read(self, life: _Life, place: _Place, size: int) -> _Batch | None:
        """The next records whose entries differ; None if nothing of this life is to be indexed."""
        async with self._database.work(*life, lock=False) as transaction:
            if transaction.key is None:
                return None
            if transaction.entered["closed"]:
                # To be forgotten soon. Nothing of it is sent to an embedder any more.
                await transaction.run(_LIVES["set_aside"])
                return None
            preferences = await transaction.all(
                _SQL["differing_preferences"], after=place.preference, batch=size, **self._made_by
            )
            room = size - len(preferences)
            episodes = (
                await transaction.all(_SQL["differing_episodes"], after=place.episode, batch=room, **self._made_by)
                if room
                else []
            )
        return _Batch(
            preferences=[rows.preference(row) for row in preferences],
            episodes=[rows.episode(row) for row in episodes],
            last=len(preferences) + len(episodes) < size,
        )

    async def _prepare(self, records: Sequence[Preference | Episode]) -> list[Prepared]:
        if not records:
            return []
        policy = self._environment.policy
        return await prepare_many(
            self._environment,
            [
                f"{record.key}: {record.value}" if isinstance(record, Preference) else indexed_text(policy, record)
                for record in records
            ],
            ["other" if isinstance(record, Preference) else record.language for record in records],
            [None if isinstance(record, Preference) else record.case_id for record in records],
            [None if isinstance(record, Preference) else record.definition for record in records],
            embed=self._embed,
        )

    async def _embed(self, environment: Environment, texts: Sequence[str]) -> list[Vector | None] | None:
        """Vectors where there are some. An embedder that is out is not asked for every batch of every life."""
        vectors = None if self._unanswered >= OUT else await vectors_apart(environment, texts)
        self._unanswered = self._unanswered + 1 if vectors is None else 0
        return vectors

    async def _write(self, life: _Life, batch: _Batch, prepared: Sequence[Prepared]) -> None:
        """Write a batch. With the last one, hold the life alone and note what it is indexed by, if all of it is."""
        async with self._database.work(*life, lock=not batch.last) as transaction:
            if transaction.key is None:
                return
            if batch.last:
                await transaction.queue(_REMOVAL["queue_for_life"])
            written = await self._store(transaction, batch, prepared)
            if not batch.last:
                await transaction.run(_LIVES["hold"], until=transaction.now + ALONE)
                settled = 0
            else:
                settled = await transaction.run(_LIVES["settle"], indexed_by=self._name, **self._made_by)
                if not settled:
                    await transaction.run(_LIVES["leave"], unfinished=self._unfinished["tried"])
        self._repaired += written
        self._settled += settled
        self._failed += sum(ready.embedding is None for ready in prepared)

    async def _store(self, transaction: Transaction, batch: _Batch, prepared: Sequence[Prepared]) -> int:
        """Entries written, of those records that are still there as they were read."""
        written = 0
        first = len(batch.preferences)
        stated = [
            {"record_id": record.record_id, "key": record.key, "value": record.value, **ready.values()}
            for record, ready in zip(batch.preferences, prepared[:first], strict=True)
        ]
        happened = [
            {
                "record_id": record.record_id,
                "recorded_at": record.recorded_at,
                "product": None if (product := record.fields.get(PRODUCT)) is None else str(product),
                "speaker": speaker(record.origin.actor),
                **ready.values(),
            }
            for record, ready in zip(batch.episodes, prepared[first:], strict=True)
        ]
        for statement, records, ready in (
            (_SQL["repair_preferences"], stated, prepared[:first]),
            (_SQL["repair_episodes"], happened, prepared[first:]),
        ):
            if records:
                written += await transaction.run(
                    statement,
                    records=rows.json_rows(records),
                    words=[one.words() for one in ready],
                    embeddings=[one.embedding for one in ready],
                    lexer=LEXER,
                    embedder=self._environment.embedder.id,
                )
        return written
