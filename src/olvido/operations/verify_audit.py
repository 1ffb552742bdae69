"""Look at the sealed audit again: row by row, seal by seal, and against what was written down elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from olvido.domain.audit import (
    GENESIS,
    Anchor,
    Anchored,
    AuditChain,
    AuditReport,
    ChainCheck,
    SealRow,
    check_acceptable,
    counting,
    row_digests,
)
from olvido.domain.identifiers import required_identifier
from olvido.errors import KeysUnavailable, NotFound
from olvido.operations.environment import Environment
from olvido.operations.seal_audit import companies
from olvido.storage.queries import statements

SEALS_AT_ONCE = 10
NOWHERE = (
    "It is not known where the anchors of this audit are kept. Name the directory of the keys with OLVIDO_KEYS or "
    "olvido.open(keys=...), and run this again."
)

NO_SUCH_COMPANY = (
    "No audit of such a company is here: no row, no seal and no anchor. Is its name written as it is stored? "
    "`olvido audit verify` without --tenant lists them all."
)

_SQL = statements("audit_seals")


async def verify_audit(
    environment: Environment, *, tenant: str | None = None, progress: Callable[[int], None] | None = None
) -> AuditReport:
    """Verify the chain of a company, or of every one. Reads all that is sealed; changes nothing.

    What is found is in the report: edited, exchanged, added and missing rows; seals that are missing or do not follow;
    and, where anchors are kept, a chain that was shortened, written anew, or is that of an older copy of the database.
    progress: called with the rows looked at so far. Raises InvalidScope, UnsafeDatabase if the login is not a worker,
    NotFound for a company of which there is nothing, and KeysUnavailable if the anchors cannot be read.
    """
    if tenant is not None:
        required_identifier(tenant, "tenant")
    anchors = environment.anchors
    # Read first: a seal that is made meanwhile is then in the chain and in no anchor, and not the other way round.
    written = None if anchors is None else await anchors.read(tenant)
    if tenant is not None:
        names = [tenant]
    else:
        anchored = set() if written is None else {anchor.tenant for anchor in written.anchors}
        names = sorted({*anchored, *[name async for name in companies(environment)]})
    chains: list[AuditChain] = []
    rows = 0
    for name in names:
        chains.append(await _chain(environment, name, written, progress, rows))
        rows += chains[-1].rows
    # A line that nobody with these keys wrote may have been an anchor of this company.
    if tenant is not None and chains[0].is_empty and not (written is not None and written.unreadable):
        raise NotFound(NO_SUCH_COMPANY)
    async with environment.database.administer() as transaction:
        now = transaction.now
    return AuditReport(
        chains=tuple(chains), unreadable_anchors=0 if written is None else written.unreadable, verified_at=now
    )


async def accept_audit(environment: Environment, tenant: str) -> Anchor:
    """Take the chain of a company as it is, after somebody looked at why it is not what the anchors say.

    For a database that was restored on purpose: what was sealed after its copy was made is gone with it. The anchors of
    before do not count from here on; the report keeps saying when this was done. It hides nothing within the chain.
    Reads all that is sealed. Raises AuditNotAccepted if anything is wrong that a restore does not explain, or nothing
    is; InvalidScope, NotFound, UnsafeDatabase if the login is not a worker, and KeysUnavailable.
    """
    required_identifier(tenant, "tenant")
    if environment.anchors is None:
        raise KeysUnavailable(NOWHERE)
    (chain,) = (await verify_audit(environment, tenant=tenant)).chains
    check_acceptable(chain)
    async with environment.database.administer(tenant) as transaction:
        # Held, so that no seal comes between what is accepted and that this is written down.
        await transaction.one(_SQL["lock"])
        head = await transaction.one(_SQL["head"])
        found = None if head is None else head["digest"]
        accepted = Anchor(
            tenant=tenant,
            seal=0 if head is None else head["seal"],
            digest=found or GENESIS,
            at=transaction.now,
            accepted=True,
        )
        await environment.anchors.append(accepted)
    return accepted


async def _chain(
    environment: Environment,
    tenant: str,
    written: Anchored | None,
    progress: Callable[[int], None] | None,
    rows_before: int,
) -> AuditChain:
    counted = counting([anchor for anchor in written.anchors if anchor.tenant == tenant]) if written else ()
    check = ChainCheck(tenant=tenant, wanted=frozenset(anchor.seal for anchor in counted))
    async with environment.database.administer(tenant) as transaction:
        while True:
            after = 0 if check.last is None else check.last.seal
            found = await transaction.all(_SQL["chain"], after=after, batch=SEALS_AT_ONCE)
            for row in found:
                seal = SealRow(**{name: row[name] for name in ("seal", "rows", "digest", "previous", "sealed_at")})
                check.follow(seal, await asyncio.to_thread(row_digests, row["sealed"]))
            if progress is not None:
                progress(rows_before + check.rows)
            if len(found) < SEALS_AT_ONCE:
                break
        check.strays({row["seal"]: row["rows"] for row in await transaction.all(_SQL["strays"])})
        unsealed = await transaction.one(_SQL["window"])
    check.compare(counted)
    return AuditChain(
        tenant=tenant,
        rows=check.rows,
        seals=check.seals,
        last_sealed_at=None if check.last is None else _instant(check.last.sealed_at),
        unsealed_rows=0 if unsealed is None else unsealed["rows"],
        oldest_unsealed_at=None if unsealed is None else unsealed["oldest_at"],
        anchors=None if written is None else len(counted),
        anchored_seal=max((anchor.seal for anchor in counted), default=None),
        accepted_at=max((anchor.at for anchor in counted if anchor.accepted), default=None),
        problems=tuple(check.problems),
    )


def _instant(text: str) -> datetime | None:
    """An instant as the database prints it in JSON; None for what is no instant of a calendar."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
