"""An upgrade: a database of an earlier release, with rows and leaves, becomes what a new one is, and keeps its rows."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

import olvido
from olvido.adapters.embedded import ServerUrls
from olvido.storage import migrations
from olvido.storage.migrations import known_migrations
from tests.conftest import Clone, named
from tests.storage.support import CONFIRMED, administer, rows
from tools.dump_schema import SCHEMA, dump

FIRST_RELEASE = 4


@pytest.fixture
def earlier(cluster: ServerUrls, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clone]:
    """A database that the first release migrated."""
    name = "earlier"
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    database = Clone(
        name=name,
        superuser=named(cluster.superuser, name),
        app=named(cluster.app, name),
        worker=named(cluster.worker, name),
        eraser=named(cluster.eraser, name),
    )
    first = known_migrations()[:FIRST_RELEASE]
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "known_migrations", lambda: first)
        assert olvido.migrate(database.superuser, leaves=2).version == FIRST_RELEASE
    try:
        yield database
    finally:
        with psycopg.connect(cluster.superuser, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def test_a_session_of_the_first_release_goes_on(earlier: Clone) -> None:
    """Its messages stand alone and unfolded, new ones follow with groups, and the schema is that of a new database."""
    key = uuid4()
    with administer(earlier) as connection:
        connection.execute("INSERT INTO olvido.tenants VALUES ('altavela', now())")
        connection.execute("INSERT INTO olvido.subjects VALUES ('altavela', %s, 'ines', now())", [key])
        connection.execute(
            """INSERT INTO olvido.sessions VALUES
               ('altavela', %s, 's1', %s, 'a goal', 'support', 2, now(), NULL, now() + interval '1 day', 'sha256:1')""",
            [key, uuid4()],
        )
        connection.execute(
            """INSERT INTO olvido.messages SELECT 'altavela', %s, 's1', n, 'user', 'message ' || n, now()
                 FROM generate_series(0, 1) n""",
            [key],
        )
    olvido.migrate(earlier.superuser)
    assert dump(earlier.superuser) == SCHEMA.read_text(encoding="utf-8")
    with administer(earlier) as connection:
        connection.execute("ANALYZE")
        assert rows(
            connection,
            """SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE c.relname ~ '^messages_[0-9]$' AND a.attname = 'group_id' AND a.attstattarget IS DISTINCT FROM 0
               UNION ALL
               SELECT tablename, attname FROM pg_stats WHERE schemaname = 'olvido' AND attname = 'group_id'""",
        ) == []  # fmt: skip
    async with olvido.open(earlier.app) as memory:
        session = memory.scope(tenant="altavela", subject="ines").session("s1")
        view = await session.view()
        assert (view.session.goal, view.session.folded, view.session.facts) == ("a goal", 0, ())
        assert [(message.content, message.group) for message in view.messages] == [
            ("message 0", None),
            ("message 1", None),
        ]
        await session.extend([("assistant", "call"), ("tool", "result")], "call-1")
        await session.add_fact("a fact", origin=CONFIRMED, messages=[1])
        assert (await session.compact(1)).session.folded == 2
