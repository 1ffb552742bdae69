"""Export: everything that is live of one person, made from the data map, at one instant."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import olvido
from olvido.storage.data_map import DATA_MAP, EXPORTED, FORGOTTEN, ColumnClass, Exported
from olvido.storage.queries import statements
from olvido.testing import ManualClock
from tests.storage.support import CONFIRMED, populate

ROWS = [relation for relation in EXPORTED if relation.exported is Exported.ROWS]


def section(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of one relation, wherever the document shows them."""
    part = DATA_MAP[name].part
    if part is None:
        found: list[dict[str, Any]] = document["records"][name]
        return found
    return [row for parent in document["records"][part.relation] for row in parent[part.name]]


def test_every_relation_that_a_forget_empties_is_exported() -> None:
    """A relation without a statement of export fails here: what a person can see is what a forget removes."""
    assert {relation.name for relation in EXPORTED} == set(FORGOTTEN)
    assert set(statements("export")) == {f"export_{name}" for name in FORGOTTEN}
    kept = [relation for relation in DATA_MAP.values() if relation.name not in FORGOTTEN]
    assert {relation.exported for relation in kept} == {Exported.NO}
    assert [relation.name for relation in EXPORTED if relation.exported is Exported.COUNTED] == [
        "lives",
        "due",
        "index_entries",
    ]


async def test_an_export_shows_every_column_of_every_relation(memory: olvido.Memory) -> None:
    """Each relation has rows in the document, and each of its columns stands there, the scope in the manifest."""
    await populate(memory, "acme", "ana", words="zebra")
    ana = memory.scope(tenant="acme", subject="ana")
    export = await ana.export()
    document: Any = json.loads(json.dumps(export.document))
    assert document == export.document, "plain JSON types"
    stored = await ana.stored_rows()
    for relation in ROWS:
        rows = section(document, relation.name)
        assert len(rows) == export.counts[relation.name] == stored[relation.name] > 0, relation.name
        shown = {*rows[0], *(f"origin_{name}" for name in rows[0].get("origin", {}))}
        own = {relation.part.own} if relation.part is not None else set()
        wanted = {name for name, kind in relation.columns.items() if kind is not ColumnClass.SCOPE} - own
        assert wanted <= shown, relation.name
    assert export.derived == {name: stored[name] for name in ("lives", "due", "index_entries")}
    assert "embedding" not in json.dumps(document)


async def test_the_manifest_says_what_it_is_of(memory: olvido.Memory, clock: ManualClock) -> None:
    """Format, scope, life, instant, policy and counts come first, in a stable order."""
    await populate(memory, "acme", "ana")
    export = await memory.scope(tenant="acme", subject="ana").export()
    assert list(export.document) == ["manifest", "records"]
    manifest = export.manifest
    assert manifest["format"] == "olvido-export"
    assert manifest["format_version"] == 1
    assert manifest["scope"] == {"tenant": "acme", "subject": "ana"}
    assert UUID(str(manifest["life"])) == export.life
    assert manifest["exported_at"] == "2026-01-01T00:00:00Z"
    assert manifest["policy"] == {"name": memory.policy.name, "version": memory.policy.version}
    again = await memory.scope(tenant="acme", subject="ana").export()
    assert json.dumps(again.document) == json.dumps(export.document)
    assert export.exported_at == clock.now()


async def test_history_and_references_stand_where_they_belong(memory: olvido.Memory) -> None:
    """Versions are inside their preference, oldest first; messages, items and facts inside their session."""
    await populate(memory, "acme", "ana")
    document: Any = (await memory.scope(tenant="acme", subject="ana").export()).document
    name, language = document["records"]["preferences"]
    assert (name["key"], language["key"]) == ("display_name", "language")
    assert [(one["version"], one["value"], one["change"]) for one in language["versions"]] == [
        (1, "pt", "set"),
        (2, "en", "corrected"),
    ]
    assert language["origin"] == {"class": "declared", "source": "user-confirmation", "ref": "turn-1",
                                  "actor": None, "at": None}  # fmt: skip
    (session,) = document["records"]["sessions"]
    assert [message["sequence"] for message in session["messages"]] == [0, 1]
    assert {item["kind"] for item in session["items"]} == {"constraint", "pending"}
    assert [fact["messages"] for fact in session["facts"]] == [[0], [0]]
    (summary,) = document["records"]["summaries"]
    episodes = {episode["record_id"]: episode["event_id"] for episode in document["records"]["episodes"]}
    assert [episodes[one["episode_id"]] for one in summary["episodes"]] == ["ev2", "ev1"]


async def test_the_expired_is_not_exported_as_live(memory: olvido.Memory, clock: ManualClock) -> None:
    """Rule 14: neither a value nor its history, neither a session nor its messages, at the very instant of expiry."""
    await populate(memory, "acme", "ana")
    ana = memory.scope(tenant="acme", subject="ana")
    end = clock.now() + timedelta(hours=1)
    await ana.set_preference("contact_channel", "email", origin=CONFIRMED, expires_at=end)
    await ana.remember("soon gone", event_id="e9", expires_at=end)
    before = await ana.export()
    clock.advance(timedelta(hours=1))
    after = await ana.export()
    assert before.counts["preferences"] == after.counts["preferences"] + 1
    assert before.counts["preference_versions"] == after.counts["preference_versions"] + 1
    assert before.counts["episodes"] == after.counts["episodes"] + 1
    assert before.derived["index_entries"] == after.derived["index_entries"] + 2
    assert "soon gone" not in json.dumps(after.document)
    clock.advance(timedelta(days=1))
    ended = await ana.export()
    assert {name for name, count in ended.counts.items() if not count} == {
        "sessions", "session_facts", "session_items", "messages"
    }  # fmt: skip


async def test_nobody_else_is_in_it(memory: olvido.Memory) -> None:
    """A person of whom nothing is stored, and one who was forgotten, have an empty export; neighbours stay out."""
    await populate(memory, "acme", "ana", words="zebra")
    await populate(memory, "other", "ana", words="yak")
    nobody = await memory.scope(tenant="acme", subject="bea").export()
    assert nobody.life is None
    assert not any(nobody.counts.values())
    ana = memory.scope(tenant="acme", subject="ana")
    assert "yak" not in json.dumps((await ana.export()).document)
    await ana.forget_all()
    assert not any((await ana.export()).counts.values())
