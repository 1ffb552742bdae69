"""What a crash of the server left of a relation that was being written anew: looked for, and removed where it may be.

Such a file belongs to no relation, so rewriting does not reach it, and every record that was in the relation stands in
it. Where files may be listed, that is looked at each time. Elsewhere it is noted in the database, before files are
written, that they are, and what was cut off is not called gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olvido.domain.plain import counted
from olvido.errors import DataDirectoryError
from olvido.operations.environment import Environment
from olvido.storage import rows
from olvido.storage.queries import statements
from olvido.storage.rewriting import EraserTurn
from olvido.storage.rewriting_log import checkpoint
from olvido.storage.stray_files import WRITING, StrayFiles, Writing, stray_files, went_on, writing

_NAMED = 3
"""Files that are named; the others are counted."""

MAY_NOT_LIST = (
    "the server may have crashed while files were written anew, and olvido_eraser may not look what that left: GRANT "
    "EXECUTE ON FUNCTION pg_ls_dir(text, boolean, boolean), pg_stat_file(text, boolean) TO olvido_eraser"
)

_FRESH = "it is being written, or left of a crash a moment ago"
_NOT_KNOWN = (
    "whether somebody is writing it is not known while there are prepared transactions, or sessions that do not say "
    "since when they work; olvido_eraser needs pg_read_all_stats to see it"
)

_SQL = statements("erasures")


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What lies beside the relations. blockers: in words; empty if nothing does, as far as may be known."""

    listed: bool
    removed: int = 0
    blockers: tuple[str, ...] = ()

    def evidence(self) -> dict[str, Any]:
        """What was looked at, for the evidence of a request."""
        return {"stray_files": {"listed": self.listed, "removed": self.removed}}


class Strays:
    """The look of one round of rewriting."""

    def __init__(self, environment: Environment, turn: EraserTurn) -> None:
        self._environment = environment
        self._turn = turn
        self._own: Writing | None = None

    async def begin(self) -> None:
        """Say in the database that files are being written from here on, unless that is said already."""
        if await self._noted() is None:
            self._own = await writing(self._turn.connection)
            await self._note(self._own.evidence())

    async def look(self) -> Look:
        """Look, after all was written; remove what may be removed; and say what is in the way."""
        found = await stray_files(self._turn.connection)
        noted = self._own or await self._noted()
        if found is not None:
            look = await self._clear(found)
        else:
            # A crash would have ended the session of this round.
            whole = noted is None or noted is self._own or await went_on(self._turn.connection, noted)
            look = Look(listed=False, blockers=() if whole else (MAY_NOT_LIST,))
        if noted is not None and not look.blockers:
            await self._note({})
            self._own = None
        return look

    async def _clear(self, found: StrayFiles) -> Look:
        removed, problem = 0, ""
        if found.left and self._turn.remove is not None:
            try:
                # What the server still has to write to a file, as after its recovery, it writes now or not at all.
                problem = await checkpoint(self._turn.connection) or ""
                found = await stray_files(self._turn.connection) or found
                if not problem:
                    await asyncio.to_thread(self._turn.remove, found.left)
                    removed, found = len(found.left), replace(found, left=())
            except DataDirectoryError as error:
                problem = str(error)
        blockers = [
            f"{_named(found.left)} left of a crash of the server, with what was removed since in it; remove it as "
            "docs/forgetting.md says"
            if found.left
            else "",
            f"{_named(found.new)} of no relation yet: {_FRESH if found.is_known else _NOT_KNOWN}" if found.new else "",
            problem,
        ]
        return Look(listed=True, removed=removed, blockers=tuple(filter(None, blockers)))

    async def _noted(self) -> Writing | None:
        async with self._environment.database.administer() as transaction:
            found = await transaction.all(_SQL["rewrites"], relations=[WRITING])
        return Writing.read(found[0]["evidence"]) if found else None

    async def _note(self, evidence: Mapping[str, str]) -> None:
        async with self._environment.database.administer() as transaction:
            await transaction.run(
                _SQL["note_rewrite"],
                relation=WRITING,
                gone_before="0",
                begun_at=transaction.now,
                rested_until=transaction.now,
                evidence=rows.json_value(dict(evidence)),
            )


def _named(files: Sequence[str]) -> str:
    named = ", ".join(files[:_NAMED])
    others = len(files) - _NAMED
    more = f" and {counted(others, 'other file')}" if others > 0 else ""
    return f"{named}{more} {'is' if len(files) == 1 else 'are'}"
