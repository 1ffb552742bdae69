"""Which role may do what with each relation: what the migrations grant, said a second time.

`olvido doctor` and the catalogue test compare the database with this. On a leaf nobody has a right but
the eraser, to rewrite it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olvido.storage.data_map import SUBJECT_RELATIONS
from olvido.storage.findings import Finding, Severity
from olvido.storage.queries import is_leaf
from olvido.storage.row_policies import APP, ERASER, OWNER, WORKER

_ALL = "SELECT INSERT UPDATE DELETE"

_REQUESTS_AND_WORKERS: Mapping[str, Mapping[str, str]] = {
    "tenants": {APP: "SELECT INSERT UPDATE(closed_at)", WORKER: "SELECT INSERT UPDATE(closed_at)"},
    "subjects": {APP: "SELECT INSERT UPDATE(created_at) DELETE", WORKER: "SELECT UPDATE(created_at) DELETE"},
    "due": {APP: _ALL, WORKER: _ALL},
    "lives": {APP: _ALL, WORKER: _ALL},
    "audit_log": {APP: "INSERT", WORKER: "SELECT INSERT UPDATE(seal)"},
    "audit_seals": {WORKER: "SELECT INSERT"},
    "sealing": {APP: "INSERT", WORKER: "SELECT INSERT UPDATE"},
    "erasures": {APP: "INSERT", WORKER: "SELECT INSERT"},
    "erasure_steps": {
        APP: "SELECT INSERT UPDATE(status) UPDATE(evidence) UPDATE(attempts) UPDATE(settled_at)",
        WORKER: "SELECT INSERT UPDATE",
    },
    "rewrites": {WORKER: "SELECT INSERT UPDATE"},
    "erasure_identifiers": {APP: "INSERT", WORKER: "SELECT INSERT DELETE"},
    "copies": {APP: "SELECT INSERT UPDATE", WORKER: "SELECT INSERT UPDATE"},
    "ledger_entries": {APP: "SELECT INSERT", WORKER: "SELECT INSERT"},
    "legal_holds": {APP: "SELECT", WORKER: "SELECT INSERT DELETE"},
    "held_records": {APP: "INSERT", WORKER: "SELECT INSERT DELETE"},
    **{relation.name: {APP: _ALL, WORKER: _ALL} for relation in SUBJECT_RELATIONS},
}
GRANTS: Mapping[str, Mapping[str, str]] = {
    **{relation: {**roles, ERASER: "MAINTAIN"} for relation, roles in _REQUESTS_AND_WORKERS.items()},
    "schema_version": {APP: "SELECT", WORKER: "SELECT", ERASER: "SELECT"},
}
"""Verbs by relation and role; a verb on one column as `UPDATE(closed_at)`."""

PAST_ROWS = frozenset({"TRUNCATE", "TRIGGER", "REFERENCES"})
"""What row security does not stand before."""


def grant_findings(granted: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """How the grants of a database differ from the declared ones. granted: rows of relation, role and verb."""
    found = {
        (row["relation"], row["role"], row["verb"])
        for row in granted
        if row["role"] != OWNER and not (is_leaf(row["relation"]) and _rewrites(row))
    }
    wanted = {
        (relation, role, verb)
        for relation, roles in GRANTS.items()
        for role, verbs in roles.items()
        for verb in verbs.split()
    }
    return [
        *(
            Finding(
                code="missing_grant",
                problem=f"{role} may not {verb} on {relation}, so that calls which need it are refused.",
                remedy="Restore the grants of the migrations, as from a dump made with its rights.",
            )
            for relation, role, verb in sorted(wanted - found)
        ),
        *(
            Finding(
                code="extra_grant",
                severity=Severity.ERROR if verb in PAST_ROWS else Severity.WARNING,
                problem=f"{role} may {verb} on {relation}, which no migration granted"
                + (" and row security does not limit." if verb in PAST_ROWS else "; only row security limits it."),
                remedy=f"As the owner, REVOKE {verb} on olvido.{relation} from {role}.",
            )
            for relation, role, verb in sorted(found - wanted)
        ),
    ]


def _rewrites(granted: Mapping[str, Any]) -> bool:
    return bool(granted["role"] == ERASER and granted["verb"] == "MAINTAIN")
