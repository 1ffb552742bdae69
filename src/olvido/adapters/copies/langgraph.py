"""The threads of a person in a LangGraph checkpointer: checkpoints, their values and pending writes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import UUID

from olvido.domain.erasure import Target
from olvido.errors import CopyProblem, CopyUnavailable, InvalidInput
from olvido.storage.queries import named

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

ThreadsOf = Callable[[Target], Awaitable[Sequence[str]]]
MetadataOf = Callable[[Target], Mapping[str, Any]]


class _Engine(StrEnum):
    POSTGRES = "postgres"
    SQLITE = "sqlite"


_SAVERS = {"AsyncPostgresSaver": _Engine.POSTGRES, "AsyncSqliteSaver": _Engine.SQLITE}


class LangGraphThreads:
    """A connector for an `AsyncPostgresSaver` or an `AsyncSqliteSaver`, used in the event loop that it was made in.

    Threads are deleted as LangGraph does it and then counted in its relations, values and writes included. Rows are
    what is counted: SQLite and PostgreSQL free the bytes in their own time.
    """

    by_record = False

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        *,
        threads: ThreadsOf | None = None,
        complete: bool = False,
        metadata: MetadataOf | None = None,
    ) -> None:
        """Say which threads are of a person in one of two ways.

        threads: an async function that answers every thread id that this person ever had, now and when it is asked
        again after they are deleted: what it does not name is not looked at. complete: whether `threads` knows of
        everybody who ever had one, so that no thread means that there never was any. Otherwise a person of whom it
        knows none is left to the holder of the copy, as nothing could be looked at. metadata: what all checkpoints of
        the person have in their metadata, as `saver.alist(filter=...)` takes it, such as
        `lambda target: {"tenant": target.tenant, "user_id": target.subject}`. No value of it may be None or empty, and
        on SQLite no key may have a dot: that would find threads of others. Raises InvalidInput.
        """
        engine = next((_SAVERS[kind.__name__] for kind in type(saver).__mro__ if kind.__name__ in _SAVERS), None)
        if engine is None:
            raise InvalidInput(f"saver must be one of: {', '.join(_SAVERS)}.")
        if (threads is None) == (metadata is None):
            raise InvalidInput("Pass threads or metadata, one of the two: how to find the threads of a person.")
        if complete and threads is None:
            raise InvalidInput("complete goes with threads: metadata is looked for in the checkpoints themselves.")
        self._saver: Any = saver
        self._engine = engine
        self._threads = threads
        self._complete = complete
        self._metadata = metadata
        sql = named((files("olvido.adapters.copies") / "langgraph.sql").read_text(encoding="utf-8"), "langgraph")
        self._rows = sql[f"{engine}_rows"].text.decode()
        self._orphans = sql[f"{engine}_orphans"].text.decode()

    async def find(self, target: Target) -> int:
        """How many rows the threads of the person have. Raises CopyUnavailable."""
        return await self._count(await self._found(target))

    async def erase(self, target: Target) -> None:
        """Delete each thread, and count its rows at once: by its metadata it could not be found again afterwards."""
        threads = await self._found(target)
        async with _understood():
            for thread in threads:
                await self._saver.adelete_thread(thread)
        left = await self._count(threads)
        if left:
            raise CopyUnavailable("The checkpointer kept rows of a thread that it deleted.", problem=CopyProblem.FAILED)

    async def verify(self, target: Target) -> int | None:
        """Look for the threads anew and count rows, with those that lost their checkpoint and could be anybody's."""
        left = await self._count(await self._found(target))
        if self._metadata is not None:
            left += await self._ask(self._orphans, {})
        return left

    async def _found(self, target: Target) -> list[str]:
        async with _understood():
            if self._threads is not None:
                named = _ids(await self._threads(target))
                if not named and not self._complete:
                    raise CopyUnavailable("No thread of this person is known.", problem=CopyProblem.NOBODY_KNOWN)
                return named
            metadata = {} if self._metadata is None else dict(self._metadata(target))
            self._require_narrow(metadata)
            found = self._saver.alist(None, filter=metadata)
            return sorted({str(one.config["configurable"]["thread_id"]) async for one in found})

    def _require_narrow(self, metadata: Mapping[str, Any]) -> None:
        """Raise CopyUnavailable for metadata that finds threads of others."""
        if not metadata:
            raise CopyUnavailable("No metadata to find threads by.", problem=CopyProblem.UNSAFE)
        # None finds what has no such key on SQLite, and an empty list or mapping any of them on PostgreSQL.
        if any(map(_says_nothing, metadata.values())):
            raise CopyUnavailable("Metadata with a value that says nothing.", problem=CopyProblem.UNSAFE)
        if self._engine is _Engine.SQLITE and any("." in str(key) for key in metadata):
            raise CopyUnavailable("On SQLite a key with a dot is read as a path.", problem=CopyProblem.UNSAFE)

    async def _count(self, threads: list[str]) -> int:
        if not threads:
            return 0
        # SQLite has no arrays, and PostgreSQL takes a list as one.
        given: object = json.dumps(threads) if self._engine is _Engine.SQLITE else threads
        return await self._ask(self._rows, {"threads": given})

    async def _ask(self, statement: str, parameters: dict[str, object]) -> int:
        async with _understood():
            if self._engine is _Engine.SQLITE:
                await self._saver.setup()
                async with self._saver.lock, self._saver.conn.execute(statement, parameters) as cursor:
                    return _number(await cursor.fetchone())
            async with self._saver.lock, _connected(self._saver.conn) as connection, connection.cursor() as cursor:
                await cursor.execute(statement, parameters)
                return _number(await cursor.fetchone())


def _ids(threads: object) -> list[str]:
    """Thread ids that host code answered, each once. Raises CopyUnavailable for anything else, such as one text."""
    if isinstance(threads, Iterable) and not isinstance(threads, str | bytes):
        listed = list(threads)
        if all(isinstance(each, str | int | UUID) for each in listed):
            return sorted({str(each) for each in listed})
    raise CopyUnavailable("Not a list of thread ids.", problem=CopyProblem.NOT_UNDERSTOOD)


@asynccontextmanager
async def _connected(connection_or_pool: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - LangGraph takes either
    if hasattr(connection_or_pool, "getconn"):
        async with connection_or_pool.connection() as connection:
            yield connection
    else:
        yield connection_or_pool


def _number(row: Any) -> int:  # noqa: ANN401 - a tuple or a mapping, as the connection was set up
    return int(row["rows"] if isinstance(row, Mapping) else row[0])


@asynccontextmanager
async def _understood() -> AsyncIterator[None]:
    """Tell what went wrong in our words: those of the checkpointer may quote ids."""
    try:
        yield
    except CopyUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - any driver may be below
        raise CopyUnavailable(
            f"The checkpointer did not answer ({type(error).__name__}).", problem=CopyProblem.FAILED
        ) from None


def _says_nothing(value: object) -> bool:
    """Whether a value, or any part of it, is None or empty."""
    if isinstance(value, Mapping):
        return not value or any(map(_says_nothing, value.values()))
    if isinstance(value, list | tuple):
        return not value or any(map(_says_nothing, value))
    return value is None
