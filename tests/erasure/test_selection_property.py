"""Whatever is stored and whatever is asked for: a selection removes what the read lists say, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import olvido
from olvido import Memory, RecordKind, ScopedMemory
from olvido.domain.records import RecordKind as Kind
from olvido.errors import InvalidInput, InvalidTime, NotFound
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, START, pages, person
from tests.conftest import Clone
from tests.contract.support import PlainDetector, PlainEmbedder

HOUR = timedelta(hours=1)
SESSIONS = ("s0", "s1")
HOURS = st.integers(0, 3)

WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("preference"), st.sampled_from(["language", "display_name"]), HOURS),
        st.tuples(st.just("episode"), st.sampled_from(["at1", "at1", "at2", "none"]), HOURS),
        st.tuples(st.just("note"), st.just(""), HOURS),
        st.tuples(st.just("fact"), st.sampled_from(SESSIONS), HOURS),
        st.tuples(st.just("message"), st.sampled_from(SESSIONS), HOURS),
    ),
    max_size=12,
)
TOPICS = st.one_of(
    st.just({}),
    st.sampled_from(list(RecordKind)).map(lambda kind: {"kind": kind}),
    st.sampled_from(["support-case", "note", "language"]).map(lambda name: {"definition": name}),
    st.sampled_from(["at1", "at2"]).map(lambda name: {"case_id": name}),
    st.sampled_from(SESSIONS).map(lambda name: {"session_id": name}),
    st.just({"kind": Kind.SUMMARY, "case_id": "at1"}),
    st.just({"kind": Kind.FACT, "session_id": "s0"}),
    st.just({"kind": Kind.PREFERENCE, "case_id": "at1"}),
)
SPANS = st.fixed_dictionaries(
    {},
    optional={
        "since": HOURS.map(lambda hour: START + hour * HOUR),
        "until": HOURS.map(lambda hour: START + hour * HOUR),
    },
)
CONDITIONS = st.builds(lambda topic, span: {**topic, **span}, TOPICS, SPANS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A record as the read lists give it. first, last: when something of it was."""

    kind: RecordKind
    definition: str | None
    case_id: str | None
    session_id: str | None
    first: datetime
    last: datetime

    def meets(self, asked: dict[str, object]) -> bool:
        """Whether all conditions hold, read off the record."""
        return (
            (self.kind == asked["kind"] if "kind" in asked else self.kind is not Kind.SUMMARY)
            and all(
                getattr(self, name) == asked[name] for name in ("definition", "case_id", "session_id") if name in asked
            )
            and not ("since" in asked and self.first < asked["since"])  # type: ignore[operator]
            and not ("until" in asked and self.last >= asked["until"])  # type: ignore[operator]
        )


@pytest.fixture
async def plain(clone: Clone, clock: ManualClock) -> Memory:  # type: ignore[misc]
    """A memory whose vectors cost nothing."""
    opening = olvido.open(
        clone.app, worker_url=clone.worker, clock=clock, embedder=PlainEmbedder(), detector=PlainDetector()
    )
    async with opening as memory:
        yield memory


async def listed(who: ScopedMemory) -> dict[UUID, Listed]:
    """Everything that has an id and that a read gives."""
    found: dict[UUID, Listed] = {}

    def add(record_id: UUID, kind: RecordKind, first: datetime, last: datetime, **names: str | None) -> None:
        known = {"definition": None, "case_id": None, "session_id": None, **names}
        found[record_id] = Listed(kind=kind, first=first, last=last, **known)

    for one in await who.preferences():
        add(one.record_id, Kind.PREFERENCE, one.said_at, one.said_at, definition=one.key)
    for episode in await pages(who):
        at = episode.occurred_at
        add(episode.record_id, Kind.EPISODE, at, at, definition=episode.definition, case_id=episode.case_id)
    for summary in await who.summaries():
        names = {"definition": summary.definition, "case_id": summary.case_id}
        add(summary.record_id, Kind.SUMMARY, summary.first_at, summary.last_at, **names)
    for session_id in SESSIONS:
        try:
            session = await who.session(session_id).read()
        except NotFound:
            continue
        told = [message.recorded_at for message in await who.session(session_id).messages(limit=100)]
        told += [fact.recorded_at for fact in session.facts]
        add(session.record_id, Kind.SESSION, session.opened_at, max([session.opened_at, *told]), session_id=session_id)
        for fact in session.facts:
            add(fact.record_id, Kind.FACT, fact.recorded_at, fact.recorded_at, session_id=session_id)
    return found


