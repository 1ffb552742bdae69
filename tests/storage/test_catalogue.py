"""The database catalogue against the data map and the rules of isolation: what somebody forgot is found here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import olvido
from olvido.errors import UnsafeDatabase
from olvido.storage.data_map import DATA_MAP, FORGOTTEN, ColumnClass, RelationClass
from olvido.storage.grants import GRANTS
from olvido.storage.guard import inspect, refuse_unsafe
from olvido.storage.queries import statements
from olvido.storage.row_policies import APP, ERASER, OWNER, expected
from tests.conftest import Clone
from tests.storage.support import SUBJECT, administer, changed, populate, relations, rows, undeclared

LEAF = re.compile(r"^(episodes|index_entries|messages)_\d+$")
CANARY = "quetzalcoatlus"


@pytest.fixture(scope="module")
def catalogue(migrated: Clone) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """The catalogue of a migrated database, as the superuser; only read."""
    with administer(migrated) as connection:
        yield connection


def test_the_data_map_is_the_catalogue(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Every relation and column of the schema, leaves included, is in the data map, and nothing else is."""
    assert undeclared(catalogue) == []
    assert {name for name, parent in relations(catalogue).items() if name != parent} == {
        name for name in relations(catalogue) if LEAF.match(name)
    }


@pytest.mark.parametrize(
    "change, name, code",
    [
        ("CREATE TABLE olvido.hunches (tenant_id text)", "hunches", "unmapped_relation"),
        ("CREATE VIEW olvido.everybody AS SELECT * FROM olvido.subjects", "everybody", "unmapped_relation"),
        ("CREATE MATERIALIZED VIEW olvido.copied AS SELECT * FROM olvido.due", "copied", "unmapped_relation"),
        ("ALTER TABLE olvido.preferences ADD COLUMN mood text", "preferences.mood", "unmapped_column"),
        ("ALTER TABLE olvido.episodes ADD COLUMN mood text", "episodes.mood", "unmapped_column"),
        ("ALTER TABLE olvido.sessions DROP COLUMN goal", "sessions.goal", "missing_column"),
        ("DROP TABLE olvido.summary_sources", "summary_sources", "missing_relation"),
    ],
)
async def test_what_is_not_declared_is_found_and_not_served(
    migrated: Clone, catalogue: psycopg.Connection[tuple[Any, ...]], change: str, name: str, code: str
) -> None:
    """A relation or column without a rule fails the check of the catalogue, and start-up refuses and names it."""
    with catalogue.transaction(force_rollback=True):
        catalogue.execute(change.encode())
        assert name in undeclared(catalogue)
    async with changed(migrated, change) as connection:
        assert code in {finding.code for finding in await inspect(connection, role=APP)}
        with pytest.raises(UnsafeDatabase) as refused:
            await refuse_unsafe(connection, role=APP)
    assert f"{name} is {'missing' if code.startswith('missing') else 'not in the data map'}" in str(refused.value)


