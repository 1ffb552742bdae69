"""`olvido keys`: the keys that sign receipts, without opening any database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.errors import KeysUnavailable
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, KeysDir, example
from olvido.surfaces.cli.runtime import answer, where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.adapters.keys import KeyDirectory

app = typer.Typer(no_args_is_help=True)


@app.command("publish", epilog=example("olvido keys publish"))
def publish(
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer is one JSON document with or without it.")] = True,
) -> None:
    """Print the public keys as a JWKS, for whoever is to verify receipts. The first key is made if there is none.

    The one in use comes first; those of before stay, so that old receipts can be verified.
    """
    published = _directory(keys, data_dir, database_url).published()
    answer(published, lambda: json.dumps(published), as_json=as_json)


@app.command("rotate", epilog=example("olvido keys rotate"))
def rotate(
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Sign with a new key from now on, also where the old one was lost. Publish the keys again afterwards.

    The public part of the old key stays published; its private part is deleted. Running programs sign with the new one
    at once.
    """
    directory = _directory(keys, data_dir, database_url)
    rotation = directory.rotate()

    def human() -> RenderableType:
        from olvido.surfaces.terminal import plain

        before = "There was no key." if rotation.retired is None else f"The key {rotation.retired} signs no more."
        return (
            f"The key {rotation.key_id} signs from now on. {before} Keys published: {rotation.published}, in "
            f"{plain(directory.files.path)}. Hand them out again: `olvido keys publish`."
        )

    answer(rotation, human, as_json=as_json)


def _directory(keys: Path | None, data_dir: Path | None, database_url: str | None) -> KeyDirectory:
    from olvido.bootstrap import keys_directory
    from olvido.operations.receipts import NO_KEYS

    place = where(database_url, data_dir, keys=keys)
    directory = keys_directory(place.keys, place.target)
    if directory is None:
        raise KeysUnavailable(NO_KEYS)
    return directory
