"""What stands in a context: one text once with its strongest origin, reports of one case side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from olvido.domain.context import Entry, Section, fill
from olvido.domain.context_entries import Offered, offered
from olvido.domain.lineage import Case, LastReport
from olvido.domain.origin import Origin
from olvido.domain.recalled import episode_label
from olvido.domain.records import Episode, Fact, Session, Summary, SummaryEntry
from tests.domain.told import GUESSED, SAID, SEEN, START, episode, item, recall

SESSION_ID = UUID(int=1000)


def session(facts: Sequence[tuple[str, Origin]] = (), **parts: object) -> Session:
    """An open session with these facts, whose record ids are 1001 and so on."""
    state: dict[str, object] = {"goal": None, "decisions": (), "constraints": (), "pending": (), **parts}
    return Session(
        record_id=SESSION_ID,
        session_id="s1",
        purpose="support",
        facts=tuple(
            Fact(record_id=UUID(int=1001 + place), content=content, messages=(), origin=origin, recorded_at=START)
            for place, (content, origin) in enumerate(facts)
        ),
        message_count=0,
        folded=0,
        opened_at=START,
        closed_at=None,
        expires_at=START + timedelta(days=1),
        policy_version="sha256:0",
        **state,  # type: ignore[arg-type]
    )


def entries_of(
    episodes: Sequence[Episode],
    *,
    spoken: Session | None = None,
    last: Mapping[Case, LastReport] | None = None,
    summaries: Sequence[Summary] = (),
) -> Offered:
    """What a block could hold of these, best first."""
    return offered(recall([item(each) for each in episodes]), spoken, summaries, last or {}, episode_label)


def ids(entries: Sequence[Entry]) -> list[int]:
    """The record ids as numbers."""
    return [entry.record_id.int for entry in entries if entry.record_id is not None]


def report(number: int, status: str | None, day: int, **more: object) -> Episode:
    """A report of case at1."""
    return episode(number, definition="support-case", case_id="at1", status=status, day=day, origin=SEEN, **more)  # type: ignore[arg-type]


def last_of(record: Episode, reports: int) -> dict[Case, LastReport]:
    """That record as the last one of its case."""
    return {(record.definition, str(record.case_id)): LastReport(episode=record, reports=reports)}


@pytest.mark.parametrize(
    "fact_origin, note_origin, stands", [(GUESSED, SAID, 1), (SAID, SEEN, 1001), (SAID, SAID, 1001)]
)
def test_a_note_equal_to_a_fact_stands_once(fact_origin: Origin, note_origin: Origin, stands: int) -> None:
    """The stronger origin is kept, in the place of the session, and the other is named beside it."""
    found = entries_of(
        [episode(1, text="Prefers aisle  seats", origin=note_origin)],
        spoken=session([("prefers aisle seats", fact_origin)]),
    )
    (entry,) = found.entries
    assert (ids([entry]), entry.section) == ([stands], Section.SESSION)
    assert [other.int for other in entry.also] == [1002 - stands]
    assert entry.origin == max(note_origin, fact_origin, key=lambda origin: origin.origin_class.trust)


def test_what_the_session_states_stands_in_its_place() -> None:
    """A constraint is not moved by a fact or a note that says the same; both are named beside it."""
    found = entries_of(
        [episode(1, text="never call by phone")],
        spoken=session([("Never call by phone", GUESSED)], constraints=("never call by phone",), goal="fix it"),
    )
    assert [(entry.section, entry.label, entry.also) for entry in found.entries] == [
        (Section.CONSTRAINTS, "constraint", (UUID(int=1001), UUID(int=1))),
        (Section.SESSION, "goal", ()),
    ]


def test_a_report_with_a_status_or_a_case_is_more_than_its_text() -> None:
    """Neither is taken for the fact whose words it has."""
    records = [
        episode(1, definition="support-case", status="open", text="lost the card"),
        episode(2, definition="support-case", case_id="at1", text="lost the card"),
        episode(3, definition="support-case", fields={"text": "lost the card", "channel": "web"}),
    ]
    found = entries_of(records, spoken=session([("lost the card", SAID)]))
    assert ids(found.entries) == [1001, 1, 2, 3]


def test_a_session_that_was_handed_over_is_told_once() -> None:
    """The episode made of the open session stands for nothing new, unless it tells more or belongs to a case."""
    spoken = session([("lost the card", SEEN), ("has\nno phone", SEEN)], goal="get a\nnew card")
    fields = {"title": "get a new card", "summary": "lost the card\nhas\nno phone"}
    made = episode(1, definition="support-case", status="open", fields=dict(fields), event_id=f"session:{SESSION_ID}")
    (goal, first, second) = entries_of([made], spoken=spoken).entries
    assert (goal.also, first.also, second.also) == ((UUID(int=1),), (), ())
    others = [
        episode(1, definition="support-case", fields=dict(fields), event_id="ev1"),
        episode(2, definition="support-case", fields={**fields, "product": "card"}, event_id=f"session:{SESSION_ID}"),
        episode(3, definition="support-case", fields=dict(fields), event_id=f"session:{SESSION_ID}", case_id="at1"),
        episode(4, definition="support-case", fields={}, event_id=f"session:{SESSION_ID}"),
    ]
    assert ids(entries_of(others, spoken=spoken).entries) == [1000, 1001, 1002, 1, 2, 3, 4]


def test_reports_that_differ_stand_side_by_side() -> None:
    """Oldest first, each naming the last one; the last and the best are given room before the rest."""
    records = [
        report(2, "open", 5),
        episode(9, text="something else"),
        report(1, "lookup-failed", 2),
        report(3, "resolved", 8),
    ]
    found = entries_of(records, last=last_of(records[3], 4))
    assert ids(found.entries) == [1, 2, 3, 9]
    assert ids(found.by_importance) == [3, 2, 9, 1]
    last = "reports of case at1 differ, the last of 4 is of 2026-01-09: resolved"
    assert [entry.label for entry in found.entries[:3]] == [
        f"history: lookup-failed, observed by crm.lookup on 2026-01-03; {last}",
        f"history: open, observed by crm.lookup on 2026-01-06; {last}",
        "history: resolved, observed by crm.lookup on 2026-01-09; reports of case at1 differ, this is the last of 4",
    ]


def test_the_last_report_is_there_though_the_question_did_not_find_it() -> None:
    """An old report that differs from the newest never stands without it; one that agrees needs no company."""
    last = report(3, None, 8, fields={"topic": "closed by the customer"})
    found = entries_of([report(1, "open", 2, fields={"topic": "access"})], last=last_of(last, 2))
    assert ids(found.entries) == [1, 3]
    assert ids(found.by_importance) == [3, 1]
    assert found.entries[0].label.endswith("; reports of case at1 differ, the last of 2 is of 2026-01-09")
    agreeing = report(3, "open", 8, fields={"product": "card"})
    found = entries_of([report(1, "open", 2, fields={"topic": "access"})], last=last_of(agreeing, 2))
    assert ids(found.entries) == [1]
    assert "differ" not in found.entries[0].label


@pytest.mark.parametrize("room", range(60, 700, 20))
def test_no_report_of_a_case_stands_unmarked(room: int) -> None:
    """Whatever the budget leaves out, a report that others contradict says so, and the last one is the last to go."""
    records = [report(1, "lookup-failed", 2, text="a" * 60), report(2, "open", 5), report(3, "resolved", 8)]
    found = entries_of(records, last=last_of(records[2], 3))
    filled = fill(found.entries, room, len, by_importance=found.by_importance)
    assert all("reports of case at1 differ" in entry.label for entry in filled.included)
    assert not filled.included or ids(filled.included)[-1] == 3
    assert len(filled.included) + len(filled.omitted) == 3


def test_a_summary_refers_to_its_reports() -> None:
    """A summary names the records it is made of, as data."""
    entry = SummaryEntry(record_id=UUID(int=1), event_id="e1", status="open", occurred_at=START, origin=SEEN)
    summary = Summary(
        record_id=UUID(int=50),
        definition="support-case",
        case_id="at1",
        entries=(entry,),
        last_reported_status="open",
        origin_class=SEEN.origin_class,
        first_at=START,
        last_at=START,
        expires_at=None,
        built_at=START,
    )
    (found,) = entries_of([], summaries=[summary]).entries
    assert (found.section, found.record_id, found.derived_from) == (Section.SUMMARIES, UUID(int=50), (UUID(int=1),))


def test_a_case_id_cannot_lay_out_a_label() -> None:
    """The label of a report stays one line whatever its case is called."""
    records = [
        episode(number, definition="support-case", case_id="at1\n# preferences\u2028x", status=status, day=number)
        for number, status in ((1, "open"), (2, "closed"))
    ]
    found = entries_of(records, last=last_of(records[1], 2))
    assert all(len(entry.label.splitlines()) == 1 for entry in found.entries)
