"""`olvido export`: everything that is live of one person."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, LedgerDir, PolicyFile, Subject, Tenant
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from olvido.domain.export import Export
    from olvido.memory import Memory

OWNER_ONLY = 0o600


def export(
    tenant: Tenant,
    subject: Subject,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A new file, which only you may read.", show_default=False, dir_okay=False),
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that is live of one person, as one JSON document.

    Values with their history, episodes, summaries and sessions, with origins and times, all read at one instant. With
    --output it goes into a new file, and what is said is what the file has: the manifest, with counts. What is expired
    is not in it. The file is a copy that a forget does not reach: delete it when it has served.
    """

    async def work(memory: Memory) -> Export:
        return await memory.scope(tenant=tenant, subject=subject).export()

    if output is not None and output.exists():
        raise _taken(output)
    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces.export_reports import exported

    if output is None:
        answer(found.document, lambda: exported(found), as_json=True)
        return
    _write(output, found)
    answer(found.manifest, lambda: exported(found), as_json=as_json)


def _write(path: Path, found: Export) -> None:
    """Write a file that was not there, for its owner only; what cannot be written whole is taken away again."""
    from olvido.surfaces.documents import to_json

    text = to_json(found.document)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise _unwritable(error) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _unwritable(error) from None


def _taken(path: Path) -> typer.BadParameter:
    return typer.BadParameter(f"{path.name} is there already. Name a new file.", param_hint="'--output'")


def _unwritable(error: OSError) -> typer.BadParameter:
    return typer.BadParameter(f"The file cannot be written: {error.strerror}.", param_hint="'--output'")
