"""The command line: `olvido --help`. It parses, calls the Python face and prints; it holds no rule of its own."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from olvido.errors import OlvidoError
from olvido.surfaces.cli import (
    audit,
    demo,
    diagnosis,
    episodes,
    erasures,
    exports,
    forgetting,
    holds,
    imports,
    keys,
    maintenance,
    policies,
    preferences,
    reading,
    receipts,
    restore,
    worker,
)
from olvido.surfaces.cli.options import example
from olvido.surfaces.cli.runtime import complain

USAGE = 2
INTERRUPTED = 130
UNEXPECTED = 1
# typer exports this one of its usage errors; the parents are click's, whichever click this typer uses.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
_UsageError: Any = typer.BadParameter.__mro__[1]

START, WRITE, READ, FORGET, OPERATE = "Start here", "Remember", "Recall", "Forget", "Operate"
SCOPE = "--tenant acme --subject ana"

app = typer.Typer(
    name="olvido",
    help="Memory for assistants that remembers correctly, forgets correctly and shows what it did.",
    epilog=example("olvido demo"),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        import olvido

        typer.echo(olvido.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an unexpected error came from.")] = False,
) -> None:
    """Options that stand before the command; `main` has read --debug already."""


app.command("demo", rich_help_panel=START, epilog=example("olvido demo"))(demo.demo)
app.command("remember", rich_help_panel=WRITE, epilog=example(f"olvido remember 'prefers aisle seats' {SCOPE}"))(
    episodes.remember
)
app.add_typer(
    preferences.app,
    name="preference",
    rich_help_panel=WRITE,
    help="Typed values, one current each.",
    epilog=example(f"olvido preference set language pt {SCOPE}"),
)
app.add_typer(
    episodes.app,
    name="episode",
    rich_help_panel=WRITE,
    help="What happened, as it was reported.",
    epilog=example(f"olvido episode list {SCOPE}"),
)
app.command(
    "import",
    rich_help_panel=WRITE,
    epilog=example(
        "olvido import support-cases.jsonl",
        f"olvido import ana.json --from export {SCOPE}",
        "olvido import memories.json --from mem0 --tenant acme",
    ),
)(imports.import_)
app.command("recall", rich_help_panel=READ, epilog=example(f"olvido recall 'cannot reach my course' {SCOPE}"))(
    reading.recall
)
app.command(
    "context", rich_help_panel=READ, epilog=example(f"olvido context 'cannot reach my course' {SCOPE} --max-tokens 400")
)(reading.context)
app.command("export", rich_help_panel=READ, epilog=example(f"olvido export {SCOPE} --output ana.json"))(exports.export)
app.command("consolidate", rich_help_panel=READ, epilog=example(f"olvido consolidate {SCOPE}"))(reading.consolidate)
app.command(
    "forget",
    rich_help_panel=FORGET,
    epilog=example(
        f"olvido forget 019f0000-0000-7000-8000-000000000001 {SCOPE}",
        f"olvido forget {SCOPE} --kind episode --case at1 --until 2026-06-01T00:00:00Z",
        f"olvido forget {SCOPE} --query 'my address'",
        f"olvido forget {SCOPE} --all --dry-run",
        "olvido forget --tenant acme",
    ),
)(forgetting.forget)
app.command("purge", rich_help_panel=FORGET, epilog=example("olvido purge"))(forgetting.purge)
app.add_typer(
    erasures.app,
    name="erasure",
    rich_help_panel=FORGET,
    help="What was forgotten, and how far it is with every copy.",
    epilog=example("olvido erasure list --tenant acme"),
)
app.add_typer(
    holds.app,
    name="hold",
    rich_help_panel=FORGET,
    help="What must be kept by law although it is forgotten.",
    epilog=example("olvido hold list --tenant acme"),
)
app.add_typer(
    receipts.app,
    name="receipt",
    rich_help_panel=FORGET,
    help="Signed statements of what was forgotten and how far.",
    epilog=example("olvido receipt verify receipt.jws"),
)
app.command(
    "migrate",
    rich_help_panel=OPERATE,
    epilog=example("olvido migrate --database-url postgresql://owner@db.example/olvido --leaves 64"),
)(maintenance.migrate)
app.command(
    "worker", rich_help_panel=OPERATE, epilog=example("olvido worker", "olvido worker --once --duty embed --json")
)(worker.worker)
app.command("doctor", rich_help_panel=OPERATE, epilog=example("olvido doctor --json"))(diagnosis.doctor)
app.add_typer(
    restore.app,
    name="restore",
    rich_help_panel=OPERATE,
    help="A database that was put back, and what it has to forget again.",
    epilog=example("olvido restore check"),
)
app.add_typer(
    audit.app,
    name="audit",
    rich_help_panel=OPERATE,
    help="The log of what was done, chained so that changes show.",
    epilog=example("olvido audit verify"),
)
app.add_typer(
    keys.app,
    name="keys",
    rich_help_panel=OPERATE,
    help="The keys that sign receipts.",
    epilog=example("olvido keys publish"),
)
app.add_typer(
    policies.app,
    name="policy",
    rich_help_panel=OPERATE,
    help="What may be remembered, and why.",
    epilog=example("olvido policy check my-policy.yaml"),
)


def _unwrap(text: str) -> str:
    """A docstring as paragraphs: a terminal breaks lines where it is narrow, not where the source does."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


