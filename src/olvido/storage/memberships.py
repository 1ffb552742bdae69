"""Which roles Olvido's roles, and the logins that are members of them, may be members of: an allowlist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olvido.storage.findings import Finding, Severity
from olvido.storage.row_policies import OWNER

PREDEFINED = "pg_"
"""What the names of PostgreSQL's own roles begin with; nobody else's may."""

OBSERVING = frozenset(
    {
        "pg_checkpoint",
        "pg_monitor",
        "pg_read_all_settings",
        "pg_read_all_stats",
        "pg_stat_scan_tables",
        "pg_use_reserved_connections",
    }
)
"""Roles of PostgreSQL that let nobody read, write or move a row. Any other one, of a later release too, is refused."""


def beyond(roles: Iterable[str]) -> list[str]:
    """Which of `roles` are PostgreSQL's own and not among OBSERVING, sorted."""
    return sorted(role for role in roles if role.startswith(PREDEFINED) and role not in OBSERVING)


def membership_findings(memberships: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """What Olvido's own roles are members of, through other roles too: nothing, but for OBSERVING.

    memberships: rows of role and member_of. The owner of the database has PostgreSQL's role for that.
    """
    found = []
    for row in memberships:
        role, other = row["role"], row["member_of"]
        if other in OBSERVING or (role, other) == (OWNER, "pg_database_owner"):
            continue
        strong = other == OWNER or other.startswith(PREDEFINED)
        found.append(
            Finding(
                code="role_membership",
                severity=Severity.ERROR if strong else Severity.WARNING,
                problem=f"{role} is a member of {other}, itself or through another role, and no migration made it one: "
                + ("that gives it rights past the grants." if strong else "whatever that role may do, it may do."),
                remedy=f"REVOKE {other} FROM {role}, or from the role between them.",
            )
        )
    return found
