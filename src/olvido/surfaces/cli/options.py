"""The options that several commands share. A surface has no option for the clock (rule 15)."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from olvido.domain.origin import Origin, OriginClass

WHERE = "Where"
ORIGIN = "Where it comes from"
OPERATOR = "operator"
"""The source of what the person at this terminal says without naming a source."""

Tenant = Annotated[str, typer.Option("--tenant", "-t", help="The company.", show_default=False)]
Subject = Annotated[str, typer.Option("--subject", "-s", help="The person at that company.", show_default=False)]
RecordId = Annotated[str, typer.Argument(help="The record_id that Olvido returned.", show_default=False)]
Key = Annotated[str, typer.Argument(help="A preference of the policy, such as language.", show_default=False)]
Question = Annotated[str, typer.Argument(help="The question, in any language.", show_default=False)]
Purpose = Annotated[str | None, typer.Option("--purpose", help="A purpose of the policy; its default otherwise.")]
Definition = Annotated[str | None, typer.Option("--definition", help="Only this kind of episode, as in the policy.")]
CaseId = Annotated[str | None, typer.Option("--case", help="The case it belongs to.")]
Status = Annotated[str | None, typer.Option("--status", help="A status of the policy.")]

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Directory of the embedded database. Default: OLVIDO_HOME, or .olvido here.",
        rich_help_panel=WHERE,
        show_default=False,
        file_okay=False,
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="A prepared PostgreSQL, postgresql://... Default: OLVIDO_DATABASE_URL, which other users cannot see.",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
LedgerDir = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="Directory of the erasure ledger. Default: OLVIDO_LEDGER, or beside the data directory.",
        rich_help_panel=WHERE,
        show_default=False,
        file_okay=False,
    ),
]
WorkerUrl = Annotated[
    str | None,
    typer.Option(
        "--worker-url",
        help="Login of a worker, if the other one is not. Default: OLVIDO_WORKER_URL.",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
EraserUrl = Annotated[
    str | None,
    typer.Option(
        "--eraser-url",
        help="Login of olvido_eraser, straight to the server. Default: OLVIDO_ERASER_URL.",
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
KeysDir = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        help="Directory of the keys. Default: OLVIDO_KEYS; of an embedded database, .olvido-keys beside .olvido.",
        rich_help_panel=WHERE,
        show_default=False,
        file_okay=False,
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        help="A policy file. Default: the policy for a support assistant that ships with Olvido.",
        rich_help_panel=WHERE,
        show_default=False,
        dir_okay=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON document, errors included.")]

OriginName = Annotated[
    OriginClass | None,
    typer.Option("--origin", help="Who said it or saw it.", rich_help_panel=ORIGIN, show_default=False),
]
Source = Annotated[
    str | None,
    typer.Option("--source", help="The channel or tool, such as crm.lookup.", rich_help_panel=ORIGIN),
]
Ref = Annotated[str | None, typer.Option("--ref", help="Where in the source, such as turn-17.", rich_help_panel=ORIGIN)]


_WRITE_INSTANT = "write an instant as 2026-12-31T18:00:00Z, or with an offset as 2026-12-31T18:00:00-03:00"


def parse_instant(text: str) -> datetime:
    """ISO 8601 with a time zone as a datetime. Raises typer.BadParameter, which says how to write it."""
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(f"not ISO 8601; {_WRITE_INSTANT}") from None
    if instant.utcoffset() is None:
        raise typer.BadParameter(f"no time zone; {_WRITE_INSTANT}")
    return instant


def _instant(help_text: str, *names: str) -> object:
    return typer.Option(*names, parser=parse_instant, metavar="INSTANT", help=help_text, show_default=False)


ExpiresAt = Annotated[datetime | None, _instant("When it ends; the policy's retention otherwise.", "--expires-at")]
OccurredAt = Annotated[datetime | None, _instant("When it happened; now otherwise.", "--occurred-at")]
Since = Annotated[datetime | None, _instant("Only what happened from this instant on.", "--since")]
Until = Annotated[datetime | None, _instant("Only what happened before this instant.", "--until")]


def origin_of(
    origin: OriginClass | None, source: str | None, ref: str | None, *, default: OriginClass | None
) -> Origin | None:
    """The origin that the options name. default: its class when they name none; None leaves it to the operation."""
    if origin is None and source is None and ref is None and default is None:
        return None
    return Origin(origin_class=origin or default or OriginClass.DECLARED, source=source or OPERATOR, ref=ref)


def example(*commands: str) -> str:
    """The last lines of a command's help."""
    return "\n\n".join(["Example:", *(re.sub(r"([\[\]])", r"\\\1", command) for command in commands)])
