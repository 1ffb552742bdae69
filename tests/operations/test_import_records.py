"""Records from elsewhere: many in one transaction, in order, each told apart, and nothing forgotten comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

import olvido
from olvido import KEEP, ImportedRecord, NewEpisode, NewPreference, Origin
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.domain.records import IndexState
from olvido.errors import InvalidValue, OriginNotGranted, SubjectForgotten, UnsafeDatabase
from olvido.operations import import_records
from olvido.operations.import_records import AT_FIRST, AT_MOST, MORE, admit_record, paced
from olvido.operations.off_loop import A_PIECE
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.contract.support import PausedEmbedder
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import DAY, WordEmbedder
from tests.storage.support import administer

Records = list[NewEpisode | NewPreference]

MANY = 3 * A_PIECE
"""Enough that what was forgotten is asked before anything is embedded."""


def note(number: int, at: datetime | None = None, text: str = "", **more: object) -> NewEpisode:
    """Note `number`."""
    return NewEpisode(
        definition="note",
        event_id=f"n{number}",
        fields={"text": text or f"note number {number}"},
        occurred_at=at,
        language="en",
        **more,  # type: ignore[arg-type]
    )


def value(word: str, at: datetime | None, key: str = "language") -> NewPreference:
    """A statement of a preference, made at `at`."""
    return NewPreference(key=key, value=word, origin=Origin.declared("crm", at=at))


def codes(outcomes: Sequence[ImportedRecord]) -> list[str | None]:
    """Why records were refused; None for those that stand."""
    return [outcome.code for outcome in outcomes]


def person(memory: olvido.Memory, subject: str = "ana", tenant: str = "acme") -> olvido.ScopedMemory:
    """A fresh handle."""
    return memory.scope(tenant=tenant, subject=subject)


async def test_each_is_told_apart_in_its_order(word_memory: olvido.Memory, clock: ManualClock) -> None:
    """New, known, said before, of another body, of no policy: each has its answer, and the others are stored."""
    now = clock.now()
    ana = person(word_memory)
    await ana.remember("known", event_id="n1", language="en")
    outcomes = await ana.import_records(
        [
            note(0),
            note(1, text="known"),
            value("pt", now - DAY),
            note(1, text="of another body"),
            value("es", now - 2 * DAY),
            NewEpisode(definition="invoice", event_id="i1", fields={}),
            note(2, at=now + DAY),
            note(0),
            value("en", now - timedelta(hours=1)),
            note(3, expires_at=now),
            NewEpisode(definition="note", event_id="n4", fields={"text": "bonjour"}, language="fr"),
            NewEpisode(
                definition="support-case",
                event_id="ev1",
                status="open",
                fields={"title": "key sk-proj-abcdefghijklmnopqrstuvwx1234567890", "tax": "123"},
                occurred_at=now,
                origin=Origin.observed("crm"),
            ),
        ]
    )
    assert [(outcome.changed, outcome.code) for outcome in outcomes] == [
        (True, None),
        (False, None),
        (True, None),
        (False, "event_conflict"),
        (False, "older_statement"),
        (False, "not_in_policy"),
        (False, "invalid_time"),
        (False, None),
        (True, None),
        (False, "invalid_time"),
        (False, "invalid_value"),
        (True, None),
    ]
    assert (outcomes[-1].dropped, len(outcomes[-1].masked)) == (("tax",), 1)
    assert [version.value for version in await ana.history("language")] == ["pt", "en"]
    assert {episode.event_id for episode in (await ana.episodes()).items} == {"n0", "n1", "ev1"}


async def test_a_second_import_changes_nothing(
    word_memory: olvido.Memory, clock: ManualClock, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More records than one transaction takes: each is stored once, some in a transaction, and told as done."""
    monkeypatch.setattr(import_records, "_PACE", {})
    monkeypatch.setattr(import_records, "paced", lambda size, _: size)
    records: Records = [note(number) for number in range(2 * AT_FIRST + 5)]
    records.insert(AT_FIRST, value("pt", clock.now()))
    ana = person(word_memory)
    done: list[int] = []
    outcomes = await ana.import_records(records, progress=done.append)
    assert all(outcome.changed for outcome in outcomes)
    assert done == [AT_FIRST, AT_FIRST, 6]
    with administer(clone) as connection:
        cursor = connection.execute("SELECT count(DISTINCT xmin::text) FROM olvido.episodes")
        assert cursor.fetchone() == (3,)
    before = await ana.checksums()
    again = await person(word_memory).import_records(records)
    assert {(outcome.changed, outcome.code) for outcome in again} == {(False, None)}
    assert await ana.checksums() == before


