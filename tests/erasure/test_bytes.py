"""What was forgotten leaves no byte: files are searched before, where it is found, and after, where it is not."""

from __future__ import annotations

import psycopg
import pytest

from olvido.domain.erasure import Level
from olvido.domain.erasure_status import ErasureStatus
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, dump, where
from tests.erasure.canaries import derived, long_text, marker, own, pieces, relations_with
from tests.erasure.place import PERSONAL, Place, remember_everything, without_copies


def parents(names: set[str]) -> set[str]:
    """Leaves, their indexes included, by the names of the relations of the data map."""
    return {relation for relation in PERSONAL for name in names if name.startswith(relation)}


async def test_a_person_who_is_forgotten_leaves_no_byte(place: Place, clock: ManualClock) -> None:
    """Rows of every kind, compressed, indexed and superseded ones, vectors and numbers of words: all bytes are gone.

    The search finds them in every relation, in indexes and in the log before; deleting them alone takes none away.
    """
    word = marker("ana")
    async with place.opening(clock, without_copies()) as memory:
        ana = await remember_everything(memory, "acme", f"ana-{word}", word)
        bea = await remember_everything(memory, "acme", "bea", marker("bea"))
        leo = await remember_everything(memory, "norbrook", "leo", marker("leo"))
        untouched = [await bea.checksums(), await leo.checksums()]
        needles = pieces(word)
        numbers = own(
            derived(place.urls.superuser, "acme", f"ana-{word}"),
            derived(place.urls.superuser, "acme", "bea"),
            derived(place.urls.superuser, "norbrook", "leo"),
        )
        assert len(numbers) > 100
        for query in (
            "SELECT pg_column_compression(fields) FROM olvido.episodes WHERE fields::text LIKE %s",
            "SELECT pg_column_compression(content) FROM olvido.messages WHERE content LIKE %s",
        ):
            assert ("pglz",) in place.rows(query, [f"%{word}%"])
        stored = place.found(text=needles, numbers=numbers)
        assert stored["text"] >= {"relation", "pg_wal"}
        assert stored["numbers"] >= {"relation", "pg_wal"}
        with_text = relations_with(place.urls.superuser, place.directory, needles)
        assert parents(with_text) == PERSONAL
        assert {"sessions_pkey", "subjects_tenant_id_external_id_key"} <= with_text
        assert parents(relations_with(place.urls.superuser, place.directory, numbers)) == {"index_entries"}

        report = await ana.forget_all()
        assert where(dump(place.urls.superuser), word) == []
        assert (await memory.erasure("acme", str(report.erasure_id))).status is ErasureStatus.ROWS_ABSENT
        assert place.found(text=needles, numbers=numbers) == stored

        erased = await memory.erase_pending()
        assert (erased.settled, erased.waiting) == ({Level.E2: 1, Level.E3: 1}, {})
        assert place.found(text=needles, numbers=numbers) == {"text": set(), "numbers": set()}
        assert (await memory.erasure("acme", str(report.erasure_id))).status is ErasureStatus.LOCAL_VERIFIED
        assert [await bea.checksums(), await leo.checksums()] == untouched
        assert "relation" in place.found(bea=pieces(marker("bea")))["bea"]


@pytest.mark.parametrize("kind", ["preference", "note", "episode", "session"])
async def test_a_record_that_is_forgotten_leaves_no_byte(place: Place, clock: ManualClock, kind: str) -> None:
    """One record goes with what it was before it was corrected or rebuilt; the others of the person stay."""
    words = {name: marker(f"{kind} {name}") for name in ("preference", "note", "episode", "session", "old")}
    async with place.opening(clock) as memory:
        who = memory.scope(tenant="acme", subject=f"of one {kind}")
        await who.set_preference("display_name", words["old"], origin=CONFIRMED)
        preference = await who.correct_preference("display_name", words["preference"], origin=CONFIRMED)
        note = await who.remember(long_text(words["note"], 990))
        episode = await who.record_episode(
            "support-case",
            event_id=words["episode"],
            case_id="at1",
            occurred_at=clock.now(),
            fields={"summary": long_text(words["episode"], 1990)},
            origin=CONFIRMED,
        )
        session = await who.session("s1").open(goal="ask", pending=[words["session"]])
        await who.session("s1").append("user", long_text(words["session"], 7000))
        await who.session("s1").set(pending=["nothing"])
        await who.consolidate()
        ids = {
            "preference": preference.record.record_id,
            "note": note.record.record_id,
            "episode": episode.record.record_id,
            "session": session.record_id,
        }
        gone = {kind, "old"} if kind == "preference" else {kind}
        needles = {name: pieces(word) for name, word in words.items()}
        before = place.found(**needles)
        assert all(kinds >= {"relation", "pg_wal"} for kinds in before.values())
        await who.forget(ids[kind])
        await memory.erase_pending()
        after = place.found(**needles)
        assert {name for name, kinds in after.items() if not kinds} == gone
        assert all("relation" in after[name] for name in needles.keys() - gone)


async def test_what_was_purged_before_goes_with_the_person(place: Place, clock: ManualClock) -> None:
    """Rows that a purge removed stand in the files still; forgetting the person takes them out as well."""
    word = marker("purged")
    async with place.opening(clock) as memory:
        who = memory.scope(tenant="acme", subject="once had a session")
        await who.session("s1").open(goal=f"find {word}", expires_at=clock.now() + DAY)
        await who.session("s1").append("user", word)
        await who.remember("prefers aisle seats")
        clock.advance(2 * DAY)
        await memory.purge_expired()
        assert "relation" in place.found(word=pieces(word))["word"]
        report = await who.forget_all()
        assert report.removed.keys() & {"sessions", "messages"} == set()
        await memory.erase_pending()
        assert place.found(word=pieces(word)) == {"word": set()}


async def test_a_search_finds_a_marker_that_is_compressed(place: Place) -> None:
    """A text that the server compresses is found in the file of its table, inline and out of line."""
    word = marker("compressed")
    for size in (4_000, 4_000_000):
        place.run("CREATE TABLE public.texts (content text)")
        with psycopg.connect(place.urls.superuser, autocommit=True) as connection:
            connection.execute("INSERT INTO public.texts VALUES (%s)", [long_text(word, size)])
        assert place.rows("SELECT pg_column_compression(content) FROM public.texts") == [("pglz",)]
        assert "relation" in place.found(word=pieces(word))["word"]
        place.run("DROP TABLE public.texts", "CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
        assert place.found(word=pieces(word)) == {"word": set()}


def test_markers_are_told_apart() -> None:
    """No piece of one marker is a piece of another, nor of what surrounds them."""
    words = [marker(str(number)) for number in range(200)]
    found = [piece for word in words for piece in pieces(word)]
    assert len(found) == len(set(found))
    assert not any(piece in long_text("", 500).encode() for piece in found)
