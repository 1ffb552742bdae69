"""A policy in words: what is kept, why, how long, who may say it, what is looked up, which copies are outside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from olvido.domain.copies import DEADLINE
from olvido.domain.origin import OriginClass
from olvido.domain.plain import counted
from olvido.domain.policy import EpisodeRule, Policy, PreferenceRule
from olvido.domain.policy_document import (
    DirectoryConnector,
    HttpConnector,
    OutsideCopy,
    RegisteredConnector,
    SessionDefinition,
    ValkeyConnector,
)
from olvido.domain.policy_values import BooleanValue, ChoiceValue, IntegerValue, NumberValue, TextValue, ValueShape

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_SAYS = {
    OriginClass.DECLARED: "the person",
    OriginClass.OBSERVED: "an authorised tool or person",
    OriginClass.INFERRED: "a model or rule",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """One thing that is kept.

    kind: preference, episode or session. holds: what its value, or each field, may be. kept_for, history_kept_for: in
    words; history is that of superseded values. said_by: who may say it. remarks: what else to know, as sentences.
    """

    kind: str
    name: str
    description: str
    holds: tuple[str, ...]
    kept_for: str
    history_kept_for: str | None
    said_by: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PurposeExplained:
    """Why data is kept, and all that is kept for it. default: reads that name no purpose get this one."""

    name: str
    lawful_basis: str
    description: str
    default: bool
    keeps: tuple[Kept, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LookedUp:
    """What is never kept: where to look it up, and in which languages a question about it is recognised."""

    name: str
    description: str
    consult: str
    languages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyExplained:
    """A copy outside, which a forget reports as open. gone_after: in words. forgotten: how, as a sentence."""

    name: str
    kind: str
    holder: str
    gone_after: str
    forgotten: str
    description: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyExplained:
    """A whole policy, in words."""

    name: str
    version: str
    purposes: tuple[PurposeExplained, ...]
    looked_up: tuple[LookedUp, ...]
    copies: tuple[CopyExplained, ...]


def explain(policy: Policy) -> PolicyExplained:
    """What `policy` says, purpose by purpose, in its own order."""
    kept: list[tuple[str, Kept]] = [
        *((rule.purpose, _preference(rule)) for rule in policy.preferences.values()),
        *((rule.purpose, _episode(rule)) for rule in policy.episodes.values()),
        (policy.sessions.purpose, _session(policy.sessions)),
    ]
    return PolicyExplained(
        name=policy.name,
        version=policy.version,
        purposes=tuple(
            PurposeExplained(
                name=name,
                lawful_basis=purpose.lawful_basis,
                description=purpose.description,
                default=name == policy.default_purpose,
                keeps=tuple(one for of, one in kept if of == name),
            )
            for name, purpose in policy.purposes.items()
        ),
        looked_up=tuple(
            LookedUp(name=name, description=found.description, consult=found.consult, languages=tuple(found.topics))
            for name, found in policy.live_state.items()
        ),
        copies=tuple(
            CopyExplained(
                name=copy.name,
                kind=copy.kind,
                holder=copy.holder,
                gone_after="its holder has removed it" if copy.retention is None else in_words(copy.retention),
                forgotten=_forgotten(copy),
                description=copy.description,
            )
            for copy in policy.copies
        ),
    )


def _forgotten(copy: OutsideCopy) -> str:
    match copy.connector:
        case None if copy.retention is None or copy.deadline is not None:
            within = in_words(copy.deadline or DEADLINE)
            return f"Its holder removes it within {within} of a forget, and somebody confirms that."
        case None:
            return "Nobody removes it before that, and nobody looks afterwards."
        case RegisteredConnector(name=name):
            return f"The connector {name}, which the program registers, erases it and looks whether it is gone."
        case ValkeyConnector() as found:
            return f"The cache at {found.url_env} is emptied of it and looked through."
        case HttpConnector() as found:
            return (
                f"The service at {found.url_env} is asked, with the key in {found.key_env}, and looked at afterwards."
            )
        case DirectoryConnector() as found:
            return f"The files {found.template} in {found.path_env} are removed, and looked for."


def in_words(retention: timedelta | None) -> str:
    """What follows "kept for", such as "730 days", in the largest unit that leaves no rest."""
    if retention is None:
        return "an unlimited time, until it is forgotten"
    seconds = int(retention.total_seconds())
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return counted(seconds // size, unit)


def _preference(rule: PreferenceRule) -> Kept:
    return Kept(
        kind="preference",
        name=rule.key,
        description=rule.description,
        holds=(_shape(rule.shape),),
        kept_for=in_words(rule.retention),
        history_kept_for=in_words(rule.history_retention),
        said_by=_said_by(rule.origins),
    )


def _episode(rule: EpisodeRule) -> Kept:
    remarks = []
    if rule.statuses:
        remarks.append(f"A status is one of: {', '.join(rule.statuses)}.")
    remarks.append(
        f"Recall searches {', '.join(rule.searchable)}." if rule.searchable else "Recall does not search in it."
    )
    if rule.untrusted:
        remarks.append("Its text is shown as untrusted: it is what somebody wrote.")
    return Kept(
        kind="episode",
        name=rule.definition,
        description=rule.description,
        holds=tuple(f"{name}: {_shape(shape)}" for name, shape in rule.shapes.items()),
        kept_for=in_words(rule.retention),
        history_kept_for=None,
        said_by=_said_by(rule.origins),
        remarks=tuple(remarks),
    )


def _session(sessions: SessionDefinition) -> Kept:
    rule = sessions.hand_over
    outlives = "Nothing of it outlives it."
    if rule is not None:
        parts = ", ".join(f"its {part} as {name}" for name, part in rule.fields.items())
        outlives = f"A hand-over keeps {parts} of the episode {rule.episode}. Messages are never handed over."
    return Kept(
        kind="session",
        name="sessions",
        description="One conversation, while it lasts.",
        holds=("goal, decisions, constraints, pending items, facts and messages",),
        kept_for=in_words(sessions.retention),
        history_kept_for=None,
        said_by=("whoever takes part",),
        remarks=("Recall does not search in it.", outlives),
    )


def _said_by(origins: tuple[OriginClass, ...]) -> tuple[str, ...]:
    return tuple(f"{_SAYS[origin]} ({origin})" for origin in origins)


def _shape(shape: ValueShape) -> str:
    match shape:
        case ChoiceValue():
            return f"one of {', '.join(shape.choices)}"
        case TextValue():
            lines = "text" if shape.multiline else "one line of text"
            return f"{lines}, up to {shape.max_length} characters"
        case IntegerValue():
            return f"a whole number from {shape.minimum} to {shape.maximum}"
        case NumberValue():
            return f"a number from {shape.minimum:g} to {shape.maximum:g}"
        case BooleanValue():
            return "true or false"
