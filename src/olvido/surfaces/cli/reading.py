"""`olvido recall`, `context` and `consolidate`: what is known, labelled as history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.domain.origin import OriginClass
from olvido.domain.records import Kind
from olvido.surfaces.cli.options import (
    AsJson,
    CaseId,
    DatabaseUrl,
    DataDir,
    Definition,
    LedgerDir,
    PolicyFile,
    Purpose,
    Question,
    Since,
    Status,
    Subject,
    Tenant,
    Until,
)
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from olvido.domain.context import ContextBlock
    from olvido.domain.recalled import Recall
    from olvido.domain.records import Summary
    from olvido.memory import Memory


def recall(
    question: Question,
    tenant: Tenant,
    subject: Subject,
    limit: Annotated[int | None, typer.Option(help="Episodes at most.")] = None,
    purpose: Purpose = None,
    kind: Annotated[list[Kind] | None, typer.Option("--kind", help="Only this kind; give it twice for both.")] = None,
    definition: Definition = None,
    case_id: CaseId = None,
    product: Annotated[str | None, typer.Option(help="Only episodes about this product.")] = None,
    status: Status = None,
    origin: Annotated[OriginClass | None, typer.Option("--origin", help="Only episodes of this origin.")] = None,
    since: Since = None,
    until: Until = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Recall what bears on a question: current preferences, labelled history, and what to look up instead."""

    async def work(memory: Memory) -> Recall:
        return await memory.scope(tenant=tenant, subject=subject).recall(
            question,
            limit=limit,
            purpose=purpose,
            kinds=kind or None,
            definition=definition,
            case_id=case_id,
            product=product,
            status=status,
            origin_class=origin,
            since=since,
            until=until,
            explain=explain,
        )

    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import documents, reports

    answer(documents.recall(found), lambda: reports.recall(found, explain=explain), as_json=as_json)


def context(
    question: Question,
    tenant: Tenant,
    subject: Subject,
    max_tokens: Annotated[int, typer.Option(help="Hard limit of the block; no item is cut in half.")] = 600,
    session: Annotated[str | None, typer.Option("--session", help="A session whose state belongs in it.")] = None,
    purpose: Purpose = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a block for a prompt. It goes to standard output; what was left out goes to standard error."""

    async def work(memory: Memory) -> ContextBlock:
        return await memory.scope(tenant=tenant, subject=subject).context(
            question, max_tokens=max_tokens, session_id=session, purpose=purpose
        )

    block = run(where(database_url, data_dir, policy, ledger=ledger), work)
    if as_json:
        answer(block, lambda: "", as_json=True)
        return

    from olvido.surfaces import reports
    from olvido.surfaces.terminal import plain

    typer.echo(plain(block.text), nl=False)
    typer.echo(reports.context_note(block), err=True)


def consolidate(
    tenant: Tenant,
    subject: Subject,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Summarise the episodes of each case by reference: dates, origins and last reported status, no conclusion."""

    async def work(memory: Memory) -> tuple[Summary, ...]:
        return await memory.scope(tenant=tenant, subject=subject).consolidate()

    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import reports

    answer({"summaries": found}, lambda: reports.summaries(found), as_json=as_json)
