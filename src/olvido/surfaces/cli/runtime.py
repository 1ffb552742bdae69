"""From parsed options to an open memory, and from an answer to standard output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from olvido.errors import DataDirectoryError
from olvido.surfaces.store_options import store_options

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

    from olvido.memory import Memory

Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Which store to open. target: a postgresql:// URL, a directory, or None for the default directory.

    eraser_url: for commands that rewrite files.
    """

    target: str | Path | None = field(repr=False)
    worker_url: str | None = field(repr=False)
    policy: Path | None
    keys: Path | None = None
    ledger: Path | None = None
    eraser_url: str | None = field(default=None, repr=False)
    options: str = ""
    """The options that named the store, as they follow a command that is printed."""

    @property
    def url(self) -> str | None:
        """The URL, if it is one."""
        return self.target if isinstance(self.target, str) else None


def where(
    database_url: str | None,
    data_dir: Path | None,
    policy: Path | None = None,
    *,
    worker_url: str | None = None,
    keys: Path | None = None,
    ledger: Path | None = None,
    eraser_url: str | None = None,
    erases: bool = False,
) -> Where:
    """What the options name; an option counts before any variable of the environment.

    erases: the command rewrites files, with eraser_url or what the environment names.
    """
    if database_url is not None and data_dir is not None:
        raise typer.BadParameter("--database-url and --data-dir name two stores; give one of them.")
    url = database_url
    if url is None and data_dir is None:
        url = os.environ.get("OLVIDO_DATABASE_URL") or None
    from olvido.bootstrap import URL_SCHEMES

    if url is not None and not url.startswith(URL_SCHEMES):
        raise typer.BadParameter("A database URL begins with postgresql://; for a directory use --data-dir.")
    worker = (worker_url or os.environ.get("OLVIDO_WORKER_URL") or None) if url else None
    eraser = (eraser_url or os.environ.get("OLVIDO_ERASER_URL") or None) if url and erases else None
    options = store_options(
        data_dir, ledger, database_url=database_url is not None, worker_url=worker_url is not None, keys=keys
    )
    return Where(
        target=url or data_dir,
        worker_url=worker,
        policy=policy,
        keys=keys,
        ledger=ledger,
        eraser_url=eraser,
        options=options,
    )


def existing(place: Where) -> Where:
    """The place, if there is a database: starting the embedded server would make one. Raises DataDirectoryError."""
    from olvido.bootstrap import data_directory

    if place.url is None and not (data_directory(place.target) / "pg").exists():
        raise DataDirectoryError(f"There is no memory in {data_directory(place.target)}. Name one with --data-dir.")
    return place


def run(place: Where, work: Callable[[Memory], Awaitable[Answer]]) -> Answer:
    """Open the memory at `place`, do `work` with it, close it."""
    import olvido

    async def opened() -> Answer:
        opening = olvido.open(
            place.target,
            worker_url=place.worker_url,
            eraser_url=place.eraser_url,
            policy=place.policy,
            keys=place.keys,
            ledger=place.ledger,
        )
        async with opening as memory:
            return await work(memory)

    return asyncio.run(opened())


def answer(value: object, human: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print `value` as one JSON document, or what `human` makes of it."""
    if as_json:
        from olvido.surfaces.documents import to_json

        print(to_json(value, ascii_only=not is_unicode()))  # noqa: T201 - the answer itself
        return
    from olvido.surfaces.terminal import console

    # A command that is to be pasted may be longer than a line; all else keeps to the width by itself.
    console().print(human(), crop=False)


def is_unicode() -> bool:
    """Whether standard output carries UTF-8."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def progress_bar(*, as_json: bool) -> AbstractContextManager[Progress | None]:
    """A progress bar on standard error for a person who watches; nothing in a pipe or with --json."""
    if as_json or not sys.stderr.isatty():
        return nullcontext()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from olvido.surfaces.terminal import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console(sys.stderr), transient=True)


def complain(code: str, message: str, *, as_json: bool) -> None:
    """Print what went wrong: as one JSON document, or for a person on standard error."""
    if as_json:
        print(json.dumps({"error": {"code": code, "message": message}}, indent=2))  # noqa: T201 - the answer itself
    else:
        typer.echo(f"Error ({code}): {message}", err=True)


def confirm(
    question: str,
    *,
    yes: bool,
    does: str = "This removes memory for good",
    otherwise: str = "Nothing was forgotten.",
) -> None:
    """Ask on the terminal, unless `yes`. Ends the command if the answer is no or there is nobody to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"{does}, and there is no terminal to ask. Add --yes.")
    if not typer.confirm(question, err=True):
        typer.echo(otherwise, err=True)
        raise typer.Exit(1)
