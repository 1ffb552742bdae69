"""Check two promises about the files of this repository; exit 1 and name the places that break them.

Short files: no .py or .sql file is longer than 400 lines. A longer one has more than one reason to change. Files that
are written by a program are not counted.
Portable text: no file names a package registry's host or a directory of the machine it was written on.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 400
GENERATED = {ROOT / "src" / "olvido" / "storage" / "schema.sql", ROOT / "src" / "olvido" / "sync" / "memory.py"}
# Each pattern is written so that it does not match its own source.
NOT_PORTABLE = re.compile(
    r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs|deb[.]debian[.]org|(?<![\w.~-])/(?:work|root|tmp/probe|opt/wheels)/"
)


def repository_files() -> list[Path]:
    """Files that are tracked or would be: everything git does not ignore."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    names = listing.stdout.decode().split("\0")
    return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())


def long_files(paths: list[Path]) -> Iterator[str]:
    """One line for each source file over the limit."""
    for path in paths:
        if path.suffix in {".py", ".sql"} and path not in GENERATED:
            lines = len(path.read_bytes().splitlines())
            if lines > MAX_LINES:
                yield f"{path.relative_to(ROOT)}: {lines} lines; the limit is {MAX_LINES}. Split it by what changes."


def local_text(paths: list[Path]) -> Iterator[str]:
    """One line for each line of text that holds only on one machine."""
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            found = NOT_PORTABLE.search(line)
            if found:
                yield f"{path.relative_to(ROOT)}:{number}: '{found[0]}' is a registry host or a path of one machine."


def main() -> int:
    """Print every broken promise; 0 if there is none."""
    paths = repository_files()
    problems = [*long_files(paths), *local_text(paths)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
