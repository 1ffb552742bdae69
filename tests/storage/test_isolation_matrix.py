"""Roles x commands x relations x situations: what each may do is computed from the rules and compared with the server.

Foreign keys are dropped in this copy of the database: they would hide what a DELETE may reach behind what refers to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from olvido.storage.data_map import DATA_MAP, SUBJECT_RELATIONS
from olvido.storage.grants import GRANTS
from olvido.storage.row_policies import APP, ERASER, WORKER
from tests.storage.conftest import COMPOSED, World
from tests.storage.support import administer, login, relations, rows

Connection = psycopg.Connection[tuple[Any, ...]]
Row = Mapping[str, Any]

COMMANDS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
ROLES = {"app": {APP}, "worker": {WORKER}, "both": {APP, WORKER}, "eraser": {ERASER}}
UNSCOPED = {"schema_version", "copies", "ledger_entries", "rewrites"}
"""Of no company: versions, places that a policy names, numbers of the ledger, files that were written anew."""
PERSONAL = {relation.name for relation in SUBJECT_RELATIONS}
ME = ("altavela", "li")
OWNERS = (ME, ("altavela", "liam"), ("norbrook", "li"), ("alta", "li"))

DENIED = "permission denied"
WALL = "row-level security"
TAKEN = "unique"


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """A relation as the superuser sees it. unique: the last column of each unique key, with its type."""

    name: str
    key: tuple[str, ...]
    unique: tuple[tuple[str, str], ...]
    stored: tuple[Row, ...]

    def identity(self, row: Row) -> str:
        """What tells this row from all others of its relation."""
        return "|".join(str(row[column]) for column in self.key)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """The world without foreign keys. urls: by role. leaves: names of all partitions."""

    world: World
    urls: Mapping[str, str]
    relations: tuple[Relation, ...]
    leaves: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What the transaction says it is. Empty: not said."""

    tenant: str = ""
    external: str = ""
    subject: str = ""

    def apply(self, connection: Connection, *, local: bool = True) -> None:
        """Say so, for this transaction or for the whole session."""
        for name, value in (("tenant", self.tenant), ("external", self.external), ("subject", self.subject)):
            connection.execute("SELECT set_config(%s, %s, %s)", (f"olvido.{name}", value, local))


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """How a connection came to where it is. setting: what holds then, which the expectations are computed from."""

    setting: Callable[[World], Setting]
    prepare: Callable[[Connection, World], None] | None = None


def _say(tenant: str, external: str, owner: tuple[str, str] | None = ME) -> Situation:
    return Situation(
        setting=lambda world: Setting(
            tenant=tenant, external=external, subject="" if owner is None else str(world.keys[owner])
        )
    )


def _mine(world: World) -> Setting:
    return Setting(tenant=ME[0], external=ME[1], subject=str(world.keys[ME]))


def _enter(connection: Connection, world: World) -> None:
    entered = connection.execute("SELECT subject_key FROM olvido.enter_scope(%s, %s, NULL, false)", ME).fetchone()
    assert entered == (world.keys[ME],)


def _use_and(end: LiteralString) -> Callable[[Connection, World], None]:
    def prepare(connection: Connection, world: World) -> None:
        _mine(world).apply(connection)
        connection.execute("SELECT * FROM olvido.episodes")
        connection.execute(end)

    return prepare


def _after_a_careless_user(connection: Connection, world: World) -> None:
    other = Setting(tenant="norbrook", external="liam", subject=str(world.keys["norbrook", "liam"]))
    other.apply(connection, local=False)
    connection.commit()
    _enter(connection, world)


SITUATIONS = {
    "right-scope": _say(*ME),
    "right-scope-by-function": Situation(setting=_mine, prepare=_enter),
    "right-scope-composed": _say(COMPOSED, "li", (COMPOSED, "li")),
    "nothing-said": Situation(setting=lambda _: Setting(), prepare=lambda _, __: None),
    "after-commit": Situation(setting=lambda _: Setting(), prepare=_use_and("COMMIT")),
    "after-rollback": Situation(setting=lambda _: Setting(), prepare=_use_and("ROLLBACK")),
    "session-setting-of-another": Situation(setting=_mine, prepare=_after_a_careless_user),
    "empty": _say("", "", None),
    "tenant-only": _say("altavela", "", None),
    "subject-only": _say("", "li"),
    "same-subject-elsewhere": _say("norbrook", "li"),
    "key-of-another-tenant": _say("altavela", "li", ("norbrook", "li")),
    "other-subject": _say("altavela", "liam", ("altavela", "liam")),
    "percent": _say("%", "%"),
    "underscores": _say("________", "__"),
    "prefix": _say("alta", "l"),
    "extension": _say("altavelas", "li-"),
    "null-as-text": _say("NULL", "NULL"),
    "upper-case": _say("ALTAVELA", "LI"),
    "trailing-space": _say("altavela ", "li "),
    "quotes": _say("altavela' OR ''='", "li'--"),
    "cyrillic": _say("\u0430ltavela", "l\u0456"),
    "decomposed": _say("cafe\u0301", "li", (COMPOSED, "li")),
}


