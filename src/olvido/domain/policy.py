"""What may be remembered: the policy as the rest of Olvido uses it (design, section 4; rules 6, 10, 11 and 26).

No purpose, no memory: whatever has no definition here is refused, and the error prints the lines that would allow it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TypeVar

from olvido.domain.instants import KEEP, KeepType, require_utc
from olvido.domain.origin import OriginClass
from olvido.domain.policy_document import (
    ACTOR,
    EpisodeDefinition,
    HandOver,
    Limits,
    LiveStateDefinition,
    OutsideCopy,
    PolicyDocument,
    PreferenceDefinition,
    Purpose,
    Ranking,
    SessionDefinition,
    is_key,
)
from olvido.domain.policy_lines import HAND_OVER, Section, definition_lines
from olvido.domain.policy_values import TextValue, ValueShape, nfc
from olvido.domain.records import JsonScalar
from olvido.domain.redaction import safe_name
from olvido.errors import InvalidTime, InvalidValue, LiveState, NotInPolicy

Rule = TypeVar("Rule")


@dataclass(frozen=True, kw_only=True, slots=True)
class PreferenceRule:
    """What the policy says about one preference.

    retention, history_retention: how long the current value and superseded ones are kept; None is without limit.
    """

    key: str
    description: str
    purpose: str
    shape: ValueShape
    origins: tuple[OriginClass, ...]
    retention: timedelta | None
    history_retention: timedelta | None

    def accepts(self, origin_class: OriginClass) -> bool:
        """Whether a value of this origin class may be stored."""
        return origin_class in self.origins

    def check(self, value: object) -> JsonScalar:
        """Return `value` as it is to be stored: text in NFC, everything else unchanged. Raises InvalidValue."""
        return self.shape.check(value, f"preference {self.key}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """The fields of an episode that the policy lets through, in its order, and the names of those it dropped.

    status: as the policy writes it. dropped: sorted; a name that could itself be content is given as `<unnamed>`.
    """

    status: str | None
    fields: dict[str, JsonScalar]
    dropped: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRule:
    """What the policy says about one kind of episode. retention: None is without limit."""

    definition: str
    description: str
    purpose: str
    origins: tuple[OriginClass, ...]
    retention: timedelta | None
    statuses: tuple[str, ...]
    shapes: Mapping[str, ValueShape]
    searchable: tuple[str, ...]
    untrusted: bool
    priority: float

    def accepts(self, origin_class: OriginClass) -> bool:
        """Whether an episode of this origin class may be stored."""
        return origin_class in self.origins

    def admit(self, fields: Mapping[str, object], status: str | None) -> Admitted:
        """Keep the fields on the allowlist and drop the others (rule 6). A field that is None counts as not given.

        Raises InvalidValue for a field on the list with another shape, for a status that is not listed, and for
        `fields` that is no mapping.
        """
        known = nfc(status) if isinstance(status, str) else status
        if known is not None and known not in self.statuses:
            allowed = f"must be one of: {', '.join(self.statuses)}" if self.statuses else "is not used: leave it out"
            raise InvalidValue(f"status of {self.definition} {allowed}.")
        given = self._by_name(fields)
        dropped = sorted(safe_name(name) for name in given if name not in self.shapes)
        return Admitted(status=known, fields=self.check(given), dropped=tuple(dropped))

    def check(self, given: Mapping[str, object], state: str = "") -> dict[str, JsonScalar]:
        """The fields on the allowlist, each in its shape. state: what messages say of all. Raises InvalidValue."""
        return {
            name: shape.check(given[name], f"field {name} of {self.definition}{state}")
            for name, shape in self.shapes.items()
            if given.get(name) is not None
        }

    def _by_name(self, fields: object) -> dict[str, object]:
        """Composed and decomposed spellings of a name are one field; the last one given counts."""
        if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
            raise InvalidValue(f"fields of {self.definition} must be a mapping from names, which are text, to values.")
        return {nfc(name): value for name, value in fields.items()}

    def text(self, fields: Mapping[str, JsonScalar], status: str | None) -> str:
        """What recall searches in: the searchable fields, one a line, a status without its hyphens; may be empty."""
        found = {**fields, "status": None if status is None else status.replace("-", " ")}
        return "\n".join(str(found[name]) for name in self.searchable if found.get(name) is not None)

    def indexed_text(self, fields: Mapping[str, JsonScalar], status: str | None, actor: str | None) -> str:
        """The text to index: `text`, after who said it ("Ana: ...") where the policy makes that searchable."""
        text = self.text(fields, status)
        return f"{actor}: {text}" if text and actor and ACTOR in self.searchable else text


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Policy:
    """One policy, immutable.

    version: "sha256:" and 16 hexadecimal digits, stored on each record; it changes when the meaning of the file does.
    default_purpose: the purpose that reads name when the caller names none.
    """

    name: str
    version: str
    default_purpose: str
    purposes: Mapping[str, Purpose]
    preferences: Mapping[str, PreferenceRule]
    episodes: Mapping[str, EpisodeRule]
    sessions: SessionDefinition
    live_state: Mapping[str, LiveStateDefinition]
    copies: tuple[OutsideCopy, ...]
    limits: Limits
    ranking: Ranking

    @classmethod
    def of(cls, document: PolicyDocument) -> Policy:
        """The policy that a checked document describes; `load_policy` is the way from a file."""
        preferences = {key: _preference_rule(key, found) for key, found in document.preferences.items()}
        episodes = {key: _episode_rule(key, found) for key, found in document.episodes.items()}
        return cls(
            name=document.name,
            version=document.content_hash(),
            default_purpose=document.default_purpose,
            purposes=MappingProxyType(document.purposes),
            preferences=MappingProxyType(preferences),
            episodes=MappingProxyType(episodes),
            sessions=document.sessions,
            live_state=MappingProxyType(document.live_state),
            copies=document.copies,
            limits=document.limits,
            ranking=document.ranking,
        )

    def preference(self, key: str) -> PreferenceRule:
        """The rule for a preference; composed and decomposed spellings of a key are one.

        Raises LiveState if the key names live state, NotInPolicy if the policy does not define it.
        """
        return self._find(self.preferences, key, Section.PREFERENCES)

    def episode(self, definition: str) -> EpisodeRule:
        """The rule for a kind of episode. Raises LiveState or NotInPolicy, as `preference` does."""
        return self._find(self.episodes, definition, Section.EPISODES)

    def hand_over(self) -> HandOver:
        """The rule by which a session is handed over to an episode. Raises NotInPolicy if there is none."""
        rule = self.sessions.hand_over
        if rule is None:
            raise NotInPolicy(
                f"Policy {self.name} has no rule to hand a session over: it ends with its expiry. "
                f"To allow it, add under sessions:\n{self._hand_over_lines()}"
            )
        return rule

    def _hand_over_lines(self) -> str:
        """Lines that would hold in this policy, where one of its episodes can take a goal."""
        fits = [
            (definition, field, rule.statuses[0] if rule.statuses else None)
            for definition, rule in self.episodes.items()
            if rule.purpose == self.sessions.purpose and not rule.untrusted
            for field, shape in rule.shapes.items()
            if isinstance(shape, TextValue) and shape.multiline
        ]
        definition, field, status = fits[0] if fits else ("my-episode", "summary", None)
        lines = HAND_OVER.format(definition=definition, field=field)
        return lines if status is None else f"{lines}    status: {status}\n"

    def new_definition(self, section: Section, name: str) -> str:
        """Lines that define `name`, and hold in this policy once they stand in `section`.

        Raises InvalidValue if the policy defines it already or it cannot be a name, LiveState as `preference` does.
        """
        key = nfc(name)
        if key in (self.preferences if section is Section.PREFERENCES else self.episodes):
            raise InvalidValue(f"Policy {self.name} defines the {section} {key} already. Change its lines.")
        self._refuse_live_state(key)
        if not is_key(key) or safe_name(key) != key:
            raise InvalidValue(
                "A name is a lower-case letter, then letters, digits, `-` and `_`, at most 60 in all, and no secret."
            )
        return definition_lines(section, key, self.default_purpose)

    def _refuse_live_state(self, name: str) -> None:
        if name in self.live_state:
            consult = self.live_state[name].consult
            raise LiveState(f"{name} is live state and is never remembered. Consult {consult} instead.")

    def _find(self, rules: Mapping[str, Rule], key: object, section: Section) -> Rule:
        name = nfc(key) if isinstance(key, str) else ""
        if name in rules:
            return rules[name]
        self._refuse_live_state(name)
        shown = safe_name(name)
        close = difflib.get_close_matches(name.casefold()[:60], rules, n=1)
        guess = f" Did you mean {close[0]}?" if close else ""
        addition = definition_lines(section, shown if is_key(shown) else "my-key", self.default_purpose)
        raise NotInPolicy(
            f"{section} {shown} is not in policy {self.name}: no purpose, no memory.{guess} "
            f"To allow it, add under {section}s:\n{addition}"
        )


def expiry(retention: timedelta | None, now: datetime, requested: datetime | KeepType | None) -> datetime | None:
    """When a record written at `now` expires; None is never.

    requested: KEEP or None take the whole retention; a datetime takes that instant.
    Raises InvalidTime if it has no time zone, is not after `now`, or is later than the retention allows.
    """
    limit = None if retention is None else now + retention
    if requested is KEEP or requested is None:
        return limit
    instant = require_utc(requested, "expires_at")
    if instant <= now:
        raise InvalidTime("expires_at is already past. Pass a later instant.")
    if limit is not None and instant > limit:
        raise InvalidTime(f"expires_at is later than the policy allows: {limit.isoformat()} at most.")
    return instant


def _preference_rule(key: str, found: PreferenceDefinition) -> PreferenceRule:
    return PreferenceRule(
        key=key,
        description=found.description,
        purpose=found.purpose,
        shape=found.value,
        origins=found.origins,
        retention=found.retention,
        history_retention=found.history_retention,
    )


def _episode_rule(definition: str, found: EpisodeDefinition) -> EpisodeRule:
    return EpisodeRule(
        definition=definition,
        description=found.description,
        purpose=found.purpose,
        origins=found.origins,
        retention=found.retention,
        statuses=found.statuses,
        shapes=MappingProxyType(found.fields),
        searchable=found.searchable,
        untrusted=found.untrusted,
        priority=found.priority,
    )
