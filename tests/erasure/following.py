"""What the tests of following up requests to forget share."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import psycopg

from olvido import Memory
from olvido.domain.erasure import Level, Step
from tests.conftest import Clone

HOUR = timedelta(hours=1)
LOCAL = {Level.E2: 1, Level.E3: 1}
"""What is settled of one request once files and log are done."""
WHOLE = 11
"""Relations that say something of a person, of which a person's rows are in one leaf each."""


async def forget(memory: Memory, subject: str, tenant: str = "altavela") -> UUID:
    """Remember something of a person, and forget the person."""
    who = memory.scope(tenant=tenant, subject=subject)
    await who.remember("prefers aisle seats")
    report = await who.forget_all()
    assert report.erasure_id is not None
    return report.erasure_id


async def steps(memory: Memory, erasure_id: UUID, tenant: str = "altavela") -> dict[str, Step]:
    """The steps of a request by name."""
    return {step.step: step for step in (await memory.erasure(tenant, erasure_id)).steps}


def administer(clone: Clone, statement: str, *parameters: object) -> None:
    """Run one statement as the administrator, committed."""
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute(statement.encode(), parameters)