_GROUPS = (
    preferences.app,
    episodes.app,
    policies.app,
    policies.add_app,
    receipts.app,
    audit.app,
    keys.app,
    holds.app,
    erasures.app,
    restore.app,
)
for _commands in (app, *_GROUPS):
    for _command in _commands.registered_commands:
        _command.help = _unwrap((_command.callback.__doc__ if _command.callback else None) or "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. arguments: None takes those of the process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = _take(given, "--debug")
    as_json = "--json" in _options(given)
    if arguments is None:
        _prepare_process(debug=debug)
    try:
        code = _commands_once()(given, prog_name="olvido", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place that can answer without a stack trace
        if debug:
            traceback.print_exc()
        return _answer(error, as_json=as_json)
    if code == INTERRUPTED:  # how typer answers Ctrl-C
        return _answer(KeyboardInterrupt(), as_json=as_json)
    return code if isinstance(code, int) else 0


@cache
def _commands_once() -> Callable[..., Any]:
    """All commands; reading their signatures takes longer than most of them, so it is done once a process."""
    return typer.main.get_command(app)


def _answer(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong, as the surface was asked to, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left; Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNEXPECTED
    if isinstance(error, _ClickError) and hasattr(error, "message"):
        # Where a word is not one of a list, typer passes on how pydantic begins its messages.
        error.message = error.message.removeprefix("Value error, ")
    if isinstance(error, typer.BadParameter) and error.param is None and error.param_hint is None:
        # It is about no single option, so it is no "Invalid value".
        error = _UsageError(error.message, error.ctx)
    if isinstance(error, _ClickError) and not as_json and hasattr(error, "show"):
        error.show()
        return USAGE
    code, message, exit_code = _failure(error)
    complain(code, message, as_json=as_json)
    return exit_code


def _failure(error: BaseException) -> tuple[str, str, int]:
    """Code, message and exit code of an error."""
    known = _inside(error)
    if known is not None:
        return known.code, str(known), known.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted", "Stopped.", INTERRUPTED
    if isinstance(error, _ClickError):
        message = error.format_message() if hasattr(error, "format_message") else ""
        return "usage", message or "Name a command; see olvido --help.", USAGE
    # Not its text: that may quote what is stored.
    return "unexpected", f"{type(error).__name__}. Run it again with --debug to see where.", UNEXPECTED


def _options(given: Sequence[str]) -> Sequence[str]:
    return given[: given.index("--")] if "--" in given else given


def _take(given: list[str], flag: str) -> bool:
    if flag in _options(given):
        given.remove(flag)
        return True
    return False


def _inside(error: BaseException) -> OlvidoError | None:
    """The error that concurrent work failed with, where a task group wraps it."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := _inside(part)) is not None), None)
    return error if isinstance(error, OlvidoError) else None


def _prepare_process(*, debug: bool) -> None:
    """Warnings of Olvido itself are for the operator; a library's retries are noise beside the error that follows."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.DEBUG if debug else logging.ERROR, format="%(message)s")
    logging.getLogger("olvido").setLevel(logging.DEBUG if debug else logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
