"""Import of an export: origins and event times stay, the policy in force decides, all of it is stored or nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta

import pytest

import olvido
from olvido import Origin
from olvido.errors import (
    InvalidInput,
    InvalidValue,
    OriginNotGranted,
    TenantClosed,
)
from olvido.testing import ManualClock
from tests.operations.conftest import SAID, START, Document, OpenWith, Person
from tests.operations.word_embedder import DAY, WordEmbedder


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


@pytest.mark.parametrize("taken", ["episode", "preference", "session"])
async def test_a_record_id_that_is_in_use_is_named(exported: Document, person: Person, taken: str) -> None:
    """An export that was changed so that its ids are those of other records here: they stay out, each by its id."""
    other = person(tenant="other")
    used = {
        "episode": (await other.remember("here before", event_id="h1")).record.record_id,
        "preference": (await other.set_preference("contact_channel", "email", origin=SAID)).record.record_id,
        "session": (await other.session("s1").open()).record_id,
    }[taken]
    for row in (exported["records"]["episodes"][0], exported["records"]["preferences"][0]):
        original, row["record_id"] = row["record_id"], str(used)
        report = await other.import_export(exported)
        assert [(str(one.record_id), one.code) for one in report.left_out] == [(str(used), "record_id_in_use")]
        row["record_id"] = original
    assert (await other.import_export(exported)).left_out == ()


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
