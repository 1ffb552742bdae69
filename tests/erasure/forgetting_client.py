"""A program that forgets somebody and is killed at a chosen moment.

It is told APP_URL WORKER_URL LEDGER MOMENT TARGET. MOMENT is "intended", "committed" (before it is noted) or "done";
TARGET is "person" (all of ana at acme), "note" (her note) or "company".
"""

from __future__ import annotations

import os
import signal
from typing import Any

import olvido
from olvido.adapters.ledger import FileLedger
from tests.contract.support import PlainDetector, PlainEmbedder


def dying(method: Any, *, after: bool) -> Any:  # noqa: ANN401 - any method of the ledger
    """The method, and the end of this process before or after it."""

    async def dies(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401
        if after:
            await method(*arguments, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    return dies


async def main(app: str, worker: str, ledger: str, moment: str, target: str) -> None:
    """Forget."""
    if moment == "intended":
        FileLedger.intend = dying(FileLedger.intend, after=True)  # type: ignore[method-assign]
    if moment == "committed":
        FileLedger.applied = dying(FileLedger.applied, after=False)  # type: ignore[method-assign]
    opening = olvido.open(app, worker_url=worker, ledger=ledger, embedder=PlainEmbedder(), detector=PlainDetector())
    async with opening as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        if target == "person":
            await ana.forget_all()
        elif target == "company":
            await memory.forget_tenant("acme")
        else:
            (note,) = (await ana.episodes(definition="note")).items
            await ana.forget(note.record_id)
