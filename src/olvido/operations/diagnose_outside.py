"""Compare a database with what is kept outside it: its erasure ledger, and the anchors of its audit."""

from __future__ import annotations

from typing import Any

from olvido.domain.audit import Anchor
from olvido.domain.ledger import Standing, explain
from olvido.errors import KeysUnavailable, LedgerUnavailable, OlvidoError
from olvido.operations.ledger_gate import look_at
from olvido.ports import Anchors, Ledger
from olvido.storage.findings import Finding, Severity
from olvido.storage.inspection import Looking, all_rows, first_row
from olvido.storage.queries import statements

NAMED = 5
"""Companies that one finding names."""

OLDER, DIFFERS = "audit_older_than_anchor", "audit_differs_from_anchor"
_MEANING = {
    OLDER: "ends before a seal that was written down outside the database: its newest seals were removed, or an older "
    "copy of the database was put back.",
    DIFFERS: "has another seal than the one that was written down outside the database: it was made anew, or an older "
    "copy of the database was put back and went on.",
}

_SQL = statements("doctor")
_SCOPE = statements("scope")


async def ledger_findings(ledger: Ledger, connection: Looking, *, worker: bool) -> list[Finding]:
    """Why the store would not open, as far as its ledger says. worker: whether the login of the connection is one."""
    try:
        seen = await look_at(ledger, connection, worker=worker)
    except LedgerUnavailable as error:
        return [_of_error(error)]
    if seen.standing not in {Standing.FITS, Standing.ADOPT}:
        problem, _, remedy = explain(seen.standing, seen.state, seen.marks, ledger.place).partition(". ")
        return [Finding(code=str(seen.standing), problem=f"{problem}. The store is locked.", remedy=remedy)]
    if seen.state is not None and seen.state.in_flight:
        return [
            Finding(
                code="erasures_under_way",
                severity=Severity.NOTE,
                problem=f"{len(seen.state.in_flight)} removals were begun, and it is not written down how they ended: "
                "they are under way now, or their process died.",
                remedy="Nothing, if it is gone at the next look. `olvido worker` finishes those whose process died; "
                "`olvido.open` with the login of a worker does as well.",
            )
        ]
    return []


async def anchor_findings(anchors: Anchors, connection: Looking, *, limit: int) -> tuple[list[Finding], bool]:
    """Companies whose audit is not what was anchored, and whether all were looked at. connection: of a worker.

    Signatures are not verified and rows not read: that is for `olvido audit verify`, and takes as long as there are
    rows. limit: companies at most.
    """
    try:
        heads = await anchors.heads()
    except KeysUnavailable as error:
        return [_of_error(error)], True
    names = sorted(heads)
    older: list[str] = []
    differing: list[str] = []
    for name in names[:limit]:
        found = [(anchor, await _head(connection, anchor)) for anchor in heads[name]]
        if any(head["last"] < anchor.seal for anchor, head in found):
            older.append(name)
        elif any(head["digest"] != anchor.digest for anchor, head in found):
            differing.append(name)
    return _findings(older, differing), len(names) <= limit


async def _head(connection: Looking, anchor: Anchor) -> dict[str, Any]:
    entered = {"tenant": anchor.tenant, "external": None, "pinned": None, "lock": False}
    await all_rows(connection, _SCOPE["enter_life"], **entered)
    head = await first_row(connection, _SQL["anchored"], tenant=anchor.tenant, seal=anchor.seal)
    await connection.commit()
    return head


def _findings(older: list[str], differing: list[str]) -> list[Finding]:
    return [
        Finding(
            code=code,
            severity=Severity.WARNING,
            problem=f"The audit of {_named(names)} {_MEANING[code]}",
            remedy="Run `olvido audit verify` to see from where on; where the store is locked, after "
            "`olvido restore replay`. If an older copy was put back on purpose, run "
            "`olvido audit accept --tenant` with each name; if not, find out who could write in the database.",
        )
        for code, names in ((OLDER, older), (DIFFERS, differing))
        if names
    ]


def _named(names: list[str]) -> str:
    if len(names) == 1:
        return f"the company {names[0]}"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"the companies {', '.join(names[:NAMED])}{more}"


def _of_error(error: OlvidoError) -> Finding:
    problem, _, remedy = str(error).partition(". ")
    return Finding(code=error.code, problem=f"{problem}.", remedy=remedy)
