"""What a look at a database found: one thing, how bad it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is.

    error: the contract does not hold. warning: it holds, and something is late, missing, or kept in one more place.
    note: worth knowing, and possibly what is wanted.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was found. code: stable word. problem: what it is and means. remedy: what to do next."""

    code: str
    problem: str
    remedy: str
    severity: Severity = Severity.ERROR
