"""Many episodes in one call: the rules of one, all or nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

import olvido
from olvido import NewEpisode, OlvidoError
from olvido.domain.origin import Origin
from olvido.domain.records import IndexState
from olvido.errors import (
    EventConflict,
    InvalidInput,
    InvalidScope,
    InvalidTime,
    InvalidValue,
    NotInPolicy,
    SubjectForgotten,
)
from olvido.operations import record_episodes
from olvido.operations.record_episodes import MAX_EPISODES
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import DAY, NOTES, WordEmbedder
from tests.storage.support import administer

SEEN = Origin.observed("crm.lookup", ref="row-7", actor="agent-2")


def _note(text: str, **more: object) -> NewEpisode:
    return NewEpisode(definition="note", fields={"text": text}, **more)  # type: ignore[arg-type]


async def test_each_is_stored_as_if_recorded_alone(
    word_memory: olvido.Memory, clock: ManualClock, clone: Clone
) -> None:
    """Records, results, recall, due instant and audit rows are those of one call for each."""
    many = word_memory.scope(tenant="acme", subject="many")
    alone = word_memory.scope(tenant="acme", subject="alone")
    case = NewEpisode(
        definition="support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        fields={"title": "lookup", "summary": "key sk-proj-abcdefghijklmnopqrstuvwx1234567890", "tax": "123"},
        occurred_at=clock.now() - DAY,
        origin=SEEN,
        expires_at=clock.now() + DAY,
        language="en",
    )
    written = await many.record_episodes(
        [case, *(_note(text, event_id=f"e{n}", occurred_at=clock.now() - n * DAY) for n, text in enumerate(NOTES))]
    )
    single = [
        await alone.record_episode(
            "support-case",
            event_id="ev1",
            case_id="at1",
            status="lookup-failed",
            fields=case.fields,
            occurred_at=clock.now() - DAY,
            origin=SEEN,
            expires_at=clock.now() + DAY,
            language="en",
        )
    ] + [
        await alone.remember(text, event_id=f"e{n}", occurred_at=clock.now() - n * DAY) for n, text in enumerate(NOTES)
    ]
    for one, other in zip(written, single, strict=True):
        same = {"record_id"}
        for name in (name for name in olvido.Episode.__slots__ if name not in same):
            assert getattr(one.record, name) == getattr(other.record, name), name
        assert (one.changed, one.dropped, one.masked) == (other.changed, other.dropped, other.masked)
        assert one.record == await many.get_episode(one.record.record_id)
    assert written[0].dropped == ("tax",)
    assert written[0].masked
    for query in ("printer error", "curso de matemática", "lookup"):
        found = [(i.record.event_id, i.score) for i in (await many.recall(query)).items]
        assert found == [(i.record.event_id, i.score) for i in (await alone.recall(query)).items]
    with administer(clone) as connection:
        cursor = connection.execute(
            "SELECT (SELECT count(*) FROM olvido.audit_log a WHERE a.subject_key = s.subject_key), next_due_at,"
            " (SELECT array_agg(DISTINCT (action, kind, counts)::text) FROM olvido.audit_log a"
            " WHERE a.subject_key = s.subject_key)"
            " FROM olvido.subjects s JOIN olvido.due d USING (tenant_id, subject_key)"
        )
        first, second = cursor.fetchall()
    assert first == second
    assert first[0] == len(NOTES) + 1


async def test_what_is_known_already_is_not_stored_again(word_memory: olvido.Memory, clock: ManualClock) -> None:
    """A second import of the same events changes nothing; an event that comes twice in one call is stored once."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    batch = [_note("a", event_id="1"), _note("b", event_id="2"), _note("a", event_id="1")]
    first = await ana.record_episodes(batch)
    assert [written.changed for written in first] == [True, True, False]
    assert first[0].record == first[2].record
    clock.advance(timedelta(hours=1))
    again = await ana.record_episodes([*batch, _note("c", event_id="3")])
    assert [written.changed for written in again] == [False, False, False, True]
    assert [written.record for written in again[:2]] == [written.record for written in first[:2]]
    assert (await ana.stored_rows())["episodes"] == 3


