"""Where a record comes from (rule 11): the class of its origin, its source, reference, actor and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from olvido.domain.identifiers import optional_identifier, required_identifier
from olvido.domain.instants import require_utc
from olvido.errors import InvalidInput


class OriginClass(StrEnum):
    """How a record came to be known, strongest first."""

    DECLARED = "declared"
    OBSERVED = "observed"
    INFERRED = "inferred"

    @property
    def trust(self) -> int:
        """3 for declared, 2 for observed, 1 for inferred: an order, not a probability."""
        return _TRUST[self]


_TRUST = {OriginClass.DECLARED: 3, OriginClass.OBSERVED: 2, OriginClass.INFERRED: 1}

ALL_ORIGINS = frozenset(OriginClass)


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """One origin. Build it with `Origin.declared(...)`, `Origin.observed(...)` or `Origin.inferred(...)`.

    origin_class: how it came to be known.
    source: the channel or tool, such as "user-confirmation" or "crm.lookup" (1 to 200 bytes).
    ref: where in the source, such as "turn-17" (optional, up to 200 bytes).
    actor: who acted, as an opaque id (optional, up to 200 bytes).
    at: when it was said or seen (UTC; optional, then the time of recording counts).
    """

    origin_class: OriginClass
    source: str
    ref: str | None = None
    actor: str | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "origin_class", OriginClass(self.origin_class))
        except ValueError:
            raise InvalidInput(f"origin_class must be one of: {', '.join(OriginClass)}.") from None
        required_identifier(self.source, "origin source")
        optional_identifier(self.ref, "origin ref")
        optional_identifier(self.actor, "origin actor")
        if self.at is not None:
            object.__setattr__(self, "at", require_utc(self.at, "origin at"))

    @classmethod
    def declared(
        cls, source: str, *, ref: str | None = None, actor: str | None = None, at: datetime | None = None
    ) -> Origin:
        """The person said so."""
        return cls(origin_class=OriginClass.DECLARED, source=source, ref=ref, actor=actor, at=at)

    @classmethod
    def observed(
        cls, source: str, *, ref: str | None = None, actor: str | None = None, at: datetime | None = None
    ) -> Origin:
        """An authorised tool or person saw it."""
        return cls(origin_class=OriginClass.OBSERVED, source=source, ref=ref, actor=actor, at=at)

    @classmethod
    def inferred(
        cls, source: str, *, ref: str | None = None, actor: str | None = None, at: datetime | None = None
    ) -> Origin:
        """A model or a rule concluded it."""
        return cls(origin_class=OriginClass.INFERRED, source=source, ref=ref, actor=actor, at=at)


def weakest(classes: list[OriginClass]) -> OriginClass:
    """The lowest trust among `classes`, which is what a derived record carries (rule 11). Needs at least one."""
    return min(classes, key=lambda origin_class: origin_class.trust)
