"""Files that belong to no relation: what a crash of the server leaves of one that was being written anew.

PostgreSQL removes the files of a transaction that is rolled back, but not those of one that a crash cut off. Whatever
had been copied into them stands there for good, and nothing in the database leads to it. With a session of
olvido_eraser, which may list files where `olvido migrate` could grant that, and reads none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from olvido.storage.inspection import Looking, all_rows, first_row
from olvido.storage.queries import statements
from olvido.storage.rows import utc

RemoveFiles = Callable[[Sequence[str]], None]
"""Removes files by their paths below the data directory; blocking. One that is not there any more is no error."""

WRITING = "(writing)"
"""The row of `rewrites` that says since when files are written; no relation has this name."""

_SQL = statements("rewriting")


@dataclass(frozen=True, kw_only=True, slots=True)
class StrayFiles:
    """Paths below the data directory.

    left: nobody writes them any more. new: somebody may be writing them; is_known: whether that can be told at all.
    """

    left: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    is_known: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Writing:
    """When files began to be written, by the server's clock (UTC), and on which timeline of its log."""

    since: datetime
    timeline: str

    @staticmethod
    def read(noted: Mapping[str, Any]) -> Writing | None:
        """What `evidence` noted; None if nothing is noted, or that it has ended."""
        return Writing(since=datetime.fromisoformat(noted["since"]), timeline=noted["timeline"]) if noted else None

    def evidence(self) -> dict[str, str]:
        """As it is noted in the row WRITING."""
        return {"since": self.since.isoformat(), "timeline": self.timeline}


async def stray_files(connection: Looking) -> StrayFiles | None:
    """What lies beside the files of our relations; None if this login may not list files."""
    listing = await first_row(connection, _SQL["listing"])
    if not listing["may_list"]:
        return None
    try:
        found = await all_rows(connection, _SQL["stray_files"], ended_by=listing["ended_by"])
    except psycopg.errors.InsufficientPrivilege:  # a tablespace that lies where nobody but its owner may look
        return None
    return StrayFiles(
        left=tuple(row["file"] for row in found if row["left_behind"]),
        new=tuple(row["file"] for row in found if not row["left_behind"]),
        is_known=listing["ended_by"] is not None,
    )


async def writing(connection: Looking) -> Writing:
    """The moment from which a crash would leave something."""
    row = await first_row(connection, _SQL["writing_from"])
    return Writing(since=utc(row["since"]), timeline=row["timeline"])


async def went_on(connection: Looking, began: Writing) -> bool:
    """Whether the server has certainly not crashed since then, nor been replaced by a standby."""
    row = await first_row(connection, _SQL["went_on"], since=began.since, timeline=began.timeline)
    return bool(row["went_on"])
