"""The write-ahead log turned over, so that what was removed is in none of its files, and looked for file by file.

With a session of olvido_eraser. A replica keeps what it has not replayed, so it is asked how far it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import psycopg
from psycopg.rows import DictRow

from olvido.storage.inspection import Looking, all_rows, first_row
from olvido.storage.queries import statements
from olvido.storage.rewriting import LONGEST_STATEMENT
from olvido.storage.rows import utc

SWITCHES = 100
"""How many files of the log are begun for one look: as many as wait to be used again, and one or two as a rule."""
RECEIVE_SECONDS = 1.0
"""How long it is waited for a standby to receive what was just written."""

_SQL = statements("rewriting")

NOT_GRANTED = (
    "olvido_eraser may not CHECKPOINT, switch the log or list its files: GRANT pg_checkpoint TO olvido_eraser, and "
    "EXECUTE ON FUNCTION pg_switch_wal(), pg_ls_waldir()"
)
RECYCLED = "wal_recycle is on, so that old files of the log are kept and used again with what is in them; set it to off"
SLOW_CHECKPOINT = f"a checkpoint took longer than {LONGEST_STATEMENT:g} s"


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """Whoever receives the log. lsn: up to where it says that it has replayed it. passed: past what was asked."""

    name: str
    lsn: str | None
    passed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class LogEnd:
    """The last file of the log that there was at an instant, by its name: what was in the log by then is in none later.

    No file is kept under a later name after that, as long as the settings of the server stay as they were.
    """

    last: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnedOver:
    """What came of turning over the log. switches: how many files it began anew for that.

    set_at: the ends that were known before this are not to be relied on. end: the one that takes their place, if it was
    looked for. problem: why it could not be turned over.
    """

    switches: int
    set_at: datetime
    end: LogEnd | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLook:
    """What is left of the log. files: how many of it. blockers: what keeps it here or elsewhere, or is not known."""

    lsn: str
    checked_at: datetime
    files: int
    replicas: tuple[Replica, ...]
    blockers: tuple[str, ...]


async def turn_over(connection: Looking, known: Sequence[LogEnd | None]) -> TurnedOver:
    """Have the log removed up to the ends that are known, or up to where it ends now, as far as nobody keeps it.

    It is not, while somebody who receives it has not come as far: without a slot, that one would be cut off.
    """
    settings = await first_row(connection, _SQL["log_settings"])
    turned = TurnedOver(switches=0, set_at=utc(settings["set_at"]))
    if settings["wal_recycle"] != "off":
        return replace(turned, problem=RECYCLED)
    try:
        if late := await _late(connection):
            return replace(turned, problem=_cut_off(late))
        if any(end is None or end.at < turned.set_at for end in known):
            # Whoever keeps or removes files knows the settings once it has done this.
            await connection.execute(_SQL["checkpoint"].text)
            row = await first_row(connection, _SQL["log_end"])
            turned = replace(turned, end=LogEnd(last=row["last"] or "", at=utc(row["at"])))
        last = max(end.last for end in (turned.end, *known) if end is not None)
        while turned.switches < SWITCHES and not (await _left(connection, last))["behind"]:
            turned = replace(turned, switches=turned.switches + 1)
            await connection.execute(_SQL["checkpoint"].text)
            await connection.execute(_SQL["switch"].text)
        if (await _left(connection, last))["files"]:
            if late := await _late(connection, last, seconds=RECEIVE_SECONDS):
                return replace(turned, problem=_cut_off(late))
            await connection.execute(_SQL["checkpoint"].text)
    except psycopg.errors.InsufficientPrivilege:
        return replace(turned, problem=NOT_GRANTED)
    except psycopg.errors.QueryCanceled:
        return replace(turned, problem=SLOW_CHECKPOINT)
    return turned


async def checkpoint(connection: Looking) -> str | None:
    """Have the server write what it still has to write to its files. Returns why not, or None once it has."""
    try:
        await connection.execute(_SQL["checkpoint"].text)
    except psycopg.errors.InsufficientPrivilege:
        return NOT_GRANTED
    except psycopg.errors.QueryCanceled:
        return SLOW_CHECKPOINT
    return None


async def receivers(connection: Looking) -> frozenset[str]:
    """The names of whoever receives the log at this moment."""
    return frozenset(row["name"] for row in await all_rows(connection, _SQL["receivers"]))


async def _late(connection: Looking, last: str | None = None, *, seconds: float = 0) -> list[str]:
    """Who has not received the log up to the file in use, or not past the file `last` within so many seconds."""
    until = time.monotonic() + seconds
    while True:
        late = [
            row["name"]
            for row in await all_rows(connection, _SQL["receivers"])
            if row["file"] is None or (row["file"] < row["current"] if last is None else row["file"] <= last)
        ]
        if not late or time.monotonic() >= until:
            return late
        await asyncio.sleep(RECEIVE_SECONDS / 50)


def _cut_off(late: list[str]) -> str:
    return f"{', '.join(late)} has yet to receive the log, and would be cut off if its files were removed"


async def look_at_log(connection: Looking, lsn: str, end: LogEnd, *, archived: bool) -> LogLook:
    """What is left of the log up to an end, here, and up to a position with whoever receives it.

    archived: whether an archive of the log is declared as a copy of its own.
    """
    lsn = (await first_row(connection, _SQL["reached"], lsn=lsn))["lsn"]
    settings = await first_row(connection, _SQL["log_settings"])
    blockers = _settings_in_the_way(settings, end, archived=archived)
    for slot in await all_rows(connection, _SQL["slots"], lsn=lsn):
        if slot["keeps"]:
            blockers.append(f"replication slot {slot['name']} keeps the log from {slot['lsn']} on")
        elif not slot["active"] and slot["kind"] == "physical":
            # Without its standby, a slot says what was received, not what was replayed.
            blockers.append(
                f"the standby of replication slot {slot['name']} is not connected; drop the slot if it is gone"
            )
    files = int((await _left(connection, end.last))["files"])
    if files:
        blockers.append(f"{files} files of the log that may hold it are left")
    replicas = tuple(
        Replica(name=row["name"], lsn=row["lsn"], passed=row["passed"])
        for row in await all_rows(connection, _SQL["replicas"], lsn=lsn)
    )
    blockers += [_lag(replica, lsn, sees_all=settings["sees_all"]) for replica in replicas if not replica.passed]
    return LogLook(
        lsn=lsn,
        checked_at=utc(settings["checked_at"]),
        files=files,
        replicas=replicas,
        blockers=tuple(blockers),
    )


async def _left(connection: Looking, last: str) -> DictRow:
    return await first_row(connection, _SQL["log_files"], last=last)


def _settings_in_the_way(settings: DictRow, end: LogEnd, *, archived: bool) -> list[str]:
    blockers = []
    if settings["wal_recycle"] != "off":
        blockers.append(RECYCLED)
    elif end.at < utc(settings["set_at"]):
        blockers.append("the settings of the server were read anew meanwhile")
    if settings["wal_keep_size"] not in {"0", "0MB"}:
        blockers.append(f"wal_keep_size is {settings['wal_keep_size']}, so that old files of the log stay; set it to 0")
    if settings["archive_mode"] != "off" and not archived:
        blockers.append(
            f"the log is archived (archive_mode is {settings['archive_mode']}); declare the archive under `copies` in "
            "the policy with `kind: archive`, its holder and its retention"
        )
    return blockers


def _lag(replica: Replica, lsn: str, *, sees_all: bool) -> str:
    if not sees_all:
        return f"how far {replica.name} has replayed is not shown: GRANT pg_read_all_stats TO olvido_eraser"
    if replica.lsn is None:
        return f"{replica.name} receives the log and does not say how far it has replayed it"
    return f"{replica.name} has replayed the log up to {replica.lsn}, not yet to {lsn}"
