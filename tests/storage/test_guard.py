"""Start-up refuses to serve where the database would not hold the contract, and says what to do."""

from __future__ import annotations

import asyncio
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

import olvido
from olvido.adapters.embedded import ServerUrls
from olvido.errors import SchemaMismatch, UnsafeDatabase
from olvido.storage import guard
from olvido.storage.data_map import DATA_MAP
from olvido.storage.row_policies import APP, ERASER, OWNER, WORKER, RowPolicy, differences, expected
from tests.conftest import Clone, named
from tests.storage.support import administer, changed, login, name_of, relations


async def _codes(url: str, *, role: str = APP) -> set[str]:
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        findings = await guard.inspect(connection, role=role)
        assert all(finding.problem.endswith(".") and finding.remedy for finding in findings)
        return {finding.code for finding in findings}


async def test_a_migrated_database_is_served(migrated: Clone) -> None:
    """Nothing is found for the runtime roles, for a login that is a member of them, nor for one that is both."""
    assert await _codes(migrated.app) == set()
    assert await _codes(migrated.worker, role=WORKER) == set()
    with login(migrated, member_of=[APP, WORKER]) as both:
        assert await _codes(both) == await _codes(both, role=WORKER) == set()


@pytest.mark.parametrize(
    "options, member_of, found",
    [
        ("SUPERUSER", [APP], {"login_superuser", "login_bypasses", "login_owns_relations"}),
        ("BYPASSRLS", [APP], {"login_bypasses"}),
        ("CREATEROLE", [APP], {"login_creates_roles"}),
        ("REPLICATION", [APP], {"login_replicates"}),
        ("", [APP, OWNER], {"login_owns_relations", "login_outranks_rows", "login_creates_relations"}),
        ("", [APP, "pg_read_server_files"], {"login_predefined"}),
        ("", [APP, "pg_execute_server_program"], {"login_predefined"}),
        ("", [APP, "pg_read_all_data"], {"login_predefined"}),
        ("", [APP, "pg_write_all_data"], {"login_predefined"}),
        ("", [APP, "pg_maintain"], {"login_predefined"}),
        ("", [APP, "pg_create_subscription"], {"login_predefined"}),
        ("", [], {"login_without_role"}),
        ("", [WORKER], {"login_without_role"}),
        ("NOINHERIT", [APP], {"login_without_role"}),
    ],
)
async def test_a_login_that_could_pass_the_wall_is_refused(
    migrated: Clone, options: LiteralString, member_of: list[str], found: set[str]
) -> None:
    """A superuser, a bypasser, an owner, a maker of roles, a reader of files and a stranger are each named."""
    with login(migrated, options=options, member_of=member_of) as url:
        assert found <= await _codes(url)
        with pytest.raises(UnsafeDatabase, match="The login"):
            async with olvido.open(url):
                pass


@pytest.mark.parametrize(
    "options, member_of, found",
    [
        ("", [ERASER], set()),
        ("", [ERASER, "pg_checkpoint", "pg_monitor"], set()),
        ("", [], {"login_without_role"}),
        ("", [APP], {"login_without_role", "login_reads_rows"}),
        ("", [ERASER, APP], {"login_reads_rows"}),
        ("", [ERASER, WORKER], {"login_reads_rows"}),
        ("SUPERUSER", [ERASER], {"login_superuser", "login_bypasses", "login_reads_rows"}),
        ("BYPASSRLS", [ERASER], {"login_bypasses"}),
        ("", [ERASER, "pg_read_all_data"], {"login_predefined"}),
        ("", [ERASER, "pg_maintain"], {"login_predefined"}),
    ],
)
async def test_who_rewrites_files_may_do_nothing_else(
    migrated: Clone, options: LiteralString, member_of: list[str], found: set[str]
) -> None:
    """The login of the eraser reads no row, as a request or a worker does, and is refused if it could."""
    with login(migrated, options=options, member_of=member_of) as url:
        codes = await _codes(url, role=ERASER)
        assert codes >= found
        assert bool(codes) == bool(found)


async def test_the_login_of_the_eraser_is_judged_as_well(clone: Clone) -> None:
    """A third URL has to be a member of olvido_eraser, and no more than that."""
    for url, reason in ((clone.worker, "may read and write rows"), (clone.superuser, "superuser")):
        with pytest.raises(UnsafeDatabase, match=reason):
            async with olvido.open(clone.app, worker_url=clone.worker, eraser_url=url):
                pass


async def test_the_eraser_of_the_migrations_is_fit(migrated: Clone) -> None:
    """Nothing is found for the role itself, and it sees no row of anything but the versions of the schema."""
    assert await _codes(migrated.eraser, role=ERASER) == set()
    async with await psycopg.AsyncConnection.connect(migrated.eraser, autocommit=True) as connection:
        for relation in DATA_MAP:
            query = sql.SQL("SELECT count(*) FROM olvido.{}").format(sql.Identifier(relation))
            if relation == "schema_version":
                await connection.execute(query)
                continue
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(query)


