"""`olvido worker`: the duties of a memory, done beside the service until it is told to stop."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.errors import OlvidoError
from olvido.surfaces.cli.options import DatabaseUrl, DataDir, EraserUrl, LedgerDir, PolicyFile, WorkerUrl
from olvido.surfaces.cli.runtime import progress_bar, run, where
from olvido.workers.duties import DutyName, duties
from olvido.workers.loop import INTERVAL, Worker, stopped_by_signals

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from olvido.memory import Memory

INCOMPLETE = 1
EVENTS = "olvido.worker"
"""The logger whose events are shown; of the other ones, warnings are."""
_ORDINARY = frozenset(vars(logging.makeLogRecord({})))
"""What every log record has; the rest are the facts of an event."""


def worker(
    duty: Annotated[
        list[DutyName] | None,
        typer.Option("--duty", help="Only this duty; give it again for another one.", show_default="all"),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left to do.")] = False,
    recheck: Annotated[
        bool,
        typer.Option("--recheck", help="Look at everybody's index once, as after a restore without it."),
    ] = False,
    interval: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks of a duty that found nothing to do.")
    ] = INTERVAL,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    eraser_url: EraserUrl = None,
    policy: PolicyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each event.")] = False,
) -> None:
    """Do what has to be done beside the service: purge, repair the index, follow up what was forgotten, seal the audit.

    Several workers may run, on one machine or on many, all with the embedder and the policy of the service. SIGTERM or
    Ctrl-C ends it after the few batches that it is at. If it is killed, another one goes on where it was. With --once,
    the exit code is 1 if something has to be tried again later, such as records for which the embedder gave no vector.
    """
    place = where(
        database_url, data_dir, policy, worker_url=worker_url, ledger=ledger, eraser_url=eraser_url, erases=True
    )

    async def work(memory: Memory) -> frozenset[str]:
        working = Worker(duties(memory, duty or DutyName, recheck=recheck, once=once), interval=interval)
        with stopped_by_signals(working):
            return await working.run(once=once)

    with progress_bar(as_json=as_json) as bar, _told(_Lines() if as_json else _Said(bar)):
        try:
            incomplete = run(place, work)
        except OlvidoError as error:
            if not as_json:
                raise
            facts = {"action": "worker_failed", "code": error.code, "remedy": str(error)}
            logging.getLogger(EVENTS).log(logging.ERROR, "worker failed", extra=facts)
            raise typer.Exit(error.exit_code) from None
    if once and incomplete:
        raise typer.Exit(INCOMPLETE)


@contextmanager
def _told(handler: logging.Handler) -> Iterator[None]:
    """Let `handler`, and no other one, have the events of Olvido."""
    log = logging.getLogger("olvido")
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(min(before[0], logging.INFO) if before[0] else logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before


def _facts(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _ORDINARY}


def _is_shown(record: logging.LogRecord) -> bool:
    return record.name == EVENTS or record.levelno >= logging.WARNING


class _Lines(logging.Handler):
    """Each event as one JSON object on standard output."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print it, and what it is about."""
        if not _is_shown(record):
            return
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "action": record.getMessage(), **_facts(record)}
        print(json.dumps(line, default=str), flush=True)  # noqa: T201 - the answer itself


class _Said(logging.Handler):
    """What the duties do, for a person: a line each, and running totals where somebody watches."""

    def __init__(self, bar: Progress | None) -> None:
        super().__init__()
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._rows: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        facts = _facts(record)
        duty, action = str(facts.pop("duty", "worker")), str(facts.pop("action", ""))
        if action == "duty_done" and self._bar is not None:
            self._count(self._bar, duty, facts)
        elif _is_shown(record):
            told = ", ".join(f"{name} {_short(value)}" for name, value in facts.items())
            self._say(f"{duty}: {record.getMessage()}" + (f" ({told})" if told else ""))

    def _count(self, bar: Progress, duty: str, facts: dict[str, object]) -> None:
        rows, waiting = facts.get("rows"), facts.get("waiting")
        self._rows[duty] = self._rows.get(duty, 0) + (rows if isinstance(rows, int) else 0)
        if duty not in self._tasks:
            self._tasks[duty] = bar.add_task(duty, total=None)
        left = "" if waiting is None else f", lives that wait: {waiting}"
        bar.update(self._tasks[duty], completed=self._rows[duty], description=f"{duty}{left}")

    def _say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line)
        else:
            typer.echo(line)


def _short(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.0f} s" if isinstance(value, float) else str(value)
