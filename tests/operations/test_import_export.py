"""Import of an export: origins and event times stay, the policy in force decides, and what was forgotten stays away."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import olvido
from olvido import LeftOut, Origin
from olvido.errors import (
    ConsentNeeded,
    InvalidInput,
    InvalidValue,
    OriginNotGranted,
    TenantClosed,
    UnsafeDatabase,
)
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import WordEmbedder

DAY = timedelta(days=1)
START = datetime(2025, 11, 1, tzinfo=UTC)
SAID = Origin.declared("user-confirmation", ref="turn-17", actor="agent-7", at=START)
SEEN = Origin.observed("crm.lookup", ref="call-3", at=START + DAY)

Document = dict[str, Any]


@pytest.fixture
def person(word_memory: olvido.Memory) -> Callable[..., olvido.ScopedMemory]:
    """Anybody, by a fresh handle."""

    def scoped(subject: str = "ana", tenant: str = "acme", **options: Any) -> olvido.ScopedMemory:  # noqa: ANN401
        return word_memory.scope(tenant=tenant, subject=subject, **options)

    return scoped


Person = Callable[..., olvido.ScopedMemory]


@pytest.fixture
async def exported(person: Person, clock: ManualClock) -> Document:
    """The export of somebody with a corrected language, a name, two episodes of a case and a note."""
    ana = person()
    await ana.set_preference("language", "es", origin=SAID)
    clock.advance(DAY)
    await ana.correct_preference("language", "pt", origin=Origin.declared("user-confirmation", ref="turn-19"))
    await ana.set_preference("display_name", "Ana", origin=SEEN)
    for number, status in enumerate(("reported", "lookup-failed")):
        await ana.record_episode(
            "support-case",
            event_id=f"ev{number}",
            case_id="at1",
            status=status,
            occurred_at=START + number * DAY,
            fields={"title": "cannot reach the course"},
            origin=SEEN,
        )
    await ana.remember("prefers aisle seats", event_id="n1", occurred_at=START)
    await ana.consolidate()
    await ana.session("s1").open(goal="help")
    clock.advance(timedelta(hours=1))
    document: Document = (await ana.export()).document
    return document


def without_record_times(document: Document) -> Document:
    """What an import has to keep: everything but record times, derived rows, sessions and what the life is."""
    kept = copy.deepcopy(document["records"])
    for part in (*kept["preferences"], *kept["episodes"]):
        for row in (part, *part.get("versions", ())):
            for name in ("recorded_at", "created_at", "valid_from", "valid_to", "retain_until"):
                row.pop(name, None)
    return {name: kept[name] for name in ("preferences", "episodes")}


async def test_an_export_comes_back_with_origins_and_event_times(exported: Document, person: Person) -> None:
    """Values, history, origins, event times, expiries and record ids are those of the export, in another company."""
    other = person(tenant="other")
    report = await other.import_export(exported)
    assert report.written == {"preferences": 2, "preference_versions": 1, "episodes": 3}
    assert (report.left_out, report.unchanged) == ((), {})
    assert report.not_imported == {"sessions": 1, "summaries": 1}
    again = (await other.export()).document
    assert without_record_times(again) == without_record_times(exported)
    assert [(one.value, one.origin.ref) for one in await other.history("language")] == [
        ("es", "turn-17"),
        ("pt", "turn-19"),
    ]
    assert (await other.recall("aisle seats")).items[0].record.fields["text"] == "prefers aisle seats"
    (summary,) = await other.consolidate()
    assert summary.last_reported_status == "lookup-failed"


async def test_it_says_when_and_by_which_policy_it_came_in(
    exported: Document, person: Person, clock: ManualClock, word_memory: olvido.Memory
) -> None:
    """Record time and policy version are those of the import, and the audit log has it, with the life it is of."""
    clock.advance(DAY)
    exported["manifest"]["policy"]["version"] = "sha256:0123456789abcdef"
    other = person(tenant="other")
    report = await other.import_export(exported)
    assert (report.policy_from, report.policy_version) == ("sha256:0123456789abcdef", word_memory.policy.version)
    found = await other.get_preference("language")
    assert found is not None
    assert (found.recorded_at, found.policy_version) == (clock.now(), word_memory.policy.version)


async def test_a_second_import_changes_nothing(exported: Document, person: Person) -> None:
    """In the same scope and in another one: every checksum is what it was, and the report says unchanged."""
    for scoped in (person(), person("ana-2")):
        await scoped.import_export(exported)
        before = await scoped.checksums()
        report = await scoped.import_export(exported)
        assert (report.written, report.left_out) == ({}, ())
        assert report.unchanged == {"preferences": 2, "episodes": 3}
        assert await scoped.checksums() == before


async def test_an_older_export_never_beats_a_newer_statement(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """Rule 12: what was said here since the export stands; so does what only repeats an older value."""
    other = person(tenant="other")
    await other.set_preference("language", "en", origin=Origin.declared("chat", at=clock.now()))
    report = await other.import_export(exported)
    (left,) = [one for one in report.left_out if one.relation == "preferences"]
    assert (left.name, left.code) == ("language", "older_statement")
    found = await other.get_preference("language")
    assert found is not None
    assert (found.value, found.version) == ("en", 1)


async def test_a_newer_export_beats_an_older_statement(exported: Document, person: Person, clock: ManualClock) -> None:
    """A statement from before the correction gives way, as history; one of before, said later, does not win it back."""
    other = person(tenant="other")
    await other.set_preference("language", "en", origin=Origin.declared("chat", at=START))
    report = await other.import_export(exported)
    assert [(one.relation, one.code) for one in report.left_out] == [("preference_versions", "older_statement")]
    assert [one.value for one in await other.history("language")] == ["en", "pt"]
    clock.advance(DAY)
    with pytest.raises(olvido.OlvidoError):
        await other.set_preference("language", "en", origin=Origin.declared("chat", at=START + DAY))


async def test_a_weaker_value_never_overrides_a_stronger_one(exported: Document, person: Person) -> None:
    """An observed name of an export stays out where a declared one stands."""
    other = person(tenant="other")
    await other.set_preference("display_name", "Anita", origin=Origin.declared("chat", at=START - DAY))
    report = await other.import_export(exported)
    assert [(one.name, one.code) for one in report.left_out] == [("display_name", "weaker_origin")]


async def test_the_policy_in_force_decides(exported: Document, person: Person) -> None:
    """What it does not define, allow or accept is left out or dropped, and named; the rest is stored."""
    records = exported["records"]
    records["preferences"][0]["key"] = "shoe_size"
    records["preferences"][1]["versions"][0]["origin"]["class"] = "inferred"
    records["episodes"][0]["fields"]["mood"] = "zebra"
    records["episodes"][1]["status"] = "enchanted"
    records["episodes"][2]["fields"]["title"] = "password: hunter2hunter2"
    other = person(tenant="other")
    report = await other.import_export(exported)
    assert {(one.relation, one.name, one.code) for one in report.left_out} == {
        ("preferences", "shoe_size", "not_in_policy"),
        ("preference_versions", "language", "origin_not_accepted"),
        ("episodes", records["episodes"][1]["definition"], "invalid_value"),
    }
    assert report.dropped["mood"] == 1
    assert "zebra" not in str((await other.export()).document)
    assert "hunter2" not in str((await other.export()).document)
    assert report.written == {"preferences": 1, "episodes": 2}


async def test_nothing_lives_longer_than_the_export_or_the_policy_says(
    exported: Document, person: Person, clock: ManualClock
) -> None:
    """What expired since stays out; what was to live longer than the policy allows ends when the policy says."""
    name, language = exported["records"]["preferences"]
    name["expires_at"] = (clock.now() + DAY).isoformat()
    language["expires_at"] = "2099-01-01T00:00:00+00:00"
    exported["records"]["episodes"][0]["expires_at"] = None
    clock.advance(DAY)
    other = person(tenant="other")
    report = await other.import_export(exported)
    assert [(one.name, one.code) for one in report.left_out] == [("display_name", "expired")]
    found = await other.get_preference("language")
    assert found is not None
    assert found.expires_at == clock.now() + timedelta(days=730)
    expiries = {one.expires_at for one in (await other.episodes()).items}
    assert max(at for at in expiries if at is not None) == clock.now() + timedelta(days=365)


async def test_origin_classes_have_to_be_granted(exported: Document, person: Person) -> None:
    """Rule 11: an export cannot assert what its caller may not; then nothing is stored and no life begins."""
    limited = person(tenant="other", asserts=["declared"])
    with pytest.raises(OriginNotGranted):
        await limited.import_export(exported)
    assert not any((await limited.stored_rows()).values())


async def test_another_body_under_the_same_event_stays_as_it_is_here(exported: Document, person: Person) -> None:
    """An event that is stored with another body is left alone and named."""
    other = person(tenant="other")
    await other.remember("prefers windows", event_id="n1")
    report = await other.import_export(exported)
    assert [(one.name, one.code) for one in report.left_out] == [("note", "event_conflict")]


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


async def test_it_is_all_or_nothing(exported: Document, person: Person, word_memory: olvido.Memory) -> None:
    """Two records under one id are refused before anything is stored; a closed company takes nothing."""
    twice = copy.deepcopy(exported)
    twice["records"]["episodes"][1]["record_id"] = twice["records"]["preferences"][0]["record_id"]
    other = person(tenant="other")
    with pytest.raises(InvalidInput):
        await other.import_export(twice)
    assert not any((await other.stored_rows()).values())
    await word_memory.forget_tenant("other")
    with pytest.raises(TenantClosed):
        await person(tenant="other").import_export(exported)


@pytest.mark.parametrize(
    "damage, place",
    [
        (lambda document: document["manifest"].update(format="zebra"), "manifest.format"),
        (lambda document: document["manifest"].pop("life"), "manifest.life: is missing"),
        (lambda document: document["records"]["episodes"][1].pop("event_id"), "records.episodes.1.event_id"),
        (lambda document: document["records"]["episodes"][1].update(occurred_at="zebra"), "occurred_at"),
        (lambda document: document["records"]["preferences"][0].update(value=["zebra"]), "preferences.0.value"),
        (lambda document: document["manifest"].update(format_version=2), "format version"),
        (lambda document: document["manifest"].update(life=None), "which life"),
        (lambda document: document["records"].update(zebra=object()), "plain JSON"),
    ],
)
async def test_what_is_no_export_is_refused_by_its_place(
    exported: Document, person: Person, damage: Callable[[Document], object], place: str
) -> None:
    """The message says where, and never what stands there."""
    damage(exported)
    with pytest.raises(InvalidInput) as refused:
        await person(tenant="other").import_export(exported)
    assert place in str(refused.value)
    assert "zebra" not in str(refused.value)
    with pytest.raises(InvalidInput):
        await person().import_export(["no export"])
    assert issubclass(InvalidValue, InvalidInput)


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


async def test_an_empty_export_begins_no_life(person: Person) -> None:
    """Importing nothing stores nothing."""
    document = (await person("nobody").export()).document
    report = await person("somebody").import_export(document)
    assert report.written == {}
    assert not any((await person("somebody").stored_rows()).values())


async def test_without_an_embedder_it_is_stored_by_its_words(exported: Document, open_with: OpenWith) -> None:
    """A failing embedder costs the vectors only, and the report counts them."""
    failing = WordEmbedder()
    failing.fails = True
    async with open_with(failing, None) as memory:
        report = await memory.scope(tenant="other", subject="ana").import_export(exported)
        assert report.text_only == 5


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
