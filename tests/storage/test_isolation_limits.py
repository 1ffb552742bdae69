"""What a runtime role cannot do at all, and what it cannot find out: escalation, moving rows, existence, statistics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql

from olvido.storage.data_map import SUBJECT_RELATIONS
from tests.storage.conftest import World
from tests.storage.support import administer, rows

Connection = psycopg.Connection[tuple[Any, ...]]

PERSONAL = [relation.name for relation in SUBJECT_RELATIONS]
MINE = ("altavela", "li")
FOREIGN = ("norbrook", "li")


@pytest.fixture
def app(world: World) -> Iterator[Connection]:
    """A request's connection inside the scope of li at altavela; what it does is rolled back."""
    with psycopg.connect(world.clone.app) as connection:
        connection.execute("SELECT olvido.enter_scope(%s, %s, NULL, false)", MINE)
        yield connection
        connection.rollback()


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE olvido_owner",
        "SET ROLE olvido_worker",
        "SET SESSION AUTHORIZATION postgres",
        "CREATE TEMP TABLE copied AS SELECT * FROM olvido.episodes",
        "CREATE TABLE public.copied (content text)",
        "CREATE TABLE olvido.copied (content text)",
        "CREATE SCHEMA copies",
        "CREATE FUNCTION olvido.peek() RETURNS void LANGUAGE sql AS 'SELECT'",
        "CREATE OR REPLACE FUNCTION olvido.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN 'norbrook'",
        "CREATE TRIGGER peek BEFORE INSERT ON olvido.episodes EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE INDEX peek ON olvido.preferences (value)",
        "ALTER TABLE olvido.episodes DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE olvido.episodes NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY scope ON olvido.episodes",
        "ALTER ROLE olvido_app BYPASSRLS",
        "GRANT olvido_owner TO olvido_app",
        "SELECT * FROM olvido.audit_log",
        "SELECT olvido.create_leaves(9)",
        "SELECT olvido.wall('olvido.episodes')",
        "SELECT pg_read_file('PG_VERSION')",
        "COPY olvido.episodes TO PROGRAM 'cat'",
        "COPY olvido.episodes TO '/tmp/copied'",
        "SELECT lo_import('/etc/hostname')",
        "UPDATE olvido.subjects SET external_id = 'norbrook-li'",
        "UPDATE olvido.subjects SET tenant_id = 'norbrook'",
        "UPDATE olvido.subjects SET subject_key = gen_random_uuid()",
        "UPDATE olvido.subjects SET created_at = created_at",
        "UPDATE olvido.tenants SET closed_at = now()",
        "DELETE FROM olvido.tenants",
        "DELETE FROM olvido.audit_log",
        "UPDATE olvido.audit_log SET action = 'nothing'",
        "INSERT INTO olvido.schema_version (version, name, checksum) VALUES (9999, 'x', 'x')",
    ],
)
def test_a_request_cannot_leave_its_place(app: Connection, statement: str) -> None:
    """The runtime role cannot become another, own or make anything, read files, or touch what is not its to touch."""
    with pytest.raises(errors.InsufficientPrivilege):
        app.execute(statement.encode())


