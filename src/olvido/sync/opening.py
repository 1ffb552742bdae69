"""Open a memory for callers without an event loop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olvido import bootstrap
from olvido.domain.policy import Policy
from olvido.ports import Clock, Connector, Embedder, LanguageDetector, SessionCache
from olvido.sync.memory import Memory
from olvido.sync.portal import Portal


def open(  # noqa: A001 - `olvido.sync.open()` reads as what it does
    target: str | Path | None = None,
    *,
    worker_url: str | None = None,
    eraser_url: str | None = None,
    policy: Policy | str | Path | None = None,
    embedder: Embedder | None = None,
    detector: LanguageDetector | None = None,
    clock: Clock | None = None,
    pool_size: int = 10,
    timeout: float = 30.0,
    keys: str | Path | None = None,
    ledger: str | Path | None = None,
    connectors: Mapping[str, Connector] | None = None,
    cache: SessionCache | None = None,
) -> Memory:
    """Open a memory: `with olvido.sync.open() as memory:`, or close it yourself.

    Takes what `olvido.open` takes and raises what it raises. Calls may come from any thread.
    """
    opening = bootstrap.open(
        target,
        worker_url=worker_url,
        eraser_url=eraser_url,
        policy=policy,
        embedder=embedder,
        detector=detector,
        clock=clock,
        pool_size=pool_size,
        timeout=timeout,
        keys=keys,
        ledger=ledger,
        connectors=connectors,
        cache=cache,
    )
    portal = Portal()
    try:
        return Memory(portal, portal.call(opening.opened()))
    except BaseException:
        portal.close()
        raise
