"""From level E1 on nobody sees what was forgotten: not in any relation, view or statistic, from any scope."""

from __future__ import annotations

import psycopg

from olvido.testing import ManualClock
from tests.erasure.canaries import long_text, marker
from tests.erasure.place import PERSONAL, Place, remember_everything, without_copies
from tests.erasure.sight import NOWHERE, looked_through, scope, seen, vectors, words

STATISTICS = {"pg_catalog.pg_stats", "pg_catalog.pg_statistic"}


def whole(names: set[str]) -> set[str]:
    """Leaves by the names of the relations that they are part of."""
    return {name.rstrip("0123456789").rstrip("_") for name in names}


async def test_no_role_sees_what_was_forgotten(place: Place, clock: ManualClock) -> None:
    """Words, external id and vectors are seen before, by whom and from where they should be, and then by nobody.

    One record goes first, with what derives from it, while all others of the person are still seen.
    """
    word, name, noted = marker("seen word"), marker("seen name"), marker("seen note")
    async with place.opening(clock, without_copies()) as memory:
        who = await remember_everything(memory, "acme", name, word)
        note = await who.remember(f"prefers the {noted} seat")
        scopes = [scope(place, "acme", name)]
        for tenant, subject in (("acme", "bea"), ("norbrook", "leo")):
            await remember_everything(memory, tenant, subject, marker(f"seen {subject}"))
            scopes.append(scope(place, tenant, subject))
        needles = {
            "text": words(word, name),
            "vector": vectors(place.urls.superuser, "acme", name),
            "note": words(noted),
        }
        place.run("ANALYZE")
        before = seen(place, scopes, **needles)
        assert {where: whole(relations) for where, relations in before.items()} == {
            ("app", name, "text"): PERSONAL,
            ("app", name, "vector"): {"index_entries"},
            ("worker", name, "text"): PERSONAL,
            ("worker", name, "vector"): {"index_entries"},
            # Who works for a company sees the external ids of that company, to find a person by.
            ("worker", "bea", "text"): {"subjects"},
            ("superuser", NOWHERE, "text"): PERSONAL,
            ("superuser", NOWHERE, "vector"): {"index_entries"},
            ("app", name, "note"): {"episodes"},
            ("worker", name, "note"): {"episodes"},
            ("superuser", NOWHERE, "note"): {"episodes"},
        }
        await who.forget(note.record.record_id)
        left = {where: relations for where, relations in before.items() if where[2] != "note"}
        assert seen(place, scopes, **needles) == left
        await who.forget_all()
        place.run("ANALYZE")
        assert seen(place, scopes, **needles) == {}


def test_everything_is_looked_through(place: Place) -> None:
    """The look finds a marker in a relation that nobody named, in statistics, and in values that are out of line."""
    word = marker("looked through")
    assert looked_through(place, "superuser") >= STATISTICS
    assert looked_through(place, "app") & STATISTICS == {"pg_catalog.pg_stats"}
    place.run("CREATE TABLE public.texts (content text)")
    with psycopg.connect(place.urls.superuser, autocommit=True) as connection:
        for text in (word, word, long_text(word, 4_000_000)):
            connection.execute("INSERT INTO public.texts VALUES (%s)", [text])
    place.run("ANALYZE public.texts")
    ((values,),) = place.rows("SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = 'texts'")
    found = seen(place, [], text=words(word))
    assert found == {("superuser", NOWHERE, "text"): {"public.texts", str(values), *STATISTICS}}
    place.run("DROP TABLE public.texts")
