"""How a request to forget begins with each copy outside, and for how long a copy is remembered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from olvido.domain.copies import DEADLINE, FRESH, RegisteredCopy, concerned, first_step, needs_note
from olvido.domain.erasure import Level, StepStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def copy(
    *,
    kind: str = "service",
    retention: timedelta | None = None,
    connector: str | None = None,
    deadline: timedelta | None = None,
    at: datetime = NOW,
) -> RegisteredCopy:
    """A copy with a name and a holder."""
    return RegisteredCopy(
        name="crm",
        kind=kind,
        holder="sales",
        retention=retention,
        connector=connector,
        deadline=deadline,
        last_declared_at=at,
    )


@pytest.mark.parametrize(
    "one, level, status, due_in, deadline_in",
    [
        (copy(kind="backup", retention=35 * DAY), Level.E5, StepStatus.OPEN, 35 * DAY, 35 * DAY),
        (copy(kind="backup"), Level.E5, StepStatus.MANUAL, DEADLINE, DEADLINE),
        (copy(kind="log", retention=9 * DAY), Level.E4, StepStatus.OPEN, 9 * DAY, 9 * DAY),
        (copy(kind="cache", retention=DAY, connector="c"), Level.E4, StepStatus.OPEN, timedelta(0), DAY),
        (copy(connector="c"), Level.E4, StepStatus.OPEN, timedelta(0), None),
        (copy(), Level.E4, StepStatus.MANUAL, DEADLINE, DEADLINE),
        (copy(retention=90 * DAY, deadline=7 * DAY), Level.E4, StepStatus.MANUAL, 7 * DAY, 7 * DAY),
    ],
)
def test_a_copy_begins_by_what_can_remove_it(
    one: RegisteredCopy, level: Level, status: StepStatus, due_in: timedelta, deadline_in: timedelta | None
) -> None:
    """A connector is asked at once, what goes by itself is waited for, and a holder has a deadline."""
    step = first_step(one, NOW)
    assert (step.step, step.level, step.status, step.holder) == ("copy:crm", level, status, "sales")
    assert step.due_at - NOW == due_in
    assert (None if step.deadline is None else step.deadline - NOW) == deadline_in


@pytest.mark.parametrize(
    "one, later",
    [
        (copy(kind="backup", retention=35 * DAY), 9 * DAY),
        (copy(kind="archive", retention=35 * DAY, connector="c"), 9 * DAY),
        (copy(kind="backup", retention=35 * DAY, deadline=7 * DAY), 0 * DAY),
        (copy(kind="log", retention=35 * DAY), 0 * DAY),
        (copy(kind="service"), 0 * DAY),
    ],
)
def test_what_is_made_of_the_database_got_it_until_it_was_removed(one: RegisteredCopy, later: timedelta) -> None:
    """That is later than it was asked where an older copy was put back; what others had, and holders, do not change."""
    usual, restored = first_step(one, NOW).deadline, first_step(one, NOW, NOW + 9 * DAY).deadline
    assert usual is not None
    assert restored is not None
    assert restored - usual == later
    assert first_step(one, NOW, NOW - DAY) == first_step(one, NOW)


def test_what_never_left_the_database_concerns_copies_of_it_whole() -> None:
    """A backup, an archive and a replica have whatever is in it; a service has what it was given."""
    copies = [copy(kind=kind) for kind in ("backup", "service", "replica", "cache", "archive", "log")]
    assert [one.kind for one in concerned(copies, inside=True)] == ["backup", "replica", "archive"]
    assert list(concerned(copies, inside=False)) == copies


def test_a_copy_may_hold_something_for_its_retention_after_it_was_declared_last() -> None:
    """And for the hour by which the note of that may be old; without a retention for ever."""
    one = copy(retention=DAY)
    assert one.may_hold(NOW + DAY + FRESH - timedelta(seconds=1))
    assert not one.may_hold(NOW + DAY + FRESH)
    assert copy().may_hold(NOW + 10_000 * DAY)


def test_a_note_is_written_when_something_changed_or_it_is_old() -> None:
    """So requests that come together do not all wait for one row."""
    noted = copy(retention=DAY, connector="c")
    assert needs_note(noted, None)
    assert not needs_note(noted, noted)
    assert not needs_note(copy(retention=DAY, connector="c", at=NOW + FRESH / 2), noted)
    assert needs_note(copy(retention=DAY, connector="c", at=NOW + FRESH), noted)
    for changed in (copy(retention=2 * DAY, connector="c"), copy(retention=DAY), copy(kind="log", retention=DAY)):
        assert needs_note(changed, noted)
