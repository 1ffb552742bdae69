"""Work on one copy outside of one request to forget: ask for the erasure, then look (levels E4 and E5).

What a copy answers to the request proves nothing. `verified` is only what a later look found gone. What nobody can look
at is `expired` when its declared retention is over, or `confirmed` when its holder says so, and is called that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from olvido.domain.copies import BACKUPS, DEADLINE, RegisteredCopy
from olvido.domain.erasure import Outcome, Step, StepStatus, Target
from olvido.errors import CopyProblem, CopyUnavailable
from olvido.operations.copies import KnownCopy, known_copy
from olvido.operations.environment import Environment
from olvido.operations.read_clock import read_clock
from olvido.ports import Connector

log = logging.getLogger("olvido.erase")

SECONDS = 30.0
"""For one call of a connector. A step makes four at most, and whoever works on it keeps others away for longer."""
STILL_HERE = timedelta(hours=6)
"""How often it is looked whether what backups are made of is free of it."""
OVERDUE = timedelta(days=1)
"""How often somebody is reminded of a holder whose time is over."""

_ADVICE = {
    CopyProblem.FAILED: "it failed; look at its log",
    CopyProblem.NOT_REGISTERED: "its connector is not known where it is asked",
    CopyProblem.UNREACHABLE: "it was not reached; check its address and whether it runs",
    CopyProblem.TIMED_OUT: "it did not answer in time; look whether it is overloaded",
    CopyProblem.BUSY: "it takes no more requests now",
    CopyProblem.UNAUTHORIZED: "it refused the key or login",
    CopyProblem.REFUSED: "it refused the request",
    CopyProblem.NOT_UNDERSTOOD: "it answered something that cannot be understood",
    CopyProblem.NOBODY_KNOWN: "it knows of nothing of this person and cannot say that there never was anything, so "
    "nothing was looked at: its holder has to look, and to confirm it",
    CopyProblem.UNSAFE: "what is there cannot be erased safely; look at it by hand",
}
_NO_RECORDS = "it knows no single records: its holder has to look, and to confirm it"
_NO_IDENTIFIER = "the external id by which it would be found is not kept any more: its holder has to confirm it"
_STILL_HERE = "backups of today may have it: it is still in the files or the log of this database"
_NOT_SET = (
    "the environment {0} {names}, which the copy {copy} of the policy names, {1} not set where this worker runs: set "
    "{2} there"
)
_OTHER_POLICY = (
    "the copy {copy} was declared with the connector {connector}, and the policy that this worker runs with does not "
    "declare that: give the worker the policy that does (--policy)"
)
_OWN_CODE = (
    "the connector {connector} of the copy {copy} is made by your own code, and this worker has none: run the worker "
    "from there, with olvido.open(connectors={{...}})"
)
_OVERDUE = "the time of its holder is over: ask, and confirm it with what shows that it is erased"

Answer = TypeVar("Answer")


async def work_on_copy(
    environment: Environment, step: Step, target: Target | None, *, seconds: float = SECONDS
) -> Outcome:
    """Do what can be done now about one copy outside, and say what came of it.

    step: a `copy:` step that is due. target: whom it is about; None if the external id is not kept. seconds: for each
    call of a connector. Whoever stores a settled outcome calls `let_identifier_go` in the same transaction.
    """
    known = await known_copy(environment, step)
    if known.copy is None or known.copy.connector is None:
        return _wait(step, known)
    if target is None:
        return _by_hand(step, known, _NO_IDENTIFIER)
    connector = environment.connectors.get(known.copy.connector)
    if connector is None:
        return _unknown(environment, step, known.copy)
    if target.record_ids is not None and not connector.by_record:
        return _by_hand(step, known, _NO_RECORDS)
    return await _Asking(environment, step, connector, target, seconds).work()


class _Asking:
    """One attempt to have a copy erased by its connector. evidence: what is known so far, also where a call fails."""

    def __init__(
        self, environment: Environment, step: Step, connector: Connector, target: Target, seconds: float
    ) -> None:
        self._environment = environment
        self._step = step
        self._connector = connector
        self._target = target
        self._seconds = seconds
        self._doing = "find"
        self.evidence: dict[str, object] = dict(step.evidence)

    async def work(self) -> Outcome:
        """Look, if it was asked before; ask, if that found anything or it was not; look again."""
        try:
            if "asked_at" in self.evidence:
                outcome = await self._look()
                if outcome.status is not StepStatus.REMAINING:
                    return outcome
            self.evidence.setdefault("found", _count(await self._call("find", self._connector.find)))
            await self._call("erase", self._connector.erase)
            self.evidence["asked_at"] = (await read_clock(self._environment)).isoformat()
            return await self._look()
        except CopyUnavailable as error:
            return _blocked(self._step, self.evidence, self._doing, error.problem)

    async def _look(self) -> Outcome:
        left = await self._call("verify", self._connector.verify)
        if left is None:
            return Outcome(status=StepStatus.REQUESTED, evidence=self.evidence, settled=False)
        self.evidence |= {"left": _count(left), "looked_at": (await read_clock(self._environment)).isoformat()}
        if left:
            blocker = f"after it was asked to erase, {left} of what it holds were still there"
            return Outcome(status=StepStatus.REMAINING, evidence=self.evidence, settled=False, blocker=blocker)
        return Outcome(status=StepStatus.VERIFIED, evidence=self.evidence, settled=True)

    async def _call(self, doing: str, ask: Callable[[Target], Awaitable[Answer]]) -> Answer:
        self._doing = doing
        try:
            async with asyncio.timeout(self._seconds):
                return await ask(self._target)
        except CopyUnavailable:
            raise
        except TimeoutError:
            raise CopyUnavailable("No answer.", problem=CopyProblem.TIMED_OUT) from None
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the worker is to stop; otherwise the connector cancelled something of its own
            raise _failed(doing, error) from None
        except Exception as error:  # noqa: BLE001 - a connector is anybody's code
            raise _failed(doing, error) from None


def _failed(doing: str, error: BaseException) -> CopyUnavailable:
    """Whatever a connector raises may quote ids: only the name of its class is kept."""
    log.warning(
        "connector failed",
        extra={"action": "connector_failed", "doing": doing, "problem": type(error).__name__},
    )
    return CopyUnavailable("It raised an error.", problem=CopyProblem.FAILED)


def _count(answer: object) -> int:
    """What a connector counted. Raises CopyUnavailable for what is no number of things, such as True or -1."""
    if type(answer) is not int or answer < 0:
        raise CopyUnavailable("Not a number of things.", problem=CopyProblem.NOT_UNDERSTOOD)
    return answer


def _blocked(step: Step, evidence: dict[str, object], doing: str, problem: CopyProblem) -> Outcome:
    """A call failed: what was asked for stays asked for, and nobody has looked since."""
    log.warning("copy not reached", extra={"action": "copy_blocked", "step": step.step, "problem": str(problem)})
    return Outcome(
        status=StepStatus.REQUESTED if "asked_at" in evidence else StepStatus.OPEN,
        evidence=evidence,
        settled=False,
        blocker=f"{doing}: {_ADVICE[problem]} ({problem})",
    )


def _unknown(environment: Environment, step: Step, copy: RegisteredCopy) -> Outcome:
    """This worker has no connector for the copy: which one, what it takes to have it, and what to do."""
    log.warning("no connector", extra={"action": "copy_blocked", "step": step.step, "problem": "not_registered"})
    declared = next((one for one in environment.policy.copies if one.name == copy.name), None)
    unset = environment.unset.get(copy.name, ())
    if unset:
        words = ("variable", "is", "it") if len(unset) == 1 else ("variables", "are", "them")
        reason = _NOT_SET.format(*words, copy=copy.name, names=" and ".join(unset))
    elif declared is None or declared.connected != copy.connector:
        reason = _OTHER_POLICY.format(copy=copy.name, connector=copy.connector)
    else:
        reason = _OWN_CODE.format(copy=copy.name, connector=copy.connector)
    return Outcome(
        status=StepStatus.REQUESTED if "asked_at" in step.evidence else StepStatus.OPEN,
        evidence=step.evidence,
        settled=False,
        blocker=f"{reason}; or write down its holder's word: `olvido erasure confirm` ({CopyProblem.NOT_REGISTERED})",
    )


def _wait(step: Step, known: KnownCopy) -> Outcome:
    """A copy that nothing here can erase: it goes by itself, or its holder acts, whatever comes first."""
    if known.copy is None or known.copy.retention is None:
        return _by_hand(step, known)
    begins_at = known.requested_at
    by_hand = step.status in {StepStatus.MANUAL, StepStatus.NEEDS_ATTENTION}
    if known.copy.kind in BACKUPS:
        if known.gone_here_at is None and by_hand:
            return _by_hand(step, known)
        if known.gone_here_at is None:
            return Outcome(
                status=StepStatus.OPEN,
                evidence=step.evidence,
                settled=False,
                blocker=_STILL_HERE,
                again_at=known.now + STILL_HERE,
            )
        begins_at = max(begins_at, known.gone_here_at)
    gone_at = begins_at + known.copy.retention
    if known.now < gone_at:
        if by_hand:
            return _by_hand(step, known)
        return Outcome(
            status=StepStatus.OPEN, evidence=step.evidence, settled=False, again_at=gone_at, deadline=gone_at
        )
    expired: dict[str, object] = {
        "gone_by": gone_at.isoformat(),
        "declared_retention_seconds": int(known.copy.retention.total_seconds()),
        "looked": False,
        "at": known.now.isoformat(),
    }
    return Outcome(status=StepStatus.EXPIRED, evidence={**step.evidence, **expired}, settled=True)


def _by_hand(step: Step, known: KnownCopy, reason: str | None = None) -> Outcome:
    """Its holder has to act, and somebody to confirm that; after the deadline it needs attention."""
    deadline = step.deadline or known.requested_at + DEADLINE
    overdue = deadline <= known.now
    return Outcome(
        status=StepStatus.NEEDS_ATTENTION if overdue else StepStatus.MANUAL,
        evidence=step.evidence,
        settled=False,
        blocker=reason or (_OVERDUE if overdue else None),
        again_at=known.now + OVERDUE if overdue else deadline,
        deadline=deadline,
    )
