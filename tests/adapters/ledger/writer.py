"""A program that writes entries into a ledger and says which were acknowledged, until it is killed.

Run as: python -m tests.adapters.ledger.writer DIRECTORY COUNT. COUNT 0 is for ever. Each line is an entry's number.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path
from uuid import uuid4

from olvido.adapters.ledger import FileLedger


async def main(directory: str, count: int) -> None:
    """Announce and apply one entry after the other."""
    ledger = FileLedger(Path(directory))
    await ledger.begin()
    for _ in range(count) if count else itertools.count():
        number = await ledger.intend("acme", uuid4(), [uuid4()])
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        await ledger.applied(number)
    ledger.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
