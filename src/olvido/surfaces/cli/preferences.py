"""`olvido preference`: typed values with exactly one current value each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olvido.domain.instants import KEEP
from olvido.domain.origin import OriginClass
from olvido.domain.records import Change, Preference, Written
from olvido.surfaces.cli.options import (
    AsJson,
    DatabaseUrl,
    DataDir,
    ExpiresAt,
    Key,
    LedgerDir,
    OriginName,
    PolicyFile,
    Ref,
    Source,
    Subject,
    Tenant,
    example,
    origin_of,
)
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from collections.abc import Callable

    from olvido.domain.records import PreferenceVersion
    from olvido.memory import Memory, ScopedMemory

app = typer.Typer(no_args_is_help=True)
SCOPE = "--tenant acme --subject ana"

Value = Annotated[str, typer.Argument(help="The value; the policy says what it may be.", show_default=False)]
ExpectedVersion = Annotated[
    int | None,
    typer.Option(help="The version you saw, 0 for none; the write is refused if another one stands."),
]


def _stating(change: Change, meaning: str) -> Callable[..., None]:
    """The command that states a value as `change`: a set and a correction take the same words. meaning: its help."""

    def command(
        key: Key,
        value: Value,
        tenant: Tenant,
        subject: Subject,
        expires_at: ExpiresAt = None,
        expected_version: ExpectedVersion = None,
        origin: OriginName = None,
        source: Source = None,
        ref: Ref = None,
        data_dir: DataDir = None,
        database_url: DatabaseUrl = None,
        ledger: LedgerDir = None,
        policy: PolicyFile = None,
        as_json: AsJson = False,
    ) -> None:
        said = origin_of(origin, source, ref, default=OriginClass.DECLARED)

        async def work(memory: Memory) -> Written[Preference]:
            from olvido.surfaces.typed import typed

            person = _scope(memory, tenant, subject)
            state = person.set_preference if change is Change.SET else person.correct_preference
            return await state(
                key,
                typed(value, memory.policy.preference(key).shape.type),
                origin=said,
                expires_at=KEEP if expires_at is None else expires_at,
                expected_version=expected_version,
            )

        result = run(where(database_url, data_dir, policy, ledger=ledger), work)

        from rich.console import Group

        from olvido.surfaces import reports

        answer(
            result,
            lambda: Group(reports.written(result), reports.preferences((result.record,))),
            as_json=as_json,
        )

    command.__doc__ = meaning
    return command


SET = """State a value. It becomes current, unless a newer or better founded statement stands.

Without --origin it counts as declared by the person and told to you, the operator.
"""
CORRECT = "Correct the current value, as its owner confirmed it. The version before is kept as history."
CORRECTION = f"olvido preference correct language es {SCOPE} --expected-version 1"

app.command("set", epilog=example(f"olvido preference set language pt {SCOPE} --ref turn-17"))(
    _stating(Change.SET, SET)
)
app.command("correct", epilog=example(CORRECTION))(_stating(Change.CORRECTED, CORRECT))


@app.command("get", epilog=example(f"olvido preference get language {SCOPE}"))
def get(
    key: Key,
    tenant: Tenant,
    subject: Subject,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the current value. An expired one is not shown, even where it is still stored."""

    async def work(memory: Memory) -> Preference | None:
        return await _scope(memory, tenant, subject).get_preference(key)

    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import reports

    answer({"preference": found}, lambda: reports.preferences(() if found is None else (found,)), as_json=as_json)


@app.command("list", epilog=example(f"olvido preference list {SCOPE} --json"))
def list_(
    tenant: Tenant,
    subject: Subject,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the current values of a person."""

    async def work(memory: Memory) -> tuple[Preference, ...]:
        return await _scope(memory, tenant, subject).preferences()

    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import reports

    answer({"preferences": found}, lambda: reports.preferences(found), as_json=as_json)


@app.command("history", epilog=example(f"olvido preference history language {SCOPE}"))
def history(
    key: Key,
    tenant: Tenant,
    subject: Subject,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show every version of the current value with its origin, oldest first."""

    async def work(memory: Memory) -> tuple[PreferenceVersion, ...]:
        return await _scope(memory, tenant, subject).history(key)

    found = run(where(database_url, data_dir, policy, ledger=ledger), work)

    from olvido.surfaces import reports

    answer({"versions": found}, lambda: reports.history(found), as_json=as_json)


def _scope(memory: Memory, tenant: str, subject: str) -> ScopedMemory:
    return memory.scope(tenant=tenant, subject=subject)
