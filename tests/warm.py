"""Programs in processes of their own that begin at once: forks of a process which has imported Olvido and done no more.

A new interpreter takes longer to import all of it than most of these programs live. That the command line and the
clients of the benchmarks run in one is shown where these are tested.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any, TextIO

Main = Callable[..., Coroutine[Any, Any, None]]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.warm", "olvido.bootstrap", "tests.contract.support"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """One that runs. output: what it writes, line by line."""

    process: ForkServerProcess
    output: TextIO

    def kill(self) -> None:
        """End it as the kernel would: no handler runs."""
        self.process.kill()
        self.process.join()

    def end(self) -> int:
        """Wait until it has ended, and say how: its exit code, or the negative number of a signal."""
        self.process.join(60)
        code = self.process.exitcode
        assert code is not None, "it goes on"
        return code


@contextmanager
def program(main: Main, *arguments: str) -> Iterator[Program]:
    """A process that runs `main`, with the environment of this one; it is killed at the end if it still runs."""
    reader, writer = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_run, args=(main, arguments, dict(os.environ), writer))
    with os.fdopen(os.dup(reader.fileno()), encoding="utf-8") as output:
        reader.close()
        process.start()
        # The only one that writes is the program: what it wrote ends with it.
        writer.close()
        running = Program(process=process, output=output)
        try:
            yield running
        finally:
            running.kill()
            process.close()


def _run(main: Main, arguments: tuple[str, ...], environment: Mapping[str, str], output: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(output.fileno(), sys.stdout.fileno())
    output.close()
    asyncio.run(main(*arguments))
