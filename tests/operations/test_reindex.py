"""Repair of the index: another model, an embedder that fails, a lost index, and where it goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

import olvido
from olvido import IndexState, ScopedMemory
from olvido.adapters.languages import Languages
from olvido.domain.origin import Origin
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.domain.words import LEXER
from olvido.errors import InvalidInput, InvalidTime, TenantClosed, UnsafeDatabase
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.conftest import OpenWith
from tests.operations.watched_embedders import NEW, Flaky, Watched, entries, look, noted
from tests.operations.word_embedder import NOTES, WordEmbedder

CONFIRMED = Origin.declared("user-confirmation")
SECOND = timedelta(seconds=1)


def person(memory: olvido.Memory, subject: str = "ana", tenant: str = "acme") -> ScopedMemory:
    """A new handle."""
    return memory.scope(tenant=tenant, subject=subject)


# case 87
@pytest.mark.usefixtures("ana")
async def test_another_model_finds_everything_by_meaning_once_the_index_is_repaired(
    open_with: OpenWith, clone: Clone
) -> None:
    """Until then recall compares words and says so; afterwards every vector is of the new model."""
    async with open_with(WordEmbedder(NEW), None) as memory:
        by_words = await person(memory).recall("printer toner", explain=True)
        assert (by_words.unindexed, by_words.index_complete) == (len(NOTES) + 1, False)
        assert by_words.items[0].record.fields["text"] == NOTES[9]
        report = await memory.repair_index()
        assert (report.lives, report.settled, report.repaired) == (1, 1, len(NOTES) + 1)
        assert (report.failed, report.waiting, report.limit_reached) == (0, 0, False)
        by_meaning = await person(memory).recall("printer toner", explain=True)
        assert (by_meaning.unindexed, by_meaning.index_complete) == (0, True)
        assert by_meaning.items[0].score > by_words.items[0].score
        again = await memory.repair_index()
        assert (again.lives, again.repaired) == (0, 0)
    assert entries(clone) == {(LEXER, NEW): len(NOTES) + 1}
    assert noted(clone) == [f"{LEXER} {NEW}"]


async def test_repair_writes_what_a_write_would_have_written(
    ana: ScopedMemory, word_memory: olvido.Memory, clock: ManualClock, clone: Clone
) -> None:
    """Entries that were lost altogether are made again as they were, column by column."""
    await ana.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        fields={"title": "cannot open the course of 2 June", "reference": "order AB-9917", "product": "campus"},
        occurred_at=clock.now(),
        origin=Origin.observed("crm.lookup", actor="Tomás Reis"),
    )
    before = look(clone, "SELECT t::text FROM olvido.index_entries AS t ORDER BY record_id")
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("DELETE FROM olvido.index_entries")
    assert (await word_memory.repair_index(recheck=True)).repaired == len(before) == len(NOTES) + 2
    assert look(clone, "SELECT t::text FROM olvido.index_entries AS t ORDER BY record_id") == before


async def test_a_life_that_is_said_to_be_whole_is_looked_at_again_when_asked(
    ana: ScopedMemory, word_memory: olvido.Memory, clone: Clone
) -> None:
    """After a restore without the index, only a recheck sees that entries are missing; it embeds only those."""
    await word_memory.repair_index()
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("DELETE FROM olvido.index_entries WHERE kind = 'preference'")
    assert (await word_memory.repair_index()).lives == 0
    report = await word_memory.repair_index(recheck=True)
    assert (report.lives, report.repaired, report.waiting) == (1, 1, 0)
    assert [item.record.key for item in (await ana.recall("language pt")).preferences] == ["language"]


async def test_a_new_life_needs_one_look(ana: ScopedMemory, word_memory: olvido.Memory, clone: Clone) -> None:
    """What was indexed as it was written is not embedded again, and writes of the same model keep the note."""
    assert noted(clone) == [None]
    report = await word_memory.repair_index()
    assert (report.lives, report.settled, report.repaired) == (1, 1, 0)
    await ana.remember("another note")
    await ana.correct_preference("language", "es", origin=CONFIRMED)
    assert noted(clone) == [f"{LEXER} words/1"]


# case 89
async def test_an_embedder_that_fails_loses_no_record_and_is_repaired_later(
    open_with: OpenWith, clock: ManualClock, clone: Clone
) -> None:
    """Three calls of ten fail: all is stored, the gap is counted, and repairs close it, forgotten records apart."""
    flaky = Flaky("words/1", seed=89)
    async with open_with(flaky, None) as memory:
        written = [await person(memory).remember(f"note {number} on seat {number}") for number in range(60)]
        gaps = [one.record.record_id for one in written if one.index_state is IndexState.TEXT_ONLY]
        assert 5 < len(gaps) < 30
        assert (await person(memory).recall("seat 7")).unindexed == len(gaps)
        await person(memory).forget(gaps[0])
        report = await memory.repair_index(batch_size=8)
        for _ in range(20):
            clock.advance(SECOND)
            report = await memory.repair_index(batch_size=8)
        assert report.waiting == 0
        assert (await person(memory).recall("seat 7")).unindexed == 0
    assert entries(clone) == {(LEXER, "words/1"): 59}


@pytest.mark.usefixtures("ana")
async def test_words_are_repaired_while_the_embedder_is_out(
    open_with: OpenWith, words: WordEmbedder, clock: ManualClock, clone: Clone
) -> None:
    """Entries of an older lexer get their words, keep the vector that they have, and get the new one later."""
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("UPDATE olvido.index_entries SET lexer = NULL, words = NULL, word_count = NULL")
    other = WordEmbedder(NEW)
    other.fails = True
    async with open_with(other, None) as memory:
        report = await memory.repair_index(batch_size=4)
        assert (report.repaired, report.settled, report.waiting) == (len(NOTES) + 1, 0, 1)
        assert report.failed == len(NOTES) + 1
        found = await person(memory).recall("vegetarian meal")
        assert (found.text_only, found.items[0].record.fields["text"]) == (True, NOTES[4])
        assert entries(clone) == {(LEXER, words.id): len(NOTES) + 1}
        other.fails = False
        clock.advance(SECOND)
        report = await memory.repair_index(batch_size=4)
        assert (report.repaired, report.settled, report.failed) == (len(NOTES) + 1, 1, 0)


async def test_an_embedder_that_is_out_is_soon_left_alone(open_with: OpenWith, words: WordEmbedder) -> None:
    """It is not asked for each of many lives in turn; each of them is looked at once, and counted."""
    async with open_with(words, None) as memory:
        for number in range(30):
            await person(memory, f"person {number}").remember("prefers aisle seats")
    out = Watched(refuses="")
    async with open_with(out, None) as memory:
        report = await memory.repair_index()
    assert (report.lives, report.failed, report.waiting) == (30, 30, 30)
    assert out.calls < 20


@pytest.mark.usefixtures("ana")
async def test_a_text_that_the_embedder_refuses_costs_no_other(
    open_with: OpenWith, clock: ManualClock, clone: Clone
) -> None:
    """The one is found among many, keeps its gap, and is not asked for again within one repair."""
    picky = Watched(refuses="vegetarian")
    async with open_with(picky, None) as memory:
        report = await memory.repair_index()
        assert (report.repaired, report.failed, report.settled, report.waiting) == (len(NOTES), 1, 0, 1)
        assert entries(clone) == {(LEXER, NEW): len(NOTES), (LEXER, "words/1"): 1}
        picky.asked.clear()
        clock.advance(SECOND)
        assert (await memory.repair_index()).failed == 1
        assert {text for text in picky.asked if "vegetarian" not in text} <= {"Does this embedder answer?"}


@pytest.mark.usefixtures("ana")
async def test_a_repair_goes_on_where_it_ended(open_with: OpenWith) -> None:
    """With a limit it looks at so many records; the next one embeds the others and none twice."""
    watched = Watched()
    told: list[int] = []
    async with open_with(watched, None) as memory:
        first = await memory.repair_index(limit=4, batch_size=3, progress=told.append)
        assert (first.repaired, first.limit_reached, first.waiting, told) == (4, True, 1, [3, 4])
        assert (await person(memory).recall("seats")).unindexed == len(NOTES) - 3
        second = await memory.repair_index(batch_size=3)
        assert (second.repaired, second.limit_reached, second.waiting) == (len(NOTES) - 3, False, 0)
    assert sorted(watched.asked) == sorted([*NOTES, "language: pt"])


async def test_nobody_else_is_touched(open_with: OpenWith, words: WordEmbedder) -> None:
    """Of who is repaired, only the index changes; of everybody else, nothing does."""
    async with open_with(words, None) as memory:
        people = [person(memory, subject, tenant) for tenant in ("acme", "acm") for subject in ("ana", "an")]
        for who in people:
            await who.remember("prefers aisle seats")
            await who.set_preference("language", "pt", origin=CONFIRMED)
            await who.session("s").append("user", "hello")
        await memory.repair_index()
        words.fails = True
        await people[0].remember("no vector")
        words.fails = False
        before = [await who.checksums() for who in people]
        report = await memory.repair_index()
        after = [await who.checksums() for who in people]
    assert (report.lives, report.repaired) == (1, 1)
    assert before[1:] == after[1:]
    changed = {relation for relation in before[0] if before[0][relation] != after[0][relation]}
    assert changed == {"index_entries"}


@pytest.mark.usefixtures("ana")
async def test_a_company_that_was_closed_is_not_sent_to_an_embedder(
    open_with: OpenWith, clone: Clone, clock: ManualClock
) -> None:
    """What is about to be forgotten is left as it is, and waits for no repair from the first look on."""
    with psycopg.connect(clone.superuser) as connection:
        connection.execute("UPDATE olvido.tenants SET closed_at = clock_timestamp()")
    watched = Watched()
    async with open_with(watched, None) as memory:
        report = await memory.repair_index()
        assert (report.lives, report.repaired, report.waiting, watched.asked) == (1, 0, 0, [])
        clock.advance(SECOND)
        assert (await memory.repair_index(recheck=True)).lives == 0
        with pytest.raises(TenantClosed):
            await person(memory).recall("seats")
        assert (await memory.forget_tenant("acme")).lives == 1
    assert noted(clone) == []


def with_fields(searchable: str) -> olvido.Policy:
    """The default policy with other fields of a support case that recall searches in."""
    text = default_policy_text()
    start = text.index("searchable:", text.index("  support-case:"))
    end = text.index("]", start) + 1
    return load_policy(f"{text[:start]}searchable: {searchable}{text[end:]}", "other fields")


async def fields_of_a_case(memory: olvido.Memory, clock: ManualClock) -> ScopedMemory:
    """Somebody with a note, a preference and a case whose summary and title have no word in common."""
    who = person(memory)
    await who.remember("prefers aisle seats")
    await who.set_preference("language", "pt", origin=CONFIRMED)
    await who.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        fields={"title": "course access", "summary": "zebra crossing"},
        occurred_at=clock.now(),
        origin=Origin.observed("crm.lookup"),
    )
    return who


async def found_by(who: ScopedMemory, word: str) -> list[str]:
    """The events of the items that have the very word."""
    items = (await who.recall(word, explain=True)).items
    return [item.record.event_id for item in items if item.parts is not None and (item.parts.lex or 0) > 0]


async def test_a_change_of_what_is_searchable_is_repaired(
    open_with: OpenWith, clock: ManualClock, clone: Clone
) -> None:
    """Records of before are found by the fields of the policy of now, and only these are embedded again."""
    wide, narrow = with_fields("[title, summary]"), with_fields("[title]")
    async with open_with(WordEmbedder(NEW), narrow) as memory:
        who = await fields_of_a_case(memory, clock)
        await memory.repair_index()
        assert await found_by(who, "zebra") == []
    for policy, expected in ((wide, ["ev1"]), (narrow, [])):
        watched = Watched()
        async with open_with(watched, policy) as memory:
            found = await person(memory).recall("course access")
            assert found.index_complete, "what is stored answers meanwhile"
            report = await memory.repair_index()
            assert (report.lives, report.repaired, report.settled, report.waiting) == (1, 1, 1, 0)
            assert len(watched.asked) == 1
            assert await found_by(person(memory), "zebra") == expected
            await person(memory).remember("another note")
            assert (await memory.repair_index()).lives == 0
    assert entries(clone) == {(LEXER, NEW): 5}


async def test_a_vector_of_the_old_fields_is_not_taken_for_a_new_one(open_with: OpenWith, clock: ManualClock) -> None:
    """While the embedder is out the words are those of the new fields, and the vector is made as soon as it answers."""
    async with open_with(WordEmbedder(NEW), with_fields("[title]")) as memory:
        await fields_of_a_case(memory, clock)
        await memory.repair_index()
    watched = Watched(refuses="")
    async with open_with(watched, with_fields("[title, summary]")) as memory:
        report = await memory.repair_index()
        assert (report.repaired, report.failed, report.settled, report.waiting) == (1, 1, 0, 1)
        assert await found_by(person(memory), "zebra") == ["ev1"]
    watched = Watched()
    clock.advance(SECOND)
    async with open_with(watched, with_fields("[title, summary]")) as memory:
        report = await memory.repair_index()
        assert (report.repaired, report.failed, report.settled) == (1, 0, 1)
        assert watched.asked == ["course access\nzebra crossing"]


async def test_a_policy_that_goes_back_leaves_no_words_of_other_fields(open_with: OpenWith, clock: ManualClock) -> None:
    """Changed and changed back while the embedder is out, records are found by the fields of the policy of now."""
    wide, narrow = with_fields("[title, summary]"), with_fields("[title]")
    async with open_with(WordEmbedder(NEW), wide) as memory:
        await fields_of_a_case(memory, clock)
        await memory.repair_index()
    for policy, expected in ((narrow, []), (wide, ["ev1"]), (narrow, []), (wide, ["ev1"])):
        clock.advance(SECOND)
        async with open_with(Watched(refuses=""), policy) as memory:
            assert (await memory.repair_index()).failed == 1
            assert await found_by(person(memory), "zebra") == expected
    clock.advance(SECOND)
    async with open_with(Watched(), wide) as memory:
        assert (await memory.repair_index()).settled == 1
        assert await found_by(person(memory), "zebra") == ["ev1"]


async def test_workers_with_two_embedders_do_not_undo_each_others_work_for_ever(
    open_with: OpenWith, clock: ManualClock, clone: Clone
) -> None:
    """What another one finished since this one began is left to it and counted, until this one is started anew."""
    one, two = Watched("words/1"), Watched("words/2")
    async with open_with(WordEmbedder("words/0"), None) as service:
        for number in range(3):
            await person(service, f"person {number}").remember("prefers aisle seats")
    async with open_with(one, None) as first, open_with(two, None) as second:
        began = clock.now()
        clock.advance(SECOND)
        reports = []
        for _ in range(5):
            for memory in (first, second):
                reports.append(await memory.repair_index(made_before=began))
                clock.advance(SECOND)
        assert len(one.asked) + len(two.asked) == 3
        assert [each.repaired for each in reports] == [3, *[0] * 9]
        assert [(each.contested, each.waiting) for each in reports] == [(0, 0), (3, 3)] * 5
        anew = await second.repair_index(made_before=clock.now())
        assert (anew.repaired, anew.contested) == (3, 0)
    assert entries(clone) == {(LEXER, "words/2"): 3}


async def test_a_definition_that_the_policy_lost_is_indexed_as_before(ana: ScopedMemory, open_with: OpenWith) -> None:
    """A record that is still listed and recalled is found by meaning as well, an episode by all its fields."""
    await ana.set_preference("display_name", "Ana", origin=CONFIRMED)
    text = default_policy_text()
    start, end = text.index("  display_name:"), text.index("# Things that happened")
    watched = Watched()
    async with open_with(watched, load_policy(text[:start] + text[end:], "smaller")) as memory:
        assert (await memory.repair_index()).settled == 1
    assert "display_name: Ana" in watched.asked


async def test_lives_that_failed_can_be_left_out(open_with: OpenWith, words: WordEmbedder, clock: ManualClock) -> None:
    """With the instant of the first try, a later call looks at what is new only; without it, at all again."""
    words.fails = True
    async with open_with(words, None) as memory:
        await person(memory).remember("first")
        clock.advance(SECOND)
        tried = await memory.repair_index()
        assert (tried.lives, tried.failed) == (1, 1)
        clock.advance(SECOND)
        await person(memory, "bea").remember("second")
        later = await memory.repair_index(tried_before=tried.started_at)
        assert (later.lives, later.failed, later.waiting) == (1, 1, 2)
        clock.advance(SECOND)
        assert (await memory.repair_index(tried_before=tried.started_at)).lives == 0
        assert (await memory.repair_index()).lives == 2


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"limit": 0}, InvalidInput),
        ({"limit": True}, InvalidInput),
        ({"batch_size": 0}, InvalidInput),
        ({"batch_size": 1001}, InvalidInput),
        ({"tried_before": "2026-01-01"}, InvalidTime),
    ],
)
async def test_malformed_calls_are_refused(
    word_memory: olvido.Memory, arguments: dict[str, Any], error: type[Exception]
) -> None:
    """Limits are whole numbers in their range, and an instant is a datetime."""
    with pytest.raises(error):
        await word_memory.repair_index(**arguments)


async def test_it_takes_the_login_of_a_worker(clone: Clone, words: WordEmbedder, detector: Languages) -> None:
    """A login of requests only is told which one to pass."""
    async with olvido.open(clone.app, embedder=words, detector=detector) as memory:
        with pytest.raises(UnsafeDatabase, match="worker_url"):
            await memory.repair_index()
