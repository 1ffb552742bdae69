"""Work on the write-ahead log (E3): out of its files here, and replayed by every replica."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.erasure import COPY, FILES, Outcome, Step, StepStatus
from olvido.domain.plain import instant
from olvido.domain.policy_document import CopyKind
from olvido.operations.environment import Environment
from olvido.storage.queries import statements
from olvido.storage.rewriting import EraserTurn
from olvido.storage.rewriting_log import LogEnd, LogLook, look_at_log, receivers, turn_over

_SQL = statements("erasures")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Log:
    """What one request needs of the log. lsn: it stands before that position, in files up to the one that `end` names.

    replicas: names of those that are declared. archived: whether an archive is.
    """

    lsn: str
    end: LogEnd | None
    replicas: frozenset[str]
    archived: bool


async def work_on_log(environment: Environment, turn: EraserTurn, steps: Sequence[Step]) -> list[Outcome]:
    """Turn the log over once for all these requests, and look at what each needs of it."""
    logs = await _logs(environment, steps)
    receiving = await receivers(turn.connection)
    ready = [log for log in logs if log.replicas <= receiving]
    # A replica that is away may need the log when it comes back.
    turned = await turn_over(turn.connection, [log.end for log in ready]) if ready else None
    looks: dict[tuple[str, LogEnd, bool], LogLook] = {}
    outcomes = []
    for log in logs:
        away = sorted(log.replicas - receiving)
        if away or turned is None:
            outcomes.append(_open(log, log.end, f"the declared replica {', '.join(away)} is not connected"))
            continue
        end = log.end if log.end is not None and log.end.at >= turned.set_at else turned.end
        if turned.problem is not None or end is None:
            outcomes.append(_open(log, end, turned.problem))
            continue
        asked = (log.lsn, end, log.archived)
        if asked not in looks:
            looks[asked] = await look_at_log(turn.connection, log.lsn, end, archived=log.archived)
        outcomes.append(_judged(log, end, looks[asked], turned.switches))
    return outcomes


async def _logs(environment: Environment, steps: Sequence[Step]) -> list[_Log]:
    by_tenant: dict[str, list[Step]] = {}
    for step in steps:
        by_tenant.setdefault(step.tenant, []).append(step)
    found: dict[tuple[str, UUID], _Log] = {}
    policy = environment.policy.copies
    declared = frozenset(copy.name for copy in policy if copy.kind is CopyKind.REPLICA)
    archived = any(copy.kind is CopyKind.ARCHIVE for copy in policy)
    for tenant, theirs in by_tenant.items():
        async with environment.database.administer(tenant) as transaction:
            ids = [step.erasure_id for step in theirs]
            others = await transaction.all(_SQL["of_requests"], erasure_ids=ids)
        for step in theirs:
            own = [row for row in others if row["erasure_id"] == step.erasure_id]
            lsn = next(row["evidence"]["lsn"] for row in own if row["step"] == FILES)
            # One whose holder confirmed that it is gone is waited for no more.
            replicas = {
                row["step"].removeprefix(COPY)
                for row in own
                if row["kind"] == CopyKind.REPLICA and row["settled_at"] is None
            }
            found[tenant, step.erasure_id] = _Log(
                lsn=lsn,
                end=_known_end(step, lsn),
                replicas=declared | replicas,
                archived=archived or any(row["kind"] == CopyKind.ARCHIVE for row in own),
            )
    return [found[step.tenant, step.erasure_id] for step in steps]


def _known_end(step: Step, lsn: str) -> LogEnd | None:
    """The end that an earlier look noted, if it was for the same position."""
    known = step.evidence
    if known.get("lsn") != lsn or "log_end" not in known:
        return None
    return LogEnd(last=str(known["log_end"]), at=datetime.fromisoformat(str(known["log_end_at"])))


def _open(log: _Log, end: LogEnd | None, blocker: str | None) -> Outcome:
    return Outcome(status=StepStatus.OPEN, evidence=_noted(log, end), settled=False, blocker=blocker)


def _judged(log: _Log, end: LogEnd, look: LogLook, switches: int) -> Outcome:
    evidence = {
        **_noted(log, end),
        "checked_at": instant(look.checked_at),
        "files_left": look.files,
        "switches": switches,
        "replicas": [{"name": replica.name, "replayed": replica.lsn} for replica in look.replicas],
    }
    if look.blockers:
        return Outcome(status=StepStatus.OPEN, evidence=evidence, settled=False, blocker="; ".join(look.blockers))
    return Outcome(status=StepStatus.VERIFIED, evidence=evidence, settled=True)


def _noted(log: _Log, end: LogEnd | None) -> dict[str, object]:
    """What a later look goes on with."""
    known = {} if end is None else {"log_end": end.last, "log_end_at": instant(end.at)}
    return {"lsn": log.lsn, **known}