def test_a_request_cannot_rewrite_storage(world: World) -> None:
    """VACUUM by the runtime role is answered with a warning and does nothing."""
    notices: list[str] = []
    with psycopg.connect(world.clone.app, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute("VACUUM FULL olvido.preferences")
    assert notices == ['permission denied to vacuum "preferences", skipping it']


def test_row_security_cannot_be_switched_off(app: Connection) -> None:
    """With row_security off a query fails; it does not show everything."""
    app.execute("SET LOCAL row_security = off")
    with pytest.raises(errors.InsufficientPrivilege, match="would be affected by row-level security"):
        app.execute("SELECT * FROM olvido.preferences")


def test_copy_writes_nothing_and_reads_the_scope_only(world: World, app: Connection) -> None:
    """COPY FROM is refused under row security, and COPY TO sends the rows of the scope."""
    with app.cursor().copy("COPY (SELECT DISTINCT tenant_id, subject_key FROM olvido.episodes) TO STDOUT") as copy:
        assert list(copy.rows()) == [(MINE[0], str(world.keys[MINE]))]
    with pytest.raises(errors.FeatureNotSupported), app.cursor().copy("COPY olvido.preferences FROM STDIN"):
        pass


def test_a_request_cannot_enumerate_people(world: World, app: Connection) -> None:
    """A request sees the one subject that it names; a worker sees the keys of one tenant, and no other."""
    assert rows(app, "SELECT external_id FROM olvido.subjects") == [("li",)]
    assert rows(app, "SELECT tenant_id FROM olvido.tenants") == [("altavela",)]
    assert rows(app, "SELECT count(DISTINCT subject_key) FROM olvido.due") == [(1,)]
    with psycopg.connect(world.clone.worker) as worker:
        worker.execute("SELECT olvido.enter_life('altavela', '', NULL, false)")
        assert rows(worker, "SELECT tenant_id, external_id FROM olvido.subjects ORDER BY 2") == [
            ("altavela", "li"),
            ("altavela", "liam"),
        ]
        assert rows(worker, "SELECT * FROM olvido.episodes") == []


def test_a_worker_closes_a_tenant_and_nobody_opens_it_again(world: World) -> None:
    """closed_at can be set by a worker, and once set it cannot be taken back or be inserted otherwise."""
    with psycopg.connect(world.clone.worker) as worker:
        worker.execute("SELECT olvido.enter_life('alta', '', NULL, false)")
        worker.execute("UPDATE olvido.tenants SET closed_at = now()")
        with pytest.raises(errors.InsufficientPrivilege):
            worker.execute("UPDATE olvido.tenants SET closed_at = NULL")
        worker.rollback()


@pytest.mark.parametrize("relation", [*PERSONAL, "due", "lives"])
@pytest.mark.parametrize("column", ["tenant_id", "subject_key"])
def test_a_row_cannot_be_moved_to_another_scope(world: World, app: Connection, relation: str, column: str) -> None:
    """An UPDATE that would hand a row to another tenant or another person is refused."""
    target = "norbrook" if column == "tenant_id" else world.keys["altavela", "liam"]
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        app.execute(
            sql.SQL("UPDATE {} SET {} = %s").format(sql.Identifier("olvido", relation), sql.Identifier(column)),
            [target],
        )


@pytest.mark.parametrize("relation", [*PERSONAL, "due", "lives"])
@pytest.mark.parametrize("verb", ["INSERT", "UPSERT"])
def test_a_foreign_row_and_a_missing_one_are_refused_alike(
    world: World, app: Connection, relation: str, verb: str
) -> None:
    """An INSERT under a foreign tenant and key says the same, whether that row, that life or that tenant exists."""
    with administer(world.clone) as connection:
        stored = connection.execute(
            sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE tenant_id = %s AND subject_key = %s").format(
                sql.Identifier("olvido", relation)
            ),
            [FOREIGN[0], world.keys[FOREIGN]],
        ).fetchone()
    assert stored is not None
    row = stored[0]
    strangers = [
        row,
        {**row, "tenant_id": "no-such-company"},
        {**row, "subject_key": str(uuid4())},
        {name: str(uuid4()) if _is_uuid(value) else value for name, value in row.items()},
    ]
    query = "INSERT INTO {table} SELECT (jsonb_populate_record(NULL::{table}, %s)).*"
    if verb == "UPSERT":
        query += " ON CONFLICT DO NOTHING"
    answers = set()
    for stranger in strangers:
        with pytest.raises(psycopg.Error) as refused, app.transaction():
            app.execute(
                sql.SQL(query).format(table=sql.Identifier("olvido", relation)),
                [json.dumps(stranger)],
            )
        answers.add((refused.value.sqlstate, refused.value.diag.message_primary, refused.value.diag.message_detail))
    assert answers == {("42501", f'new row violates row-level security policy for table "{relation}"', None)}


def test_the_same_ids_at_another_company_are_free(world: World) -> None:
    """Case 94: session names, event ids and keys that one company uses stay available to the others."""
    with administer(world.clone) as connection:
        for query in (
            "SELECT tenant_id FROM olvido.sessions WHERE session_id = 's1'",
            "SELECT tenant_id FROM olvido.episodes WHERE event_id = 'ev1'",
            "SELECT tenant_id FROM olvido.preferences WHERE key = 'language'",
        ):
            found = connection.execute(query.encode()).fetchall()
            assert len(found) == len(world.keys)


def test_a_setting_that_is_no_key_fails_closed(world: World) -> None:
    """A subject setting that is no uuid raises; it never matches like a pattern."""
    with psycopg.connect(world.clone.app) as connection:
        for wrong in ("%", "_", "NULL", "li", " ", "00000000"):
            connection.execute("SELECT set_config('olvido.tenant', 'altavela', true)")
            connection.execute("SELECT set_config('olvido.subject', %s, true)", [wrong])
            with pytest.raises(errors.InvalidTextRepresentation):
                connection.execute("SELECT * FROM olvido.preferences")
            connection.rollback()


def test_the_owner_itself_sees_nothing(world: World) -> None:
    """FORCE holds for the role that owns the relations, leaves included."""
    with administer(world.clone) as connection:
        connection.execute("SET ROLE olvido_owner")
        for relation in [*PERSONAL, "subjects", "tenants", "due", "lives", "audit_log", "episodes_0", "episodes_1"]:
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("olvido", relation))
            assert connection.execute(query).fetchone() == (0,), relation


def test_estimates_do_not_depend_on_foreign_values(world: World, app: Connection) -> None:
    """After ANALYZE, a request finds no statistics of values: foreign and invented ones are estimated alike."""
    with administer(world.clone) as connection:
        connection.execute("ANALYZE")
    assert rows(app, "SELECT * FROM pg_stats WHERE schemaname = 'olvido' AND tablename <> 'schema_version'") == []
    for relation, column, present, absent in (
        ("sessions", "tenant_id", "norbrook", "no-such-company"),
        ("sessions", "session_id", "s1", "s-of-nobody"),
        ("summaries", "case_id", "at1", "case-of-nobody"),
        ("preferences", "key", "language", "key-of-nobody"),
        ("subjects", "external_id", "liam", "nobody"),
    ):
        query = sql.SQL("EXPLAIN (FORMAT JSON) SELECT * FROM {} WHERE {} = %s").format(
            sql.Identifier("olvido", relation), sql.Identifier(column)
        )
        plans = [app.execute(query, [value]).fetchone() for value in (present, absent)]
        estimates = [[plan[0][0]["Plan"][name] for name in ("Plan Rows", "Total Cost")] for plan in plans if plan]
        assert len(estimates) == 2
        assert estimates[0] == estimates[1], (relation, column)


def _is_uuid(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True
