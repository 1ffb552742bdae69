"""`olvido doctor`: look at a database, and say what to do about what was found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.domain.plain import counted
from olvido.errors import DataDirectoryError
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, KeysDir, LedgerDir, WorkerUrl
from olvido.surfaces.cli.runtime import answer, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.operations.diagnose import Diagnosis, RelationSize
    from olvido.surfaces.cli.runtime import Where

BROKEN = 6
"""The exit code of `doctor` when it found an error: the same as of an error that says the store cannot serve."""


def doctor(
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="Look for index gaps at this company only.", show_default=False)
    ] = None,
    lives: Annotated[int, typer.Option(help="Look for index gaps in the memory of this many people at most.")] = 1000,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    keys: KeysDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Look at a database without serving from it, and say what to do about each finding.

    Errors break the contract: roles and what they are members of, grants, row security, keys, rules, triggers,
    versions, relations that the data map lacks, an erasure ledger that is missing, older or of another database.
    Warnings are overdue purges, index gaps, lost indexes and checks, companies not wholly forgotten, an audit that is
    not what was anchored, and what else keeps copies: logs, archives, replicas, slots, old snapshots. Changes nothing.
    The exit code is 6 if there is an error, and 0 with warnings and notes.
    """
    place = where(database_url, data_dir, worker_url=worker_url, keys=keys, ledger=ledger)
    diagnosis = _diagnose(place, tenant, lives)
    answer(diagnosis, lambda: _told(diagnosis), as_json=as_json)
    if diagnosis.broken:
        raise typer.Exit(BROKEN)


def _diagnose(place: Where, tenant: str | None, lives: int) -> Diagnosis:
    from olvido.adapters.anchors import AnchorFile
    from olvido.bootstrap import data_directory, keys_directory, named_ledger, try_default_embedder
    from olvido.operations.diagnose import diagnose

    async def look(request_url: str, worker_url: str | None, server_url: str | None = None) -> Diagnosis:
        keys = keys_directory(place.keys, place.target)
        with named_ledger(place.ledger, place.target) as ledger:
            return await diagnose(
                request_url,
                worker_url,
                server_url=server_url,
                embedder=await try_default_embedder(),
                ledger=ledger,
                anchors=None if keys is None else AnchorFile(keys),
                tenant=tenant,
                lives=lives,
            )

    if place.url is not None:
        return asyncio.run(look(place.url, place.worker_url))

    from olvido.adapters import embedded

    directory = data_directory(place.target)
    if not directory.exists():  # starting a server would make it
        raise DataDirectoryError(f"There is no memory to look at in {directory}. Name one with --data-dir.")
    with embedded.start(directory) as server:
        return asyncio.run(look(server.urls.app, server.urls.worker, server.urls.superuser))


def _told(diagnosis: Diagnosis) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.terminal import cell, under

    styles = {"error": "red", "warning": "yellow", "note": "dim"}
    parts: list[RenderableType] = [Text(line) for line in _facts(diagnosis)]
    if diagnosis.sizes:
        parts += [Text(""), _sizes(diagnosis), Text("")]
    for finding in diagnosis.findings:
        parts.append(cell(f"{finding.severity} {finding.code}: {finding.problem}", styles[finding.severity]))
        parts.append(under(cell(finding.remedy)))
    if diagnosis.not_looked_at:
        parts.append(Text("Not looked at", style="bold"))
        parts += [under(cell(line)) for line in diagnosis.not_looked_at]
    parts.append(Text(_verdict(diagnosis), style="bold"))
    return Group(*parts)


def _facts(diagnosis: Diagnosis) -> list[str]:
    from olvido.domain.plain import instant

    lines = []
    if diagnosis.server_version is not None:
        lines.append(
            f"PostgreSQL {diagnosis.server_version}, pgvector {diagnosis.pgvector_version}, "
            f"schema version {diagnosis.schema_version}, {diagnosis.leaves} leaves."
        )
    if diagnosis.embedder is not None:
        lines.append(f"Embedder: {diagnosis.embedder}.")
    if diagnosis.overdue_lives:
        since = "" if diagnosis.overdue_since is None else f", since {instant(diagnosis.overdue_since)}"
        lines.append(f"Expired and waiting for a purge: records of {diagnosis.overdue_lives} subjects{since}.")
    if diagnosis.survey is not None:
        seen = diagnosis.survey
        vectors = "; ".join(f"{count} with a vector of {name}" for name, count in seen.embedders.items())
        lines.append(
            f"Index looked at: records {seen.records}, lives {seen.lives}, companies {seen.tenants}"
            + (f"; {vectors}." if vectors else ".")
        )
    if diagnosis.unrepaired_lives:
        lines.append(f"Waiting for a worker to look at their index: {diagnosis.unrepaired_lives} subjects.")
    if diagnosis.oldest_snapshot_at is not None:
        lines.append(f"The oldest snapshot is from {instant(diagnosis.oldest_snapshot_at)}.")
    return lines


def _sizes(diagnosis: Diagnosis) -> RenderableType:
    from rich.filesize import decimal

    from olvido.surfaces.terminal import cell, grid

    table = grid("relation", "on disk", "rows", "removed, still on disk")
    for one in diagnosis.sizes:
        table.add_row(cell(one.relation), decimal(one.bytes), str(one.live_rows), _removed(one))
    unknown = any(one.dead_rows is None for one in diagnosis.sizes)
    since = "-: written anew since they were last estimated; the next vacuum or ANALYZE estimates them. " * unknown
    table.caption = f"Rows are estimates. {since}" + f"In all {decimal(sum(one.bytes for one in diagnosis.sizes))}."
    table.caption_justify = "left"
    return table


def _removed(one: RelationSize) -> str:
    return "-" if one.dead_rows is None else str(one.dead_rows)


def _verdict(diagnosis: Diagnosis) -> str:
    if not diagnosis.findings:
        return "No findings."
    counts = [
        counted(count, name)
        for name in ("error", "warning", "note")
        if (count := sum(1 for finding in diagnosis.findings if finding.severity == name))
    ]
    said = "The contract does not hold." if diagnosis.broken else "The contract holds."
    return f"{', '.join(counts)}. {said}"
