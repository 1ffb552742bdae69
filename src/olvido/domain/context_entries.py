"""What could be in a context block, as entries: of the session, of a recall and of summaries.

One text stands once, with its strongest origin, be it a fact of the session, a note or what the session was handed over
to. Reports of one case stand side by side, oldest first; where they do not agree each says so and names the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from olvido.domain.context import Entry, Section
from olvido.domain.lineage import Case, EpisodeItem, LastReport, case_of, differ, folded, handed_over, moment
from olvido.domain.recalled import Recall, fact_label, fields_text, one_line, summary_label, summary_text, written
from olvido.domain.records import Episode, Session, Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """entries: as they are shown. by_importance: the same, in the order in which they are given room."""

    entries: tuple[Entry, ...]
    by_importance: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Report:
    """One episode. moment: of its newest record. importance: lower comes first."""

    episode: Episode
    entry: Entry
    moment: tuple[datetime, UUID]
    importance: int


def offered(
    recalled: Recall,
    session: Session | None,
    summaries: Iterable[Summary],
    last_reports: Mapping[Case, LastReport],
    label_of: Callable[[Episode], str],
) -> Offered:
    """All that a block could hold.

    last_reports: the newest report of each case that recall found. label_of: of one that recall did not choose.
    """
    spoken, history = _once(session, _history(recalled.items, last_reports, label_of))
    others = [
        *spoken,
        *(
            Entry(
                section=Section.PREFERENCES, label=item.label, record_id=item.record_id, origin=item.origin, at=item.at
            )
            for item in recalled.preferences
        ),
        *(Entry(section=Section.CONSULT, label=consult.label) for consult in recalled.consult),
        *map(_summary, summaries),
    ]
    ranked = sorted(history, key=lambda report: report.importance)
    return Offered(
        entries=(*others, *(report.entry for report in history)),
        by_importance=(*others, *(report.entry for report in ranked)),
    )


def _history(
    items: Sequence[EpisodeItem], last_reports: Mapping[Case, LastReport], label_of: Callable[[Episode], str]
) -> list[_Report]:
    """Best first, and with each the other reports of its case."""
    cases: dict[Hashable, list[_Report]] = {}
    for number, item in enumerate(items):
        also = tuple(each.record_id for each in item.also)
        report = _Report(
            episode=item.record,
            entry=_episode(item.record, item.label, also),
            moment=moment(item),
            importance=2 * number + 1,
        )
        cases.setdefault(case_of(item.record) or item.record_id, []).append(report)
    told: list[_Report] = []
    for case, reports in cases.items():
        last = last_reports.get(case) if isinstance(case, tuple) else None
        told += reports if last is None else _side_by_side(reports, last, label_of)
    return told


def _side_by_side(reports: list[_Report], last: LastReport, label_of: Callable[[Episode], str]) -> list[_Report]:
    """The reports of one case, oldest first. If they differ, the last one is among them and the most important."""
    newest = (last.episode.occurred_at, last.episode.record_id)
    unchosen = _Report(
        episode=last.episode, entry=_episode(last.episode, label_of(last.episode)), moment=newest, importance=0
    )
    known = reports if any(report.moment == newest for report in reports) else [*reports, unchosen]
    if not differ([report.episode for report in known]):
        return sorted(reports, key=lambda report: report.moment)
    *earlier, final = sorted(known, key=lambda report: report.moment)
    case = f"reports of case {last.episode.case_id} differ"
    day = newest[0].date().isoformat()
    status = f": {last.episode.status}" if last.episode.status else ""
    return [
        *(_marked(report, f"{case}, the last of {last.reports} is of {day}{status}") for report in earlier),
        replace(
            _marked(final, f"{case}, this is the last of {last.reports}"),
            importance=min(report.importance for report in reports) - 1,
        ),
    ]


def _marked(report: _Report, note: str) -> _Report:
    return replace(report, entry=replace(report.entry, label=one_line(f"{report.entry.label}; {note}")))


def _once(session: Session | None, history: Sequence[_Report]) -> tuple[list[Entry], list[_Report]]:
    """The entries of the session, and the reports that say something else."""
    if session is None:
        return [], list(history)
    spoken: list[Entry] = []
    places: dict[str, int] = {}
    for entry in _session(session):
        said = folded(entry.text or "")
        if entry.origin is None or said not in places:
            places.setdefault(said, len(spoken))
            spoken.append(entry)
        else:
            spoken[places[said]] = _stronger(spoken[places[said]], entry)
    lines = {folded(line): place for place, entry in enumerate(spoken) for line in (entry.text or "").splitlines()}
    said_at = {**lines, **places}
    others: list[_Report] = []
    for report in history:
        episode = report.episode
        if episode.case_id is not None:
            others.append(report)
        elif (place := places.get(_only_text(episode))) is not None:
            spoken[place] = _stronger(spoken[place], report.entry)
        elif episode.event_id == handed_over(session.record_id) and _lines(episode) <= said_at.keys():
            place = min(said_at[line] for line in _lines(episode))
            spoken[place] = _and(spoken[place], report.entry)
        else:
            others.append(report)
    return spoken, others


def _only_text(episode: Episode) -> str:
    """The text of an episode that is nothing else, as a note is; folded. Blank for any other."""
    values = [written(value) for value in episode.fields.values() if value is not None]
    return folded(values[0]) if len(values) == 1 and episode.status is None else ""


def _lines(episode: Episode) -> set[str]:
    """The lines of all fields, folded; one blank line for no fields."""
    values = [written(value) for value in episode.fields.values() if value is not None]
    return {folded(line) for value in values for line in value.splitlines()} or {""}


def _stronger(entry: Entry, other: Entry) -> Entry:
    """Of two entries with the same text the one with the stronger origin, in the place of the first."""
    if (
        entry.origin is None
        or other.origin is None
        or other.origin.origin_class.trust <= entry.origin.origin_class.trust
    ):
        return _and(entry, other)
    return _and(replace(other, section=entry.section), entry)


def _and(entry: Entry, other: Entry) -> Entry:
    ids = (*entry.also, *((other.record_id,) if other.record_id else ()), *other.also)
    return replace(entry, also=tuple(dict.fromkeys(ids)))


def _session(session: Session) -> Iterator[Entry]:
    closed = " (closed)" if session.closed_at else ""
    parts = [
        (Section.CONSTRAINTS, "constraint", session.constraints),
        (Section.SESSION, "goal", (session.goal,) if session.goal else ()),
        (Section.SESSION, "decision", session.decisions),
        (Section.SESSION, "pending", session.pending),
    ]
    for section, name, contents in parts:
        for content in contents:
            yield Entry(section=section, label=f"{name}{closed}", text=content, record_id=session.record_id)
    for fact in session.facts:
        yield Entry(
            section=Section.SESSION,
            label=f"fact{closed}, {fact_label(fact)}",
            text=fact.content,
            record_id=fact.record_id,
            origin=fact.origin,
            at=fact.origin.at or fact.recorded_at,
        )


def _episode(episode: Episode, label: str, also: tuple[UUID, ...] = ()) -> Entry:
    return Entry(
        section=Section.HISTORY,
        label=label,
        text=fields_text(episode.fields) or None,
        record_id=episode.record_id,
        also=also,
        origin=episode.origin,
        at=episode.occurred_at,
    )


def _summary(summary: Summary) -> Entry:
    return Entry(
        section=Section.SUMMARIES,
        label=summary_label(summary),
        text=summary_text(summary),
        record_id=summary.record_id,
        derived_from=tuple(entry.record_id for entry in summary.entries),
    )
