"""A store full of people: records of one person, written by Olvido, are copied inside the database to all others.

Copies are rows as Olvido writes them, with ids, times and cases of their own. Writing 300,000 records through the API
would take most of the time of the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from bench.data import moment_of, text_of
from bench.store import BATCH, Store
from olvido import NewEpisode, Origin
from olvido.ports import Vectors
from olvido.storage.queries import named

SQL = named((Path(__file__).parent / "crowd.sql").read_text(encoding="utf-8"), "crowd")

MODEL = 2_000
"""Records of the person they are copied from."""

IN_A_CASE = 20
SPEAKERS = ("Ana", "Rui", "Eva")
ORIGINS = (Origin.declared, Origin.observed)
STATUSES = ("open", "resolved", "lookup-failed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """Somebody with `size` records."""

    tenant: str
    subject: str
    size: int


def record(number: int) -> NewEpisode:
    """Record `number` of the model: notes and support cases, with case, speaker, product, status and origin."""
    origin = ORIGINS[number % len(ORIGINS)](
        "support-desk", ref=f"turn-{number}", actor=SPEAKERS[number % len(SPEAKERS)]
    )
    text = text_of(number)
    is_note = number % 3 == 0
    fields = {"text": text} if is_note else {"summary": text, "product": f"course {number % 7}", "channel": "web"}
    return NewEpisode(
        definition="note" if is_note else "support-case",
        event_id=f"e{number}",
        case_id=f"case-{number // IN_A_CASE}",
        status=None if is_note else STATUSES[number % len(STATUSES)],
        fields=fields,
        occurred_at=moment_of(number),
        origin=origin,
    )


async def fill(store: Store, people: Sequence[Person], *, model: int | None = None) -> None:
    """Give all of `people`, who are new, their records. model: how many different ones there are; None is MODEL."""
    model = model or MODEL
    copied = store.person("acme", "model")
    for start in range(0, model, BATCH):
        await copied.record_episodes([record(number) for number in range(start, min(start + BATCH, model))])
    with psycopg.connect(store.urls.superuser, autocommit=True) as connection:
        with connection.transaction():
            connection.execute(
                SQL["people"].text,
                {
                    "tenants": [one.tenant for one in people],
                    "names": [one.subject for one in people],
                    "sizes": [one.size for one in people],
                },
            )
            connection.execute(SQL["model"].text, {"tenant": "acme", "name": "model"})
            for name in ("copies", "statistics", "hurry", "tenants", "subjects", "lives", "episodes", "entries"):
                connection.execute(SQL[name].text, {})
        connection.execute(SQL["settle"].text)
    store.administer("settle")


def vectors(store: Store, tenant: str, subject: str) -> Vectors:
    """All vectors of one person, shape (n, dimensions)."""
    with psycopg.connect(store.urls.superuser) as connection:
        register_vector(connection)
        rows = connection.execute(SQL["vectors"].text, {"tenant": tenant, "name": subject}).fetchall()
    found: Vectors = np.stack([row[0].to_numpy() for row in rows]).astype(np.float32)
    return found
