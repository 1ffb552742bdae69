"""`olvido remember` and `olvido episode`: what happened, as it was reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.domain.instants import KEEP
from olvido.domain.origin import OriginClass
from olvido.surfaces.cli.options import (
    AsJson,
    CaseId,
    DatabaseUrl,
    DataDir,
    Definition,
    ExpiresAt,
    LedgerDir,
    OccurredAt,
    OriginName,
    PolicyFile,
    Ref,
    Source,
    Status,
    Subject,
    Tenant,
    example,
    origin_of,
)
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from olvido.domain.records import Episode, Page, Written
    from olvido.memory import Memory

app = typer.Typer(no_args_is_help=True)
SCOPE = "--tenant acme --subject ana"

EventId = Annotated[str | None, typer.Option("--event-id", help="Your id of the event; it makes a retry harmless.")]


def remember(
    text: Annotated[str, typer.Argument(help="One thing to remember.", show_default=False)],
    tenant: Tenant,
    subject: Subject,
    event_id: EventId = None,
    occurred_at: OccurredAt = None,
    expires_at: ExpiresAt = None,
    origin: OriginName = None,
    source: Source = None,
    ref: Ref = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Remember one sentence as a note: text that somebody gave, never an instruction."""
    said = origin_of(origin, source, ref, default=None)

    async def work(memory: Memory) -> Written[Episode]:
        return await memory.scope(tenant=tenant, subject=subject).remember(
            text,
            origin=said,
            event_id=event_id,
            occurred_at=occurred_at,
            expires_at=KEEP if expires_at is None else expires_at,
        )

    _show(run(where(database_url, data_dir, policy, ledger=ledger), work), as_json=as_json)


@app.command(
    "record",
    epilog=example(
        f"olvido episode record support-case {SCOPE} --event-id ev1 --case at1 --status lookup-failed "
        "--field topic=access --source crm.lookup"
    ),
)
def record(
    definition: Annotated[str, typer.Argument(help="A kind of episode of the policy.", show_default=False)],
    tenant: Tenant,
    subject: Subject,
    event_id: Annotated[str, typer.Option("--event-id", help="Your id of the event.", show_default=False)],
    occurred_at: OccurredAt = None,
    case_id: CaseId = None,
    status: Status = None,
    field: Annotated[
        list[str] | None, typer.Option("--field", metavar="NAME=VALUE", help="A field; give one for each.")
    ] = None,
    expires_at: ExpiresAt = None,
    origin: OriginName = None,
    source: Source = None,
    ref: Ref = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Record that something happened. The same event id with the same body changes nothing.

    Without --origin it counts as observed by you, the operator. Fields that the policy does not name are dropped.
    """
    said = origin_of(origin, source, ref, default=OriginClass.OBSERVED)
    given = [_pair(pair) for pair in field or ()]

    async def work(memory: Memory) -> Written[Episode]:
        from olvido.surfaces.typed import typed

        shapes = memory.policy.episode(definition).shapes
        return await memory.scope(tenant=tenant, subject=subject).record_episode(
            definition,
            event_id=event_id,
            occurred_at=await memory.now() if occurred_at is None else occurred_at,
            fields={name: typed(text, shapes[name].type if name in shapes else "text") for name, text in given},
            case_id=case_id,
            status=status,
            origin=said,
            expires_at=KEEP if expires_at is None else expires_at,
        )

    _show(run(where(database_url, data_dir, policy, ledger=ledger), work), as_json=as_json)


@app.command("list", epilog=example(f"olvido episode list {SCOPE} --case at1"))
def list_(
    tenant: Tenant,
    subject: Subject,
    definition: Definition = None,
    case_id: CaseId = None,
    status: Status = None,
    limit: Annotated[int | None, typer.Option(help="How many on one page.")] = None,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """List what happened, newest first, one page at a time."""

    async def work(memory: Memory) -> Page[Episode]:
        return await memory.scope(tenant=tenant, subject=subject).episodes(
            definition=definition, case_id=case_id, status=status, limit=limit, cursor=cursor
        )

    page = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import reports

    answer(page, lambda: reports.episodes(page), as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter("write a field as NAME=VALUE, such as topic=access", param_hint="'--field'")
    return name, value


def _show(result: Written[Episode], *, as_json: bool) -> None:
    from olvido.surfaces import reports

    answer(result, lambda: reports.written(result), as_json=as_json)
