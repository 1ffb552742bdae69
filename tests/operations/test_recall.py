"""What recall answers and what it refuses, on a real database, as the unprivileged role."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow

import olvido
from olvido.domain.origin import Origin
from olvido.errors import InvalidInput, InvalidScope, InvalidTime, InvalidValue, LiveState, NotInPolicy, OlvidoError
from olvido.operations import recall as recalling
from olvido.storage.database import Transaction
from olvido.storage.queries import Statement
from olvido.testing import ManualClock
from tests.operations.conftest import OpenWith, Person
from tests.operations.word_embedder import DAY, NOTES, WordEmbedder


async def test_expired_records_are_not_eligible(ana: olvido.ScopedMemory, clock: ManualClock) -> None:
    """A record is out of recall at the instant it expires, and counts in no statistic either."""
    await ana.remember("the printer error is back", event_id="short", expires_at=clock.now() + DAY)
    clock.advance(DAY - timedelta(microseconds=1))
    assert "short" in [item.record.event_id for item in (await ana.recall("printer error")).items]
    clock.advance(timedelta(microseconds=1))
    after = await ana.recall("printer error", limit=50)
    assert "short" not in [item.record.event_id for item in after.items]
    assert len(after.items) + after.omitted == len(NOTES)


async def test_superseded_values_are_never_offered(ana: olvido.ScopedMemory) -> None:
    """Only the current version of a preference is offered, whatever the question says."""
    await ana.correct_preference("language", "en", origin=Origin.declared("user-confirmation"), expected_version=1)
    recalled = await ana.recall("language = pt")
    assert [item.record.value for item in recalled.preferences] == ["en"]
    assert "version 2" in recalled.preferences[0].label


async def test_another_purpose_is_not_eligible(open_with: OpenWith, words: WordEmbedder) -> None:
    """What is kept for one purpose answers no question asked for another."""
    policy = replace(
        olvido.default_policy(),
        purposes={**olvido.default_policy().purposes, "billing": olvido.default_policy().purposes["support"]},
    )
    async with open_with(words, policy) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        await ana.remember("the printer shows an error")
        await ana.set_preference("language", "pt", origin=Origin.declared("user-confirmation"))
        other = await ana.recall("printer error", purpose="billing")
        assert (other.items, other.preferences, other.omitted) == ((), (), 0)
        assert len((await ana.recall("printer error", purpose="support")).items) == 1


async def test_preferences_are_offered_and_history_is_searched_for(ana: olvido.ScopedMemory) -> None:
    """A question about nothing known gets the preferences and no history, not the least bad of it."""
    recalled = await ana.recall("zyzzyva quux")
    assert recalled.items == ()
    assert recalled.omitted == len(NOTES)
    assert [item.record.key for item in recalled.preferences] == ["language"]


@pytest.mark.parametrize("query", ["?!", "...", "\u00bf \u2026 \u2014", "$ + ="])
async def test_a_question_of_marks_finds_nothing(ana: olvido.ScopedMemory, query: str) -> None:
    """Marks are like no record in meaning, not even one that has them too; what is current is offered all the same."""
    await ana.remember("what ?! ... $ + = \u00bf \u2026 \u2014", event_id="marks")
    recalled = await ana.recall(query, explain=True)
    assert (recalled.items, recalled.omitted) == ((), len(NOTES) + 1)
    assert (recalled.text_only, recalled.unindexed) == (False, 0)
    assert [item.record.key for item in recalled.preferences] == ["language"]
    (preference,) = recalled.preferences
    assert preference.parts is not None
    assert (preference.parts.sem, preference.parts.base) == (None, 0)


async def test_a_picture_finds_the_record_that_has_it(ana: olvido.ScopedMemory) -> None:
    """An emoji alone, or between marks, is a word: it finds what has it, and nothing else."""
    await ana.remember("her birthday 🎂 is in May", event_id="cake")
    await ana.remember("sent a 👍🏿 for the toner", event_id="thumb")
    for query, event_id in (("🎂", "cake"), ("?! 🎂", "cake"), ("👍", "thumb")):
        assert [item.record.event_id for item in (await ana.recall(query)).items] == [event_id]


async def test_who_lives_somewhere_is_asked_where_they_live(ana: olvido.ScopedMemory) -> None:
    """By words alone "where do I live" finds who lives there, and so does a question about a life."""
    await ana.remember("lives in Porto since 2020", event_id="lives", language="en")
    await ana.remember("tells of the life of a nurse", event_id="life", language="en")
    for query, expected in (("where do I live?", {"lives"}), ("lives", {"lives", "life"}), ("life", {"lives", "life"})):
        recalled = await ana.recall(query, explain=True)
        found = {item.record.event_id for item in recalled.items if item.parts is not None and item.parts.lex}
        assert found == expected


OPERATORS = (
    "a & b | !c",
    "foo:* <-> bar",
    "'); DROP TABLE olvido.episodes; --",
    "\\",
    "''",
    "%s %(tenant)s",
    "$1 {0} {x}",
    "\u202e",
    "!!!",
)


async def test_operators_are_plain_text(ana: olvido.ScopedMemory) -> None:
    """Operators of search languages, of SQL and of formats mean nothing in a question."""
    for query in OPERATORS:
        recalled = await ana.recall(query)
        assert (recalled.scope, len(recalled.preferences)) == (ana.scope, 1), query


async def test_operators_are_passed_over_and_words_are_not(ana: olvido.ScopedMemory, words: WordEmbedder) -> None:
    """A question with operators has the words between them: none is left out, negated, or found as a prefix."""
    await ana.remember("a refund for the box", event_id="both")
    await ana.remember("the boxer in the refunderia", event_id="longer")
    await ana.remember("a box", event_id="one")
    words.fails = True  # only words are compared
    with_operators, plain = await ana.recall('-refund "box" | (a & !b) :*'), await ana.recall("refund box a b")
    assert [item.record.event_id for item in plain.items] == ["both", "one"]
    assert [(item.record_id, item.score) for item in with_operators.items] == [
        (item.record_id, item.score) for item in plain.items
    ]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from("\x00\ud83d\udc00%_\\'\"&|!()*:-<>@ #9a")), max_size=80
    )
)
async def test_any_unicode_query_has_an_answer(ana: olvido.ScopedMemory, query: str) -> None:
    """Any text at all is answered, or refused with a typed error."""
    try:
        recalled = await ana.recall(query, limit=50)
    except InvalidValue:
        assert not query.strip() or "\x00" in query or any("\ud800" <= c <= "\udfff" for c in query)
    else:
        assert len(recalled.items) + recalled.omitted == len(NOTES)


UNITS = (
    "x",
    "printer ",
    "AB-1234 ",
    "a.",
    "\\%_",
    "🎂",
    "漢",
    "e\u0301",
    "' OR 1=1 -- ",
    "12/31/2025 ",
    "Ana da ",
    "a@b.",
)


async def test_the_longest_question_is_answered(ana: olvido.ScopedMemory) -> None:
    """A question of 2,000 characters of any kind is answered, and one more is refused."""
    for unit in UNITS:
        query = (unit * 2000)[:2000].rstrip().ljust(2000, "!")
        assert len((await ana.recall(query)).preferences) == 1, unit
        with pytest.raises(InvalidValue):
            await ana.recall(query + "!")


async def test_an_argument_that_does_not_exist_is_an_error(ana: olvido.ScopedMemory) -> None:
    """A misspelt name of a filter is not passed over."""
    for name in ("Status", "statuses", "case", "kind", "filters", "subject", "tenant", "top_k"):
        with pytest.raises(TypeError):
            await ana.recall("printer", **{name: "open"})  # type: ignore[arg-type]


UNUSABLE: tuple[tuple[dict[str, Any], type[OlvidoError]], ...] = (
    ({"limit": 0}, InvalidInput),
    ({"limit": 51}, InvalidInput),
    ({"limit": True}, InvalidInput),
    ({"limit": 2.5}, InvalidInput),
    ({"limit": "5"}, InvalidInput),
    ({"purpose": "marketing"}, NotInPolicy),
    ({"purpose": ""}, NotInPolicy),
    ({"kinds": ["session"]}, InvalidValue),
    ({"kinds": []}, InvalidValue),
    ({"definition": "invented"}, NotInPolicy),
    ({"definition": "payment"}, LiveState),
    ({"definition": "note", "status": "open"}, InvalidValue),
    ({"status": "invented"}, InvalidValue),
    ({"case_id": ""}, InvalidScope),
    ({"product": ""}, InvalidValue),
    ({"product": "a\x00b"}, InvalidValue),
    ({"product": "\ud83d"}, InvalidValue),
    ({"definition": "note", "product": "Printer"}, InvalidValue),
    ({"origin_class": "guessed"}, InvalidValue),
    ({"since": datetime(2026, 1, 1)}, InvalidTime),  # noqa: DTZ001 - naive on purpose
    ({"since": datetime(2026, 1, 2, tzinfo=UTC), "until": datetime(2026, 1, 1, tzinfo=UTC)}, InvalidTime),
)
"""Arguments that cannot be used, and the error that says so."""


async def test_unusable_arguments_are_refused(ana: olvido.ScopedMemory, words: WordEmbedder) -> None:
    """Each argument is checked before anything is embedded or read."""
    words.fails = True
    for arguments, error in UNUSABLE:
        with pytest.raises(error):
            await ana.recall("printer", **arguments)


async def test_filters_narrow_the_episodes(ana: olvido.ScopedMemory, clock: ManualClock) -> None:
    """Kind, definition, case, product, status, origin and time narrow the history and leave the preferences."""
    await ana.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        occurred_at=clock.now() - 2 * DAY,
        origin=Origin.observed("crm.lookup"),
        fields={"title": "printer error", "product": "Printer 9\u00e9"},
    )
    narrowed: list[dict[str, object]] = [
        {"definition": "support-case"},
        {"product": "Printer 9e\u0301"},
        {"case_id": "at1"},
        {"status": "lookup-failed"},
        {"origin_class": olvido.OriginClass.OBSERVED},
        {"definition": "support-case", "since": clock.now() - 2 * DAY, "until": clock.now()},
    ]
    for arguments in narrowed:
        recalled = await ana.recall("printer error", **arguments)  # type: ignore[arg-type]
        assert [item.record.event_id for item in recalled.items] == ["ev1"]
        assert len(recalled.preferences) == 1
    assert (await ana.recall("printer error", until=clock.now() - 20 * DAY)).items == ()
    assert (await ana.recall("printer error", kinds=[olvido.Kind.EPISODE])).preferences == ()
    only = await ana.recall("printer error", kinds=[olvido.Kind.PREFERENCE])
    assert (only.items, len(only.preferences)) == ((), 1)


async def test_history_is_labelled_as_history(ana: olvido.ScopedMemory, clock: ManualClock) -> None:
    """A label says status, origin and date, and never the present."""
    await ana.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        occurred_at=clock.now(),
        origin=Origin.observed("crm.lookup"),
        fields={"title": "course access"},
    )
    found = await ana.recall("course access lookup failed", definition="support-case")
    assert [item.label for item in found.items] == ["history: lookup-failed, observed by crm.lookup on 2026-01-01"]
    assert (
        found.preferences[0].label
        == "preference: language = pt (version 1, declared via user-confirmation on 2026-01-01)"
    )


async def test_live_state_is_consulted(ana: olvido.ScopedMemory, clock: ManualClock) -> None:
    """Rule 10: a question about a payment gets the tool to ask and when it was last mentioned."""
    assert (await ana.recall("what is my balance?")).consult[0].last_seen is None
    seen = clock.now() - DAY / 2
    await ana.remember("disse que o pagamento falhou", event_id="paid", occurred_at=seen)
    await ana.remember("free of charge, she said", event_id="free", occurred_at=clock.now())
    recalled = await ana.recall("o pagamento falhou?")
    assert [(answer.tool, answer.last_seen) for answer in recalled.consult] == [("billing.get_payment", seen)]
    paid = next(item for item in recalled.items if item.record.event_id == "paid")
    assert paid.live_topic == "payment"
    assert "for the current state consult billing.get_payment" in paid.label


async def test_a_live_state_was_last_mentioned_before_any_number_of_words(person: Person, clock: ManualClock) -> None:
    """However many newer episodes have its words without meaning it, the newest that mentions it is found."""
    bea = person("bea")
    seen = clock.now() - 30 * DAY
    told = [("she paid in full", seen - DAY), ("the refund was refused", seen)]
    # Each has a word of the payment and says something else by it.
    told += [(f"in charge of team {number}", clock.now() - DAY - number * DAY / 1000) for number in range(2 * 200 + 7)]
    await bea.record_episodes(
        [olvido.NewEpisode(definition="note", fields={"text": text}, occurred_at=at) for text, at in told]
    )
    assert [each.last_seen for each in (await bea.recall("was I charged?")).consult] == [seen]
    for text in ("refund refused", "paid in full"):
        found = (await bea.recall(text)).items[0]
        await bea.forget(found.record_id)
    assert [each.last_seen for each in (await bea.recall("was I charged?")).consult] == [None]


async def test_mentions_of_one_instant_are_all_read(
    person: Person, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page ends among episodes of one instant, the next one, which is larger, begins with the others."""
    monkeypatch.setattr(recalling, "MENTIONS_AT_ONCE", 2)
    sizes: list[object] = []
    run = Transaction.all

    async def noting(self: Transaction, statement: Statement, **parameters: object) -> list[DictRow]:
        if "before_id" in parameters:
            sizes.append(parameters["size"])
        return await run(self, statement, **parameters)

    monkeypatch.setattr(Transaction, "all", noting)
    bea = person("bea")
    texts = [*(f"in charge of team {number}" for number in range(40)), "the refund was refused"]
    await bea.record_episodes(
        [olvido.NewEpisode(definition="note", fields={"text": text}, occurred_at=clock.now()) for text in texts]
    )
    assert [each.last_seen for each in (await bea.recall("was I charged?")).consult] == [clock.now()]
    found = next(item for item in (await bea.recall("refund refused")).items if "refund" in item.text)
    await bea.forget(found.record_id)
    sizes.clear()
    assert [each.last_seen for each in (await bea.recall("was I charged?")).consult] == [None]
    assert sizes == [2, 8, 32, 128]


async def test_nobody_yet_is_an_empty_answer(word_memory: olvido.Memory) -> None:
    """A subject without records gets an empty answer, and asking creates nobody."""
    recalled = await word_memory.scope(tenant="acme", subject="nobody").recall("anything")
    assert (recalled.items, recalled.preferences, recalled.omitted, recalled.index_complete) == ((), (), 0, True)
