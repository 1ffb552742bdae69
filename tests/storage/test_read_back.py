"""A forget is read back by looking, not by assuming: what was left over must be visible to the one who looks."""

from __future__ import annotations

import pytest

import olvido
from olvido.operations.forget import count_life
from olvido.storage.data_map import FORGOTTEN
from olvido.storage.database import Life
from tests.conftest import Clone
from tests.storage.support import administer, populate, rows


@pytest.mark.parametrize("role", ["app", "worker"])
async def test_a_read_back_sees_every_relation_that_a_forget_empties(
    clone: Clone, memory: olvido.Memory, role: str
) -> None:
    """Of a life that nobody forgot, the read-back counts rows in each relation of the data map, `subjects` included."""
    await populate(memory, "altavela", "ana")
    person = memory.scope(tenant="altavela", subject="ana")
    with administer(clone) as connection:
        ((key,),) = rows(connection, "SELECT subject_key FROM olvido.subjects")
    database = memory._environment.database
    worker = role == "worker"
    async with database.remains("altavela", key, external=None if worker else "ana", worker=worker) as transaction:
        counted = await count_life(transaction)
    assert counted.keys() == set(FORGOTTEN)
    assert all(counted.values())
    report = await person.forget_all()
    assert {copy.copy: copy.remaining for copy in report.copies} == dict.fromkeys(FORGOTTEN, 0)
    async with database.read(Life(scope=person.scope)) as transaction:
        assert transaction.key is None