async def test_an_expired_event_makes_way(word_memory: olvido.Memory, clock: ManualClock) -> None:
    """An event whose episode has expired is stored anew, as a single record is."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    (old,) = await ana.record_episodes([_note("a", event_id="1", expires_at=clock.now() + DAY)])
    clock.advance(2 * DAY)
    (new,) = await ana.record_episodes([_note("b", event_id="1")])
    assert new.changed
    assert new.record.record_id != old.record.record_id
    assert (await ana.stored_rows())["episodes"] == (await ana.stored_rows())["index_entries"] == 1


@pytest.mark.parametrize(
    "wrong, kind",
    [
        (_note("other", event_id="known"), EventConflict),
        (_note("x" * 1001, event_id="9"), InvalidValue),
        (NewEpisode(definition="invoice", event_id="9", fields={}), NotInPolicy),
        (_note("a", event_id="9", expires_at="tomorrow"), InvalidTime),
        (_note("a", event_id="9", language="fr"), InvalidValue),
    ],
    ids=["conflict", "value", "policy", "time", "language"],
)
async def test_one_that_is_refused_refuses_all(
    word_memory: olvido.Memory, wrong: NewEpisode, kind: type[OlvidoError]
) -> None:
    """Nothing of the call is stored, and the error says at which place the refused one stands, without its content."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    await ana.remember("known", event_id="known")
    before = await ana.checksums()
    with pytest.raises(kind) as raised:
        await ana.record_episodes([_note("a", event_id="1"), wrong, _note("b", event_id="2")])
    assert await ana.checksums() == before
    if wrong.language is None:
        assert raised.value.__notes__ == ["The episode at place 1 of this call; nothing of the call was stored."]


async def test_what_takes_several_statements_is_one_call(
    word_memory: olvido.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers keep their order, words and vectors are those of their text, and an event is known in all statements."""
    monkeypatch.setattr(record_episodes, "AT_ONCE", 2)
    many = word_memory.scope(tenant="acme", subject="many")
    alone = word_memory.scope(tenant="acme", subject="alone")
    texts = [*NOTES, NOTES[0]]
    given = [_note(text, event_id=text) for text in texts]
    written = await many.record_episodes(given)
    for text in NOTES:
        await alone.remember(text, event_id=text)
    assert [one.record.fields["text"] for one in written] == texts
    assert [one.changed for one in written] == [True] * len(NOTES) + [False]
    assert written[0].record == written[-1].record
    for query in NOTES:
        found = [(i.record.event_id, i.score) for i in (await many.recall(query)).items]
        assert found == [(i.record.event_id, i.score) for i in (await alone.recall(query)).items]


async def test_a_refusal_in_a_later_statement_takes_all_back(
    word_memory: olvido.Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was stored before it is gone, with the life that began for it; the error says at which place it stands."""
    monkeypatch.setattr(record_episodes, "AT_ONCE", 2)
    ana = word_memory.scope(tenant="acme", subject="ana")
    given = [_note(text, event_id=text) for text in NOTES[:3]]
    with pytest.raises(InvalidTime) as raised:
        await ana.record_episodes([*given, _note("x", event_id="x", expires_at=clock.now() - DAY)])
    assert raised.value.__notes__ == ["The episode at place 3 of this call; nothing of the call was stored."]
    assert set((await ana.stored_rows()).values()) == {0}


async def test_the_size_of_a_call_is_bounded(word_memory: olvido.Memory) -> None:
    """No episodes are no work, and too many are refused before anything is done."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    assert await ana.record_episodes([]) == ()
    with pytest.raises(InvalidInput):
        await ana.record_episodes([_note("a")] * (MAX_EPISODES + 1))
    assert (await ana.stored_rows())["subjects"] == 0


async def test_without_an_embedder_they_are_found_by_their_words(open_with: OpenWith, words: WordEmbedder) -> None:
    """A failing embedder leaves every record of the call to text recall."""
    words.fails = True
    async with open_with(words, None) as memory:
        ana = memory.scope(tenant="acme", subject="ana")
        written = await ana.record_episodes([_note(text) for text in NOTES])
        assert {one.index_state for one in written} == {IndexState.TEXT_ONLY}
        found = await ana.recall("printer toner")
        assert found.items[0].record.fields["text"] == "printer printer printer toner"


async def test_a_life_that_is_over_takes_none(word_memory: olvido.Memory) -> None:
    """A handle from before a forget is refused, as for every write."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    await ana.record_episodes([_note("a")])
    await word_memory.scope(tenant="acme", subject="ana").forget_all()
    with pytest.raises(SubjectForgotten):
        await ana.record_episodes([_note("b")])


async def test_what_is_no_record_is_refused_as_a_whole(word_memory: olvido.Memory) -> None:
    """Shapes that callers pass by mistake get a typed error; any iterable of records is as good as a list."""
    ana: Any = word_memory.scope(tenant="acme", subject="ana")
    assert len(await ana.record_episodes(_note(text) for text in "ab")) == 2
    before = await ana.checksums()
    with pytest.raises(InvalidInput):
        await ana.record_episodes([{"definition": "note", "fields": {"text": "x"}}])
    with pytest.raises(InvalidInput):
        await ana.import_records([_note("c"), {"key": "language", "value": "pt"}])
    with pytest.raises(InvalidInput):
        await ana.forget_all(plan={"plan_hash": "x"})
    with pytest.raises(InvalidInput):
        await ana.forget_where(record_ids=5)
    for text in ("\ud83d", "a\0b"):
        with pytest.raises(InvalidValue):
            await ana.forget_where(definition=text)
        with pytest.raises(InvalidScope):
            await word_memory.confirm_copy("acme", uuid4(), text, evidence="ticket 42")
    assert await ana.checksums() == before
