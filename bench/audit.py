"""What sealing and verifying the audit, and receipts, take: `python -m bench.audit`. One JSON object on stdout."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import psycopg

import olvido
from bench.data import Precomputed
from olvido.adapters import embedded
from olvido.adapters.keys import KeyDirectory
from olvido.storage.queries import named

SQL = named((Path(__file__).parent / "audit.sql").read_text(encoding="utf-8"), "audit")
RECEIPTS = 50

Answer = TypeVar("Answer")


async def timed(call: Awaitable[Answer]) -> tuple[Answer, float]:
    """What a call answers, and its seconds."""
    started = time.perf_counter()
    return await call, time.perf_counter() - started


async def measure(home: Path, rows: int, companies: int) -> dict[str, float]:
    """Rates of rows a second, and milliseconds of the rest, on an embedded server in a new directory."""
    found: dict[str, float] = {}
    async with olvido.open(home, embedder=Precomputed("bench/1")) as memory:
        person = memory.scope(tenant="busy", subject="ana")
        await person.remember("prefers aisle seats", language="en")
        with embedded.start(home) as server, psycopg.connect(server.urls.superuser, autocommit=True) as connection:
            connection.execute(SQL["rows"].text, {"rows": rows})
            sealed, seconds = await timed(memory.seal_audit())
            found["sealed_rows_per_second"] = sealed.rows / seconds
            verified, seconds = await timed(memory.verify_audit())
            found["verified_rows_per_second"] = verified.chains[0].rows / seconds
            if not verified.intact or verified.chains[0].rows <= rows:
                raise AssertionError(verified)
            connection.execute(SQL["companies"].text, {"companies": companies})
        looked, seconds = await timed(memory.seal_audit(only_due=True))
        found["look_at_a_quiet_company_ms"] = 1000 * seconds / looked.companies
        report = await person.forget_all()
        if report.erasure_id is None:
            raise AssertionError(report)
        token = await memory.receipt("busy", report.erasure_id)
        started = time.perf_counter()
        for _ in range(RECEIPTS):
            token = await memory.receipt("busy", report.erasure_id)
        found["receipt_ms"] = 1000 * (time.perf_counter() - started) / RECEIPTS
    published = KeyDirectory(home.with_name(f"{home.name}-keys")).published()
    started = time.perf_counter()
    for _ in range(RECEIPTS):
        olvido.verify_receipt(token, published)
    found["verify_receipt_ms"] = 1000 * (time.perf_counter() - started) / RECEIPTS
    found["receipt_characters"] = len(token)
    return found


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000, help="of the audit of one company")
    options.add_argument("--companies", type=int, default=1_000, help="in which nothing happens")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="olvido-bench-", dir="/tmp") as place:
        found = asyncio.run(measure(Path(place) / "home", given.rows, given.companies))
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    main()
