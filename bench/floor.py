"""The floor: the barest transaction that could stand for one of Olvido's, written by hand without any of its rules.

An async psycopg pool, the same unprivileged login, the same row security and the same tables; BEGIN, enter the scope,
one plain statement, COMMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from bench.data import EPOCH, moment_of, text_of
from olvido.ports import Vector
from olvido.storage.queries import named

SQL = named((Path(__file__).parent / "floor.sql").read_text(encoding="utf-8"), "floor")

UNTIL = EPOCH + timedelta(days=3650)


class Floor:
    """The floor's pool. Every method is one transaction in the scope of one subject."""

    def __init__(self, url: str) -> None:
        self._pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
            url,
            connection_class=AsyncConnection[DictRow],
            kwargs={"row_factory": dict_row},
            min_size=1,
            max_size=10,
            configure=_configure,
            open=False,
        )

    @property
    def pool(self) -> AsyncConnectionPool[AsyncConnection[DictRow]]:
        """Its connections, for what is written by hand in another way."""
        return self._pool

    async def __aenter__(self) -> Self:
        await self._pool.open(wait=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def record(self, tenant: str, subject: str, number: int) -> None:
        """Store one episode."""
        await self._run(
            "record",
            tenant,
            subject,
            lock=True,
            record_id=uuid4(),
            event_id=str(uuid4()),
            fields=Jsonb({"text": text_of(number)}),
            at=moment_of(number),
            until=UNTIL,
        )

    async def set(self, tenant: str, subject: str, key: str, value: str) -> None:
        """Store one preference, or its next version."""
        await self._run(
            "set", tenant, subject, lock=True, record_id=uuid4(), key=key, value=Jsonb(value), at=EPOCH, until=UNTIL
        )

    async def get(self, tenant: str, subject: str, key: str) -> DictRow | None:
        """Read one preference."""
        return (await self._run("get", tenant, subject, key=key)).pop()

    async def nearest(self, tenant: str, subject: str, vector: Vector) -> list[DictRow]:
        """Find ten vectors."""
        return await self._run("nearest", tenant, subject, vector=vector)

    async def forget(self, tenant: str, subject: str) -> None:
        """Delete the episodes."""
        await self._run("forget", tenant, subject, lock=True)

    async def import_many(self, tenant: str, subject: str, texts: Sequence[str]) -> None:
        """Store many episodes."""
        await self._run(
            "import",
            tenant,
            subject,
            lock=True,
            record_ids=[uuid4() for _ in texts],
            event_ids=[str(uuid4()) for _ in texts],
            contents=list(texts),
            at=EPOCH,
            until=UNTIL,
        )

    async def _run(
        self, name: str, tenant: str, subject: str, *, lock: bool = False, **parameters: object
    ) -> list[DictRow]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(SQL["enter"].text, {"tenant": tenant, "external": subject, "lock": lock})
            entered = await cursor.fetchone()
            key = None if entered is None else entered["subject_key"]
            cursor = await connection.execute(SQL[name].text, {**parameters, "tenant": tenant, "subject": key})
            return await cursor.fetchall() if cursor.description else []


async def _configure(connection: AsyncConnection[Any]) -> None:
    await register_vector_async(connection)
    await connection.commit()
