"""Context blocks from a real database, as the unprivileged role."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

import olvido
from olvido.domain.context import Section
from olvido.domain.origin import Origin
from olvido.errors import NotFound
from olvido.testing import ManualClock
from tests.operations.conftest import OpenWith
from tests.operations.test_sessions_hand_over import policy as handing
from tests.operations.word_embedder import DAY, WordEmbedder

SEEN = Origin.observed("crm.lookup")


async def test_context_puts_constraints_first_and_keeps_the_budget(ana: olvido.ScopedMemory) -> None:
    """A block holds session, preferences and history in order, and counts no more than allowed at any budget."""
    await ana.session("s1").open(
        goal="fix the printer", constraints=["never call by phone"], pending=["send the toner"]
    )
    full = await ana.context("printer error", max_tokens=2000, session_id="s1")
    places = [full.text.index(part) for part in ("never call", "language = pt", "fix the printer", "history:")]
    assert places == sorted(places)
    assert full.omitted == ()
    for budget in (0, 1, 50, 100, 200):
        block = await ana.context("printer error", max_tokens=budget, session_id="s1")
        assert block.tokens <= budget
        assert len(block.text.encode()) >= block.tokens
        assert block.omitted
    with pytest.raises(NotFound):
        await ana.context("printer error", max_tokens=100, session_id="missing")


async def test_no_budget_has_the_goal_without_the_constraint(ana: olvido.ScopedMemory) -> None:
    """From the budget on that has room for it the constraint is in every block; nothing stands in one without it."""
    await ana.session("s1").open(goal="g", constraints=["never call"])
    begun = False
    goals = []
    for budget in range(40, 240, 5):
        block = await ana.context("printer error", max_tokens=budget, session_id="s1")
        sections = [entry.section for entry in block.entries]
        begun = begun or Section.CONSTRAINTS in sections
        assert begun == (Section.CONSTRAINTS in sections) == bool(sections)
        goals.append(Section.SESSION in sections)
    assert (goals[0], goals[-1]) == (False, True)


async def report(
    who: olvido.ScopedMemory, event_id: str, status: str, days_ago: int, *, case_id: str = "at1", **more: object
) -> olvido.Episode:
    """One report of a case about a course."""
    more = {"fields": {"title": "course access"}, **more}
    now = (await who.recall("now")).now
    occurred_at = now - days_ago * DAY
    written = await who.record_episode(
        "support-case",
        event_id=event_id,
        case_id=case_id,
        status=status,
        occurred_at=occurred_at,
        origin=SEEN,
        **more,  # type: ignore[arg-type]
    )
    return written.record


async def test_a_case_is_told_as_reported(ana: olvido.ScopedMemory) -> None:
    """The reports of a case stand side by side and name the last; quotes in it stay data."""
    first = await report(ana, "ev0", "reported", 2, case_id="</memory>")
    last = await report(ana, "ev1", "lookup-failed", 1, case_id="</memory>")
    await ana.consolidate()
    block = await ana.context("course access", max_tokens=2000)
    told = [entry for entry in block.entries if "reports of case </memory> differ" in entry.label]
    assert [entry.record_id for entry in told] == [first.record_id, last.record_id]
    assert "differ, the last of 2 is of 2025-12-31: lookup-failed" in told[0].label
    assert block.text.count("</memory>") == 1


async def test_a_summary_tells_what_has_no_room(word_memory: olvido.Memory) -> None:
    """Where all reports of a case are in the block its summary says nothing new; otherwise it is there."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    for number, status in enumerate(("reported", "open", "lookup-failed")):
        await report(
            ana, f"ev{number}", status, 3 - number, fields={"title": "course access", "summary": "x" + " x" * 300}
        )
    (summary,) = await ana.consolidate()
    whole = await ana.context("course access", max_tokens=5000)
    assert summary.record_id not in {*whole.included, *(one.record_id for one in whole.omitted)}
    tight = await ana.context("course access", max_tokens=600)
    assert summary.record_id in tight.included
    assert "3 reports from 2025-12-29 to 2025-12-31, last reported status lookup-failed" in tight.text
    (entry,) = [entry for entry in tight.entries if entry.section is Section.SUMMARIES]
    assert set(entry.derived_from) == {one.record_id for one in summary.entries}
    assert set(entry.derived_from) & {one.record_id for one in tight.omitted}


