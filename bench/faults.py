"""Let the Nth statement of following up a forget fail, for every N until none does: `make bench-faults`.

Progress goes to stderr. The last line of stdout is one JSON object. The exit code is 1 if a request claims what is not
so, a step of it is lost, a byte of the forgotten is left, or a neighbour changed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench.fault_checks import RETENTION, Checks
from bench.measure import say
from olvido.errors import OlvidoError
from olvido.operations.erase import LEASE
from olvido.testing import ManualClock
from tests.contract.faulting import How, failing
from tests.contract.support import Outside
from tests.erasure.conftest import new_place
from tests.erasure.copies_support import CONNECTED, Copy, declaring

START = datetime(2026, 1, 1, tzinfo=UTC)
CALLS = 6
"""Most calls that may be needed after a fault; each begins when whatever the one before left is due again."""
LATER = max(LEASE, timedelta(hours=1)) + timedelta(minutes=1)

BACKUP = {"name": "nightly", "kind": "backup", "holder": "platform", "retention": f"{RETENTION.seconds // 3600}h"}


@dataclass(kw_only=True, slots=True)
class Way:
    """What came of one way of failing. statements: of a run without a fault, the last that was tried.

    raised: runs that ended with an error; the others went on over the fault. calls: most that one needed afterwards.
    """

    rounds: int = 0
    statements: int = 0
    raised: int = 0
    calls: int = 0

    def document(self) -> dict[str, int]:
        """As it is printed."""
        return {
            "rounds": self.rounds,
            "statements": self.statements,
            "raised": self.raised,
            "most_calls_afterwards": self.calls,
        }


@asynccontextmanager
async def arranged() -> AsyncIterator[Checks]:
    """A place of its own, opened, with two copies outside and people who are not to be touched."""
    clock, crm = ManualClock(START), Copy(things={})
    with new_place() as place, Outside(place.urls.superuser) as outside:
        async with place.opening(clock, declaring(CONNECTED, BACKUP), {"crm": crm}) as memory:
            checks = Checks(place=place, memory=memory, clock=clock, outside=outside, crm=crm)
            await checks.begin()
            yield checks


async def sweep(*, first: int, every: int, hows: Sequence[How]) -> tuple[Checks, dict[str, object]]:
    """All rounds in one place, one person each."""
    async with arranged() as checks:
        ways = {how: await _way(checks, how, first=first, every=every) for how in hows}
        found = checks.everywhere()
    facts: dict[str, object] = {
        "first": first,
        "every": every,
        "hows": {str(how): way.document() for how, way in ways.items()},
        "files_with_a_byte": dict(found),
    }
    return checks, facts


async def _way(checks: Checks, how: How, *, first: int, every: int) -> Way:
    way = Way()
    begun = time.monotonic()
    for number in itertools.count(first, every):
        where = f"{how} at {number}"
        one = await checks.forget(where)
        untyped = None
        with failing(number, how) as fault:
            try:
                await checks.memory.erase_pending()
            except OlvidoError:
                way.raised += 1
            except Exception as error:  # noqa: BLE001 - what it may be is the question
                untyped = type(error).__name__
        checks.tally.ask("untyped_error", f"{where}: {untyped}", served=untyped is not None)
        if how is How.CRASHED:
            checks.recovered()
        await checks.claims(one, where)
        way.calls = max(way.calls, await go_on(checks))
        await checks.end(one, where)
        way.rounds += 1
        if not fault.reached:
            way.statements = fault.sent
            say(f"{how}: {way.rounds} rounds, {fault.sent} statements, {time.monotonic() - begun:.0f} s")
            return way
        if way.rounds % 20 == 0:
            say(f"  {where}, {time.monotonic() - begun:.0f} s")
    raise AssertionError  # the numbers do not end


async def go_on(checks: Checks) -> int:
    """Follow up what is left, once it is due again; how many calls that took."""
    wait = LATER
    for call in range(1, CALLS + 1):
        checks.clock.advance(wait)
        report = await checks.memory.erase_pending()
        if report.next_due_at is None:
            return call
        wait = max(LATER, report.next_due_at - checks.clock.now())
    return CALLS


def main(arguments: Sequence[str] | None = None) -> int:
    """Fail and print; 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(prog="bench.faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=1, help="the first statement that fails")
    parser.add_argument("--every", type=int, default=1, help="only every so many of them")
    parser.add_argument("--how", action="append", choices=list(How), type=How, help="only these ways of failing")
    options = parser.parse_args(arguments)
    checks, facts = asyncio.run(sweep(first=options.first, every=options.every, hows=options.how or tuple(How)))
    print(json.dumps({**facts, "measures": checks.tally.document(), "passed": checks.tally.passed}))
    return 0 if checks.tally.passed else 1


if __name__ == "__main__":
    # Connections that break are the point here; only of this process, not of a caller.
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    logging.getLogger("olvido").setLevel(logging.CRITICAL)
    sys.exit(main())
