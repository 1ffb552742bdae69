"""`olvido erasure swap`: write a leaf anew while it is read and written, as an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir
from olvido.surfaces.cli.runtime import answer, existing, progress_bar, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.storage.swapping import Progress, SwappedLeaf
    from olvido.surfaces.cli.runtime import Where

EXAMPLE = "olvido erasure swap index_entries_3 --database-url postgresql://admin@db.example/olvido"
_MEGABYTE = 1_000_000


def swap(
    leaf: Annotated[str, typer.Argument(help="As `olvido erasure show --json` names it, such as index_entries_3.")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write a leaf anew that `olvido erasure run` would lock for too long: fill a copy, then swap the two.

    Everyone reads and writes on while the copy is filled; at the end everyone waits for a moment. The URL needs the
    login of an administrator: a superuser, or BYPASSRLS and a member of olvido_owner. If it fails, nothing has changed.
    """
    place = existing(where(database_url, data_dir))
    with progress_bar(as_json=as_json) as bar:
        task = None if bar is None else bar.add_task("MB copied", total=None)

        def progress(done: int, size: int) -> None:
            if bar is not None and task is not None:
                bar.update(task, completed=done // _MEGABYTE, total=size // _MEGABYTE)

        done = _swap(place, leaf, progress)
    answer(done, lambda: _told(done), as_json=as_json)


def _swap(place: Where, leaf: str, progress: Progress) -> SwappedLeaf:
    import olvido

    if place.url is not None:
        return olvido.swap_leaf(place.url, leaf, progress=progress)

    from olvido.adapters import embedded
    from olvido.bootstrap import EMBEDDED_LEAVES, data_directory

    with embedded.start(data_directory(place.target)) as server:
        olvido.migrate(server.urls.superuser, leaves=EMBEDDED_LEAVES)
        return olvido.swap_leaf(server.urls.superuser, leaf, progress=progress)


def _told(done: SwappedLeaf) -> RenderableType:
    from olvido.domain.plain import counted

    return (
        f"{done.relation} was swapped for a copy with {counted(done.rows, 'row')}, filled in {done.filling:.1f} s, "
        f"while {counted(done.came, 'row')} came. Everyone waited for {done.waited + done.locked:.2f} s. "
        "`olvido erasure run` goes on with what is to be forgotten in it."
    )
