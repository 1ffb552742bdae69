"""Which records may answer at all, before any ranking (rule 16): purpose, kinds and what the caller narrows to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from olvido.domain.identifiers import optional_identifier
from olvido.domain.instants import require_utc
from olvido.domain.origin import OriginClass
from olvido.domain.policy import EpisodeRule, Policy
from olvido.domain.policy_values import ChoiceValue, is_well_formed, nfc
from olvido.domain.records import PRODUCT, Kind
from olvido.errors import InvalidTime, InvalidValue, NotInPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class Eligibility:
    """A checked choice of records. None does not narrow; all but purpose and kinds concern episodes only.

    since, until: interval of `occurred_at` (UTC), with its start and without its end.
    """

    purpose: str
    kinds: tuple[Kind, ...]
    definition: str | None = None
    case_id: str | None = None
    product: str | None = None
    status: str | None = None
    origin_class: OriginClass | None = None
    since: datetime | None = None
    until: datetime | None = None

    def parameters(self) -> dict[str, object]:
        """As the statement `scan` names them."""
        return {
            "purpose": self.purpose,
            "kinds": None if {*self.kinds} == {*Kind} else [str(kind) for kind in self.kinds],
            "definition": self.definition,
            "case_id": self.case_id,
            "product": self.product,
            "status": self.status,
            "origin_class": None if self.origin_class is None else str(self.origin_class),
            "since": self.since,
            "until": self.until,
        }


def eligibility(
    policy: Policy,
    *,
    purpose: str | None = None,
    kinds: Collection[Kind | str] | None = None,
    definition: str | None = None,
    case_id: str | None = None,
    product: str | None = None,
    status: str | None = None,
    origin_class: OriginClass | str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Eligibility:
    """Check a choice against the policy; purpose None is its default, kinds None is all.

    Raises NotInPolicy or LiveState (purpose, definition), InvalidValue (kinds, product, status, origin_class),
    InvalidScope (case_id), InvalidTime (since, until).
    """
    rules = list(policy.episodes.values()) if definition is None else [policy.episode(definition)]
    statuses = list(dict.fromkeys(known for rule in rules for known in rule.statuses))
    known = nfc(status) if isinstance(status, str) else status
    if known is not None and known not in statuses:
        raise InvalidValue(f"status must be one of: {', '.join(statuses)}." if statuses else "status is not used here.")
    start = None if since is None else require_utc(since, "since")
    end = None if until is None else require_utc(until, "until")
    if start is not None and end is not None and start >= end:
        raise InvalidTime("since must be before until.")
    return Eligibility(
        purpose=_purpose(policy, purpose),
        kinds=_kinds(kinds),
        definition=None if definition is None else rules[0].definition,
        case_id=optional_identifier(case_id, "case_id"),
        product=None if product is None else _product(rules, product),
        status=known,
        origin_class=_origin_class(origin_class),
        since=start,
        until=end,
    )


def _product(rules: Collection[EpisodeRule], product: object) -> str:
    having = [rule for rule in rules if PRODUCT in rule.shapes]
    if not having:
        raise InvalidValue(f"product is not used here: no kind of episode that is asked for has a field {PRODUCT}.")
    if not isinstance(product, str) or not product.strip():
        raise InvalidValue("product must be text that is not blank; None does not narrow.")
    if not is_well_formed(product):
        raise InvalidValue("product has a NUL or an unpaired surrogate. Pass well-formed text.")
    name, shapes = nfc(product), [rule.shapes[PRODUCT] for rule in having]
    choices = dict.fromkeys(choice for shape in shapes if isinstance(shape, ChoiceValue) for choice in shape.choices)
    if name not in choices and all(isinstance(shape, ChoiceValue) for shape in shapes):
        raise InvalidValue(f"product must be one of: {', '.join(choices)}.")
    return name


def _purpose(policy: Policy, purpose: str | None) -> str:
    if purpose is None:
        return policy.default_purpose
    name = nfc(str(purpose))
    if name not in policy.purposes:
        raise NotInPolicy(f"This purpose is not in policy {policy.name}. It has: {', '.join(policy.purposes)}.")
    return name


def _kinds(kinds: Collection[Kind | str] | None) -> tuple[Kind, ...]:
    if kinds is None:
        return tuple(Kind)
    try:
        asked = {Kind(kind) for kind in ((kinds,) if isinstance(kinds, str) else kinds)}
    except (ValueError, TypeError):
        raise InvalidValue(f"kinds must be one or more of: {', '.join(Kind)}.") from None
    if not asked:
        raise InvalidValue(f"kinds is empty. Pass one or more of: {', '.join(Kind)}; None is all.")
    return tuple(kind for kind in Kind if kind in asked)


def _origin_class(origin_class: OriginClass | str | None) -> OriginClass | None:
    try:
        return None if origin_class is None else OriginClass(origin_class)
    except ValueError:
        raise InvalidValue(f"origin_class must be one of: {', '.join(OriginClass)}.") from None
