"""What operators and privacy officers are told while a request is followed up: why it waits, and for whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest

from olvido.domain.erasure import Level, Step, StepStatus
from olvido.domain.erasure_report import ErasureReport
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.policy_file import default_policy_text
from olvido.surfaces import erasure_reports
from olvido.surfaces.terminal import console
from tests.conftest import Clone
from tests.surfaces.conftest import SCOPE, Answer, Run

TENANT = ("--tenant", "acme")
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
BEFORE, LATER = NOW - timedelta(days=1), NOW + timedelta(days=1)
SERVICE = """copies:
  - name: crm
    kind: service
    holder: sales
    retention: unlimited
    connector: {type: http, url_env: CRM_ERASURE_URL, key_env: CRM_ERASURE_KEY}
"""
DIRECTORY = """copies:
  - name: exports
    kind: service
    holder: platform team
    retention: unlimited
    connector: {type: directory, path_env: EXPORT_DIRECTORY, template: "{tenant}/{subject}.json"}
"""


def policy_with(place: Path, copies: str) -> tuple[str, str]:
    """The default policy with these copies instead of its own, as an option."""
    before, rest = default_policy_text().split("copies:\n", 1)
    place.write_text(f"{before}{copies}\n# How much{rest.split('# How much', 1)[1]}")
    return ("--policy", str(place))


def one_line(answer: Answer) -> str:
    """What a command printed, however its lines were folded."""
    return " ".join(answer.out.split())


def forget(cli: Run, *policy: str) -> str:
    """Remember something of somebody, forget them, and say under which id that is followed up."""
    cli("remember", "prefers aisle seats", *SCOPE, *policy)
    return str(cli("forget", *SCOPE, "--all", "--yes", "--json", *policy).document["erasure_id"])


@pytest.fixture
def erasing(cli: Run, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with the login of the eraser in the environment."""
    monkeypatch.setenv("OLVIDO_ERASER_URL", clone.eraser)
    return cli


