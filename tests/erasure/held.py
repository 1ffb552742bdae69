"""What the tests of legal holds share: placing one, and looking at what it keeps."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

from olvido import Memory, ScopedMemory
from olvido.storage.data_map import SUBJECT_RELATIONS
from tests.cases.support import DAY, START, dump, where
from tests.conftest import Clone

BASIS = "court file 7/26"
REVIEW = START + 400 * DAY
PRIMARY = ["preferences", "preference_versions", "episodes", "sessions", "session_items", "session_facts", "messages"]
"""What a hold keeps: what is derived from it can be made again."""


async def hold(memory: Memory, who: ScopedMemory, record_id: UUID | None = None) -> UUID:
    """Place a hold on a person, or on one record of theirs."""
    placed = await memory.place_hold(
        who.scope.tenant, subject=who.scope.subject, basis=BASIS, review_at=REVIEW, record_id=record_id
    )
    return placed.hold_id


def kept(clone: Clone) -> list[dict[str, Any]]:
    """What holds keep, as the administrator sees it."""
    with psycopg.connect(clone.superuser) as connection:
        found = connection.execute(
            "SELECT hold_id, relation, record_id, content FROM olvido.held_records"
            " ORDER BY removal_id, relation, position"
        )
        return [
            {"hold_id": row[0], "relation": row[1], "record_id": row[2], "content": row[3]} for row in found.fetchall()
        ]


def personal(clone: Clone, word: str) -> list[str]:
    """The personal relations that have a word somewhere."""
    names = {relation.name for relation in SUBJECT_RELATIONS}
    return [name for name in where(dump(clone.superuser), word) if name in names]
