"""What start-up looks at before anything is served: versions, roles, and the wall of every relation (rule 3)."""

from __future__ import annotations

import re
from typing import Any

import psycopg

from olvido.errors import SchemaMismatch, UnsafeDatabase
from olvido.storage.data_map import DATA_MAP
from olvido.storage.findings import Finding
from olvido.storage.inspection import HIDDEN, MAKE_UTF8, SHOW
from olvido.storage.memberships import beyond
from olvido.storage.migrations import function_bodies, known_migrations, pending
from olvido.storage.objects import object_findings
from olvido.storage.queries import statements
from olvido.storage.row_policies import APP, ERASER, SCOPE_FUNCTIONS, WORKER, RowPolicy, differences
from olvido.storage.translation import translated

MIN_SERVER = 170000
MIN_PGVECTOR = (0, 8, 4)

_SQL = statements("schema")
_MEMBER = {APP: "is_app", WORKER: "is_worker", ERASER: "is_eraser"}

_UNREADABLE = Finding(
    code="unreadable_schema",
    problem="The login may not read which migrations ran.",
    remedy="Run `olvido migrate` to its end; if that changes nothing, restore the grants of the schema olvido.",
)


async def _rows(connection: psycopg.AsyncConnection[Any], name: str) -> list[dict[str, Any]]:
    cursor = await connection.execute(_SQL[name].text)
    return list(await cursor.fetchall())


async def inspect(connection: psycopg.AsyncConnection[Any], *, role: str) -> list[Finding]:
    """Everything that would break the contract if this connection served. role: what it serves as, one of Olvido's.

    The connection must have dict rows. Raises SchemaMismatch if the schema is missing, older or newer.
    """
    # Nothing is written, and what `qualify` sets is taken back.
    async with connection.transaction(force_rollback=True):
        served = (await _rows(connection, "served"))[0]
        await connection.execute(_SQL["qualify"].text)
        table = (await _rows(connection, "version_table"))[0]
        if not table["present"]:
            raise SchemaMismatch(
                "The database has no Olvido schema. Run `olvido migrate --database-url URL` with an owner's login."
            )
        findings = [
            *_versions(server := (await _rows(connection, "server"))[0]),
            *_settings(served, has_vectors=server["pgvector_version"] is not None),
            *_login((await _rows(connection, "login"))[0], role),
        ]
        if not table["readable"]:
            return findings or [_UNREADABLE]
        await _check_schema(connection)
        relations = await _rows(connection, "relations")
        return [
            *findings,
            *_relations(relations),
            *_policies(relations, await _rows(connection, "policies")),
            *_functions(await _rows(connection, "definers"), await _rows(connection, "scope_functions")),
            *_bodies(await _rows(connection, "bodies")),
            *object_findings(await _rows(connection, "objects"), unserved=True),
            *_columns(await _rows(connection, "columns")),
        ]


async def refuse_unsafe(connection: psycopg.AsyncConnection[Any], *, role: str) -> None:
    """Raise UnsafeDatabase naming every finding, or return if there is none. Raises as `inspect` does otherwise."""
    async with translated():
        findings = await inspect(connection, role=role)
    if findings:
        lines = "\n".join(f"  - {finding.problem} {finding.remedy}" for finding in findings)
        raise UnsafeDatabase(f"Olvido does not serve from this database:\n{lines}")


async def is_member(connection: psycopg.AsyncConnection[Any], role: str) -> bool:
    """Whether the login of this connection has the rights of `role`, one of Olvido's but its owner."""
    async with translated():
        login = (await _rows(connection, "login"))[0]
    return bool(login[_MEMBER[role]])


async def _check_schema(connection: psycopg.AsyncConnection[Any]) -> None:
    applied = {row["version"]: row["checksum"] for row in await _rows(connection, "applied")}
    missing = pending(applied, known_migrations())
    if missing:
        raise SchemaMismatch(
            f"The database lacks {len(missing)} migrations of this release. "
            "Run `olvido migrate --database-url URL` with an owner's login."
        )