@pytest.mark.parametrize("power", ["SUPERUSER", "BYPASSRLS", "CREATEROLE", "REPLICATION"])
@pytest.mark.parametrize("grant", ["WITH INHERIT TRUE", "WITH INHERIT FALSE, SET TRUE", "WITH ADMIN TRUE, SET FALSE"])
async def test_what_membership_can_give_counts_as_held(
    migrated: Clone, power: LiteralString, grant: LiteralString
) -> None:
    """A power two memberships away is found, whether it is inherited, taken by SET ROLE or granted to oneself."""
    with (
        login(migrated, options=power) as powerful,
        login(migrated) as between,
        login(migrated, member_of=[APP]) as url,
        administer(migrated) as connection,
    ):
        for role, member in ((powerful, between), (between, url)):
            connection.execute(sql.SQL("GRANT {} TO {} {}").format(name_of(role), name_of(member), sql.SQL(grant)))
        assert await _codes(url) & {
            "login_superuser",
            "login_bypasses",
            "login_creates_roles",
            "login_replicates",
        }
        with pytest.raises(UnsafeDatabase):
            async with olvido.open(url):
                pass


async def test_the_superuser_is_refused_also_when_it_set_a_role(migrated: Clone) -> None:
    """What counts is who logged in, not which role the connection plays."""
    async with await psycopg.AsyncConnection.connect(
        migrated.superuser, row_factory=dict_row, options="-c role=olvido_app"
    ) as connection:
        assert "login_superuser" in {finding.code for finding in await guard.inspect(connection, role=APP)}


async def test_the_worker_login_is_judged_as_well(migrated: Clone) -> None:
    """A second URL for duties has to be a member of olvido_worker, and no more than that."""
    with pytest.raises(UnsafeDatabase, match="not a member of olvido_worker"):
        async with olvido.open(migrated.app, worker_url=migrated.app):
            pass
    with pytest.raises(UnsafeDatabase, match="superuser"):
        async with olvido.open(migrated.app, worker_url=migrated.superuser):
            pass


