"""What the contract tests share: many callers at once, and a look at the database as the administrator."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, Self, TypeVar
from uuid import UUID

import numpy as np
import psycopg
from psycopg import sql

from olvido import Memory, OlvidoError, Origin
from olvido.errors import EmbedderUnavailable
from olvido.ports import Embedder, Vector, Vectors
from olvido.testing import ManualClock

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds that a forget may take while others write, on a slow machine; starved, it would take for ever."""

CALLERS = 16
"""Connections of a memory that many callers use at once."""

CONFIRMED = Origin.declared("user-confirmation", ref="turn-17")
LOOKED_UP = Origin.observed("crm.lookup", ref="call-3")

Scope = tuple[str, str]

_RELATIONS = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relnamespace = 'olvido'::regnamespace AND a.attname = 'subject_key' AND c.relkind IN ('r', 'p')
   AND NOT c.relispartition AND c.relname NOT IN ('audit_log', 'erasures', 'legal_holds')
 ORDER BY c.relname
"""
_CENSUS = """
SELECT s.tenant_id, s.external_id, {name}, count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text))
  FROM olvido.{relation} t JOIN olvido.subjects s USING (tenant_id, subject_key) GROUP BY 1, 2
"""
_OVERDUE = """
SELECT count(*) FROM (
    SELECT tenant_id, subject_key, expires_at AS at FROM olvido.preferences
    UNION ALL SELECT tenant_id, subject_key, retain_until FROM olvido.preference_versions
    UNION ALL SELECT tenant_id, subject_key, expires_at FROM olvido.episodes
    UNION ALL SELECT tenant_id, subject_key, expires_at FROM olvido.summaries
    UNION ALL SELECT tenant_id, subject_key, expires_at FROM olvido.sessions
  ) AS e LEFT JOIN olvido.due d USING (tenant_id, subject_key)
 WHERE e.at IS NOT NULL AND (d.next_due_at IS NULL OR d.next_due_at > e.at)
"""
_INDEX_GAPS = """
SELECT count(*) FROM (
    SELECT tenant_id, subject_key, record_id, 'preference' AS kind FROM olvido.preferences
    UNION ALL SELECT tenant_id, subject_key, record_id, 'episode' FROM olvido.episodes
  ) AS r FULL JOIN olvido.index_entries i USING (tenant_id, subject_key, record_id, kind)
 WHERE r.record_id IS NULL OR i.record_id IS NULL
"""
_BROKEN_CHAINS = """
SELECT count(*) FROM olvido.preferences p
  FULL JOIN (SELECT tenant_id, subject_key, record_id, max(version) AS version,
                    count(*) FILTER (WHERE valid_to IS NULL) AS current
               FROM olvido.preference_versions GROUP BY 1, 2, 3) AS v USING (tenant_id, subject_key, record_id)
 WHERE p.version IS DISTINCT FROM v.version OR v.current <> 1
"""
_BROKEN_SESSIONS = """
SELECT count(*) FROM olvido.sessions s
  LEFT JOIN (SELECT tenant_id, subject_key, session_id, count(*) AS messages, max(sequence) AS last
               FROM olvido.messages GROUP BY 1, 2, 3) AS m USING (tenant_id, subject_key, session_id)
 WHERE s.message_count <> coalesce(m.messages, 0) OR m.last <> s.message_count - 1
"""
_EMPTY_SUMMARIES = """
SELECT count(*) FROM olvido.summaries s
 WHERE NOT EXISTS (SELECT FROM olvido.summary_sources r WHERE r.summary_id = s.record_id)
"""
_WITHOUT_VECTOR = """
SELECT s.tenant_id, s.external_id, count(*)
  FROM olvido.subjects s JOIN olvido.tenants t USING (tenant_id)
  JOIN olvido.index_entries i USING (tenant_id, subject_key)
 WHERE t.closed_at IS NULL AND i.embedding IS NULL AND (i.expires_at IS NULL OR i.expires_at > %s) GROUP BY 1, 2
