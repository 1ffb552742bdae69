"""What the server keeps beside the rows, judged from its settings, slots, roles and oldest snapshot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from olvido.storage.catalogue_checks import ROLES, role_findings, snapshot_findings
from olvido.storage.findings import Severity
from olvido.storage.server_copies import SETTINGS, replica_findings, setting_findings
from tests.conftest import Clone
from tests.storage.support import administer, rows

QUIET = {
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "debug_print_plan": "off",
    "archive_mode": "off",
    "wal_keep_size": "0",
    "track_commit_timestamp": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}
NOW = datetime(2026, 6, 2, tzinfo=UTC)


def test_a_quiet_server_has_no_findings() -> None:
    """With the settings of the embedded server, and without what a server may not have."""
    assert setting_findings(QUIET) == []


@pytest.mark.parametrize(
    "changed, code, severity",
    [
        ({"log_statement": "all", "log_parameter_max_length": "-1"}, "log_statement", Severity.WARNING),
        (
            {"log_min_duration_statement": "250", "log_parameter_max_length": "9"},
            "log_min_duration_statement",
            "warning",
        ),
        ({"log_min_duration_sample": "0", "log_parameter_max_length": "-1"}, "log_min_duration_sample", "warning"),
        (
            {"log_transaction_sample_rate": "0.1", "log_parameter_max_length": "-1"},
            "log_transaction_sample_rate",
            "warning",
        ),
        ({"log_parameter_max_length_on_error": "-1"}, "log_parameter_max_length_on_error", "warning"),
        ({"log_error_verbosity": "default", "log_min_messages": "warning"}, "log_error_verbosity", "warning"),
        ({"log_min_error_statement": "error"}, "log_min_error_statement", "note"),
        ({"debug_print_plan": "on"}, "debug_print_plan", "warning"),
        ({"auto_explain.log_min_duration": "0"}, "auto_explain_log_min_duration", "warning"),
        ({"pg_stat_statements.max": "5000"}, "pg_stat_statements_max", "note"),
        ({"archive_mode": "on"}, "archive_mode", "warning"),
        ({"wal_keep_size": "64"}, "wal_keep_size", "note"),
        ({"track_commit_timestamp": "on"}, "track_commit_timestamp", "note"),
        ({"synchronous_commit": "off"}, "synchronous_commit", "error"),
        ({"fsync": "off"}, "fsync", "error"),
    ],
)
def test_each_setting_that_keeps_more_is_named(changed: dict[str, str], code: str, severity: str) -> None:
    """One finding, with its value and what to do."""
    (finding,) = setting_findings({**QUIET, **changed})
    assert (finding.code, finding.severity) == (code, severity)
    assert finding.problem.endswith(".")
    assert finding.remedy.endswith(".")
    assert "{" not in finding.problem


def test_settings_that_write_placeholders_only_are_left_alone() -> None:
    """Statements are logged without their parameters, and errors that do not reach the log have no verbosity."""
    assert setting_findings({**QUIET, "log_statement": "all"}) == []
    assert setting_findings({**QUIET, "log_error_verbosity": "verbose"}) == []
    assert setting_findings({**QUIET, "auto_explain.log_min_duration": "-1"}) == []


def test_the_settings_exist_in_this_server(migrated: Clone) -> None:
    """A misspelt setting would never be found; those with a dot belong to modules that may not be loaded."""
    with administer(migrated) as connection:
        present = {name for (name,) in rows(connection, "SELECT name FROM pg_settings")}
    assert {name for name in SETTINGS if "." not in name} <= present


def test_whoever_receives_the_wal_is_a_copy() -> None:
    """Each slot with its bytes, bounded or not, and standbys."""
    slots = [{"slot": "a", "active": False, "bytes": 512}, {"slot": "b", "active": True, "bytes": 0}]
    first, second, standby = replica_findings(slots, 1, "-1")
    assert first.problem == "The replication slot a (not in use) keeps 512 bytes of WAL, without limit."
    assert "(in use)" in second.problem
    assert (first.severity, standby.code) == (Severity.WARNING, "standby")
    assert "up to 64 MB" in replica_findings(slots, 0, "64")[0].problem
    assert replica_findings([], 0, "-1") == []


def test_olvidos_own_roles_are_judged() -> None:
    """One that is missing, one that is strong, and an owner who logs in."""
    sound = [{"role": role, "logs_in": role in ROLES[:2], "outranks": False} for role in ROLES]
    assert role_findings(sound) == []
    changed = [{**row, "outranks": row["role"] == "olvido_app", "logs_in": True} for row in sound if row != sound[2]]
    assert [(finding.code, finding.severity) for finding in role_findings(changed)] == [
        ("missing_role", Severity.ERROR),
        ("strong_role", Severity.ERROR),
        ("owner_logs_in", Severity.WARNING),
    ]


def test_an_old_snapshot_is_found_and_a_young_one_is_not() -> None:
    """Over an hour, with its process; prepared transactions alike."""
    nothing = {"since": None, "prepared": None, "pid": None, "looked_at": NOW}
    assert snapshot_findings(nothing) == []
    assert snapshot_findings({**nothing, "pid": 7, "since": NOW - timedelta(minutes=59)}) == []
    old = snapshot_findings(
        {**nothing, "pid": 7, "since": NOW - timedelta(hours=3), "prepared": NOW - timedelta(days=4)}
    )
    assert [finding.code for finding in old] == ["old_snapshot", "prepared_transaction"]
    assert "Process 7 holds a snapshot of 3 hours" in old[0].problem
    assert "is 4 days old" in old[1].problem