async def write(who: ScopedMemory, clock: ManualClock, writes: list[tuple[str, str, int]]) -> None:
    """Store what was drawn, each at its hour."""
    for number, (what, name, hour) in enumerate(sorted(writes, key=lambda each: each[2])):
        clock.set(START + hour * HOUR)
        if what == "preference":
            await who.set_preference(name, ("pt", "en", "es")[number % 3], origin=CONFIRMED)
        elif what == "note":
            await who.remember("a note", event_id=str(number))
        elif what == "fact":
            await who.session(name).open()
            await who.session(name).add_fact("a fact", origin=CONFIRMED)
        elif what == "message":
            await who.session(name).append("user", "a message")
        else:
            await who.record_episode(
                "support-case",
                event_id=str(number),
                case_id=None if name == "none" else name,
                occurred_at=clock.now(),
                origin=CONFIRMED,
            )
    clock.set(START + 6 * HOUR)
    await who.consolidate()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=WRITES, asked=CONDITIONS)
@example(writes=[("message", "s0", 0), ("message", "s0", 2)], asked={"until": START + HOUR})
@example(writes=[("message", "s0", 0), ("fact", "s0", 2)], asked={"since": START + HOUR})
@example(writes=[("episode", "at1", 0), ("episode", "at1", 2)], asked={"kind": Kind.SUMMARY, "until": START + HOUR})
@example(writes=[("episode", "at1", 0), ("episode", "at1", 2)], asked={"kind": Kind.SUMMARY, "since": START + HOUR})
async def test_a_selection_removes_what_the_read_lists_say(
    plain: Memory, clock: ManualClock, writes: list[tuple[str, str, int]], asked: dict[str, object]
) -> None:
    """What meets the conditions goes, with what belongs to it or derives from nothing else; all the rest stays."""
    who, neighbour = person(plain, str(uuid4())), person(plain, str(uuid4()))
    for each in (who, neighbour):
        await write(each, clock, writes)
    sums = await neighbour.checksums()
    before = await listed(who)
    meeting = {record_id for record_id, one in before.items() if one.meets(asked)}
    try:
        planned = await who.forget_where(**asked, dry_run=True)  # type: ignore[arg-type]
        report = await who.forget_where(**asked, plan=planned)  # type: ignore[arg-type]
    except (InvalidInput, InvalidTime):  # no condition, none that go together, or no time between them
        assert not meeting or not asked or asked.get("since") == asked.get("until")
        assert await listed(who) == before
    else:
        after = await listed(who)
        gone = before.keys() - after.keys()
        gone_sessions = {before[each].session_id for each in meeting if before[each].kind is Kind.SESSION}
        carried = {
            each
            for each in gone - meeting
            # a fact goes with its session, and a summary with the last of its episodes
            if (before[each].kind is Kind.FACT and before[each].session_id in gone_sessions)
            or (before[each].kind is Kind.SUMMARY and not _reports(after, before[each]))
        }
        assert gone == meeting | carried
        assert report.found == bool(meeting)
        assert {copy.copy: copy.planned for copy in report.copies if copy.planned} == report.removed
    assert await neighbour.checksums() == sums


def _reports(found: dict[UUID, Listed], summary: Listed) -> list[UUID]:
    """The episodes of the case that a summary is of."""
    return [
        record_id
        for record_id, one in found.items()
        if one.kind is Kind.EPISODE and (one.definition, one.case_id) == (summary.definition, summary.case_id)
    ]