def _versions(server: dict[str, Any]) -> list[Finding]:
    findings = []
    if server["server_version"] < MIN_SERVER:
        findings.append(
            Finding(
                code="old_server",
                problem=f"PostgreSQL {server['server_version'] // 10000} is older than 17.",
                remedy="Use PostgreSQL 17 or newer.",
            )
        )
    if server["encoding"] != "UTF8":
        findings.append(
            Finding(
                code="encoding",
                problem=f"The encoding of the database is {server['encoding']}, which cannot hold every text.",
                remedy=MAKE_UTF8,
            )
        )
    numbers = tuple(int(number) for number in re.findall(r"\d+", server["pgvector_version"] or "0"))
    if numbers < MIN_PGVECTOR:
        findings.append(
            Finding(
                code="old_pgvector",
                problem=f"pgvector {server['pgvector_version'] or 'is absent'}; 0.8.4 is the oldest that will do.",
                remedy="Update the extension: ALTER EXTENSION vector UPDATE.",
            )
        )
    if not server["has_unaccent"]:
        findings.append(
            Finding(
                code="no_unaccent",
                problem="The extension unaccent is absent.",
                remedy="CREATE EXTENSION unaccent.",
            )
        )
    return findings


def _settings(served: dict[str, Any], *, has_vectors: bool) -> list[Finding]:
    """Settings of the login or the database with which statements would fail, however right the schema is."""
    findings = []
    if has_vectors and not served["sees_vectors"]:
        findings.append(Finding(code="hidden_pgvector", problem=HIDDEN, remedy=SHOW))
    if not served["sees_rows"]:
        findings.append(
            Finding(
                code="row_security_off",
                problem="The login has row_security = off, so that the server refuses every statement on its rows.",
                remedy="Take that setting from the login and the database: ALTER ROLE ... or ALTER DATABASE ... RESET.",
            )
        )
    return findings


def _login(login: dict[str, Any], role: str) -> list[Finding]:
    strong = beyond(login["predefined"])
    wrong = {
        "superuser": "is or can become a superuser",
        "bypasses": "can bypass row security, itself or by membership",
        "creates_roles": "can create roles, and so give itself any of these",
        "replicates": "can replicate the server's files, itself or by membership",
        "owns_relations": "owns Olvido's relations, itself or by membership",
        "outranks_rows": "may truncate, refer to or put triggers on Olvido's relations, past row security",
        "creates_relations": "may create temporary tables or objects in Olvido's schema, outside the data map",
        "predefined": f"is a member of {', '.join(strong)}, itself or through another role",
        "reads_rows": "may read and write rows, which the one that rewrites files must not",
    }
    facts = {**login, "predefined": strong, "reads_rows": login["reads_rows"] and role == ERASER}
    roles = ERASER if role == ERASER else "olvido_app, olvido_worker or both"
    findings = [
        Finding(
            code=f"login_{fact}",
            problem=f"The login {problem}.",
            remedy=f"Log in with a role that is only a member of {roles}.",
        )
        for fact, problem in wrong.items()
        if facts[fact]
    ]
    if login["skips_keys"]:
        findings.append(
            Finding(
                code="skipped_keys",
                problem="Foreign keys are not enforced here, because session_replication_role is replica.",
                remedy="Take that setting from the login and the database: ALTER ROLE ... or ALTER DATABASE ... RESET.",
            )
        )
    if not login[_MEMBER[role]]:
        findings.append(
            Finding(
                code="login_without_role",
                problem=f"The login is not a member of {role}.",
                remedy=f"GRANT {role} TO the login, with INHERIT.",
            )
        )
    return findings