def test_a_variable_that_is_not_set_is_named_with_its_copy(
    erasing: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both where the work is done and where the request is shown: which variables, of which copy, and what to do."""
    policy = policy_with(tmp_path / "policy.yaml", SERVICE)
    monkeypatch.setenv("CRM_ERASURE_KEY", "a key of sixteen bytes and more")
    erasure_id = forget(erasing, *policy)
    ran = erasing("erasure", "run", *policy)
    assert ran.code == 1
    for told in (one_line(ran), one_line(erasing("erasure", "show", erasure_id, *TENANT, *policy))):
        assert "the environment variable CRM_ERASURE_URL, which the copy crm of the policy names, is not set" in told
        assert "not set where this worker runs: set it there" in told
        assert "or write down its holder's word: `olvido erasure confirm`" in told
        assert "CRM_ERASURE_KEY" not in told
    assert "1 step of crm: " in one_line(ran)


def test_a_worker_without_the_policy_of_a_copy_says_so(erasing: Run, tmp_path: Path) -> None:
    """It cannot know which variables: it asks for the policy that declares the copy."""
    forget(erasing, *policy_with(tmp_path / "policy.yaml", SERVICE))
    ran = erasing("erasure", "run", "--json")
    assert ran.code == 1
    (reason,) = ran.document["in_the_way"]
    assert "the copy crm was declared with the connector crm.http" in reason
    assert "--policy" in reason
    assert ran.document["in_the_way"][reason] == 1


def test_a_value_that_cannot_be_is_told_with_its_copy(
    erasing: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names copy, policy and variables, and not the value."""
    policy = policy_with(tmp_path / "policy.yaml", SERVICE)
    monkeypatch.setenv("CRM_ERASURE_URL", "http://crm.example/secret")
    monkeypatch.setenv("CRM_ERASURE_KEY", "a key of sixteen bytes and more")
    refused = erasing("erasure", "run", *policy)
    assert refused.code == 2
    assert "The copy crm of policy " in refused.err
    assert "CRM_ERASURE_URL and CRM_ERASURE_KEY cannot be used" in refused.err
    assert "secret" not in refused.err


def test_files_that_are_open_again_say_why(erasing: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The external id goes with the last copy that is found by it; until it is out of the files, that is explained."""
    policy = policy_with(tmp_path / "policy.yaml", DIRECTORY)
    exports = tmp_path / "exports"
    (exports / "acme").mkdir(parents=True)
    (exports / "acme" / "ana.json").write_text("{}")
    monkeypatch.setenv("EXPORT_DIRECTORY", str(exports))
    erasure_id = forget(erasing, *policy)
    shown = one_line(erasing("erasure", "show", erasure_id, *TENANT, *policy))
    assert "files of this database database olvido E2 open as soon as a worker runs" in shown
    assert "exports service platform team E4 open as soon as a worker runs" in shown
    assert "The external id of the person is kept until" in shown
    assert erasing("erasure", "run", "--limit", "3", *policy).code == 0
    assert list((exports / "acme").iterdir()) == []
    again = one_line(erasing("erasure", "show", erasure_id, *TENANT, *policy))
    assert "Files and log are open again, after they had been done" in again
    assert "written anew once more" in again
    assert "The external id of the person is kept until" not in again
    assert erasing("erasure", "run", *policy).code == 0
    done = one_line(erasing("erasure", "show", erasure_id, *TENANT, *policy))
    assert "open again" not in done
    assert "Status: local_verified." in done


def test_when_it_is_looked_at_again_is_said_while_that_is_to_come(cli: Run) -> None:
    """After a try in vain the instant of the next one stands there, and no instant that is past."""
    erasure_id = forget(cli)
    assert cli("erasure", "run").code == 1  # nobody may rewrite files
    shown = cli("erasure", "show", erasure_id, *TENANT, "--json").document
    (files,) = [step for step in shown["steps"] if step["step"] == "files"]
    assert files["due_at"] > shown["looked_at"]
    told = one_line(cli("erasure", "show", erasure_id, *TENANT))
    assert f"no date: looked at again at {files['due_at'][:19]}Z" in told
    assert "support-desk service customer support E4 manual by its holder, until " in told


@pytest.mark.parametrize(
    "status, due_at, deadline, words",
    [
        (StepStatus.OPEN, NOW, None, "as soon as a worker runs"),
        (StepStatus.OPEN, BEFORE, BEFORE, "as soon as a worker runs"),
        (StepStatus.OPEN, BEFORE, LATER, "as soon as a worker runs"),
        (StepStatus.OPEN, LATER, None, "no date: looked at again at 2026-12-02T12:00:00Z"),
        (StepStatus.OPEN, LATER, LATER, "2026-12-02T12:00:00Z"),
        (StepStatus.NEEDS_ATTENTION, LATER, BEFORE, "2026-11-30T12:00:00Z is over: looked at again at 2026-12-02T"),
        (StepStatus.MANUAL, LATER, LATER, "by its holder, until 2026-12-02T12:00:00Z"),
        (StepStatus.MANUAL, BEFORE, BEFORE, "2026-11-30T12:00:00Z is over: its holder has to act"),
        (StepStatus.MANUAL, LATER, None, "no date: its holder has to remove it"),
    ],
)
def test_until_when_is_said_as_of_the_look(
    status: StepStatus, due_at: datetime, deadline: datetime | None, words: str
) -> None:
    """A date that is to come, or what has to happen; never an instant that is past as if it were to come."""
    step = Step(
        tenant="acme",
        erasure_id=UUID(int=1),
        step="copy:crm",
        level=Level.E4,
        kind="service",
        holder="sales",
        status=status,
        attempts=1,
        due_at=due_at,
        deadline=deadline,
        blocker=None,
        evidence={},
        settled_at=None,
    )
    assert f" {words}" in told(step)


@pytest.mark.parametrize("number, words", [(1, "1 relation written anew"), (2, "2 relations written anew")])
def test_one_relation_is_one(number: int, words: str) -> None:
    """What was measured counts in words that fit."""
    relations = [{"relation": str(each), "locked_ms": 3} for each in range(number)]
    step = Step(
        tenant="acme",
        erasure_id=UUID(int=1),
        step="files",
        level=Level.E2,
        kind="database",
        holder="olvido",
        status=StepStatus.VERIFIED,
        attempts=1,
        due_at=BEFORE,
        deadline=None,
        blocker=None,
        evidence={"relations": relations},
        settled_at=BEFORE,
    )
    assert f" {words}, the longest lock 3 ms" in told(step)


def told(step: Step) -> str:
    """What is shown of a request with one step."""
    report = ErasureReport(
        tenant="acme",
        erasure_id=UUID(int=1),
        target="subject",
        record_ids=(),
        requested_at=BEFORE,
        status=ErasureStatus.INCOMPLETE,
        planned={},
        removed={},
        held=0,
        identifier_kept=False,
        policy_version="1",
        plan_hash="",
        ledger_entry=1,
        steps=(step,),
        looked_at=NOW,
    )
    shown = StringIO()
    console(shown).print(erasure_reports.erasure(report))
    return " ".join(shown.getvalue().split())
