"""Where a request stands as a whole: never better than its worst step that matters."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from olvido.domain.erasure import StepStatus
from olvido.domain.erasure_status import NOT_OPEN, ErasureStatus, erasure_status


@dataclass(frozen=True, kw_only=True, slots=True)
class One:
    """A step, as far as its name and status go."""

    step: str
    status: StepStatus


def status(**steps: str) -> ErasureStatus:
    """Of steps by name; `copy_x` is the copy x."""
    return erasure_status(
        One(step=name.replace("copy_", "copy:"), status=StepStatus(value)) for name, value in steps.items()
    )


HERE = {"rows": "rows_absent", "files": "verified", "log": "verified"}


def test_the_rows_come_first() -> None:
    """Rows that were read back as there are a failure; rows that nobody read back leave everything unknown."""
    assert status(**{**HERE, "rows": "remaining"}) is ErasureStatus.FAILED
    for unknown in ("open", "unverified", "needs_attention"):
        assert status(**{**HERE, "rows": unknown}) is ErasureStatus.INCOMPLETE
    assert erasure_status([]) is ErasureStatus.INCOMPLETE


@pytest.mark.parametrize("step", ["files", "log"])
@pytest.mark.parametrize("value", ["open", "unverified"])
def test_files_and_log_have_to_be_verified(step: str, value: str) -> None:
    """With the rows gone and either of them open, only the rows are said to be gone; a missing step counts as open."""
    assert status(**{**HERE, step: value}) is ErasureStatus.ROWS_ABSENT
    assert status(**{name: found for name, found in HERE.items() if name != step}) is ErasureStatus.ROWS_ABSENT


@pytest.mark.parametrize("value", [one for one in StepStatus if one not in {*NOT_OPEN, "remaining", "needs_attention"}])
def test_a_copy_outside_that_was_only_asked_stays_open(value: str) -> None:
    """Whatever was asked or promised: it is open until somebody looked, its holder confirmed, or its time is over."""
    assert status(**HERE, copy_backups=value) is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
    assert status(**HERE, copy_backups="verified", copy_cache=value) is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN


def test_with_every_copy_done_with_nothing_is_open() -> None:
    """Also where no copy was ever declared; the steps say which was looked at, which was confirmed, which expired."""
    assert status(**HERE) is ErasureStatus.LOCAL_VERIFIED
    assert status(**HERE, copy_backups="expired", copy_crm="confirmed") is ErasureStatus.LOCAL_VERIFIED
    assert status(**HERE, copy_backups="verified", copy_cache="verified") is ErasureStatus.LOCAL_VERIFIED


@pytest.mark.parametrize("value", ["remaining", "needs_attention"])
@pytest.mark.parametrize("step", ["files", "log", "copy_cache"])
def test_something_that_is_still_there_makes_it_incomplete(step: str, value: str) -> None:
    """In this database or outside of it, and also where somebody has to look."""
    assert status(**{**HERE, step: value}) is ErasureStatus.INCOMPLETE
