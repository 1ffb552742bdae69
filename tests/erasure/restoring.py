"""What the tests of restored databases share: a small world, what is forgotten in it, and copies of a database."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

import olvido
from olvido.adapters import embedded
from olvido.bootstrap import Opening
from olvido.storage.data_map import SUBJECT_RELATIONS
from tests.conftest import Clone, named
from tests.contract.support import CONFIRMED, LOOKED_UP, Outside, PlainDetector, PlainEmbedder, Scope, Stored

ACME, NORBROOK, ALTAVELA = "acme", "norbrook", "altavela"
UNTOUCHED = (("acme", "dora"), ("altavela", "ana"), ("altavela", "bea"))
LOCKED_BY = 10
"""Entries of `World.forget`: a person, three records, a version, a selection, a company, its two people, and one who
came later."""
PERSONAL = {relation.name for relation in SUBJECT_RELATIONS} - {"index_entries"}

_numbers = itertools.count()


def opening(place: Clone | Path, ledger: Path | None = None, *, worker: bool = True, **options: Any) -> Opening:  # noqa: ANN401
    """Open a database, or a directory, with parts that cost nothing."""
    given: dict[str, Any] = {"embedder": PlainEmbedder(), "detector": PlainDetector(), "ledger": ledger, **options}
    if isinstance(place, Path):
        return olvido.open(place, **given)
    return olvido.open(place.app, worker_url=place.worker if worker else None, **given)


async def check(place: Clone | Path, ledger: Path | None = None) -> olvido.RestoreReport:
    """How a database and its ledger go together."""
    if isinstance(place, Path):
        return await olvido.restore_check(place, ledger=ledger)
    return await olvido.restore_check(place.app, worker_url=place.worker, ledger=ledger)


async def replay(place: Clone | Path, ledger: Path | None = None, **options: Any) -> olvido.ReplayReport:  # noqa: ANN401
    """Apply the ledger to a database again."""
    given: dict[str, Any] = {"embedder": PlainEmbedder(), "ledger": ledger, **options}
    if isinstance(place, Path):
        return await olvido.restore_replay(place, **given)
    return await olvido.restore_replay(place.app, worker_url=place.worker, **given)


@contextmanager
def copied(cluster: embedded.ServerUrls, source: Clone) -> Iterator[Clone]:
    """A copy of a database that nobody has open, with all that is in it."""
    name = f"copy{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source.name} STRATEGY file_copy".encode())
        connection.execute(f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC".encode())
    try:
        logins = [one.name for one in fields(Clone) if one.name != "name"]
        yield Clone(name=name, **{login: named(getattr(source, login), name) for login in logins})
    finally:
        with psycopg.connect(cluster.superuser, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


@dataclass(kw_only=True, slots=True)
class World:
    """People of three companies. records: ids of those that `forget` forgets one by one, by a word for each."""

    records: dict[str, UUID] = field(default_factory=dict)

    async def fill(self, memory: olvido.Memory) -> None:
        """Remember something of every kind for everybody, and forget somebody for good before any backup."""
        for tenant, subject in [
            *((tenant, subject) for tenant in (ACME, NORBROOK, ALTAVELA) for subject in ("ana", "bea")),
            (ACME, "carl"),
            (ACME, "dora"),
            (ACME, "fred"),
        ]:
            person = memory.scope(tenant=tenant, subject=subject)
            note = await person.remember(f"the locker of {subject} at {tenant}", event_id="n1")
            case = await person.record_episode(
                "support-case",
                event_id="ev1",
                case_id="at1",
                status="lookup-failed",
                occurred_at=await memory.now(),
                fields={"title": f"cannot reach the course of {subject}"},
                origin=LOOKED_UP,
            )
            await person.consolidate()
            language = await person.set_preference("language", "es", origin=CONFIRMED)
            await person.correct_preference("language", "pt", origin=CONFIRMED)
            await person.set_preference("display_name", subject.title(), origin=CONFIRMED)
            session = person.session("s1")
            await session.open(goal="reach the course", pending=["call back"])
            await session.append("user", f"this is {subject}")
            if (tenant, subject) == (ACME, "bea"):
                self.records = {
                    "note": note.record.record_id,
                    "case": case.record.record_id,
                    "chain": language.record.record_id,
                }
            if (tenant, subject) == (ACME, "carl"):
                self.records["version"] = language.record.record_id
        await memory.scope(tenant=ACME, subject="fred").forget_all()

    async def forget(self, memory: olvido.Memory) -> None:
        """Forget a person, single records, a version, a selection, a company, and somebody who came meanwhile."""
        await memory.scope(tenant=ACME, subject="ana").forget_all()
        bea = memory.scope(tenant=ACME, subject="bea")
        for word in ("note", "case", "chain"):
            await bea.forget(self.records[word])
        carl = memory.scope(tenant=ACME, subject="carl")
        await carl.forget(self.records["version"], reopen_previous=True)
        await carl.forget_where(kind="episode")
        gina = memory.scope(tenant=ACME, subject="gina")
        await gina.remember("came after the backup")
        await gina.forget_all()
        await memory.forget_tenant(NORBROOK)


async def filled(clone: Clone, world: World) -> None:
    """Fill the database of a test, before its backup."""
    async with opening(clone) as memory:
        await world.fill(memory)


async def forgotten(clone: Clone, world: World) -> None:
    """Forget, after the backup."""
    async with opening(clone) as memory:
        await world.forget(memory)


def personal(clone: Clone) -> dict[Scope, Stored]:
    """All that is stored of anybody, but for the index, which a worker makes again."""
    with Outside(clone.superuser) as outside:
        census = outside.census()
    return {
        scope: Stored(
            rows=type(stored.rows)({name: stored.rows[name] for name in stored.rows if name in PERSONAL}),
            checksums={name: stored.checksums[name] for name in stored.checksums if name in PERSONAL},
        )
        for scope, stored in census.items()
    }
