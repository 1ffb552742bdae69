"""Leaves written anew while they are read and written: filled into a copy, and swapped for it.

For leaves that `Eraser` would lock for too long. It takes the login of an administrator, as `migrate` does, and one
transaction, so that a crash or an error leaves everything as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from olvido.errors import Conflict, DatabaseUnavailable, InvalidInput, SchemaMismatch, UnsafeDatabase
from olvido.storage.inspection import UNREADABLE_URL
from olvido.storage.queries import Statement, statements
from olvido.storage.rewriting import LOCK_SECONDS, LONGEST_LOCK, Rewritten
from olvido.storage.rows import json_value, utc
from olvido.storage.stray_files import WRITING, Writing

TRIES = 20
"""How often it is tried to keep everyone out, for LOCK_SECONDS at each lock."""
PAUSE_SECONDS = 1.0
"""How long everyone is let through in between."""
FILLS = 3
"""How often the copy is filled, where rows were changed or removed meanwhile."""
MOST_LATER = 10_000
"""Rows that may have come meanwhile: they are copied while everyone is kept out."""
CONNECT_SECONDS = 10

Progress = Callable[[int, int], None]
"""Called with the bytes that were copied, and about how many there are."""

_SQL = statements("swapping")
_REWRITING = statements("rewriting")
_ERASURES = statements("erasures")


@dataclass(frozen=True, kw_only=True, slots=True)
class SwappedLeaf:
    """A leaf that was swapped for a copy of it.

    relation: its name. rows: how many are in it. came: how many of them came while the copy was filled.
    filling: seconds that took. waited, locked: seconds until everyone was kept out, and for how long.
    begun_at: whatever was removed before this instant (UTC) is not in its files, unless a transaction of then goes on.
    """

    relation: str
    rows: int
    came: int
    begun_at: datetime
    filling: float
    waited: float
    locked: float


class _Changed(Exception):
    """The leaf has other rows than the copy, which cannot be told apart any more."""


def swap_leaf(url: str, leaf: str, *, progress: Progress | None = None) -> SwappedLeaf:
    """Write one leaf anew, such as `index_entries_3`, while everyone reads and writes on, but for a moment at the end.

    url: a login that is a superuser, or has BYPASSRLS and is a member of olvido_owner. Blocking. Rows that come
    meanwhile are in it; if one is changed or removed, the copy is filled anew, FILLS times at most.
    Raises InvalidInput for a name that is no leaf's, UnsafeDatabase for another login, Conflict if somebody else writes
    files anew at this moment, or the leaf was in use or changed all the time, SchemaMismatch, DatabaseUnavailable; then
    nothing has changed, unless it says so.
    """
    with _connected(url) as connection, _connected(url) as reader:
        if not _first(connection, _SQL["login"])["able"]:
            raise UnsafeDatabase(
                "This login may not swap a leaf. Use a superuser, or a login with BYPASSRLS that is a member of "
                "olvido_owner: it has to copy the rows of all companies."
            )
        leaf = leaf.removeprefix("olvido.")
        known = connection.execute(_SQL["leaf"].text, {"name": leaf}).fetchone()
        if known is None:
            raise InvalidInput(
                "Only a leaf of a large relation can be swapped, such as index_entries_3. `olvido erasure show --json` "
                "names those that are to be written anew."
            )
        turn = _first(connection, _REWRITING["take_turn"])
        if turn["standby"]:
            raise UnsafeDatabase("The login leads to a standby. Give it the address of the primary server.")
        if not turn["taken"]:
            raise Conflict("Another worker writes files anew at this moment. Try again.")
        # All of the copy is read as at one moment.
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        swap = _Swap(connection, reader, leaf, str(known["relation"]), int(known["bytes"]))
        with swap.noted():
            for _ in range(FILLS):
                with suppress(_Changed):
                    return swap.run(progress)
        raise Conflict(
            f"Rows of {leaf} were changed or removed each time while it was copied, so it was left as it was. Try "
            "again at a quiet hour."
        )


class _Swap:
    """One swap. connection: in whose transaction it is done. reader: copies from the leaf, and notes."""

    def __init__(
        self,
        connection: psycopg.Connection[DictRow],
        reader: psycopg.Connection[DictRow],
        leaf: str,
        relation: str,
        size: int,
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._leaf = leaf
        self._relation = relation
        self._size = size

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note that files are being written, for whoever may not list them after a crash; unless that is noted."""
        row = self._reader.execute(_ERASURES["rewrites"].text, {"relations": [WRITING]}).fetchone()
        if row is not None and Writing.read(row["evidence"]) is not None:
            yield
            return
        row = _first(self._reader, _REWRITING["writing_from"])
        began = Writing(since=utc(row["since"]), timeline=row["timeline"])
        self._note(self._reader, WRITING, 0, began.since, began.evidence())
        try:
            yield
        finally:
            # With either session lost, the server may have crashed: then the note stays.
            if not (self._connection.broken or self._reader.broken):
                self._note(self._reader, WRITING, 0, began.since, {})

    def run(self, progress: Progress | None) -> SwappedLeaf:
        """Fill a copy and swap it. Raises _Changed if the leaf was changed."""
        began = time.monotonic()
        with self._connection.transaction():
            self._ask("as_owner")
            self._ask("make_copy")
            self._ask("as_administrator")
            copying = self._one("copying")
            moment, copied = self._fill(copying, progress)
            self._ask("count_copy")
            filled = time.monotonic()
            self._later(moment, copied)  # nobody is kept out in vain
            shut = self._shut()
            locked_from = time.monotonic()
            found = self._later(moment, copied)
            self._copy_later(found, copying["write"])
            done = self._one("swap")
        swapped = SwappedLeaf(
            relation=self._leaf,
            rows=int(found["rows"]),
            came=int(found["later"]),
            begun_at=utc(moment["begun_at"]),
            filling=filled - began,
            waited=float(shut["waited"]),
            locked=time.monotonic() - locked_from,
        )
        try:
            self._noted_as_rewritten(swapped, int(moment["ended"]), int(done["before"]), int(done["after"]))
        except psycopg.Error as error:
            raise DatabaseUnavailable(
                f"{self._leaf} was swapped, but that could not be noted ({type(error).__name__}): the worker writes it "
                "anew once more."
            ) from None
        return swapped

    def _fill(self, copying: Mapping[str, Any], progress: Progress | None) -> tuple[dict[str, Any], int]:
        """Copy all rows as they are at one moment; that moment, and how many there were."""
        copied = 0
        cursor = self._connection.cursor()
        with self._reader.transaction():
            moment = _first(self._reader, _SQL["moment"])
            with self._reader.cursor().copy(copying["read"]) as rows, cursor.copy(copying["write"]) as copy:
                for data in rows:
                    copy.write(data)
                    copied += len(data)
                    if progress is not None:
                        progress(copied, max(copied, self._size))
        return moment, cursor.rowcount

    def _later(self, moment: Mapping[str, Any], copied: int) -> dict[str, Any]:
        """What came since the copy was read. Raises _Changed if its rows were changed or removed, or too many came."""
        found = self._one("later_rows", since=moment["since"])
        if found["rows"] - found["later"] != copied or found["later"] > MOST_LATER:
            raise _Changed
        return found

    def _shut(self) -> dict[str, Any]:
        """Keep everyone out, or raise Conflict. Whoever comes later waits behind, so each try is short."""
        self._ask("limits", lock_timeout=str(int(LOCK_SECONDS * 1000)), statement_timeout=str(int(LONGEST_LOCK * 1000)))
        for attempt in range(TRIES):
            try:
                with self._connection.transaction():
                    return self._one("shut")
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                if attempt < TRIES - 1:
                    time.sleep(PAUSE_SECONDS)
        raise Conflict(f"{self._leaf} was in use all the time, so it was left as it was. Try again at a quiet hour.")

    def _copy_later(self, found: Mapping[str, Any], write: str) -> None:
        """Copy what came since, with everyone kept out. Raises _Changed if that is not all."""
        cursor = self._connection.cursor()
        with cursor.copy(found["read"]) as rows:
            later = b"".join(bytes(data) for data in rows)
        with cursor.copy(write.encode()) as copy:
            copy.write(later)
        if cursor.rowcount != found["later"]:
            raise _Changed

    def _noted_as_rewritten(self, swapped: SwappedLeaf, ended: int, before: int, after: int) -> None:
        """Note the rewrite, once it is committed: the log is past it then."""
        done = Rewritten(
            relation=self._leaf,
            gone_before=ended,
            begun_at=swapped.begun_at,
            kept=0,
            before=before,
            after=after,
            waited=swapped.waited,
            locked=swapped.locked,
            lsn=str(_first(self._connection, _REWRITING["position"])["lsn"]),
        )
        evidence = {**done.evidence(), "swapped": True}
        self._note(self._connection, self._leaf, ended, swapped.begun_at, evidence)

    @staticmethod
    def _note(
        connection: psycopg.Connection[DictRow],
        relation: str,
        gone_before: int,
        at: datetime,
        evidence: Mapping[str, object],
    ) -> None:
        given = {"relation": relation, "gone_before": str(gone_before), "begun_at": at, "rested_until": at}
        connection.execute(_ERASURES["note_rewrite"].text, {**given, "evidence": json_value(dict(evidence))})

    def _one(self, name: str, **parameters: object) -> dict[str, Any]:
        return _first(self._connection, _SQL[name], relation=self._relation, **parameters)

    def _ask(self, name: str, **parameters: object) -> None:
        self._connection.execute(_SQL[name].text, {"relation": self._relation, **parameters})


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[DictRow]]:
    """A connection of which nothing but the class of its errors is told: what they say may quote rows."""
    try:
        with psycopg.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=CONNECT_SECONDS, client_encoding="utf8"
        ) as connection:
            # Whatever the login has set: with an older view of the leaf, rows would be lost.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.execute(_SQL["settle"].text, {"statement_timeout": "0"})
            yield connection
    except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedObject):
        raise SchemaMismatch(
            "The database lacks migrations of this release. Run `olvido migrate` with the login of an owner."
        ) from None
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.QueryCanceled):
        raise Conflict(
            "The leaf was in use, or too large to be swapped at once, and is as it was. Try again."
        ) from None
    except psycopg.Error as error:
        if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
            raise InvalidInput(UNREADABLE_URL) from None
        raise DatabaseUnavailable(
            f"The leaf could not be swapped ({type(error).__name__}, {error.sqlstate or 'no connection'}), and is as "
            "it was. Check the URL, the server and the space on its disk, and try again."
        ) from None


def _first(connection: psycopg.Connection[DictRow], statement: Statement, **parameters: object) -> dict[str, Any]:
    row = connection.execute(statement.text, parameters).fetchone()
    if row is None:
        raise DatabaseUnavailable("The server gave no answer. Run `olvido doctor`.")
    return row