def test_how_many_are_stored_at_once_follows_the_time_they_take() -> None:
    """Without a model a thousand go in one transaction; a slow one brings it down to some, so that progress shows."""
    assert [paced(AT_FIRST, 0.0), paced(MORE * AT_FIRST, 0.1), paced(AT_MOST, 0.5)] == [250, AT_MOST, AT_MOST]
    assert [paced(AT_FIRST, 0.5), paced(AT_MOST, 10), paced(AT_FIRST, 10)] == [2 * AT_FIRST, 100, AT_FIRST]


async def test_resuming_embeds_only_what_is_missing(
    open_with: OpenWith, words: WordEmbedder, clock: ManualClock
) -> None:
    """What is stored is passed over, whatever it says now; the rest is stored with its vector."""
    async with open_with(words, None) as memory:
        await person(memory).import_records([note(number) for number in range(3)])
    seen: list[str] = []

    class Watched(WordEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> olvido.ports.Vectors:
            seen.extend(texts)
            return await super().embed_passages(texts)

    async with open_with(Watched(), None) as memory:
        given: Records = [
            note(0, text="another body"),
            *(note(number) for number in range(1, 5)),
            value("pt", clock.now()),
        ]
        outcomes = await person(memory).import_records(given, resume=True)
    assert [outcome.changed for outcome in outcomes] == [False, False, False, True, True, True]
    assert seen == ["note number 3", "note number 4", "language: pt"]


async def test_what_cannot_be_embedded_is_counted(open_with: OpenWith, words: WordEmbedder) -> None:
    """Stored for its words only: the outcome says so; what was there already is not counted."""
    words.fails = True
    async with open_with(words, None) as memory:
        (stored,) = await person(memory).import_records([note(1)])
        (again,) = await person(memory).import_records([note(1)])
    assert stored.index_state is IndexState.TEXT_ONLY
    assert again.index_state is IndexState.INDEXED


@pytest.mark.parametrize("size", [1, MANY])
async def test_what_was_forgotten_stays_away(word_memory: olvido.Memory, clock: ManualClock, size: int) -> None:
    """Case 41: older than the last forget that may have been theirs is refused, and no life begins for it."""
    now = clock.now()
    old: Records = [*(note(number, at=now - DAY) for number in range(size)), value("pt", now - DAY), value("pt", None)]
    await person(word_memory).import_records(old)
    await person(word_memory).forget_all()
    ana = person(word_memory)
    outcomes = await ana.import_records(old)
    assert set(codes(outcomes)) == {"consent_needed"}
    assert not any((await ana.stored_rows()).values())
    clock.advance(2 * DAY)
    outcomes = await ana.import_records([*old, note(size, at=now + DAY), value("es", now + DAY)])
    assert codes(outcomes) == ["consent_needed"] * len(old) + [None, None]
    assert codes(await ana.import_records(old[:-2], new_consent=True)) == [None] * size
    assert codes(await person(word_memory, tenant="other").import_records(old[:-1])) == [None] * (size + 1)


@pytest.mark.parametrize("size", [1, MANY])
async def test_a_record_forgotten_while_it_is_embedded_stays_away(
    clone: Clone, clock: ManualClock, words: WordEmbedder, word_memory: olvido.Memory, size: int
) -> None:
    """A forget between the first look and the transaction counts: the look is repeated where writers wait."""
    ana = person(word_memory)
    records = [note(number, at=clock.now()) for number in range(size)]
    await ana.import_records(records)
    first = (await ana.episodes()).items[0]
    paused = PausedEmbedder(words)
    async with olvido.open(clone.app, worker_url=clone.worker, clock=clock, embedder=paused) as memory:
        importing = asyncio.create_task(person(memory).import_records(records))
        await paused.started.wait()
        await ana.forget(first.record_id)
        paused.go.set()
        outcomes = await importing
    assert codes(outcomes).count("consent_needed") == 1
    assert first.event_id not in {episode.event_id for episode in (await ana.episodes()).items}


async def test_a_person_forgotten_meanwhile_takes_no_more(
    clone: Clone, clock: ManualClock, words: WordEmbedder, word_memory: olvido.Memory
) -> None:
    """Rule 20: also where consent was given, which was before the forget."""
    await person(word_memory).remember("first")
    paused = PausedEmbedder(words)
    async with olvido.open(clone.app, worker_url=clone.worker, clock=clock, embedder=paused) as memory:
        importing = asyncio.create_task(person(memory).import_records([note(1)], new_consent=True))
        await paused.started.wait()
        await person(word_memory).forget_all()
        paused.go.set()
        with pytest.raises(SubjectForgotten):
            await importing
    assert not any((await person(word_memory).stored_rows()).values())


async def test_what_the_database_refuses_is_found_one_by_one(word_memory: olvido.Memory, clone: Clone) -> None:
    """An error that takes the whole transaction back is told of the record that made it, and of no other."""
    with administer(clone) as connection:
        connection.execute(
            "CREATE FUNCTION public.deadlock() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION SQLSTATE '40P01'; END $$"
        )
        connection.execute(
            "CREATE TRIGGER deadlock BEFORE INSERT ON olvido.episodes FOR EACH ROW"
            " WHEN (new.event_id = 'n2') EXECUTE FUNCTION public.deadlock()"
        )
    ana = person(word_memory)
    outcomes = await ana.import_records([note(number) for number in range(5)])
    assert codes(outcomes) == [None, None, "conflict", None, None]
    assert {episode.event_id for episode in (await ana.episodes()).items} == {"n0", "n1", "n3", "n4"}


async def test_origin_classes_have_to_be_granted(word_memory: olvido.Memory) -> None:
    """Rule 11: a record cannot assert what its caller may not; nothing is stored."""
    limited = word_memory.scope(tenant="acme", subject="ana", asserts=["observed"])
    with pytest.raises(OriginNotGranted):
        await limited.import_records([note(number) for number in range(3)])
    assert not any((await limited.stored_rows()).values())
    assert await limited.import_records([]) == ()


async def test_what_was_admitted_already_is_not_admitted_again(
    word_memory: olvido.Memory, open_with: OpenWith, words: WordEmbedder, clock: ManualClock
) -> None:
    """It is stored as if it came as it was; its origin has to be granted all the same, and its policy be in force."""
    policy = word_memory.policy
    given: Records = [note(1, text="key sk-proj-abcdefghijklmnopqrstuvwx1234567890"), value("pt", clock.now())]
    admitted = [admit_record(policy, one) for one in given]
    limited = word_memory.scope(tenant="acme", subject="ana", asserts=["observed"])
    with pytest.raises(OriginNotGranted):
        await limited.import_records(admitted)
    outcomes = await person(word_memory).import_records(admitted)
    assert [outcome.changed for outcome in outcomes] == [True, True]
    assert outcomes[0].masked == ("api_key",)
    again = await person(word_memory).import_records(given)
    assert [(outcome.changed, outcome.code) for outcome in again] == [(False, None)] * 2
    async with open_with(words, load_policy(default_policy_text(), "another.yaml")) as other:
        assert codes(await person(other, "bea").import_records(admitted)) == ["invalid_input"] * 2
    with pytest.raises(InvalidValue):
        admit_record(policy, note(2, text="x" * 2000))


async def test_asking_takes_a_worker(clone: Clone, clock: ManualClock, words: WordEmbedder) -> None:
    """Without a worker's login nobody knows what was forgotten: refused, unless the person consented again."""
    async with olvido.open(clone.app, clock=clock, embedder=words) as requests_only:
        ana = person(requests_only)
        with pytest.raises(UnsafeDatabase) as refused:
            await ana.import_records([note(1)])
        assert "worker_url" in str(refused.value)
        assert not any((await ana.stored_rows()).values())
        (outcome,) = await ana.import_records([note(1)], new_consent=True)
        assert outcome.changed


async def test_two_imports_at_once_store_each_event_once(word_memory: olvido.Memory, clock: ManualClock) -> None:
    """Whoever is second finds it there; the value said last stands."""
    forth: Records = [note(number) for number in range(MANY)]
    values: Records = [value(word, clock.now() - DAY + timedelta(hours=n)) for n, word in enumerate(("es", "en", "pt"))]
    both = await asyncio.gather(
        person(word_memory).import_records([*forth, *values]),
        person(word_memory).import_records([*reversed(forth), *reversed(values)]),
    )
    assert set(codes([*both[0], *both[1]])) <= {None, "older_statement"}
    changed = [sum(outcome.changed for outcome in outcomes[:MANY]) for outcomes in both]
    assert sum(changed) == MANY
    assert (await person(word_memory).stored_rows())["episodes"] == MANY
    found = await person(word_memory).get_preference("language")
    assert found is not None
    assert found.value == "pt"


async def test_an_expiry_that_is_not_given_keeps_the_one_that_stands(
    word_memory: olvido.Memory, clock: ManualClock
) -> None:
    """A newer statement of the same value keeps its expiry, as `set_preference` does."""
    ana = person(word_memory)
    end = clock.now() + DAY
    await ana.set_preference("language", "pt", origin=Origin.declared("chat"), expires_at=end)
    clock.advance(timedelta(hours=1))
    assert value("es", clock.now()).expires_at is KEEP
    await ana.import_records([value("es", clock.now())])
    found = await ana.get_preference("language")
    assert found is not None
    assert (found.value, found.expires_at) == ("es", end)
