"""Work on what this database keeps after its rows are gone: files (E2) and the write-ahead log (E3).

Requests share the work: a relation is written anew once for all that wait, and the log is turned over once. One worker
at a time does it. What is done is noted relation by relation, so that after a crash the next one does the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from olvido.domain.erasure import HOLD, RECORDS, WHOLE_LIVES, Outcome, Step, StepStatus
from olvido.domain.holds import HOLD_KEEPS
from olvido.domain.plain import instant, plain
from olvido.operations.environment import Environment
from olvido.operations.erase_strays import Look, Strays
from olvido.storage import rows
from olvido.storage.data_map import DATA_MAP, FORGOTTEN, ColumnClass
from olvido.storage.database import Transaction
from olvido.storage.holds import standing_in_the_way
from olvido.storage.queries import statements
from olvido.storage.rewriting import EraserTurn, Horizon, Rewritten

RELATIONS_AT_ONCE = 20
"""Relations that are written anew before outcomes are stored and a worker may be stopped."""
ROUND_SECONDS = 300.0
"""A round that has lasted so long begins no further relation: even if the last one is locked for as long as is allowed,
it then ends while the steps still belong to whoever took them."""
SHORT = 1.0
REST = 50
"""A relation that was locked for longer than SHORT seconds is left alone for REST times as long: 2 % of the time."""
REVIEWED = timedelta(days=1)
"""How often it is looked whether a legal hold still stands in the way."""

_SQL = statements("erasures")
_SAYING = frozenset({ColumnClass.CONTENT, ColumnClass.IDENTIFIER, ColumnClass.ORIGIN})
_PREFERENCES = frozenset({"preferences", "preference_versions", "index_entries"})
_EPISODES = frozenset({"episodes", "index_entries", "summaries", "summary_sources"})
_SESSIONS = frozenset({"sessions", "session_items", "session_facts", "messages"})
_TOGETHER: Mapping[str, frozenset[str]] = {
    "preferences": _PREFERENCES,
    "preference_versions": _PREFERENCES,
    "episodes": _EPISODES,
    "sessions": _SESSIONS,
}
"""Where earlier versions of removed rows stand too: what was corrected or rebuilt before is in the files as well."""
HELD = "held_records"


@dataclass(kw_only=True, slots=True)
class _Need:
    """What one request needs. gone_before: by relation, the transaction before which its rows were removed.

    not_before: what was written anew earlier proves nothing. since: what of `gone_before` is to be kept in its
    evidence. outcome: once it is known.
    """

    step: Step
    gone_before: dict[str, int]
    not_before: datetime
    since: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    outcome: Outcome | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """When one relation was last written anew, as it is noted."""

    gone_before: int
    begun_at: datetime
    rested_until: datetime
    evidence: Mapping[str, Any]

    def covers(self, gone_before: int, not_before: datetime) -> bool:
        return self.gone_before >= gone_before and self.begun_at >= not_before

    def rests(self, now: datetime) -> bool:
        return self.begun_at <= now < self.rested_until


async def work_on_files(environment: Environment, turn: EraserTurn, steps: Sequence[Step]) -> list[Outcome]:
    """Write anew what these requests need, at most RELATIONS_AT_ONCE relations, and say how far each request is."""
    return await _Round(environment, turn).work(steps)


def relations_of(target: str, removed: Mapping[str, int]) -> frozenset[str]:
    """The relations in whose files a request's rows stand, earlier versions of them included.

    Of records of which nothing was here, any that holds records: they may have gone with something else, as when a
    database that was put back forgets one thing after the other.
    """
    if target in WHOLE_LIVES:
        # Also those of which nothing was left to remove: it may have been purged, and stand in the files still.
        touched: set[str] = set(FORGOTTEN)
    elif target == HOLD:
        # What a hold had kept was deleted where it came from before, by a purge or by a request that waits for its own
        # files: the text stands there for as long as it does in what was kept.
        touched = {HELD, *FORGOTTEN} if any(removed.values()) else set()
    else:
        names = [name for name, count in removed.items() if count]
        if not names and target in RECORDS:
            names = list(_TOGETHER)
        touched = {other for name in names for other in _TOGETHER.get(name, {name})}
    return frozenset(name for name in touched if _SAYING & set(DATA_MAP[name].columns.values()))


class _Round:
    """One round for some requests."""

    def __init__(self, environment: Environment, turn: EraserTurn) -> None:
        self._environment = environment
        self._turn = turn
        self._known: dict[str, _Known] = {}
        self._failed: dict[str, str] = {}
        self._done: set[str] = set()
        self._strays = Strays(environment, turn)

    async def work(self, steps: Sequence[Step]) -> list[Outcome]:
        needs = await self._needs(steps)
        waiting = [need for need in needs if need.outcome is None]
        if waiting:
            await self._hindered(waiting)
            waiting = [need for need in waiting if need.outcome is None]
        if waiting:
            now = await self._locate(waiting)
            await self._rewrite(self._todo(waiting, now))
            await self._judge(waiting, now, await self._strays.look())
        return [need.outcome or _open(need, ()) for need in needs]

    async def _needs(self, steps: Sequence[Step]) -> list[_Need]:
        by_tenant: dict[str, list[Step]] = {}
        for step in steps:
            by_tenant.setdefault(step.tenant, []).append(step)
        needs: dict[UUID, _Need] = {}
        for tenant, theirs in by_tenant.items():
            async with self._environment.database.administer(tenant) as transaction:
                ids = [step.erasure_id for step in theirs]
                rows = await transaction.all(_SQL["requests"], erasure_ids=ids)
                found = {row["erasure_id"]: row for row in rows}
                for step in theirs:
                    needs[step.erasure_id] = await _need(transaction, step, found[step.erasure_id])
        return [needs[step.erasure_id] for step in steps]

    async def _hindered(self, needs: list[_Need]) -> None:
        """Say of a request who keeps its rows, before anything is locked for it in vain."""
        values = await self._turn.copies_of_values()
        horizon = await self._turn.horizon()
        for need in needs:
            if values:
                need.outcome = _open(need, values)
            elif horizon.gone_before < max(need.gone_before.values(), default=0):
                need.outcome = _open(need, _names(horizon, need), horizon)

    async def _locate(self, needs: list[_Need]) -> datetime:
        relations = sorted({relation for need in needs for relation in need.gone_before})
        files = await self._turn.files(sorted({need.step.tenant for need in needs}), relations)
        for need in needs:
            for relation, gone_before in need.gone_before.items():
                need.files[files[need.step.tenant, relation]] = gone_before
        async with self._environment.database.administer() as transaction:
            names = sorted({file for need in needs for file in need.files})
            for row in await transaction.all(_SQL["rewrites"], relations=names):
                self._known[row["relation"]] = _Known(
                    gone_before=row["gone_before"],
                    begun_at=row["begun_at"],
                    rested_until=row["rested_until"],
                    evidence=row["evidence"],
                )
            return transaction.now

    def _covered(self, need: _Need, file: str) -> bool:
        known = self._known.get(file)
        return known is not None and known.covers(need.files[file], need.not_before)

    def _todo(self, needs: list[_Need], now: datetime) -> list[str]:
        wanted = {file for need in needs for file in need.files if not self._covered(need, file)}
        return sorted(file for file in wanted if file not in self._known or not self._known[file].rests(now))

    async def _rewrite(self, todo: list[str]) -> None:
        """One relation after another; those that were in use once more at the end."""
        if todo:
            await self._strays.begin()
        ends = time.monotonic() + ROUND_SECONDS
        busy: list[str] = []
        for number, file in enumerate(todo[:RELATIONS_AT_ONCE]):
            if number and time.monotonic() >= ends:
                return
            if await self._one(file):
                busy.append(file)
        for file in busy:
            if time.monotonic() < ends:
                await self._one(file)

    async def _one(self, file: str) -> bool:
        """Write one relation anew, and note it; whether it was in use only."""
        async with self._environment.database.administer() as transaction:
            begun_at = transaction.now
        done = await self._turn.rewrite(file)
        if not isinstance(done, Rewritten):
            self._failed[file] = done.reason
            return done.passing
        self._failed.pop(file, None)
        self._done.add(file)
        rested_until = begun_at + timedelta(seconds=REST * done.locked if done.locked >= SHORT else 0)
        known = _Known(
            gone_before=done.gone_before, begun_at=begun_at, rested_until=rested_until, evidence=done.evidence()
        )
        self._known[file] = known
        async with self._environment.database.administer() as transaction:
            await transaction.run(
                _SQL["note_rewrite"],
                relation=file,
                gone_before=str(known.gone_before),
                begun_at=known.begun_at,
                rested_until=known.rested_until,
                evidence=rows.json_value(dict(known.evidence)),
            )
        return False

    async def _judge(self, needs: list[_Need], now: datetime, look: Look) -> None:
        horizon: Horizon | None = None
        for need in needs:
            missing = sorted(file for file in need.files if not self._covered(need, file))
            if not missing:
                need.outcome = _open(need, look.blockers) if look.blockers else await self._verified(need, look)
                continue
            reasons = [self._failed[file] for file in missing if file in self._failed]
            if in_vain := [file for file in missing if file in self._done]:
                horizon = horizon or await self._turn.horizon()
                reasons += _names(horizon, need) or [f"somebody saw what was removed while {in_vain[0]} was rewritten"]
            resting = [
                self._known[file].rested_until
                for file in missing
                if file not in self._failed and file in self._known and self._known[file].rests(now)
            ]
            need.outcome = Outcome(
                status=StepStatus.OPEN,
                evidence={"missing": missing, **_since(need)},
                settled=False,
                blocker="; ".join(reasons) or None,
                # Without a reason, what is missing has only not been come to yet, or rests.
                again_at=None if reasons else max(resting, default=now),
            )

    async def _verified(self, need: _Need, look: Look) -> Outcome:
        measured = [{"relation": file, **self._known[file].evidence} for file in sorted(need.files)]
        lsn = max((one.pop("lsn") for one in measured), key=place, default=None) or await self._turn.position()
        return Outcome(
            status=StepStatus.VERIFIED,
            evidence={"relations": measured, "lsn": lsn, **look.evidence(), **_since(need)},
            settled=True,
        )


async def _need(transaction: Transaction, step: Step, request: rows.Row) -> _Need:
    """What one request needs, or that a legal hold keeps part of it."""
    removed_by = request["removed_by"] + 1
    needed = dict.fromkeys(relations_of(request["target"], request["removed"]), removed_by)
    known = step.evidence.get("since")
    since = {str(name): str(value) for name, value in known.items()} if isinstance(known, Mapping) else {}
    need = _Need(step=step, gone_before=needed, not_before=request["not_before"], since=since)
    if request["held"]:
        # The id of a release is that of its hold: what another one keeps as well may be anything of that life.
        ids = [] if request["target"] == HOLD else request["record_ids"]
        holds = await standing_in_the_way(
            transaction, request["subject_key"], ids, with_facts=bool(request["removed"].get("sessions"))
        )
        if holds:
            review_at = rows.utc(holds[0]["review_at"])
            need.outcome = Outcome(
                status=StepStatus.OPEN,
                evidence=_since(need),
                settled=False,
                blocker=f"{HOLD_KEEPS}, to be reviewed by {instant(review_at)}",
                again_at=transaction.now + REVIEWED,
            )
            return need
        if HELD not in since:
            # What it kept was removed later, by a transaction that is not noted, but before this one looked.
            ended = await transaction.one(_SQL["ended"])
            since[HELD] = str(removed_by if ended is None else ended["before"])
    needed.update({name: min(int(value), request["next"]) for name, value in since.items()})
    return need


def _since(need: _Need) -> dict[str, object]:
    return {"since": need.since} if need.since else {}


def _names(horizon: Horizon, need: _Need) -> list[str]:
    holders = horizon.in_the_way(max(need.gone_before.values(), default=0))
    return [f"{holder} may still see what was removed" for holder in holders]


def _open(need: _Need, blockers: Iterable[str], horizon: Horizon | None = None) -> Outcome:
    evidence = _since(need)
    if horizon is not None:
        holders = horizon.in_the_way(max(need.gone_before.values(), default=0))
        evidence["holders"] = [plain(holder) for holder in holders]
    return Outcome(status=StepStatus.OPEN, evidence=evidence, settled=False, blocker="; ".join(blockers) or None)


def place(lsn: str) -> int:
    """A position of the log, as PostgreSQL writes it ("0/16B3748"), as a number."""
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