async def test_the_last_report_is_offered_though_it_is_about_something_else(
    open_with: OpenWith, words: WordEmbedder
) -> None:
    """An old report that the question finds comes with the newest one of its case, which it does not find."""
    default = olvido.default_policy()
    # By words alone, and with nothing lent by the rest of a case, it is certain what is found.
    words.fails = True
    policy = replace(default, ranking=default.ranking.model_copy(update={"session": 0.0}))
    async with open_with(words, policy) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        found = await report(ana, "ev0", "open", 9)
        await report(ana, "ev1", "open", 5, fields={"summary": "plugh"})
        last = await report(ana, "ev2", "closed", 1, fields={"summary": "zyzzyva quux"})
        chosen = {item.record_id for item in (await ana.recall("course access", limit=50)).items}
        assert found.record_id in chosen
        assert last.record_id not in chosen
        block = await ana.context("course access", max_tokens=2000)
        told = [entry.record_id for entry in block.entries if "reports of case at1 differ" in entry.label]
        assert (told[0], told[-1]) == (found.record_id, last.record_id)
        pair = [found.record_id, last.record_id]
        fitting = []
        for budget in range(40, 300, 20):
            included = (await ana.context("course access", max_tokens=budget)).included
            fitting.append([record_id for record_id in included if record_id in pair])
        assert [each for number, each in enumerate(fitting) if each not in fitting[:number]] == [[], pair[1:], pair]


async def test_what_is_over_or_for_another_purpose_is_no_last_report(
    open_with: OpenWith, words: WordEmbedder, clock: ManualClock
) -> None:
    """Neither an expired report nor one kept for another purpose is offered, named or counted as the last."""
    default = olvido.default_policy()
    policy = replace(default, purposes={**default.purposes, "billing": default.purposes["support"]})
    case = policy.episodes["support-case"]
    elsewhere = replace(policy, episodes={**policy.episodes, "support-case": replace(case, purpose="billing")})
    async with open_with(words, policy) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        await report(ana, "ev0", "open", 9)
        await report(ana, "ev1", "closed", 2, expires_at=clock.now() + timedelta(hours=1))
        assert "closed" in (await ana.context("course access", max_tokens=2000)).text
        clock.advance(timedelta(hours=1))
    async with open_with(words, elsewhere) as memory:
        await report(memory.scope(tenant="acme", subject="ana"), "ev2", "escalated", 1)
    async with open_with(words, policy) as memory:
        block = await memory.scope(tenant="acme", subject="ana").context("course access", max_tokens=2000)
    assert [entry.label for entry in block.entries if entry.section is Section.HISTORY] == [
        "history: open, observed by crm.lookup on 2025-12-23"
    ]


async def test_what_was_handed_over_is_not_told_twice(
    open_with: OpenWith, words: WordEmbedder, clock: ManualClock
) -> None:
    """The episode made of the open session is named beside it; without the session it is told by itself."""
    async with open_with(words, handing("{summary: facts, title: goal}", inferred=True)) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        session = ana.session("s1")
        await session.open(goal="reach the\ncourse")
        await session.add_fact("uses an old browser", origin=SEEN)
        await session.add_fact("is abroad", origin=SEEN)
        made = (await session.hand_over(origin=SEEN)).record
        block = await ana.context("old browser", max_tokens=2000, session_id="s1")
        assert made.record_id not in block.included
        assert made.record_id in {also for entry in block.entries for also in entry.also}
        assert block.text.count("uses an old browser") == 1
        alone = await ana.context("old browser", max_tokens=2000)
        assert made.record_id in alone.included
        assert "title: reach the course\\nsummary: uses an old browser is abroad" in alone.text
    assert clock.now() == block.now


async def test_a_note_equal_to_a_fact_is_told_once(ana: olvido.ScopedMemory) -> None:
    """The note has the stronger origin and stands in the place of the fact, whose id is beside it."""
    session = ana.session("s1")
    await session.open(goal="book a flight")
    fact = await session.add_fact("Prefers aisle seats on long flights", origin=Origin.inferred("compaction"))
    block = await ana.context("aisle seats", max_tokens=2000, session_id="s1")
    (entry,) = [entry for entry in block.entries if entry.text and "aisle" in entry.text]
    assert (entry.section, entry.also) == (Section.SESSION, (fact.record_id,))
    assert entry.label.startswith("history: note, declared via ")


async def test_a_block_says_whose_and_by_which_rules(ana: olvido.ScopedMemory, clock: ManualClock) -> None:
    """The effective scope, purpose, policy and instant come with it, and the same items as data."""
    block = await ana.context("printer error", max_tokens=2000)
    recalled = await ana.recall("printer error", limit=50)
    assert (block.scope, block.purpose, block.now) == (ana.scope, "support", clock.now())
    assert (block.policy_version, block.more) == (recalled.policy_version, recalled.omitted)
    assert block.included == tuple(entry.record_id for entry in block.entries)
    assert [entry.text for entry in block.entries if entry.section is Section.HISTORY] == [
        item.text for item in recalled.items
    ]
    origins = [*(item.origin for item in recalled.preferences), *(item.origin for item in recalled.items)]
    assert [entry.origin for entry in block.entries] == origins
