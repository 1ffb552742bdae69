"""What the tests of the embedded database share: other processes, waiting, and a look at the server from outside."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import psycopg

USER_PROGRAM = """
import os, sys
from pathlib import Path
from olvido.adapters.embedded import start

if len(sys.argv) > 2:
    uid, gid, other_home = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    start(other_home).close()  # imports all that is needed: the new user may not be able to read the interpreter
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
server = start(Path(sys.argv[1]))
print(server.urls.app, flush=True)
order = sys.stdin.readline().strip()
if order == "close":
    server.close()
    print("closed", flush=True)
"""
"""Uses the database until it is told to "close", or ends with the handle open. As another user, if one is given."""


class Program:
    """Another process that runs Python code. It is killed at the end of the `with` block if it still runs."""

    def __init__(self, home: Path, code: str = USER_PROGRAM, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, str(home), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def read(self) -> str:
        """The next line that the program prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, order: str) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def finish(self, order: str) -> list[str]:
        """Send a last line, wait until the program ends well, and return what it printed until then."""
        output, _ = self.process.communicate(f"{order}\n", timeout=60)
        assert self.process.returncode == 0
        return output.splitlines()

    def kill(self) -> None:
        """End it as the kernel would: no handler runs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=60)


def program_of(user: pwd.struct_passwd, home: Path, *, other_home: Path) -> Program:
    """`USER_PROGRAM` run by a user, which needs a home directory of ours to warm up."""
    if user.pw_uid == os.geteuid():
        return Program(home)
    return Program(home, USER_PROGRAM, str(user.pw_uid), str(user.pw_gid), str(other_home))


def eventually(condition: Callable[[], bool], *, seconds: float = 30.0) -> bool:
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.002)
    return False


def query(url: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement on a connection of its own, committed."""
    with psycopg.connect(url, connect_timeout=10) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description is not None else []


def server_pid(home: Path) -> int | None:
    """The process id of the running server of this home directory; None if none runs."""
    try:
        pid = int((home / "pg" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        process = psutil.Process(pid)
        return pid if process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None


def kill_server(home: Path) -> int:
    """Kill the server process, as the kernel does when memory runs out, and return its id."""
    pid = server_pid(home)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: server_pid(home) is None)
    return pid


def ordinary_user() -> pwd.struct_passwd:
    """A user without privileges: `nobody` if we are root, else ourselves."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
