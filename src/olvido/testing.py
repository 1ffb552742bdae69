"""For tests of programs that use Olvido: a clock that only moves when told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from olvido.domain.instants import require_utc


class ManualClock:
    """Pass it to `olvido.open(clock=...)`; no surface lets a caller set it.

    now: where it starts; None is 1970-01-01T00:00:00Z, so that plain units of seconds can be used.
    """

    def __init__(self, now: datetime | None = None) -> None:
        self._now = datetime.fromtimestamp(0, UTC) if now is None else require_utc(now, "now")

    def now(self) -> datetime:
        """The instant that was set last."""
        return self._now

    def set(self, now: datetime) -> None:
        """Move to `now`, forwards or backwards."""
        self._now = require_utc(now, "now")

    def advance(self, by: timedelta) -> None:
        """Move on by `by`."""
        self._now += by
