"""What a catalogue shows beside the wall of each relation: roles, strangers, statistics, old snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from olvido.storage.data_map import DATA_MAP, ColumnClass
from olvido.storage.findings import Finding, Severity
from olvido.storage.row_policies import APP, ERASER, OWNER, WORKER

ROLES = (APP, WORKER, ERASER, OWNER)
PATIENCE = timedelta(hours=1)
"""How long a snapshot may be held before it is a finding: transactions of Olvido end within seconds."""

_Rows = Iterable[Mapping[str, Any]]
_KEPT = frozenset({ColumnClass.INSTANT, ColumnClass.NUMBER})

_STRANGERS = {
    "owner": (
        Severity.ERROR,
        "The relation {relation} belongs to {name}, who may switch its row security off.",
        "Give it back: ALTER TABLE olvido.{relation} OWNER TO olvido_owner.",
    ),
    "statistics": (
        Severity.ERROR,
        "The statistics {name} on {relation} keep values of rows that are removed.",
        "Drop them, then ANALYZE the relation.",
    ),
    "materialized view": (
        Severity.ERROR,
        "The materialized view {name} holds a copy of {relation} that no forget looks at.",
        "Drop it.",
    ),
    "view": (
        Severity.WARNING,
        "The view {name} reads {relation} with the rights of its owner.",
        "Drop it, or make it a view with security_invoker.",
    ),
    "publication": (
        Severity.WARNING,
        "The publication {name} sends {relation} to its subscribers.",
        "Drop it, or declare the subscribers under `copies` in the policy.",
    ),
}


def role_findings(roles: _Rows) -> list[Finding]:
    """Olvido's own roles: all four are there, and none could pass row security."""
    present = {row["role"]: row for row in roles}
    found = [
        Finding(
            code="missing_role",
            problem=f"The role {role} is missing.",
            remedy="Run `olvido migrate` again with a login that may create roles.",
        )
        for role in ROLES
        if role not in present
    ]
    for role, row in present.items():
        if row["outranks"]:
            found.append(
                Finding(
                    code="strong_role",
                    problem=f"The role {role} can pass row security, make roles or replicate, itself or by membership.",
                    remedy=f"Take that from {role}: ALTER ROLE ... NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION, "
                    "and revoke its memberships.",
                )
            )
        if role == OWNER and row["logs_in"]:
            found.append(
                Finding(
                    code="owner_logs_in",
                    severity=Severity.WARNING,
                    problem="olvido_owner, who may switch row security off, can log in.",
                    remedy="ALTER ROLE olvido_owner NOLOGIN; migrations use the login that was granted the role.",
                )
            )
    return found


def stranger_findings(strangers: _Rows) -> list[Finding]:
    """What owns, copies or reads the relations and was put there by no migration."""
    found = []
    for row in strangers:
        severity, problem, remedy = _STRANGERS[row["kind"]]
        found.append(
            Finding(
                code=f"foreign_{row['kind'].replace(' ', '_')}",
                severity=severity,
                problem=problem.format(relation=row["relation"], name=row["name"]),
                remedy=remedy.format(relation=row["relation"]),
            )
        )
    return found


def statistics_findings(columns: _Rows, parents: Mapping[str, str]) -> list[Finding]:
    """Columns of which ANALYZE would keep values. parents: the relation whose rules each relation or leaf follows."""
    kept = sorted(
        f"{row['relation']}.{row['column']}"
        for row in columns
        if row["statistics"] != 0
        and (relation := parents.get(row["relation"], row["relation"])) in DATA_MAP
        and relation != "schema_version"
        and DATA_MAP[relation].columns.get(row["column"], ColumnClass.NUMBER) not in _KEPT
    )
    if not kept:
        return []
    return [
        Finding(
            code="kept_statistics",
            problem=f"ANALYZE keeps values of {', '.join(kept)}, also of rows that are removed.",
            remedy="As the owner, SET STATISTICS 0 on these columns, then ANALYZE their relations.",
        )
    ]


def snapshot_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Whoever keeps removed rows in the files. row: as the statement `snapshots` answers."""
    found = []
    if row["since"] is not None and row["looked_at"] - row["since"] > PATIENCE:
        found.append(
            Finding(
                code="old_snapshot",
                severity=Severity.WARNING,
                problem=f"Process {row['pid']} holds a snapshot of {_age(row['looked_at'] - row['since'])}: until it "
                "ends, removed rows stay in the files.",
                remedy=f"End its transaction, or have an administrator run pg_terminate_backend({row['pid']}).",
            )
        )
    if row["prepared"] is not None and row["looked_at"] - row["prepared"] > PATIENCE:
        found.append(
            Finding(
                code="prepared_transaction",
                severity=Severity.WARNING,
                problem=f"A prepared transaction is {_age(row['looked_at'] - row['prepared'])} old: until it ends, "
                "removed rows stay in the files. Olvido prepares none.",
                remedy="Find it in pg_prepared_xacts, then COMMIT PREPARED or ROLLBACK PREPARED.",
            )
        )
    return found


def _age(duration: timedelta) -> str:
    hours = int(duration.total_seconds() // 3600)
    return f"{hours // 24} days" if hours >= 48 else f"{hours} hours"  # noqa: PLR2004 - two days
