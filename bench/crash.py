"""Kill the database server and programs that use it at random moments, and look at what is left: `make bench-crash`.

Progress goes to stderr. The last line of stdout is one JSON object. The exit code is 1 if anything acknowledged is
missing, anything is there in part, or anything forgotten came back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path

import psutil

from bench.crash_checks import Checks, read_log
from bench.crash_client import NOW, TENANT, opened
from bench.measure import say
from olvido import Memory
from olvido.adapters import embedded
from olvido.errors import OlvidoError

ROUNDS = 200
SEED = 11
LINES = 150
"""Most lines of its log after which a round is cut off; each job of the program has come round several times then."""
STARTING = 0.15
"""Share of the rounds that are cut off at a random moment while the program starts."""
START_SECONDS = 1.2
WAIT_SECONDS = 60.0
POLL_SECONDS = 0.004

HOWS = ("client", "postmaster", "server", "backend", "both")
"""What is killed first: the program; the server's first process, whose others then leave; all processes of the server
at once, as when the machine stops; one of them, after which the server recovers by itself; the program and the first
process together. The program is killed in the end in every case."""


def server_process(home: Path) -> psutil.Process | None:
    """The first process of the server that runs in this directory."""
    try:
        pid = int((home / "pg" / "postmaster.pid").read_text(encoding="ascii").split()[0])
        process = psutil.Process(pid)
        return process if process.name() == "postgres" else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def kill_server(home: Path, how: str, chance: random.Random) -> None:
    """Send SIGKILL to what `how` names. Nothing happens if no server runs yet."""
    first = server_process(home)
    if first is None:
        return
    with suppress(psutil.Error):
        others = first.children(recursive=True)
        doomed = {"server": [first, *others], "backend": chance.sample(others, k=min(1, len(others)))}
        for process in doomed.get(how, [first]):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def wait_until(condition: Callable[[], bool]) -> bool:
    """Whether it became true in time."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(POLL_SECONDS)
    return False


@asynccontextmanager
async def witness(home: Path, checks: Checks, name: str) -> AsyncIterator[None]:
    """Another process that has the directory open: what it wrote is there, and it goes on after the crash."""
    async with opened(home, NOW) as memory:
        await _write(memory, name, "before")
        yield
        try:
            await _write(memory, name, "after")
            person = memory.scope(tenant=TENANT, subject=name)
            served = {episode.event_id for episode in (await person.episodes()).items} == {"before", "after"}
        except OlvidoError as error:
            say(f"  the other process: {error.code}")
            served = False
        checks.tally.ask("other_process_goes_on", name, served=served)


async def _write(memory: Memory, name: str, event: str) -> None:
    await memory.scope(tenant=TENANT, subject=name).remember(event, event_id=event, language="en")


def run_and_kill(home: Path, log: Path, name: str, how: str, *, lines: int, chance: random.Random) -> bool | None:
    """Let the program work until a random moment, then kill what is to be killed, the program last.

    Whether the program got that far; None where it was not given the time.
    """
    worked = None
    with log.with_suffix(".err").open("wb") as errors:
        command = [sys.executable, "-m", "bench.crash_client", str(home), str(log), name]
        program = subprocess.Popen(command, stderr=errors)  # noqa: S603 - this interpreter, our own module
    try:
        if chance.random() < STARTING:
            time.sleep(chance.uniform(0, START_SECONDS))
        else:
            enough = chance.randrange(1, lines)
            wait_until(lambda: program.poll() is not None or len(read_log(log)) >= enough)
            worked = program.poll() is None and len(read_log(log)) >= enough
            if not worked:
                say(log.with_suffix(".err").read_text(encoding="utf-8", errors="replace")[-2000:])
        if how == "both":
            program.send_signal(signal.SIGKILL)
        if how != "client":
            kill_server(home, how, chance)
            # As whoever opens the directory next would. Handles from before must find the server again.
            embedded.start(home).close()
            if how != "both":
                time.sleep(chance.uniform(0, 0.3))
    finally:
        program.kill()
        program.wait()
    return worked


async def crash(home: Path, *, rounds: int, lines: int, seed: int) -> tuple[Checks, dict[str, object]]:
    """All rounds in one directory, which does not exist yet."""
    chance = random.Random(seed)
    checks, kills = Checks(), Counter[str]()
    for number in range(rounds):
        how = HOWS[number % len(HOWS)]
        name, log = f"r{number}", home.parent / f"{number}.log"
        # Not in the first round: its program creates the directory.
        other = witness(home, checks, f"w{number}") if number % 2 == 1 else nullcontext()
        async with other:
            worked = await asyncio.to_thread(run_and_kill, home, log, name, how, lines=lines, chance=chance)
        if worked is not None:
            checks.tally.ask("program_got_to_work", name, served=worked)
        kills[how] += 1
        said = read_log(log)
        with embedded.start(home):
            await checks.after_crash(home, said)
        log.unlink(missing_ok=True)
        say(f"round {number + 1} of {rounds}: {how}, {len(said)} lines, {sum(checks.acknowledged.values())} in all")
    facts: dict[str, object] = {
        "rounds": rounds,
        "seed": seed,
        "kills": dict(kills),
        "acknowledged": dict(sorted(checks.acknowledged.items())),
    }
    return checks, facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Crash and print; 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(prog="bench.crash", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--lines", type=int, default=LINES, help="a round is cut off within so many lines of its log")
    parser.add_argument("--seed", type=int, default=SEED, help="what decides when and what is killed")
    options = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp(prefix="olvido-crash-")).resolve()
    try:
        checks, facts = asyncio.run(
            crash(place / "home", rounds=options.rounds, lines=options.lines, seed=options.seed)
        )
    finally:
        shutil.rmtree(place)
    print(json.dumps({**facts, "measures": checks.tally.document(), "passed": checks.tally.passed}))
    return 0 if checks.tally.passed else 1


if __name__ == "__main__":
    # Connections that break are the point here; only of this process, not of a caller.
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    sys.exit(main())
