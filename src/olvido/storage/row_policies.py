"""Which row-security policies each relation has: what the migrations make, said a second time.

Start-up compares the database with this (rule 3), so that a policy that was dropped, widened or added by hand, or left
out by a restore, is found before anything is served.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from olvido.storage.data_map import DATA_MAP, RelationClass

APP = "olvido_app"
WORKER = "olvido_worker"
ERASER = "olvido_eraser"
OWNER = "olvido_owner"

# As PostgreSQL prints them when only pg_catalog is on the search path.
_TENANT = "(tenant_id = olvido.current_tenant())"
_SCOPE = f"({_TENANT} AND (subject_key = olvido.current_subject()))"
_EXTERNAL = f"({_TENANT} AND (external_id = olvido.current_external()))"
_OPEN = f"({_TENANT} AND (closed_at IS NULL))"
_CLOSED = f"({_TENANT} AND (closed_at IS NOT NULL))"
_UNSEALED = f"({_TENANT} AND (seal IS NULL))"
_SEALED = f"({_TENANT} AND (seal IS NOT NULL))"
_UNSETTLED = f"({_TENANT} AND (settled_at IS NULL))"
_ROWS = f"({_TENANT} AND (level = 'E1'::text))"

SCOPE_FUNCTIONS: Mapping[str, str] = {
    "current_tenant": "RETURN NULLIF(current_setting('olvido.tenant'::text, true), ''::text)",
    "current_subject": "RETURN (NULLIF(current_setting('olvido.subject'::text, true), ''::text))::uuid",
    "current_external": "RETURN NULLIF(current_setting('olvido.external'::text, true), ''::text)",
}
"""What the policies call, by name, as PostgreSQL prints it: a policy is worth no more than these."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowPolicy:
    """One policy. command: all, select, insert, update or delete. using, check: expressions; None if there is none."""

    name: str
    command: str
    roles: frozenset[str]
    using: str | None = None
    check: str | None = None
    permissive: bool = True


def _policy(name: str, command: str, *roles: str, using: str | None = None, check: str | None = None) -> RowPolicy:
    return RowPolicy(name=name, command=command, roles=frozenset(roles), using=using, check=check)


_SUBJECT = (_policy("scope", "all", APP, WORKER, using=_SCOPE, check=_SCOPE),)
_OTHER: Mapping[str, tuple[RowPolicy, ...]] = {
    "tenants": (
        _policy("tenant_read", "select", APP, WORKER, using=_TENANT),
        _policy("tenant_open", "insert", APP, WORKER, check=_OPEN),
        _policy("tenant_lock", "update", APP, using=_TENANT, check="false"),
        _policy("tenant_close", "update", WORKER, using=_TENANT, check=_CLOSED),
    ),
    "subjects": (
        _policy("subject_read", "select", APP, using=_EXTERNAL),
        _policy("subject_begin", "insert", APP, check=_EXTERNAL),
        _policy("subject_lock", "update", APP, using=_EXTERNAL, check="false"),
        _policy("subject_end", "delete", APP, using=_EXTERNAL),
        _policy("tenant_read", "select", WORKER, using=_TENANT),
        _policy("tenant_lock", "update", WORKER, using=_TENANT, check="false"),
        _policy("tenant_end", "delete", WORKER, using=_TENANT),
    ),
    "due": (
        _policy("scope", "all", APP, using=_SCOPE, check=_SCOPE),
        _policy("work", "all", WORKER, using="true", check="true"),
    ),
    "lives": (
        _policy("scope", "all", APP, using=_SCOPE, check=_SCOPE),
        _policy("work", "all", WORKER, using="true", check="true"),
    ),
    "audit_log": (
        _policy("tenant_append", "insert", APP, WORKER, check=_TENANT),
        _policy("tenant_read", "select", WORKER, using=_TENANT),
        _policy("tenant_seal", "update", WORKER, using=_UNSEALED, check=_SEALED),
    ),
    "audit_seals": (
        _policy("tenant_append", "insert", WORKER, check=_TENANT),
        _policy("tenant_read", "select", WORKER, using=_TENANT),
    ),
    "sealing": (
        _policy("tenant_open", "insert", APP, check=_TENANT),
        _policy("work", "all", WORKER, using="true", check="true"),
    ),
    "erasures": (
        _policy("tenant_append", "insert", APP, WORKER, check=_TENANT),
        _policy("tenant_read", "select", WORKER, using=_TENANT),
    ),
    "erasure_steps": (
        _policy("tenant_append", "insert", APP, check=_UNSETTLED),
        _policy("tenant_rows", "select", APP, using=_ROWS),
        _policy("tenant_read_back", "update", APP, using=_ROWS, check=_ROWS),
        _policy("work", "all", WORKER, using="true", check="true"),
    ),
    "rewrites": (_policy("work", "all", WORKER, using="true", check="true"),),
    "erasure_identifiers": (
        _policy("tenant_append", "insert", APP, check=_TENANT),
        _policy("tenant", "all", WORKER, using=_TENANT, check=_TENANT),
    ),
    "copies": (_policy("declared", "all", APP, WORKER, using="true", check="true"),),
    "ledger_entries": (_policy("applied", "all", APP, WORKER, using="true", check="true"),),
    "legal_holds": (
        _policy("scope_read", "select", APP, using=_SCOPE),
        _policy("tenant", "all", WORKER, using=_TENANT, check=_TENANT),
    ),
    "held_records": (
        _policy("tenant_append", "insert", APP, check=_TENANT),
        _policy("tenant", "all", WORKER, using=_TENANT, check=_TENANT),
    ),
    "schema_version": (
        _policy("readable", "select", APP, WORKER, ERASER, using="true"),
        _policy("migrated", "all", OWNER, using="true", check="true"),
    ),
}


def expected(relation: str) -> tuple[RowPolicy, ...]:
    """The policies of a relation of the data map; those of a leaf are its parent's."""
    if DATA_MAP[relation].relation_class is RelationClass.SUBJECT:
        return _SUBJECT
    return _OTHER[relation]


def differences(relation: str, found: Iterable[RowPolicy]) -> list[str]:
    """What is wrong with the policies `found` on a relation, in words; empty if nothing is."""
    right = {policy.name: policy for policy in expected(relation)}
    present = {policy.name: policy for policy in found}
    changed = [name for name in right if name in present and present[name] != right[name]]
    return [
        *(f"lacks the policy {name}" for name in right if name not in present),
        *(f"has another policy {name} than the migrations made" for name in changed),
        *(f"has a policy {name} that no migration made" for name in present if name not in right),
    ]
