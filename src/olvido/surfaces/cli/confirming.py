"""`olvido erasure confirm`: a holder's word that a copy outside is erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, LedgerDir, PolicyFile, Tenant, WorkerUrl
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from olvido.domain.erasure import Step
    from olvido.memory import Memory

EXAMPLE = "olvido erasure confirm 019f0000-0000-7000-8000-000000000001 crm --tenant acme --evidence 'ticket 42'"


def confirm(
    erasure_id: Annotated[str, typer.Argument(help="The erasure_id of the report.", show_default=False)],
    copy: Annotated[str, typer.Argument(help="The copy, as the policy names it.", show_default=False)],
    tenant: Tenant,
    evidence: Annotated[
        str, typer.Option(help="Where it is written down, such as a ticket. No name of anybody.", show_default=False)
    ],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Write down that the holder of a copy outside has erased it.

    Reports call it `confirmed`: nobody looked. A copy that is done with stays as it is.
    """

    async def work(memory: Memory) -> Step:
        return await memory.confirm_copy(tenant, erasure_id, copy, evidence=evidence)

    step = run(where(database_url, data_dir, policy, worker_url=worker_url, ledger=ledger), work)

    from olvido.surfaces.reports import moment
    from olvido.surfaces.terminal import cell

    settled = "" if step.settled_at is None else f" since {moment(step.settled_at)}"
    answer(step, lambda: cell(f"{copy} at {step.holder}: {step.status}{settled}"), as_json=as_json)
