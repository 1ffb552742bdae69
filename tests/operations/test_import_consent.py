"""Import of an export, and of whoever took it in: what was forgotten stays away until the person consents again."""

from __future__ import annotations

import asyncio

import pytest

import olvido
from olvido import LeftOut
from olvido.errors import ConsentNeeded, UnsafeDatabase
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.conftest import Document, Person
from tests.operations.word_embedder import DAY, WordEmbedder


async def test_a_forgotten_life_is_not_revived_without_consent(exported: Document, person: Person) -> None:
    """Case 41: neither in its own scope nor in another one of the company; a new consent is explicit."""
    await person().forget_all()
    for scoped in (person(), person("ana-2")):
        with pytest.raises(ConsentNeeded) as refused:
            await scoped.import_export(exported)
        assert "new_consent" in str(refused.value)
        assert not any((await scoped.stored_rows()).values())
    report = await person().import_export(exported, new_consent=True)
    assert report.written["episodes"] == 3
    with pytest.raises(ConsentNeeded):
        await person().import_export(exported)


async def test_a_life_that_took_the_export_in_counts_as_well(exported: Document, person: Person) -> None:
    """An export of another company, imported, then forgotten: the second import is refused. Elsewhere it is not."""
    await person(tenant="other").import_export(exported)
    await person(tenant="other").forget_all()
    with pytest.raises(ConsentNeeded):
        await person(tenant="other").import_export(exported)
    report = await person(tenant="third").import_export(exported)
    assert report.written["episodes"] == 3


async def test_a_forgotten_record_is_not_revived(exported: Document, person: Person) -> None:
    """Single records: forgotten where the export is of, or where it was imported to. Others come in."""
    note = next(one for one in exported["records"]["episodes"] if one["definition"] == "note")
    await person().forget(note["record_id"])
    report = await person().import_export(exported)
    assert report.left_out == (
        LeftOut(relation="episodes", name="note", record_id=report.left_out[0].record_id, code="forgotten"),
    )
    assert (await person("ana-2").import_export(exported)).left_out == report.left_out
    other = person(tenant="other")
    await other.import_export(exported)
    await other.forget(exported["records"]["preferences"][0]["record_id"])
    assert [one.code for one in (await other.import_export(exported)).left_out] == ["forgotten"]
    assert await other.get_preference("display_name") is None
    await other.import_export(exported, new_consent=True)
    assert await other.get_preference("display_name") is not None


async def test_a_forget_at_the_same_moment_wins(exported: Document, person: Person) -> None:
    """Whichever comes first: after both, the record is gone, and the import has left nothing half done."""
    for number in range(6):
        scoped = person(f"ana-{number}")
        await scoped.import_export(exported)
        note = next(one for one in exported["records"]["episodes"] if one["definition"] == "note")
        await asyncio.gather(
            person(f"ana-{number}").import_export(exported), person(f"ana-{number}").forget(note["record_id"])
        )
        left = {one.definition for one in (await scoped.episodes()).items}
        assert left == {"support-case"}


async def test_a_forgotten_version_is_not_revived(exported: Document, person: Person, clock: ManualClock) -> None:
    """Rule 25: after the correction was forgotten and the value before it reopened, an older export changes nothing."""
    language = exported["records"]["preferences"][1]
    clock.advance(DAY)
    await person().forget(language["record_id"], reopen_previous=True)
    for scoped in (person(), person("ana-2")):
        report = await scoped.import_export(exported)
        assert [(one.name, one.code) for one in report.left_out] == [("language", "forgotten")]
    found = await person().get_preference("language")
    assert found is not None
    assert found.value == "es"


async def test_the_export_of_another_brings_nothing_back(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """What somebody took in from a person who was forgotten since stays out, wherever it goes; their own comes in."""
    carla = person("carla")
    await carla.import_export(exported)
    await carla.remember("likes opera", event_id="own")
    clock.advance(DAY)
    theirs: Document = (await carla.export()).document
    await person().forget_all()
    for scoped in (person(), person("dora")):
        report = await scoped.import_export(theirs)
        assert {(one.relation, one.code) for one in report.left_out} == {
            ("preferences", "forgotten"),
            ("episodes", "forgotten"),
        }
        assert report.written == {"episodes": 1}
        assert [one.fields["text"] for one in (await scoped.episodes()).items] == ["likes opera"]
        assert await scoped.preferences() == ()
    again = await person("carla").import_export(theirs)
    assert (again.written, again.left_out) == ({}, ())
    report = await person("dora").import_export(theirs, new_consent=True)
    assert report.written["episodes"] == 3


async def test_the_export_of_another_company_brings_nothing_back(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """Taken in elsewhere and brought here: the records are known by their ids, although nobody here took them in."""
    elsewhere = person("carla", tenant="other")
    await elsewhere.import_export(exported)
    theirs: Document = (await elsewhere.export()).document
    clock.advance(DAY)
    await person().forget_all()
    report = await person("eva").import_export(theirs)
    assert {one.code for one in report.left_out} == {"forgotten"}
    assert report.written == {}


async def test_one_record_forgotten_stays_out_of_the_exports_of_others(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """A single record as well; one that stands in the scope itself is not concerned by a forget elsewhere."""
    note = next(one for one in exported["records"]["episodes"] if one["definition"] == "note")
    await person("carla").import_export(exported)
    clock.advance(DAY)
    theirs: Document = (await person("carla").export()).document
    await person().forget(note["record_id"])
    assert [one.code for one in (await person("dora").import_export(theirs)).left_out] == ["forgotten"]
    assert (await person("carla").import_export(theirs)).left_out == ()


async def test_who_consented_again_is_exported_and_imported_again(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """A new life that took its records back in with consent is a life like any other, until it is forgotten."""
    clock.advance(DAY)
    await person().forget_all()
    clock.advance(DAY)
    await person().import_export(exported, new_consent=True)
    second: Document = (await person().export()).document
    assert (await person("dora").import_export(second)).left_out == ()
    clock.advance(DAY)
    third: Document = (await person("dora").export()).document
    await person().forget_all()
    assert {one.code for one in (await person("eva").import_export(third)).left_out} == {"forgotten"}


async def test_asking_takes_a_worker(
    exported: Document, clone: Clone, clock: ManualClock, words: WordEmbedder, person: Person
) -> None:
    """Without a worker's login what was forgotten cannot be known: refused, unless the person consented again."""
    del person
    async with olvido.open(clone.app, clock=clock, embedder=words) as requests_only:
        other = requests_only.scope(tenant="other", subject="ana")
        with pytest.raises(UnsafeDatabase) as refused:
            await other.import_export(exported)
        assert "worker_url" in str(refused.value)
        assert not any((await other.stored_rows()).values())
        assert (await other.import_export(exported, new_consent=True)).written["episodes"] == 3


async def test_who_may_have_been_forgotten(person: Person, clock: ManualClock) -> None:
    """None before any forget; then anybody whose life here began later; a forget inside a life counts for it alone."""
    ana, bea = person("ana"), person("bea")
    await ana.remember("one", event_id="1")
    assert await ana.forgotten_until() is None
    clock.advance(DAY)
    await bea.remember("two", event_id="2")
    await bea.forget_all()
    at = clock.now()
    assert await person("ana").forgotten_until() is None
    assert await person("bea").forgotten_until() == at
    assert await person("carla").forgotten_until() == at
    assert await person("carla", tenant="other").forgotten_until() is None
    clock.advance(DAY)
    written = await ana.remember("three", event_id="3")
    await ana.forget(written.record.record_id)
    assert await person("ana").forgotten_until() == clock.now()
    assert await person("carla").forgotten_until() == at
