"""`olvido forget --query`: what a request in words may mean, and forgetting what was chosen of it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from olvido.surfaces.cli.runtime import answer, confirm, run

if TYPE_CHECKING:
    from olvido.domain.proposal import Proposal
    from olvido.domain.report import ForgetReport
    from olvido.memory import Memory
    from olvido.surfaces.cli.runtime import Where

WHICH = "Which are to be forgotten? Numbers, such as 1,3; none of them if you leave it empty"
HOW = "To forget some of these, run olvido forget with their record ids."


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What was asked for: words to search with, or a proposal with the ids that were chosen from it."""

    tenant: str
    subject: str
    query: str | None
    token: str | None
    record_ids: tuple[str, ...]
    asks: bool


def choice(
    tenant: str | None,
    subject: str | None,
    query: str | None,
    token: str | None,
    record_ids: tuple[str, ...],
    *,
    others: bool,
    dry_run: bool,
) -> Choice:
    """The options, checked. others: options were given that go with neither."""
    if tenant is None or subject is None:
        raise typer.BadParameter("Name the company with --tenant and the person with --subject.")
    if others or (query is not None and (token is not None or record_ids)):
        raise typer.BadParameter("--query goes by itself, and --proposal with the ids that were chosen from it.")
    if token is not None and (not record_ids or dry_run):
        raise typer.BadParameter("--proposal takes the RECORD_IDs that were chosen, and is no dry run: it was one.")
    return Choice(tenant=tenant, subject=subject, query=query, token=token, record_ids=record_ids, asks=not dry_run)


def forget(place: Where, chosen: Choice, *, yes: bool, as_json: bool) -> ForgetReport | None:
    """Forget what was chosen, or show what there is to choose from; None if nothing was asked to be forgotten."""
    if chosen.query is None:
        confirm("Forget these records?", yes=yes)
        return _execute(place, chosen, chosen.token or "", chosen.record_ids)
    query = chosen.query

    async def propose(memory: Memory) -> Proposal:
        return await memory.scope(tenant=chosen.tenant, subject=chosen.subject).propose_forget(query)

    proposal = run(place, propose)
    asks = chosen.asks and not as_json and bool(proposal.records) and sys.stdin.isatty()

    from olvido.surfaces import forget_reports

    answer(proposal, lambda: forget_reports.proposal(proposal, asks=asks), as_json=as_json)
    if not asks:
        if chosen.asks and not as_json and proposal.records:
            typer.echo(HOW, err=True)
        return None
    picked = _asked(proposal)
    if not picked:
        typer.echo("Nothing was forgotten.", err=True)
        return None
    if not yes:
        _show_plan(place, chosen, picked)
    confirm("Forget this record?" if len(picked) == 1 else f"Forget these {len(picked)} records?", yes=yes)
    return _execute(place, chosen, proposal.token, picked)


def _asked(proposal: Proposal) -> tuple[str, ...]:
    """The ids behind the numbers that somebody types; asked again as long as there is another word among them."""
    while True:
        said = typer.prompt(WHICH, default="", show_default=False, err=True)
        picked = _picked(str(said), proposal)
        if picked is not None:
            return picked
        typer.echo(f"Give numbers from 1 to {len(proposal.records)}.", err=True)


def _show_plan(place: Where, chosen: Choice, record_ids: tuple[str, ...]) -> None:
    """What goes with the records that were picked, before the question."""
    from olvido.surfaces import forget_reports
    from olvido.surfaces.terminal import console

    async def plan(memory: Memory) -> ForgetReport:
        person = memory.scope(tenant=chosen.tenant, subject=chosen.subject)
        return await person.forget_where(record_ids=record_ids, dry_run=True)

    planned = run(place, plan)
    console(sys.stderr).print(forget_reports.forget(planned, tenant=chosen.tenant, asks=True))


def _execute(place: Where, chosen: Choice, token: str, record_ids: tuple[str, ...]) -> ForgetReport:
    async def execute(memory: Memory) -> ForgetReport:
        person = memory.scope(tenant=chosen.tenant, subject=chosen.subject)
        return await person.forget_proposed(token, record_ids=record_ids)

    return run(place, execute)


def _picked(said: str, proposal: Proposal) -> tuple[str, ...] | None:
    """The ids behind the numbers; None if there is any other word: half of what was meant is not what was meant."""
    words = [word for word in re.split(r"[\s,;]+", said) if word]
    known = {str(number): str(record.record_id) for number, record in enumerate(proposal.records, start=1)}
    return tuple(known[word] for word in dict.fromkeys(words)) if set(words) <= known.keys() else None