@pytest.fixture(scope="module")
def stage(world: World) -> Iterator[Stage]:
    """The world without foreign keys, with a login for each role."""
    with (
        administer(world.clone) as connection,
        login(world.clone, member_of=[APP, WORKER]) as both,
        login(world.clone, member_of=[ERASER]) as eraser,
    ):
        for table, constraint in rows(
            connection,
            """SELECT conrelid::regclass::text, conname::text FROM pg_constraint
                WHERE connamespace = 'olvido'::regnamespace AND contype = 'f' AND conparentid = 0""",
        ):
            connection.execute(
                sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(
                    sql.Identifier(*table.split(".")), sql.Identifier(constraint)
                )
            )
        present = relations(connection)
        yield Stage(
            world=world,
            urls={"app": world.clone.app, "worker": world.clone.worker, "both": both, "eraser": eraser},
            relations=tuple(_read(connection, name) for name, parent in present.items() if name == parent),
            leaves=tuple(name for name, parent in present.items() if name != parent),
        )


def _read(connection: Connection, name: str) -> Relation:
    keys = rows(
        connection,
        """SELECT i.indisprimary, ARRAY(SELECT attname::text FROM unnest(i.indkey) WITH ORDINALITY k (n, p)
                    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.p),
                  ARRAY(SELECT atttypid::regtype::text FROM unnest(i.indkey) WITH ORDINALITY k (n, p)
                    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.p)
             FROM pg_index i WHERE i.indrelid = to_regclass('olvido.' || %s) AND i.indisunique""",
        [name],
    )
    stored = connection.execute(sql.SQL("SELECT to_jsonb(t) FROM {} AS t").format(_table(name))).fetchall()
    assert stored, f"{name} has no row, so the matrix would say nothing about it"
    return Relation(
        name=name,
        key=next(tuple(columns) for primary, columns, _ in keys if primary),
        unique=tuple((columns[-1], types[-1]) for _, columns, types in keys),
        stored=tuple(row for (row,) in stored),
    )


def _table(name: str) -> sql.Identifier:
    return sql.Identifier("olvido", name)


