"""What the server itself keeps of what it stores: logs, WAL, archives and replicas, by its settings (rule 21).

A forget removes rows. Each of these is a place where their content, or the files they stood in, outlive that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olvido.storage.findings import Finding, Severity

_DECLARE = "or declare that copy under `copies` in the policy, with its holder and retention"
_QUIET = frozenset({"log", "fatal", "panic"})
"""Levels at which no error of a statement reaches the server log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """What one setting must not be. wrong: whether it is, given all settings. {value} in a text: its value."""

    setting: str
    wrong: Callable[[Mapping[str, str]], bool]
    problem: str
    remedy: str
    severity: Severity = Severity.WARNING


def _is(setting: str, *values: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda settings: settings.get(setting) in values


def _is_not(setting: str, *values: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda settings: settings.get(setting, values[0]) not in values


def _logs(setting: str, *off: str) -> Callable[[Mapping[str, str]], bool]:
    """The setting is on, and parameters, which hold the values, are logged with the statement."""
    return lambda settings: (
        settings.get(setting, off[0]) not in off and settings.get("log_parameter_max_length", "0") != "0"
    )


_LOGGED = "The server log keeps statements with their parameters ({setting} is {value}): what was stored stands there."
_UNLOG = f"Set log_parameter_max_length to 0, {_DECLARE}."
_PRINTED = "The server log keeps plans with the values in them ({setting} is {value})."
_LOSES = "{setting} is off: after a crash, what a forget removed may be back although it was answered."

_RULES = (
    *(
        _Rule(setting=setting, wrong=_logs(setting, *off), problem=_LOGGED, remedy=_UNLOG)
        for setting, off in (
            ("log_statement", ("none", "ddl")),
            ("log_min_duration_statement", ("-1",)),
            ("log_min_duration_sample", ("-1",)),
            ("log_transaction_sample_rate", ("0",)),
        )
    ),
    _Rule(
        setting="log_parameter_max_length_on_error",
        wrong=_is_not("log_parameter_max_length_on_error", "0"),
        problem="The server log keeps the parameters of statements that fail ({setting} is {value}).",
        remedy=f"Set it to 0, {_DECLARE}.",
    ),
    _Rule(
        setting="log_error_verbosity",
        wrong=lambda settings: (
            settings.get("log_error_verbosity") != "terse" and settings.get("log_min_messages") not in _QUIET
        ),
        problem="The server log keeps the DETAIL of errors, which quotes stored values ({setting} is {value}).",
        remedy=f"Set log_error_verbosity to terse, {_DECLARE}.",
    ),
    _Rule(
        setting="log_min_error_statement",
        wrong=_is_not("log_min_error_statement", *sorted(_QUIET)),
        problem="The server log keeps the text of statements that fail ({setting} is {value}). Those of Olvido hold no "
        "value; those that somebody types may.",
        remedy="Set log_min_error_statement to panic.",
        severity=Severity.NOTE,
    ),
    *(
        _Rule(setting=setting, wrong=_is(setting, "on"), problem=_PRINTED, remedy="Turn it off.")
        for setting in ("debug_print_parse", "debug_print_rewritten", "debug_print_plan")
    ),
    _Rule(
        setting="auto_explain.log_min_duration",
        wrong=_is_not("auto_explain.log_min_duration", "-1"),
        problem="auto_explain is loaded and writes plans and their values to the server log.",
        remedy=f"Set auto_explain.log_min_duration to -1, {_DECLARE}.",
    ),
    _Rule(
        setting="pg_stat_statements.max",
        wrong=lambda settings: "pg_stat_statements.max" in settings,
        problem="pg_stat_statements is loaded. It keeps statements without their parameters, and others as typed.",
        remedy="Nothing, if only Olvido uses this database; otherwise set pg_stat_statements.track_utility to off.",
        severity=Severity.NOTE,
    ),
    _Rule(
        setting="archive_mode",
        wrong=_is_not("archive_mode", "off"),
        problem="WAL is archived ({setting} is {value}): the archive holds what was stored until its files go.",
        remedy="Declare the archive under `copies` in the policy, with its holder and retention.",
    ),
    _Rule(
        setting="wal_keep_size",
        wrong=_is_not("wal_keep_size", "0"),
        problem="The server keeps {value} MB of WAL that it no longer needs ({setting}), with what was removed in it.",
        remedy="Set wal_keep_size to 0; a standby that needs it is better served by a slot.",
        severity=Severity.NOTE,
    ),
    _Rule(
        setting="track_commit_timestamp",
        wrong=_is("track_commit_timestamp", "on"),
        problem="The server keeps the time of each transaction ({setting} is on): times without content.",
        remedy="Nothing, if something else needs it; otherwise turn it off.",
        severity=Severity.NOTE,
    ),
    *(
        _Rule(
            setting=setting,
            wrong=_is(setting, "off"),
            problem=_LOSES,
            remedy="Turn it on.",
            severity=Severity.ERROR,
        )
        for setting in ("fsync", "full_page_writes", "synchronous_commit")
    ),
)

SETTINGS = sorted({rule.setting for rule in _RULES} | {"log_parameter_max_length", "log_min_messages"})
"""What to read from the server; max_slot_wal_keep_size matters with slots only."""
SLOT_LIMIT = "max_slot_wal_keep_size"


def setting_findings(settings: Mapping[str, str]) -> list[Finding]:
    """What the settings make the server keep. settings: by name, as pg_settings has them."""
    return [
        Finding(
            code=rule.setting.replace(".", "_"),
            severity=rule.severity,
            problem=rule.problem.format(setting=rule.setting, value=settings.get(rule.setting, "")),
            remedy=rule.remedy,
        )
        for rule in _RULES
        if rule.wrong(settings)
    ]


def replica_findings(slots: Iterable[Mapping[str, Any]], standbys: int, slot_limit: str) -> list[Finding]:
    """Who else receives the WAL. slot_limit: max_slot_wal_keep_size; "-1" is without limit."""
    found = []
    for slot in slots:
        state = "in use" if slot["active"] else "not in use"
        bound = "without limit" if slot_limit == "-1" else f"up to {slot_limit} MB"
        found.append(
            Finding(
                code="replication_slot",
                severity=Severity.WARNING,
                problem=f"The replication slot {slot['slot']} ({state}) keeps {slot['bytes']} bytes of WAL, {bound}.",
                remedy="Drop it if nothing reads it, and set max_slot_wal_keep_size. Declare what reads it under "
                "`copies` in the policy.",
            )
        )
    if standbys:
        found.append(
            Finding(
                code="standby",
                severity=Severity.WARNING,
                problem=f"Servers that receive the WAL at this moment: {standbys}. Each is a copy.",
                remedy="Declare them under `copies` in the policy; a forget reaches them when they have replayed it.",
            )
        )
    return found