def test_every_relation_and_leaf_has_forced_row_security(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Row security is enabled and forced everywhere, also on leaves, and everything belongs to olvido_owner."""
    found = rows(
        catalogue,
        """SELECT relname::text, relrowsecurity, relforcerowsecurity, pg_get_userbyid(relowner)::text FROM pg_class
            WHERE relnamespace = 'olvido'::regnamespace AND relkind IN ('r', 'p')""",
    )
    assert {name for name, _, _, _ in found} == relations(catalogue).keys()
    assert {tuple(facts) for _, *facts in found} == {(True, True, OWNER)}


def test_policies_cover_every_verb_that_is_granted(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Each relation has the policies of its class, leaves those of their parent, and no verb is granted without one."""
    found: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for relation, command, roles in rows(
        catalogue,
        """SELECT tablename::text, lower(cmd), roles::text[] FROM pg_policies WHERE schemaname = 'olvido'""",
    ):
        found.setdefault(relation, set()).add((command, frozenset(roles)))
    for relation, parent in relations(catalogue).items():
        assert found[relation] == {(policy.command, policy.roles) for policy in expected(parent)}, relation
    for relation, grants in GRANTS.items():
        for role, verbs in grants.items():
            covered = {command for command, roles in found[relation] if role in roles}
            # Who may rewrite a relation sees no row of it.
            wanted = {verb.partition("(")[0].lower() for verb in verbs.split()} - {"maintain"}
            assert "all" in covered or wanted == covered, (relation, role)


def test_grants_are_the_declared_ones_and_leaves_have_one(
    catalogue: psycopg.Connection[tuple[Any, ...]],
) -> None:
    """Nobody holds a right that is not listed: a leaf may be rewritten, nothing for PUBLIC, no TRUNCATE for anybody."""
    granted: dict[str, dict[str, set[str]]] = {name: {} for name in relations(catalogue)}
    for relation, role, verb in rows(
        catalogue,
        """SELECT c.relname::text, CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee)::text END,
                  a.privilege_type
             FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = 'olvido'::regnamespace
           UNION ALL
           SELECT c.relname::text, CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee)::text END,
                  a.privilege_type || '(' || t.attname || ')'
             FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid, aclexplode(t.attacl) a
            WHERE c.relnamespace = 'olvido'::regnamespace""",
    ):
        if role != OWNER:
            granted[relation].setdefault(role, set()).add(verb)
    wanted = {
        name: {role: set(verbs.split()) for role, verbs in GRANTS[name].items()}
        if name in GRANTS
        else {ERASER: {"MAINTAIN"}}
        for name in granted
    }
    assert granted == wanted
    assert GRANTS.keys() == DATA_MAP.keys()


def test_nothing_runs_or_reads_with_other_rights(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Case 93: no view, no materialised view, no definer function, no function for PUBLIC, and no rule."""
    assert rows(catalogue, "SELECT relname FROM pg_class WHERE relnamespace = 'olvido'::regnamespace "
                           "AND relkind NOT IN ('r', 'p', 'i', 'I', 't')") == []  # fmt: skip
    functions = rows(
        catalogue,
        """SELECT p.proname::text, p.prosecdef, has_function_privilege('public', p.oid, 'EXECUTE'),
                  has_function_privilege('olvido_app', p.oid, 'EXECUTE'), pg_get_userbyid(p.proowner)::text
             FROM pg_proc p WHERE p.pronamespace = 'olvido'::regnamespace""",
    )
    assert {(definer, public, owner) for _, definer, public, _, owner in functions} == {(False, False, OWNER)}
    migrations = {"wall", "silence", "create_leaves", "let_rewrite"}
    swaps = {"copy_of", "parent_of", "make_copy", "copying", "count_copy", "shut", "later_rows", "swap"}
    assert {name for name, _, _, app, _ in functions if not app} == {*migrations, "rewrite", *swaps}
    assert rows(catalogue, "SELECT rulename FROM pg_rules WHERE schemaname = 'olvido'") == []


def test_keys_and_references_begin_with_the_scope(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Case 94: no key, unique constraint or foreign key could tell one scope anything about another."""
    found = rows(
        catalogue,
        """SELECT c.relname::text, o.contype::text,
                  ARRAY(SELECT attname::text FROM unnest(o.conkey) WITH ORDINALITY k (n, i)
                          JOIN pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.n ORDER BY k.i),
                  ARRAY(SELECT attname::text FROM unnest(o.confkey) WITH ORDINALITY k (n, i)
                          JOIN pg_attribute a ON a.attrelid = o.confrelid AND a.attnum = k.n ORDER BY k.i)
             FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
            WHERE o.connamespace = 'olvido'::regnamespace AND o.contype IN ('p', 'u', 'f', 'x')""",
    )
    parents = relations(catalogue)
    keyed = {relation for relation, kind, _, _ in found if kind == "p"}
    assert keyed == parents.keys()
    for relation, kind, columns, referenced in found:
        width = 2 if DATA_MAP[parents[relation]].relation_class is RelationClass.SUBJECT else 1
        scope = ["tenant_id", "subject_key"][:width]
        # These are of no company: versions, numbers of the ledger, places that a policy names, files.
        unscoped = relation in ("schema_version", "ledger_entries", "copies", "rewrites")
        assert unscoped or columns[:width] == scope, (relation, columns)
        assert kind != "f" or referenced[:width] == scope, (relation, columns, referenced)
        assert kind != "x", relation
    for name in SUBJECT:
        assert (name, "f", ["tenant_id", "subject_key"], ["tenant_id", "subject_key"]) in found
    assert rows(catalogue, "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                           "WHERE c.relnamespace = 'olvido'::regnamespace AND i.indisunique AND NOT EXISTS ("
                           "SELECT FROM pg_constraint o WHERE o.conindid = i.indexrelid)") == []  # fmt: skip


def test_personal_memory_has_plain_indexes_only(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """No HNSW and no GIN: both answer wrongly under row security, and keep words after the row is gone."""
    methods = rows(
        catalogue,
        """SELECT DISTINCT m.amname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
             JOIN pg_am m ON m.oid = c.relam WHERE c.relnamespace = 'olvido'::regnamespace""",
    )
    assert methods == [("btree",)]


def test_statistics_are_off_where_values_would_stay(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """ANALYZE keeps nothing of content, identifiers, origins, scopes or attributes, on parents and on leaves."""
    parents = relations(catalogue)
    kept = {
        (DATA_MAP[parents[relation]].columns[column], relation)
        for relation, column, target in rows(
            catalogue,
            """SELECT c.relname::text, a.attname::text, coalesce(a.attstattarget, -1)
                 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
                  AND NOT a.attisdropped""",
        )
        if target != 0 and relation != "schema_version"
    }
    assert {column_class for column_class, _ in kept} == {ColumnClass.INSTANT, ColumnClass.NUMBER}
    assert rows(catalogue, "SELECT stxname FROM pg_statistic_ext") == []


async def test_analyze_leaves_nothing_of_what_was_stored(clone: Clone, memory: olvido.Memory) -> None:
    """After ANALYZE by the superuser, pg_stats has no value of any record and no row for a column that holds one."""
    for tenant in ("altavela", "norbrook"):
        for subject in ("ines", f"{CANARY}@example.test"):
            await populate(memory, tenant, subject, words=CANARY)
    with administer(clone) as connection:
        connection.execute("ANALYZE")
        found = rows(
            connection,
            """SELECT s.tablename::text, s.attname::text, s::text FROM pg_stats s WHERE s.schemaname = 'olvido'""",
        )
        parents = relations(connection)
    assert found
    for relation, column, everything in found:
        assert CANARY not in everything
        assert "altavela" not in everything
        if relation != "schema_version":
            assert DATA_MAP[parents[relation]].columns[column] in (ColumnClass.INSTANT, ColumnClass.NUMBER)


def test_identifiers_are_compared_byte_by_byte(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Every tenant_id and external_id is text COLLATE "C", and the empty one cannot be stored."""
    assert rows(
        catalogue,
        """SELECT DISTINCT a.atttypid::regtype::text, l.collname::text, a.attnotnull
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation l ON l.oid = a.attcollation
            WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p')
              AND a.attname IN ('tenant_id', 'external_id')""",
    ) == [("text", "C", True)]
    for name in ("tenants_tenant_id_check", "subjects_external_id_check", "audit_log_tenant_id_check"):
        definition = rows(catalogue, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
        assert "<> ''::text" in definition[0][0]


def test_the_schema_is_ready_to_be_distributed(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """No identity columns, no sequences, no triggers of ours, and no default but that of the version table."""
    assert rows(
        catalogue,
        """SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = 'olvido'::regnamespace AND a.attidentity <> ''""",
    ) == []  # fmt: skip
    assert rows(
        catalogue,
        """SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relnamespace = 'olvido'::regnamespace AND NOT t.tgisinternal""",
    ) == []  # fmt: skip
    assert rows(
        catalogue,
        """SELECT c.relname::text, a.attname::text FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
             JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
            WHERE c.relnamespace = 'olvido'::regnamespace""",
    ) == [("schema_version", "applied_at")]


def test_a_forget_follows_the_data_map() -> None:
    """Every relation that a forget empties is counted, deleted and, if personal, checksummed by its own statement."""
    written = statements("data_map")
    order = re.findall(r"'(\w+)' AS relation", written["counts"].text.decode())
    assert tuple(order) == FORGOTTEN
    assert {name for name in written if name.startswith("forget_")} == {f"forget_{name}" for name in FORGOTTEN}
    for name in FORGOTTEN:
        assert written[f"forget_{name}"].text.decode().split()[:3] == ["DELETE", "FROM", f"olvido.{name}"]
    assert set(re.findall(r"'(\w+)' AS relation", written["checksums"].text.decode())) == SUBJECT


def test_a_forget_deletes_what_refers_before_what_it_refers_to(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    """The order of the data map agrees with every foreign key between the relations that a forget empties."""
    references = rows(
        catalogue,
        """SELECT f.relname::text, t.relname::text FROM pg_constraint o JOIN pg_class f ON f.oid = o.conrelid
             JOIN pg_class t ON t.oid = o.confrelid
            WHERE o.connamespace = 'olvido'::regnamespace AND o.contype = 'f'""",
    )
    both = [(one, other) for one, other in references if one in FORGOTTEN and other in FORGOTTEN]
    assert both
    assert all(FORGOTTEN.index(one) < FORGOTTEN.index(other) for one, other in both)
