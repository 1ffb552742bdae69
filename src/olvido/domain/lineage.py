"""Which records say the same, and which reports of one case do not agree (rule 13).

Only what is written the same says the same, never what is similar; nothing is voted away.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from olvido.domain.policy_values import nfc
from olvido.domain.ranking import Strength
from olvido.domain.recalled import WEAK_MATCH, RecallItem, Repetition, written
from olvido.domain.records import Episode

Case = tuple[str, str]
"""The definition and the case id of a report."""

EpisodeItem = RecallItem[Episode]


@dataclass(frozen=True, kw_only=True, slots=True)
class LastReport:
    """The newest report of a case. reports: how many live ones the case has for this purpose."""

    episode: Episode
    reports: int


def folded(text: str) -> str:
    """`text` as it is compared: without differences of normal form, case and white space."""
    return " ".join((text.lower() if text.isascii() else nfc(nfc(text).casefold())).split())


def gather(items: Sequence[EpisodeItem], text_of: Callable[[Episode], str]) -> list[EpisodeItem]:
    """`items`, best first, with one for all episodes that say the same, in the place of the best of them.

    The same: definition, case, status and `text_of` it, folded, and no field that both have with another value. The
    definition of an untrusted text, a note or an imported one, does not count: such an episode is its text.
    """
    told: list[_Memory] = []
    alike: dict[Hashable, list[_Memory]] = {}
    for item in items:
        memories = alike.setdefault(_said(item.record, text_of), [])
        memory = next((each for each in memories if each.agrees_with(item.record)), None)
        if memory is None:
            memory = _Memory()
            memories.append(memory)
            told.append(memory)
        memory.items.append(item)
    return [memory.shown() for memory in told]


def case_of(episode: Episode) -> Case | None:
    """The case that an episode belongs to; None if it names none."""
    return None if episode.case_id is None else (episode.definition, episode.case_id)


def handed_over(session: UUID) -> str:
    """The event id of the episode that a session is handed over to. session: its record id."""
    return f"session:{session}"


def differ(reports: Sequence[Episode]) -> bool:
    """Whether reports of one case have different statuses, or different values of a field."""
    if len({report.status for report in reports}) > 1:
        return True
    known: dict[str, str] = {}
    for report in reports:
        fields = _fields(report)
        if _contradict(known, fields):
            return True
        known |= fields
    return False


def moment(item: EpisodeItem) -> tuple[datetime, UUID]:
    """When the newest of its records happened, to order reports by; of one instant, the last recorded is the newest."""
    return max([(item.at, item.record_id), *((each.at, each.record_id) for each in item.also)])


@dataclass(slots=True)
class _Memory:
    """What one or several records say. items: best ranked first. fields: of the first `read` of them, folded."""

    items: list[EpisodeItem] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    read: int = 0

    def agrees_with(self, episode: Episode) -> bool:
        """Whether no field that both have has another value. Most records are alone: their fields are not read."""
        for item in self.items[self.read :]:
            self.fields |= _fields(item.record)
        self.read = len(self.items)
        return not _contradict(self.fields, _fields(episode))

    def shown(self) -> EpisodeItem:
        if len(self.items) == 1:
            return self.items[0]
        best = self.items[0]
        kept = max(self.items, key=lambda item: (item.origin.origin_class.trust, item.at, item.record_id))
        rest = sorted((item for item in self.items if item is not kept), key=lambda item: (item.at, item.record_id))
        is_match = any(item.strength is Strength.MATCH for item in self.items)
        label = kept.label.replace(f"; {WEAK_MATCH}", "", 1) if is_match else kept.label
        sources = len({_root(item.record) for item in self.items})
        since = min(item.at for item in self.items).date().isoformat()
        by = "1 source" if sources == 1 else f"{sources} sources"
        return replace(
            kept,
            label=f"{label}; told {len(self.items)} times by {by} since {since}",
            strength=Strength.MATCH if is_match else Strength.WEAK,
            score=best.score,
            parts=best.parts,
            also=tuple(map(_repetition, rest)),
            sources=sources,
        )


def _said(episode: Episode, text_of: Callable[[Episode], str]) -> Hashable:
    kind = None if episode.untrusted else episode.definition
    return kind, episode.case_id, episode.status, folded(text_of(episode))


def _fields(episode: Episode) -> dict[str, str]:
    return {name: folded(written(value)) for name, value in episode.fields.items() if value is not None}


def _contradict(known: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    return any(known.get(name, value) != value for name, value in fields.items())


def _root(episode: Episode) -> Hashable:
    origin = episode.origin
    return (origin.source, origin.ref, origin.actor if origin.ref is None else None)


def _repetition(item: EpisodeItem) -> Repetition:
    return Repetition(record_id=item.record_id, definition=item.record.definition, origin=item.origin, at=item.at)
