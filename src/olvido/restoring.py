"""A database that was put back: see what it lacks of its erasure ledger, and open it by forgetting again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from olvido.bootstrap import Settings, environment_of
from olvido.domain.ledger import ReplayReport, RestoreReport
from olvido.domain.policy import Policy
from olvido.operations import restore
from olvido.operations.copies import register_copies
from olvido.ports import Embedder


async def restore_check(
    target: str | Path | None = None,
    *,
    worker_url: str | None = None,
    ledger: str | Path | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 - of connections, as `open` takes it
) -> RestoreReport:
    """Compare a database with its erasure ledger, whether it is served or not. Changes nothing.

    target, worker_url, ledger, timeout: as `open` takes them; the login of a worker is needed. Raises what `open`
    raises but StoreLocked: the report says that, and why.
    """
    settings = _for_restore(target, worker_url=worker_url, ledger=ledger, timeout=timeout)
    async with AsyncExitStack() as stack:
        return await restore.check(await environment_of(settings, stack, locked=True))
    raise AssertionError  # the stack suppresses nothing


async def restore_replay(
    target: str | Path | None = None,
    *,
    worker_url: str | None = None,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
    policy: Policy | str | Path | None = None,
    embedder: Embedder | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 - of connections, as `open` takes it
    progress: Callable[[int, int], None] | None = None,
) -> ReplayReport:
    """Open a database that was put back: remove again what its erasure ledger says was forgotten.

    target, worker_url, ledger, policy, embedder, timeout: as `open` takes them; the login of a worker is needed.
    new_ledger, progress, and what it raises beside what `open` raises: see `olvido.operations.restore.replay`.
    """
    settings = _for_restore(
        target, worker_url=worker_url, ledger=ledger, timeout=timeout, policy=policy, embedder=embedder
    )
    async with AsyncExitStack() as stack:
        environment = await environment_of(settings, stack, locked=True)
        await register_copies(environment)
        return await restore.replay(environment, new_ledger=new_ledger, progress=progress)
    raise AssertionError  # the stack suppresses nothing


def _for_restore(
    target: str | Path | None,
    *,
    worker_url: str | None,
    ledger: str | Path | None,
    timeout: float,
    policy: Policy | str | Path | None = None,
    embedder: Embedder | None = None,
) -> Settings:
    return Settings(
        target=target,
        worker_url=worker_url,
        eraser_url=None,
        policy=policy,
        embedder=embedder,
        detector=None,
        clock=None,
        pool_size=2,
        timeout=timeout,
        keys=None,
        ledger=ledger,
    )