@pytest.mark.parametrize(
    "change, code, named_relation",
    [
        ("ALTER TABLE olvido.episodes NO FORCE ROW LEVEL SECURITY", "no_row_security", "episodes"),
        ("ALTER TABLE olvido.messages_1 DISABLE ROW LEVEL SECURITY", "no_row_security", "messages_1"),
        ("DROP POLICY scope ON olvido.sessions", "changed_policy", "sessions"),
        ("DROP POLICY scope ON olvido.index_entries_0", "changed_policy", "index_entries_0"),
        ("ALTER POLICY scope ON olvido.preferences USING (true)", "changed_policy", "preferences"),
        ("ALTER POLICY scope ON olvido.preferences WITH CHECK (true)", "changed_policy", "preferences"),
        (
            (
                "ALTER POLICY scope ON olvido.summaries USING (tenant_id = olvido.current_tenant() "
                "OR subject_key = olvido.current_subject())"
            ),
            "changed_policy",
            "summaries",
        ),
        ("ALTER POLICY scope ON olvido.episodes_1 TO PUBLIC", "changed_policy", "episodes_1"),
        ("ALTER POLICY scope ON olvido.due TO olvido_worker", "changed_policy", "due"),
        ("ALTER POLICY tenant_close ON olvido.tenants WITH CHECK (true)", "changed_policy", "tenants"),
        ("ALTER POLICY subject_lock ON olvido.subjects WITH CHECK (true)", "changed_policy", "subjects"),
        ("CREATE POLICY everybody ON olvido.messages USING (true)", "changed_policy", "messages"),
        ("CREATE POLICY more ON olvido.audit_log FOR SELECT TO olvido_app USING (true)", "changed_policy", "audit_log"),
        (
            (
                "DROP POLICY scope ON olvido.sessions; CREATE POLICY scope ON olvido.sessions AS RESTRICTIVE "
                "TO olvido_app, olvido_worker USING (tenant_id = olvido.current_tenant() AND subject_key = "
                "olvido.current_subject()) WITH CHECK (tenant_id = olvido.current_tenant() AND subject_key = "
                "olvido.current_subject())"
            ),
            "changed_policy",
            "sessions",
        ),
        (
            (
                "CREATE FUNCTION public.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN 'x'; "
                "ALTER POLICY scope ON olvido.sessions USING (tenant_id = public.current_tenant() "
                "AND subject_key = olvido.current_subject())"
            ),
            "changed_policy",
            "sessions",
        ),
        (
            "CREATE OR REPLACE FUNCTION olvido.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN 'altavela'",
            "changed_function",
            "current_tenant",
        ),
        (
            (
                "CREATE OR REPLACE FUNCTION olvido.current_subject() RETURNS uuid LANGUAGE plpgsql STABLE AS "
                "'BEGIN RETURN gen_random_uuid(); END'"
            ),
            "changed_function",
            "current_subject",
        ),
        ("ALTER FUNCTION olvido.enter_scope SECURITY DEFINER", "definer_function", "enter_scope"),
        (
            (
                "CREATE OR REPLACE FUNCTION olvido.queue(scope_key text, alone boolean) RETURNS void "
                "LANGUAGE plpgsql AS 'BEGIN END'"
            ),
            "changed_function",
            "queue",
        ),
        ("DROP FUNCTION olvido.begin_life", "changed_function", "begin_life"),
        (
            "ALTER TABLE olvido.preferences DROP CONSTRAINT preferences_tenant_id_subject_key_fkey",
            "missing_key",
            "preferences",
        ),
        ("ALTER TABLE olvido.episodes DROP CONSTRAINT episodes_tenant_id_subject_key_fkey", "missing_key", "episodes"),
        ("ALTER TABLE olvido.due DROP CONSTRAINT due_pkey", "missing_key", "due"),
        (  # case 115
            "ALTER TABLE olvido.subjects DROP CONSTRAINT subjects_tenant_id_external_id_key",
            "missing_key",
            r"subjects lacks its UNIQUE \(tenant_id, external_id\)",
        ),
        (
            "ALTER TABLE olvido.episodes DROP CONSTRAINT episodes_tenant_id_subject_key_definition_event_id_key",
            "missing_key",
            "episodes lacks its UNIQUE",
        ),
        (
            "ALTER TABLE olvido.session_items DROP CONSTRAINT session_items_tenant_id_subject_key_session_id_fkey",
            "missing_key",
            "session_items",
        ),
        (
            (
                "ALTER TABLE olvido.due DROP CONSTRAINT due_tenant_id_subject_key_fkey; ALTER TABLE olvido.due "
                "ADD CONSTRAINT due_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) "
                "REFERENCES olvido.subjects NOT VALID"
            ),
            "missing_key",
            "due",
        ),
        ("CREATE UNIQUE INDEX oracle ON olvido.subjects (external_id)", "foreign_key", "oracle on subjects"),
        ("CREATE UNIQUE INDEX oracle ON olvido.messages_1 (content)", "foreign_key", "oracle on messages_1"),
        (
            (
                'CREATE TABLE public.fans (tenant_id text COLLATE "C", subject_key uuid, '
                "FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects)"
            ),
            "foreign_key",
            "on subjects",
        ),
        ("ALTER TABLE olvido.sessions DISABLE TRIGGER ALL", "disabled_trigger", "sessions"),
        ("ALTER TABLE olvido.episodes_0 DISABLE TRIGGER ALL", "disabled_trigger", "episodes_0"),
        ("CREATE RULE keep AS ON DELETE TO olvido.preferences DO INSTEAD NOTHING", "foreign_rule", "rule keep"),
        ("CREATE RULE keep AS ON DELETE TO olvido.messages_1 DO INSTEAD NOTHING", "foreign_rule", "messages_1"),
        (
            (
                "CREATE TRIGGER spy BEFORE UPDATE ON olvido.due FOR EACH ROW "
                "EXECUTE FUNCTION suppress_redundant_updates_trigger()"
            ),
            "foreign_trigger",
            "spy on due",
        ),
        (
            'ALTER TABLE olvido.episodes ALTER COLUMN case_id TYPE text COLLATE "default"',
            "changed_column",
            "case_id of episodes",
        ),
        ("SET LOCAL session_replication_role = replica", "skipped_keys", "session_replication_role"),
        ("GRANT pg_read_all_data TO olvido_app", "login_predefined", "pg_read_all_data"),
        ("GRANT ALL ON ALL TABLES IN SCHEMA olvido TO olvido_app", "login_outranks_rows", "login"),
        ("GRANT TRUNCATE ON olvido.messages TO PUBLIC", "login_outranks_rows", "login"),
        ("GRANT CREATE ON SCHEMA olvido TO olvido_app", "login_creates_relations", "login"),
        ("REVOKE SELECT ON olvido.schema_version FROM olvido_app", "unreadable_schema", "login"),
        ("DROP EXTENSION unaccent CASCADE", "no_unaccent", "unaccent"),
        ("DROP TABLE olvido.index_entries_0, olvido.index_entries_1", "no_leaves", "partitions"),
    ],
)
async def test_a_wall_that_was_changed_is_refused(migrated: Clone, change: str, code: str, named_relation: str) -> None:
    """Whatever somebody does to policies, functions, grants or leaves by hand is found before anything is served."""
    async with changed(migrated, change) as connection:
        assert {finding.code for finding in await guard.inspect(connection, role=APP)} == {code}
        with pytest.raises(UnsafeDatabase, match=named_relation):
            await guard.refuse_unsafe(connection, role=APP)