def _granted(roles: set[str], relation: str, command: str) -> bool:
    verbs = " ".join(GRANTS.get(relation, {}).get(role, "") for role in roles)
    return command in (verb.partition("(")[0] for verb in verbs.split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who does something: with which roles, and what the transaction says it is. externals: external ids by key."""

    roles: set[str]
    setting: Setting
    externals: Mapping[str, str]


def _admits(caller: Caller, relation: Relation, command: str, row: Row) -> bool:
    """The rules in one place: may this caller do this to this row, once the command itself is granted?"""
    setting, worker = caller.setting, WORKER in caller.roles
    if relation.name in UNSCOPED:
        return True
    tenant = setting.tenant != "" and row["tenant_id"] == setting.tenant
    scope = tenant and row.get("subject_key") == setting.subject
    if relation.name in PERSONAL:
        return scope
    external = row.get("external_id", caller.externals.get(str(row.get("subject_key"))))
    rules = {
        "due": worker or scope,
        "lives": worker or scope,
        "sealing": worker or tenant,
        # A request writes down any step that is not settled, and then sees only what is about its own rows.
        "erasure_steps": worker
        or (tenant and (row.get("settled_at") is None if command == "INSERT" else row.get("level") == "E1")),
        "legal_holds": tenant if worker else scope,
        "audit_log": tenant and (command != "UPDATE" or row.get("seal") is None),
        "subjects": tenant and (worker or external == setting.external),
    }
    return rules.get(relation.name, tenant)


class Expectations:
    """What one role in one situation must see of one relation."""

    def __init__(self, stage: Stage, role: str, setting: Setting) -> None:
        self._roles = ROLES[role]
        self._setting = setting
        self._externals = {str(key): external for (_, external), key in stage.world.keys.items()}

    def _caller(self, roles: set[str]) -> Caller:
        return Caller(roles=roles, setting=self._setting, externals=self._externals)

    def reached(self, relation: Relation, command: str) -> str | frozenset[str]:
        """The identities of the rows that a SELECT, UPDATE or DELETE of everything reaches, or why it fails."""
        if not _granted(self._roles, relation.name, command):
            return DENIED
        found = frozenset(
            relation.identity(row)
            for row in relation.stored
            if _admits(self._caller(self._roles), relation, command, row)
        )
        sealed = relation.name == "subjects" or (relation.name == "tenants" and WORKER not in self._roles)
        return WALL if command == "UPDATE" and sealed and found else found

    def inserted(self, relation: Relation, row: Row) -> str | frozenset[str]:
        """The identity of the row that an INSERT adds, or why it fails."""
        if not _granted(self._roles, relation.name, "INSERT"):
            return DENIED
        # A worker begins no life, so that only the rule for requests admits a new row of `subjects`.
        roles = self._roles - {WORKER} if relation.name == "subjects" else self._roles
        if not _admits(self._caller(roles), relation, "INSERT", row):
            return WALL
        taken = any(relation.identity(row) == relation.identity(other) for other in relation.stored)
        return TAKEN if taken else frozenset({relation.identity(row)})


def _fresh(relation: Relation, row: Row) -> Row:
    """The same row under keys that nobody uses."""
    changed = dict(row)
    for column, kind in relation.unique:
        value = changed[column]
        changed[column] = (
            str(uuid4()) if kind == "uuid" else value + 1000 if kind in ("integer", "bigint") else f"{value}-new"
        )
    return changed


def _owned(relation: Relation, world: World) -> Iterator[Row]:
    for owner in OWNERS:
        key = str(world.keys[owner])
        for row in relation.stored:
            if row.get("tenant_id", owner[0]) == owner[0] and row.get("subject_key", key) == key:
                yield row
                break


def _attempt(connection: Connection, query: sql.Composed, parameters: tuple[object, ...] = ()) -> str | frozenset[str]:
    """Run a statement and take it back: the identities it returned, or how it failed."""
    try:
        with connection.transaction(force_rollback=True):
            cursor = connection.execute(query, parameters)
            return frozenset(identity for (identity,) in cursor.fetchall()) if cursor.description else frozenset()
    except errors.UniqueViolation:
        return TAKEN
    except errors.InsufficientPrivilege as error:
        return WALL if WALL in (error.diag.message_primary or "") else DENIED


def _statements(relation: Relation) -> dict[str, sql.Composed]:
    identity = sql.SQL("concat_ws('|', {})").format(sql.SQL(", ").join(map(sql.Identifier, relation.key)))
    change: dict[str, LiteralString] = {
        "tenants": "closed_at = now()",
        "subjects": "created_at = now()",
        "schema_version": "name = name",
        "copies": "name = name",
        "ledger_entries": "entry = entry",
        "audit_log": "seal = 1",
        "erasure_steps": "attempts = attempts",
        "rewrites": "relation = relation",
    }
    parts = {
        "table": _table(relation.name),
        "identity": identity,
        "change": sql.SQL(change.get(relation.name, "tenant_id = tenant_id")),
    }
    return {
        "SELECT": sql.SQL("SELECT {identity} FROM {table}").format(**parts),
        "UPDATE": sql.SQL("UPDATE {table} SET {change} RETURNING {identity}").format(**parts),
        "DELETE": sql.SQL("DELETE FROM {table} RETURNING {identity}").format(**parts),
        "INSERT": sql.SQL("INSERT INTO {table} SELECT (jsonb_populate_record(NULL::{table}, %s)).*").format(**parts),
        "TRUNCATE": sql.SQL("TRUNCATE {table}").format(**parts),
    }


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("role", ROLES)
def test_each_command_reaches_exactly_what_the_rules_say(stage: Stage, role: str, situation: str) -> None:
    """Every command of every role on every relation reaches the rows of its scope, tenant or class, and no others."""
    wrong: list[str] = []
    here = SITUATIONS[situation]
    setting = here.setting(stage.world)
    expectations = Expectations(stage, role, setting)
    with psycopg.connect(stage.urls[role]) as connection:
        if here.prepare is None or role == "eraser":
            setting.apply(connection)
        else:
            here.prepare(connection, stage.world)
        for relation in stage.relations:
            statements = _statements(relation)
            for command in ("SELECT", "UPDATE", "DELETE"):
                found = _attempt(connection, statements[command])
                if found != expectations.reached(relation, command):
                    wrong.append(f"{command} {relation.name}: {found}")
            for row in _owned(relation, stage.world):
                for offered in (row, _fresh(relation, row)):
                    wanted = expectations.inserted(relation, offered)
                    found = _attempt(connection, statements["INSERT"], (json.dumps(offered),))
                    if found != (frozenset() if isinstance(wanted, frozenset) else wanted):
                        wrong.append(f"INSERT {relation.name} {relation.identity(offered)}: {found}")
            if _attempt(connection, statements["TRUNCATE"]) != DENIED:
                wrong.append(f"TRUNCATE {relation.name}")
        connection.rollback()
    assert wrong == []


@pytest.mark.parametrize("role", ROLES)
def test_a_leaf_is_never_reached_directly(stage: Stage, role: str) -> None:
    """A policy of the parent does not guard a leaf that is named itself, so nobody holds a right on a leaf."""
    with psycopg.connect(stage.urls[role]) as connection:
        _mine(stage.world).apply(connection)
        for leaf in stage.leaves:
            relation = next(relation for relation in stage.relations if leaf.startswith(f"{relation.name}_"))
            for command, statement in _statements(
                Relation(name=leaf, key=relation.key, unique=relation.unique, stored=relation.stored)
            ).items():
                parameters = (json.dumps(relation.stored[0]),) if command == "INSERT" else ()
                assert _attempt(connection, statement, parameters) == DENIED, (command, leaf)
        connection.rollback()


def test_the_matrix_covers_the_catalogue(stage: Stage) -> None:
    """The relations of the matrix are those of the data map, each with rows of every scope it tries."""
    assert {relation.name for relation in stage.relations} == DATA_MAP.keys()
    assert len(stage.leaves) == 6
    for relation in stage.relations:
        assert len(list(_owned(relation, stage.world))) == len(OWNERS), relation.name
