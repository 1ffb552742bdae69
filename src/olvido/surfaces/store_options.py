"""The options that name a store in a command that is printed, so that it can be pasted."""

from __future__ import annotations

import shlex
from pathlib import Path


def store_options(
    data_dir: Path | None = None,
    ledger: Path | None = None,
    *,
    database_url: bool = False,
    worker_url: bool = False,
    keys: Path | None = None,
) -> str:
    """Such as " --data-dir po --ledger there"; empty if the environment, or the default, names it.

    database_url, worker_url: whether they were given. They may hold a password, so another word stands for them.
    """
    places = (("--data-dir", data_dir), ("--ledger", ledger), ("--keys", keys))
    urls = (("--database-url", database_url), ("--worker-url", worker_url))
    said = [f" {name} {shlex.quote(str(path))}" for name, path in places if path is not None]
    return "".join([*(f" {name} URL" for name, given in urls if given), *said])
