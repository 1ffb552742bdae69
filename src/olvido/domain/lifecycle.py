"""When a statement becomes the current value (rule 12), as decisions: pure values with their reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from olvido.domain.origin import Origin
from olvido.domain.records import Change, JsonScalar, Preference
from olvido.errors import InvalidTime, NotFound, OlderStatement, OlvidoError, VersionConflict, WeakerOrigin

CLOCK_SKEW = timedelta(minutes=5)
"""How far in the future an event time may lie, for clocks of callers that run ahead of the database's."""


class Verdict(Enum):
    """What to do with a statement.

    BEGIN: store it as version 1. SUPERSEDE: store it as the next version. UNCHANGED: it already stands, so there is no
    new version; that it was said again later is noted.
    REFUSE: do not store it; the decision carries the error.
    """

    BEGIN = "begin"
    SUPERSEDE = "supersede"
    UNCHANGED = "unchanged"
    REFUSE = "refuse"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A verdict, the rule it follows and the reason. refusal: what the operation raises for REFUSE."""

    verdict: Verdict
    reason: str
    rule: int = 12
    refusal: OlvidoError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A value that someone states for a key.

    purpose: what the policy now keeps the key for. change: an explicit correction (Change.CORRECTED) wins over dates; a
    set does not.
    said_at: event time. expires_at: None for no end. keeps_expiry: the caller gave no expiry.
    expected_version: the version that the caller saw; 0 means "none yet", None means any.
    """

    value: JsonScalar
    purpose: str
    change: Change
    origin: Origin
    said_at: datetime
    expires_at: datetime | None
    keeps_expiry: bool
    expected_version: int | None = None


def judge(current: Preference | None, statement: Statement, *, corrected: bool) -> Decision:
    """Decide on `statement`, given the live current value (None if there is none or it is expired).

    corrected: whether the current value was itself an explicit correction, which nothing said before it beats.
    """
    refused = _refusal(current, statement, corrected=corrected)
    if refused is not None:
        return refused
    if current is None:
        return Decision(verdict=Verdict.BEGIN, reason="no live value stands")
    ends_the_same = statement.keeps_expiry or statement.expires_at == current.expires_at
    if ends_the_same and stands(current, statement.value, statement.origin, statement.purpose):
        return Decision(verdict=Verdict.UNCHANGED, reason="the same value stands with the same origin class")
    return Decision(verdict=Verdict.SUPERSEDE, reason="a newer statement or an explicit correction")


def stands(current: Preference, value: JsonScalar, origin: Origin, purpose: str) -> bool:
    """Whether `value` is what is current, with an origin of the same class and kept for the same purpose."""
    return (
        is_same(value, current.value)
        and origin.origin_class is current.origin.origin_class
        and purpose == current.purpose
    )


def is_same(value: JsonScalar, other: JsonScalar) -> bool:
    """Whether two values are one: True is not 1."""
    return value == other and type(value) is type(other)


def _refusal(current: Preference | None, statement: Statement, *, corrected: bool) -> Decision | None:
    """Why the statement may not be stored, or None."""
    version = 0 if current is None else current.version
    if statement.expected_version is not None and statement.expected_version != version:
        error: OlvidoError = VersionConflict(
            f"The current version is {version}, not the expected {statement.expected_version}. "
            "Read the preference again and decide.",
            current_version=version,
        )
        return _refuse(error, "another version is current")
    if current is None:
        if statement.change is not Change.CORRECTED:
            return None
        error = NotFound("There is no current value to correct. Use set_preference to state one.")
        return _refuse(error, "nothing to correct")
    if statement.origin.origin_class.trust < current.origin.origin_class.trust:
        error = WeakerOrigin(
            f"The current value is {current.origin.origin_class} and the new one only "
            f"{statement.origin.origin_class}, which never overrides it. Have the person confirm the new value."
        )
        return _refuse(error, "a weaker origin never overrides a stronger one")
    newest = max(current.said_at, current.recorded_at) if corrected else current.said_at
    if statement.change is Change.SET and statement.said_at < newest:
        error = OlderStatement(
            "This was said before the value that is current. Nothing was changed; "
            "use correct_preference if it is a correction."
        )
        return _refuse(error, "an older statement never beats a newer one")
    return None


def require_past(at: datetime, now: datetime, name: str) -> datetime:
    """Return `at` unless it lies more than CLOCK_SKEW after `now` (both UTC). Raises InvalidTime."""
    if at > now + CLOCK_SKEW:
        raise InvalidTime(f"{name} lies in the future. Memory reports what happened; pass the time of the event.")
    return at


def _refuse(error: OlvidoError, reason: str) -> Decision:
    return Decision(verdict=Verdict.REFUSE, reason=reason, refusal=error)
