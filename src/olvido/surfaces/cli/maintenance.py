"""`olvido migrate`, `doctor` and `policy check`: prepare a database, look at it, check a policy file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, WorkerUrl, example
from olvido.surfaces.cli.runtime import answer, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.domain.policy import Policy
    from olvido.operations.diagnose import Diagnosis
    from olvido.storage.migrations import MigrationReport
    from olvido.surfaces.cli.runtime import Where

FINDINGS = 6
"""The exit code of `doctor` with findings: the same as of an error that says the store cannot serve."""

policy_app = typer.Typer(no_args_is_help=True)


def migrate(
    leaves: Annotated[
        int | None,
        typer.Option(help="Partitions of each large relation; fixed by the first run. Default: 64, embedded 8."),
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bring a database to the schema of this release. Safe to run twice.

    The URL needs the login of an owner, who may create roles and extensions; requests later use another login.
    The embedded database is migrated by itself whenever it is opened.
    """
    report = _migrate(where(database_url, data_dir), leaves)

    def human() -> RenderableType:
        ran = ", ".join(report.applied) or "nothing; it was up to date"
        return f"Ran {ran}. The schema has version {report.version} and {report.leaves} leaves."

    answer(report, human, as_json=as_json)


def doctor(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Look for whatever would break the contract: versions, roles, row security, relations, overdue purges.

    Serves nothing and changes nothing. The exit code is 6 if there are findings.
    """
    diagnosis = _diagnose(where(database_url, data_dir, worker_url=worker_url))
    answer(diagnosis, lambda: _findings(diagnosis), as_json=as_json)
    if diagnosis.findings:
        raise typer.Exit(FINDINGS)


@policy_app.command("check", epilog=example("olvido policy check my-policy.yaml"))
def check(
    file: Annotated[Path | None, typer.Argument(help="A policy file; the default policy otherwise.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a policy file. Every problem is named with the line to mend."""
    from olvido.bootstrap import read_policy

    policy = read_policy(file)
    answer(_policy_facts(policy), lambda: _policy(policy), as_json=as_json)


def _migrate(place: Where, leaves: int | None) -> MigrationReport:
    from olvido.storage.migrations import migrate as prepare

    if place.url is not None:
        return prepare(place.url) if leaves is None else prepare(place.url, leaves=leaves)

    from olvido.adapters import embedded
    from olvido.bootstrap import EMBEDDED_LEAVES, data_directory

    with embedded.start(data_directory(place.target)) as server:
        return prepare(server.urls.superuser, leaves=EMBEDDED_LEAVES if leaves is None else leaves)


def _diagnose(place: Where) -> Diagnosis:
    from olvido.operations.diagnose import diagnose

    if place.url is not None:
        return asyncio.run(diagnose(place.url, place.worker_url))

    from olvido.adapters import embedded
    from olvido.bootstrap import data_directory

    with embedded.start(data_directory(place.target)) as server:
        return asyncio.run(diagnose(server.urls.app, server.urls.worker))


def _findings(diagnosis: Diagnosis) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from olvido.surfaces.documents import instant
    from olvido.surfaces.terminal import cell

    lines = []
    if diagnosis.server_version is not None:
        lines.append(
            f"PostgreSQL {diagnosis.server_version}, pgvector {diagnosis.pgvector_version}, "
            f"schema version {diagnosis.schema_version}, {diagnosis.leaves} leaves."
        )
    if diagnosis.overdue_lives:
        since = "" if diagnosis.overdue_since is None else f", since {instant(diagnosis.overdue_since)}"
        lines.append(f"Expired and waiting for a purge: records of {diagnosis.overdue_lives} subjects{since}.")
    elif diagnosis.overdue_lives is None:
        lines.append("Overdue purges were not looked at: that takes the login of a worker (--worker-url).")
    found = [
        cell(f"{finding.code}: {finding.problem} {finding.remedy}", style="yellow") for finding in diagnosis.findings
    ]
    verdict = f"{len(found)} findings." if found else "No findings."
    return Group(*(Text(line) for line in lines), *found, Text(verdict, style="bold"))


def _policy_facts(policy: Policy) -> dict[str, object]:
    return {
        "name": policy.name,
        "version": policy.version,
        "purposes": sorted(policy.purposes),
        "preferences": sorted(policy.preferences),
        "episodes": sorted(policy.episodes),
        "live_state": sorted(policy.live_state),
        "copies": [copy.name for copy in policy.copies],
    }


def _policy(policy: Policy) -> RenderableType:
    from olvido.surfaces.terminal import cell, grid

    table = grid("defined", "names")
    for kind, names in _policy_facts(policy).items():
        table.add_row(kind, cell(", ".join(names) if isinstance(names, list) else names))
    table.caption = "No problems."
    table.caption_justify = "left"
    return table