"""
CONSISTENCY = {
    "what expires earlier than its life is scheduled for a purge": _OVERDUE,
    "records without an index entry, or the reverse": _INDEX_GAPS,
    "chains whose head is not their last version, or with several current ones": _BROKEN_CHAINS,
    "sessions whose messages have gaps or are miscounted": _BROKEN_SESSIONS,
    "summaries of nothing": _EMPTY_SUMMARIES,
}


class PlainEmbedder:
    """One vector for every text, at once: for tests in which callers race and nothing is searched by meaning."""

    id = "plain/1"
    dimensions = 8

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Ones, of unit length."""
        return np.full((len(texts), self.dimensions), self.dimensions**-0.5, dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        """The same vector."""
        vector: Vector = (await self.embed_passages([text]))[0]
        return vector

    async def centre(self) -> Vector:
        """Nothing in common."""
        return np.zeros(self.dimensions, dtype=np.float32)


class PlainDetector:
    """One language for every text: for tests that search nothing."""

    def detect(self, text: str) -> str:
        """Always "other"."""
        del text
        return "other"


class PausedEmbedder:
    """Another embedder that waits: `started` is set when a text came in, and `go` lets it continue."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.dimensions = embedder.dimensions
        self.started = asyncio.Event()
        self.go = asyncio.Event()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """What the other one answers, after the pause."""
        self.started.set()
        await self.go.wait()
        return await self._embedder.embed_passages(texts)

    async def embed_query(self, text: str) -> Vector:
        """What the other one answers."""
        return await self._embedder.embed_query(text)

    async def centre(self) -> Vector:
        """What the other one answers."""
        return await self._embedder.centre()


class FailingEmbedder:
    """Another embedder that gives no vector of a record while `fails` is set; questions are answered."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.dimensions = embedder.dimensions
        self.fails = False

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """What the other one answers, or nothing usable."""
        if self.fails:
            raise EmbedderUnavailable("out")
        return await self._embedder.embed_passages(texts)

    async def embed_query(self, text: str) -> Vector:
        """What the other one answers."""
        return await self._embedder.embed_query(text)

    async def centre(self) -> Vector:
        """What the other one answers."""
        return await self._embedder.centre()


async def outcome(work: Coroutine[Any, Any, T]) -> T | OlvidoError:
    """What a call answers, or the refusal it raises; anything else is raised here."""
    try:
        return await work
    except OlvidoError as error:
        return error


async def together(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T | OlvidoError]:
    """The outcomes of calls made at once, in their order."""
    return await asyncio.gather(*map(outcome, calls))


async def all_of(*work: Coroutine[Any, Any, T]) -> list[T]:
    """What calls at once answer. Raises the first failure when all have ended, so that none is left half-way."""
    answers = await asyncio.gather(*work, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """What is stored for one scope: rows and a checksum by relation; relations with none are left out."""

    rows: Counter[str]
    checksums: dict[str, str]


class Outside:
    """The administrator's view of one database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(url, autocommit=True)
        self._relations = [str(row[0]) for row in self._connection.execute(_RELATIONS)]
        self._census = sql.SQL(" UNION ALL ").join(
            sql.SQL(_CENSUS).format(name=sql.Literal(name), relation=sql.Identifier(name)) for name in self._relations
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def log_in_again(self) -> None:
        """After the server has crashed."""
        self._connection.close()
        self._connection = psycopg.connect(self._url, autocommit=True)

    def census(self) -> dict[Scope, Stored]:
        """Everything that is stored, by scope."""
        found: dict[Scope, Stored] = {}
        for tenant, subject, relation, count, checksum in self._connection.execute(self._census):
            stored = found.setdefault((tenant, subject), Stored(rows=Counter(), checksums={}))
            stored.rows[relation] = count
            stored.checksums[relation] = checksum
        return found

    def problems(self) -> dict[str, int]:
        """What never may be there, with how many; empty when the database is consistent."""
        counted = {}
        for problem, query in CONSISTENCY.items():
            row = self._connection.execute(query.encode()).fetchone()
            if row is None or row[0]:
                counted[problem] = -1 if row is None else int(row[0])
        return counted

    def without_vector(self, now: datetime) -> dict[Scope, int]:
        """How many live records of each scope of an open company are found by their words only."""
        found = self._connection.execute(_WITHOUT_VECTOR.encode(), [now])
        return {(tenant, subject): count for tenant, subject, count in found}

    def keys(self, tenant: str) -> list[UUID]:
        """The keys of the lives of one company."""
        rows = self._connection.execute("SELECT subject_key FROM olvido.subjects WHERE tenant_id = %s", [tenant])
        return [row[0] for row in rows]

    def survivors(self, key: UUID) -> dict[str, int]:
        """Rows of one life in every relation that is about it, not in what says that it was forgotten; empty: gone."""
        found = {}
        for relation in self._relations:
            query = sql.SQL("SELECT count(*) FROM olvido.{} WHERE subject_key = %s").format(sql.Identifier(relation))
            row = self._connection.execute(query, [key]).fetchone()
            if row is None or row[0]:
                found[relation] = -1 if row is None else int(row[0])
        return found

    def connections(self) -> int:
        """How many other connections this database has."""
        return self._number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    def waiting(self) -> int:
        """How many connections wait for a lock now."""
        return self._number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

    def now(self) -> datetime:
        """The instant, by the clock of the database."""
        row = self._connection.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        found: datetime = row[0]
        return found

    def audited(self, action: str) -> list[datetime]:
        """When the audit log says that something was done, the oldest first."""
        rows = self._connection.execute("SELECT at FROM olvido.audit_log WHERE action = %s ORDER BY at", [action])
        return [row[0] for row in rows]

    def deadlocks(self) -> int:
        """How many transactions of ended connections were given up for a deadlock."""
        return self._number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")

    def _number(self, query: LiteralString) -> int:
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def empty(self) -> None:
        """Remove everything, for the next example."""
        emptied = (*self._relations, "audit_log", "tenants", "sealing")
        names = sql.SQL(", ").join(sql.Identifier("olvido", name) for name in emptied)
        self._connection.execute(sql.SQL("TRUNCATE {}").format(names))


async def until_waiting(outside: Outside, count: int) -> None:
    """Return when `count` connections wait for a lock."""
    deadline = time.monotonic() + PATIENCE
    while outside.waiting() < count:
        assert time.monotonic() < deadline, f"{outside.waiting()} of {count} wait"
        await asyncio.to_thread(outside.waiting)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What all examples share: one event loop, one open memory, and the administrator's view of its database."""

    runner: asyncio.Runner
    memory: Memory
    clock: ManualClock
    outside: Outside
    embedder: FailingEmbedder

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end on the one loop."""
        return self.runner.run(work)
