"""Contradictions between the parts of a policy, each of which is well formed by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from olvido.domain.copies import BACKUPS
from olvido.domain.live_state import words
from olvido.domain.origin import OriginClass
from olvido.domain.policy_document import (
    ACTOR,
    CopyKind,
    EpisodeDefinition,
    HandOver,
    PolicyDocument,
    SessionPart,
)
from olvido.domain.policy_values import ChoiceValue, IntegerValue, NumberValue, TextValue, ValueShape

Location = tuple[str | int, ...]
Finding = tuple[Location, str]
"""Where in the document, and what to mend there."""

NOTE = "note"
"""The episode that `remember` records, and its one field that must exist."""
NOTE_TEXT = "text"

RESERVED_FIELDS = frozenset(
    {
        "case_id",
        "definition",
        "event_id",
        "expires_at",
        "language",
        "occurred_at",
        "origin",
        "purpose",
        "record_id",
        "recorded_at",
        "status",
        "subject",
        "tenant",
    }
)
"""What every episode has beside its fields; a field of that name could be taken for it (case 5)."""


def contradictions(document: PolicyDocument) -> Iterator[Finding]:
    """Every contradiction in `document`, with its location."""
    for check in _CHECKS:
        yield from check(document)


def _purposes_are_declared(document: PolicyDocument) -> Iterator[Finding]:
    users: list[tuple[Location, str]] = [
        (("default_purpose",), document.default_purpose),
        (("sessions", "purpose"), document.sessions.purpose),
        *((("preferences", key, "purpose"), found.purpose) for key, found in document.preferences.items()),
        *((("episodes", key, "purpose"), found.purpose) for key, found in document.episodes.items()),
    ]
    declared = ", ".join(document.purposes)
    for location, purpose in users:
        if purpose not in document.purposes:
            yield location, f"purpose `{purpose}` is not declared under purposes; declared: {declared}"


def _history_ends_with_its_preference(document: PolicyDocument) -> Iterator[Finding]:
    for key, found in document.preferences.items():
        if found.retention is None:
            continue
        if found.history_retention is None or found.history_retention > found.retention:
            yield (
                ("preferences", key, "history_retention"),
                "superseded versions are purged with their preference; make this at most its retention",
            )


def _ranges_are_not_empty(document: PolicyDocument) -> Iterator[Finding]:
    for location, shape in _shapes(document):
        if isinstance(shape, IntegerValue | NumberValue) and shape.minimum > shape.maximum:
            yield (*location, "minimum"), "minimum is above maximum, so that no value fits"


def _searchable_fields_are_text(document: PolicyDocument) -> Iterator[Finding]:
    for key, episode in document.episodes.items():
        for position, name in enumerate(episode.searchable):
            location = ("episodes", key, "searchable", position)
            if name == ACTOR and name not in episode.fields:
                continue
            if name == "status":
                if not episode.statuses:
                    yield location, "`status` is searchable, but the episode has no statuses"
            elif name not in episode.fields:
                yield location, f"`{name}` is searchable, but not among the fields"
            elif not isinstance(episode.fields[name], TextValue | ChoiceValue):
                yield location, f"`{name}` is searchable, but neither text nor choice"


def _field_names_are_free(document: PolicyDocument) -> Iterator[Finding]:
    for key, episode in document.episodes.items():
        for name in episode.fields:
            if name in RESERVED_FIELDS:
                yield ("episodes", key, "fields", name), f"every episode has its own `{name}`; choose another name"


def _notes_can_be_recorded(document: PolicyDocument) -> Iterator[Finding]:
    note = document.episodes.get(NOTE)
    if note is None:
        yield ("episodes", NOTE), "the episode `note` is missing; `remember` records notes"
    else:
        yield from ((("episodes", NOTE, *location), message) for location, message in _note_problems(note))


def _note_problems(note: EpisodeDefinition) -> Iterator[Finding]:
    if NOTE_TEXT not in note.fields:
        yield ("fields",), "a note needs the field `text`"
    elif not isinstance(note.fields[NOTE_TEXT], TextValue):
        yield ("fields", NOTE_TEXT), "the field `text` of a note must have type text"
    elif NOTE_TEXT not in note.searchable:
        yield ("searchable",), "the field `text` of a note must be searchable"
    if not note.untrusted:
        yield ("untrusted",), "a note is what somebody wrote: set untrusted to true"


def _hand_over_fits_its_episode(document: PolicyDocument) -> Iterator[Finding]:
    rule = document.sessions.hand_over
    if rule is None:
        return
    episode = document.episodes.get(rule.episode)
    if episode is None:
        declared = ", ".join(document.episodes)
        found: Iterator[Finding] = iter([(("episode",), f"`{rule.episode}` is not among the episodes: {declared}")])
    else:
        found = _hand_over_problems(rule, episode, document.sessions.purpose)
    yield from ((("sessions", "hand_over", *location), message) for location, message in found)


def _hand_over_problems(rule: HandOver, episode: EpisodeDefinition, purpose: str) -> Iterator[Finding]:
    if episode.purpose != purpose:
        yield (
            ("episode",),
            f"`{rule.episode}` is kept for `{episode.purpose}` and sessions for `{purpose}`; take one purpose for both",
        )
    for name, part in rule.fields.items():
        shape = episode.fields.get(name)
        if shape is None:
            yield ("fields", name), f"`{name}` is not among the fields of `{rule.episode}`: {', '.join(episode.fields)}"
        elif not isinstance(shape, TextValue):
            yield ("fields", name), f"`{name}` must have type text to take the {part} of a session"
        elif not shape.multiline and part is not SessionPart.GOAL:
            yield ("fields", name), f"`{name}` must be multiline to take {part}, of which there may be several"
        elif part is SessionPart.FACTS and OriginClass.INFERRED not in episode.origins:
            yield (
                ("fields", name),
                f"facts may be inferred, which `{rule.episode}` does not accept; let it, or leave facts out",
            )
    if rule.status is not None and rule.status not in episode.statuses:
        allowed = f"is not among its statuses: {', '.join(episode.statuses)}" if episode.statuses else "has no place"
        yield ("status",), f"`{rule.status}` {allowed}"


def _live_state_is_not_stored(document: PolicyDocument) -> Iterator[Finding]:
    for name in document.live_state:
        for section, names in (("preferences", document.preferences), ("episodes", document.episodes)):
            if name in names:
                yield (section, name), f"`{name}` is also live state, which is never remembered; remove one of the two"


def _topic_terms_are_clear(document: PolicyDocument) -> Iterator[Finding]:
    owners: dict[tuple[str, ...], str] = {}
    for name, state in document.live_state.items():
        for language, terms in state.topics.items():
            here: set[tuple[str, ...]] = set()
            for position, term in enumerate(terms):
                location = ("live_state", name, "topics", language, position)
                folded = words(term)
                if not folded:
                    yield location, "a term needs a letter or a digit"
                elif folded in here:
                    yield location, f"`{term}` is listed already, apart from case and accents"
                elif owners.setdefault(folded, name) != name:
                    yield location, f"`{term}` is also a term of live state `{owners[folded]}`; keep one"
                here.add(folded)


def _copies_have_one_name(document: PolicyDocument) -> Iterator[Finding]:
    names = [copy.name for copy in document.copies]
    for position, name in enumerate(names):
        if name in names[:position]:
            yield ("copies", position, "name"), f"there is another copy named `{name}`"


def _copies_go_in_one_way(document: PolicyDocument) -> Iterator[Finding]:
    for position, copy in enumerate(document.copies):
        location = ("copies", position)
        if copy.connector is not None and copy.kind in BACKUPS:
            yield (*location, "connector"), "a backup goes with its retention; leave the connector out"
        if copy.connector is not None and copy.deadline is not None:
            yield (*location, "deadline"), "a deadline is for a holder who acts by hand; leave it or the connector out"
        if copy.connector is None and copy.kind is CopyKind.MANUAL and copy.deadline is None:
            yield location, "a manual copy needs a `deadline`, such as 30d: by then its holder has to act"
        if copy.deadline is not None and copy.retention is not None and copy.deadline > copy.retention:
            yield (*location, "deadline"), "by then it is gone by its retention; make this at most that"


def _limits_and_floors_are_ordered(document: PolicyDocument) -> Iterator[Finding]:
    limits, ranking = document.limits, document.ranking
    if limits.page_size > limits.page_size_max:
        yield ("limits", "page_size"), "page_size is above page_size_max"
    if limits.recall_items > limits.recall_items_max:
        yield ("limits", "recall_items"), "recall_items is above recall_items_max"
    if ranking.weak_below < ranking.omit_below:
        yield ("ranking", "weak_below"), "weak_below is under omit_below, so that no match could be weak"
    if not ranking.text and not ranking.meaning:
        yield ("ranking", "text"), "text and meaning are both 0, so that nothing could match"


def _shapes(document: PolicyDocument) -> Iterator[tuple[Location, ValueShape]]:
    for key, preference in document.preferences.items():
        yield ("preferences", key, "value"), preference.value
    for key, episode in document.episodes.items():
        for name, shape in episode.fields.items():
            yield ("episodes", key, "fields", name), shape


_CHECKS: tuple[Callable[[PolicyDocument], Iterator[Finding]], ...] = (
    _purposes_are_declared,
    _history_ends_with_its_preference,
    _ranges_are_not_empty,
    _searchable_fields_are_text,
    _field_names_are_free,
    _notes_can_be_recorded,
    _hand_over_fits_its_episode,
    _live_state_is_not_stored,
    _topic_terms_are_clear,
    _copies_have_one_name,
    _copies_go_in_one_way,
    _limits_and_floors_are_ordered,
)
