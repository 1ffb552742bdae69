"""A process that corrects one preference many times at once, whenever its parent says which version to expect.

Run as: python -m tests.contract.rival APP_URL TENANT SUBJECT. It writes "ready", then a line of JSON for each version
that it reads.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

import olvido
from olvido import ScopedMemory
from tests.contract.support import CONFIRMED, PlainEmbedder, together

CALLS = 50


async def compete(memory: ScopedMemory, version: int, who: str) -> Counter[str]:
    """Correct the display name in fifty calls at once, all expecting `version`: how many got which answer."""
    calls = (
        memory.correct_preference(
            "display_name", f"{who} {version}.{number}", origin=CONFIRMED, expected_version=version
        )
        for number in range(CALLS)
    )
    return Counter(
        answer.code if isinstance(answer, olvido.OlvidoError) else f"version {answer.record.version}"
        for answer in await together(calls)
    )


async def main(url: str, tenant: str, subject: str) -> None:
    """Compete once for each line that comes in."""
    async with olvido.open(url, embedder=PlainEmbedder(), pool_size=8) as opened:
        memory = opened.scope(tenant=tenant, subject=subject)
        _say("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            _say(json.dumps(await compete(memory, int(line), "rival")))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
