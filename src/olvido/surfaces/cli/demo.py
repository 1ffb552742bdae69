"""`olvido demo`: the whole job on real support cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from olvido.surfaces.cli.options import AsJson

DIRECTORY = Path(".olvido-demo")


def demo(
    data_dir: Annotated[
        Path, typer.Option("--data-dir", help="Where to put the demo; made afresh at each run.", file_okay=False)
    ] = DIRECTORY,
    as_json: AsJson = False,
) -> None:
    """Load 360 support cases and tell the story of remembering and forgetting, with real results.

    It has a data directory of its own and leaves yours alone. The exit code is 1 if a claim of the story does not hold.
    """
    from olvido.surfaces.demo.show import show

    if not show(data_dir, as_json=as_json):
        raise typer.Exit(1)
