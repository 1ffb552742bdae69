"""A program that follows up what was forgotten until it is killed.

Run as: python -m tests.erasure.erase_client HOME LEDGER KEYS EVENTS. It says a word on a line whenever a relation was
written anew ("relation") and whenever steps were stored ("steps"), and after EVENTS of these it does nothing more.
"""

from __future__ import annotations

import asyncio
import sys
import time

import olvido
from olvido.domain.policy_file import default_policy
from olvido.storage.rewriting import EraserTurn, NotRewritten, Rewritten
from tests.contract.support import PlainDetector
from tests.operations.word_embedder import WordEmbedder


class Told:
    """Says what happens, and stops for good after so many times."""

    def __init__(self, events: int) -> None:
        self._left = events

    def say(self, word: str) -> None:
        """Say one word, or never come back."""
        sys.stdout.write(f"{word}\n")
        sys.stdout.flush()
        self._left -= 1
        while self._left <= 0:
            time.sleep(60)


async def main(home: str, ledger: str, keys: str, events: str) -> None:
    """Work, as a worker does."""
    told = Told(int(events))
    real = EraserTurn.rewrite

    async def rewrite(turn: EraserTurn, relation: str) -> Rewritten | NotRewritten:
        done = await real(turn, relation)
        told.say("relation")
        return done

    EraserTurn.rewrite = rewrite  # type: ignore[assignment, method-assign]
    opening = olvido.open(
        home,
        ledger=ledger,
        keys=keys,
        policy=default_policy(),
        embedder=WordEmbedder(),
        detector=PlainDetector(),
    )
    async with opening as memory:
        await memory.erase_pending(progress=lambda _: told.say("steps"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