def _relations(relations: list[dict[str, Any]]) -> list[Finding]:
    findings = []
    for row in relations:
        name = row["relation"]
        if row["kind"] not in ("r", "p") or (row["parent"] or name) not in DATA_MAP:
            findings.append(
                Finding(
                    code="unmapped_relation",
                    problem=f"The relation {name} is not in the data map.",
                    remedy="Move it to another schema, or use the release of Olvido that made it.",
                )
            )
        elif not (row["row_security"] and row["forced"]):
            findings.append(
                Finding(
                    code="no_row_security",
                    problem=f"The relation {name} lacks forced row security.",
                    remedy="Restore it from the migrations; do not serve until then.",
                )
            )
    present = {row["relation"] for row in relations}
    findings.extend(
        Finding(
            code="missing_relation",
            problem=f"The relation {name} is missing.",
            remedy="Restore the schema from a dump made with its rights, or migrate a new database.",
        )
        for name in DATA_MAP
        if name not in present
    )
    if not any(row["parent"] == "index_entries" for row in relations):
        findings.append(
            Finding(
                code="no_leaves",
                problem="The large relations have no partitions.",
                remedy="Run `olvido migrate` again; it creates them.",
            )
        )
    return findings


def _policies(relations: list[dict[str, Any]], policies: list[dict[str, Any]]) -> list[Finding]:
    found: dict[str, list[RowPolicy]] = {}
    for row in policies:
        found.setdefault(row["relation"], []).append(
            RowPolicy(
                name=row["name"],
                command=row["command"],
                roles=frozenset(row["roles"]),
                using=row["using"],
                check=row["check"],
                permissive=row["permissive"],
            )
        )
    return [
        Finding(
            code="changed_policy",
            problem=f"The relation {row['relation']} {difference}.",
            remedy="Restore its policies from the migrations; do not serve until then.",
        )
        for row in relations
        if (mapped := row["parent"] or row["relation"]) in DATA_MAP
        for difference in differences(mapped, found.get(row["relation"], []))
    ]


def _functions(definers: list[dict[str, Any]], scope_functions: list[dict[str, Any]]) -> list[Finding]:
    bodies = {row["name"]: row["body"] for row in scope_functions}
    return [
        *(
            Finding(
                code="definer_function",
                problem=f"The function {row['function']} runs with its owner's rights.",
                remedy="Drop it, or make it SECURITY INVOKER.",
            )
            for row in definers
        ),
        *(
            Finding(
                code="changed_function",
                problem=f"The function {name}, which policies call, is not the one that the migrations made.",
                remedy="Restore it from the migrations; do not serve until then.",
            )
            for name, body in SCOPE_FUNCTIONS.items()
            if bodies.get(name) != body
        ),
    ]


def _bodies(bodies: list[dict[str, Any]]) -> list[Finding]:
    """Entering a scope, beginning a life and queueing for one are functions: a changed one keeps no promise."""
    present = {row["name"]: row["body"] for row in bodies}
    return [
        Finding(
            code="changed_function",
            problem=f"The function {name} is not the one that the migrations made.",
            remedy="Restore it from the migrations; do not serve until then.",
        )
        for name, body in function_bodies(known_migrations()).items()
        if present.get(name) != body
    ]


def _columns(columns: list[dict[str, Any]]) -> list[Finding]:
    present: dict[str, set[str]] = {}
    for row in columns:
        present.setdefault(row["relation"], set()).add(row["column"])
    mapped = {name: set(DATA_MAP[name].columns) for name in present if name in DATA_MAP}
    unmapped = sorted(f"{name}.{column}" for name in mapped for column in present[name] - mapped[name])
    missing = sorted(f"{name}.{column}" for name in mapped for column in mapped[name] - present[name])
    return [
        *(
            Finding(
                code="unmapped_column",
                problem=f"The column {name} is not in the data map.",
                remedy="Drop it, or use the release of Olvido that made it.",
            )
            for name in unmapped
        ),
        *(
            Finding(
                code="missing_column",
                problem=f"The column {name} is missing.",
                remedy="Restore the schema from a dump, or migrate a new database.",
            )
            for name in missing
        ),
    ]