async def test_a_permissive_policy_is_not_opened(clone: Clone) -> None:
    """The whole way: a policy that lets everybody in keeps `olvido.open` from serving, for requests and for duties."""
    with administer(clone) as connection:
        connection.execute("ALTER POLICY scope ON olvido.index_entries_1 USING (true)")
    with pytest.raises(UnsafeDatabase, match="index_entries_1 has another policy scope"):
        async with olvido.open(clone.app, worker_url=clone.worker):
            pass


async def test_temporary_tables_for_everybody_are_refused(migrated: Clone) -> None:
    """The default right of a restored database to make temporary tables is found: they are outside the data map."""
    async with changed(migrated, f"GRANT TEMPORARY ON DATABASE {migrated.name} TO PUBLIC") as connection:
        found = await guard.inspect(connection, role=APP)
    assert [finding.code for finding in found] == ["login_creates_relations"]


@pytest.mark.parametrize(
    "setting",
    [
        "search_path = olvido, public",
        "search_path = public, olvido",
        "quote_all_identifiers = on",
        "standard_conforming_strings = off",
    ],
)
async def test_settings_of_the_login_change_nothing(migrated: Clone, setting: str) -> None:
    """Policies are read as they are, also by a login on whose search path the functions or impostors stand."""
    impostor = "CREATE FUNCTION public.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN 'x'; SET LOCAL "
    async with changed(migrated, impostor + setting) as connection:
        assert await guard.inspect(connection, role=APP) == []


async def test_a_database_without_the_schema_is_told_to_migrate(cluster: ServerUrls) -> None:
    """An empty database, which lacks the extensions too, is answered with what to run, long before a timeout."""
    with psycopg.connect(cluster.superuser, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
    try:
        async with asyncio.timeout(20):
            with pytest.raises(SchemaMismatch, match="olvido migrate"):
                async with olvido.open(named(cluster.app, "empty"), timeout=60):
                    pass
    finally:
        with psycopg.connect(cluster.superuser, autocommit=True) as connection:
            connection.execute("DROP DATABASE empty WITH (FORCE)")


@pytest.mark.parametrize(
    "change, message",
    [
        (
            "DELETE FROM olvido.schema_version WHERE version = (SELECT max(version) FROM olvido.schema_version)",
            "lacks 1",
        ),
        ("INSERT INTO olvido.schema_version VALUES (9999, 'from_the_future', 'x')", "schema version 9999"),
        ("UPDATE olvido.schema_version SET checksum = 'edited' WHERE version = 2", "Migration 0002 differs"),
    ],
)
async def test_another_schema_is_refused(migrated: Clone, change: str, message: str) -> None:
    """A database that lacks a migration, has one of a later release, or ran one with other bytes, is not served."""
    async with changed(migrated, change) as connection:
        with pytest.raises(SchemaMismatch, match=message):
            await guard.refuse_unsafe(connection, role=APP)


def test_the_declared_policies_name_both_halves_of_the_scope() -> None:
    """Each policy of a personal relation says tenant and life, for reading and for writing, to the two roles only."""
    for relation in DATA_MAP.values():
        for policy in expected(relation.name):
            if relation.relation_class == "subject":
                assert policy.roles == {APP, WORKER}
                for expression in (policy.using, policy.check):
                    assert expression is not None
                    assert "current_tenant()" in expression
                    assert "current_subject()" in expression


def test_differences_are_said_in_words() -> None:
    """A missing, a changed and an added policy each read as a sentence after the name of the relation."""
    scope = expected("episodes")[0]
    extra = RowPolicy(name="extra", command="all", roles=frozenset({"public"}), using="true")
    assert differences("episodes", [scope]) == []
    assert differences("episodes", []) == ["lacks the policy scope"]
    assert differences("episodes", [scope, extra]) == ["has a policy extra that no migration made"]
    wider = RowPolicy(name="scope", command="all", roles=scope.roles, using="true", check="true")
    assert differences("episodes", [wider]) == ["has another policy scope than the migrations made"]


def test_leaves_are_judged_like_their_parents(migrated: Clone) -> None:
    """Start-up looks at every leaf: the relations it reads are those of the catalogue."""
    with administer(migrated) as connection:
        found = relations(connection)
        looked_at = {str(row[0]) for row in connection.execute(guard._SQL["relations"].text).fetchall()}
    assert looked_at == found.keys()
