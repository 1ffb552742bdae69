"""`olvido migrate`: prepare a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir
from olvido.surfaces.cli.runtime import answer, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.storage.migrations import MigrationReport
    from olvido.surfaces.cli.runtime import Where


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


def _migrate(place: Where, leaves: int | None) -> MigrationReport:
    from olvido.storage.migrations import migrate as prepare

    if place.url is not None:
        return prepare(place.url) if leaves is None else prepare(place.url, leaves=leaves)

    from olvido.adapters import embedded
    from olvido.bootstrap import EMBEDDED_LEAVES, data_directory

    with embedded.start(data_directory(place.target)) as server:
        return prepare(server.urls.superuser, leaves=EMBEDDED_LEAVES if leaves is None else leaves)
