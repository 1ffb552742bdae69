"""`olvido import --from mem0|langgraph`: memories of other systems as notes that stay inferred, once."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clone
from tests.surfaces.conftest import Run, is_empty

CANARY = "zq-canary-43"
MEM0 = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    "memory": "Prefers aisle seats",
    "hash": "2c5d0c1b7f3a4f5e9d8c7b6a59483726",
    "metadata": {"category": CANARY},
    "created_at": "2023-11-07T05:31:56.123456-07:00",
    "updated_at": None,
    "user_id": "ana",
}
ITEM = {
    "namespace": ["memories", "ana"],
    "key": "07e0caf4-1631-47b7-b15f-65515d4c1843",
    "value": {"kind": "Memory", "content": {"content": "Likes pizza"}},
    "created_at": "2024-10-02T17:22:31.590602+00:00",
    "updated_at": "2024-10-02T17:22:31.590605+00:00",
    "score": None,
}
FROM_MEM0 = ("--from", "mem0", "--tenant", "acme")
FROM_STORE = ("--from", "langgraph", "--tenant", "acme", "--namespace", "memories.{subject}")


def written(path: Path, content: object, *, lines: bool = False) -> str:
    """A file with this JSON document, or with one object a line."""
    items: Any = content
    path.write_text("\n".join(json.dumps(one) for one in items) if lines else json.dumps(content), encoding="utf-8")
    return str(path)


def stored(cli: Run, subject: str = "ana") -> list[Any]:
    """The episodes of somebody, newest first."""
    items: list[Any] = cli("episode", "list", "--tenant", "acme", "--subject", subject, "--json").document["items"]
    return items


@pytest.mark.parametrize(
    "content, lines",
    [
        pytest.param({"results": [MEM0]}, False, id="open-source"),
        pytest.param({"count": 1, "next": None, "previous": None, "results": [MEM0]}, False, id="platform"),
        pytest.param([MEM0], False, id="list"),
        pytest.param(MEM0, False, id="one"),
        pytest.param([MEM0, MEM0], True, id="lines"),
    ],
)
def test_memories_of_mem0_become_imported_notes(cli: Run, tmp_path: Path, content: object, *, lines: bool) -> None:
    """Text, person and time are theirs; the origin is inferred; what the policy does not name is dropped by name."""
    file = written(tmp_path / "mem0.json", content, lines=lines)
    report = cli("import", file, *FROM_MEM0, "--json").document
    assert report["written"] == 1
    assert set(report["dropped"]) == {"hash", "metadata"}
    (note,) = stored(cli)
    assert note["definition"] == "imported-note"
    assert note["fields"] == {"text": "Prefers aisle seats"}
    assert note["occurred_at"] == "2023-11-07T12:31:56.123456Z"
    assert (note["origin"]["origin_class"], note["origin"]["source"]) == ("inferred", "import:mem0")
    assert note["untrusted"] is True
    again = cli("import", file, *FROM_MEM0, "--json").document
    assert again["written"] == 0
    assert CANARY not in cli("episode", "list", "--tenant", "acme", "--subject", "ana", "--json").out


def test_a_memory_that_expired_there_stays_away(cli: Run, tmp_path: Path) -> None:
    """It is counted; one that expires soon keeps its day, and one that would outlive the policy does not."""
    days = ("2024-01-01", None, "2999-01-01")
    content = [{**MEM0, "id": f"m{number}", "expiration_date": day} for number, day in enumerate(days)]
    answered = cli("import", written(tmp_path / "mem0.json", content), *FROM_MEM0, "--json").document
    assert (answered["written"], answered["expired"]) == (2, 1)
    assert all(note["expires_at"] < "2900" for note in stored(cli))


VALUES = [
    pytest.param({"content": "Likes pizza"}, "Likes pizza", id="content"),
    pytest.param({"kind": "Memory", "content": {"content": "Likes pizza"}}, "Likes pizza", id="langmem"),
    pytest.param({"data": "Likes pizza"}, "Likes pizza", id="data"),
    pytest.param({"food": "pizza", "often": 3}, "food: pizza\noften: 3", id="plain"),
    pytest.param({"food": "pizza", "often": None}, "food: pizza", id="absent"),
    pytest.param(
        {"kind": "Triple", "content": {"subject": "Alice", "predicate": "manages", "context": None}},
        "subject: Alice\npredicate: manages",
        id="langmem-schema",
    ),
]


@pytest.mark.parametrize("value, text", VALUES)
def test_items_of_a_store_become_imported_notes(cli: Run, tmp_path: Path, value: object, text: str) -> None:
    """The person stands where the namespace says, and only there; the key makes a second run harmless."""
    file = written(tmp_path / "items.json", {"items": [{**ITEM, "value": value}]})
    assert cli("import", file, *FROM_STORE, "--json").document["written"] == 1
    (note,) = stored(cli)
    assert note["fields"] == {"text": text}
    assert note["event_id"] == f'langgraph:["memories", "{ITEM["key"]}"]'
    assert (note["origin"]["origin_class"], note["occurred_at"]) == ("inferred", "2024-10-02T17:22:31.590602Z")
    assert cli("import", file, *FROM_STORE, "--json").document["unchanged"] == 1


def test_keys_with_separators_are_two_notes(cli: Run, tmp_path: Path) -> None:
    """Labels and keys are never joined: two places that read alike stay two."""
    first = {**ITEM, "namespace": ["ana", "a/b"], "key": "c", "value": {"text": "one"}}
    second = {**ITEM, "namespace": ["ana", "a"], "key": "b/c", "value": {"text": "two"}}
    file = written(tmp_path / "items.jsonl", [first, second], lines=True)
    where = ("--from", "langgraph", "--tenant", "acme", "--namespace", "{subject}.*")
    assert cli("import", file, *where, "--json").document["written"] == 2


BAD = [
    pytest.param(FROM_MEM0, {**MEM0, "user_id": None}, "no user_id", id="nobody"),
    pytest.param(FROM_MEM0, {**MEM0, "created_at": None}, "created_at", id="undated"),
    pytest.param(FROM_MEM0, {**MEM0, "created_at": "2023-11-07T05:31:56"}, "no time zone", id="naive"),
    pytest.param(FROM_MEM0, {**MEM0, "created_at": "2999-11-07T05:31:56Z"}, "future", id="future"),
    pytest.param(FROM_MEM0, {**MEM0, "expiration_date": CANARY}, "not a day", id="day"),
    pytest.param(FROM_MEM0, {**MEM0, "memory": f"{CANARY} " * 300}, "characters", id="long"),
    pytest.param(FROM_MEM0, {"id": CANARY}, "memory: is missing", id="missing"),
    pytest.param(FROM_MEM0, [CANARY], "JSON object", id="list"),
    pytest.param(FROM_STORE, {**ITEM, "namespace": ["other", CANARY]}, "another namespace", id="namespace"),
    pytest.param(FROM_STORE, {**ITEM, "namespace": ["memories", "ana", "x"]}, "another namespace", id="deeper"),
    pytest.param(FROM_STORE, {**ITEM, "value": {CANARY: {"deep": CANARY}}}, "neither text", id="no-text"),
]


@pytest.mark.parametrize("options, bad, reason", BAD)
def test_one_bad_record_is_named_and_nothing_is_written(
    *, cli: Run, clone: Clone, tmp_path: Path, options: tuple[str, ...], bad: object, reason: str
) -> None:
    """By its number in the document, or by its line; never by its content."""
    good: dict[str, object] = {**MEM0, "id": "good"} if "mem0" in options else {**ITEM, "key": "good"}
    for lines, place in ((False, "in.json: record 2: "), (True, "in.json:2: ")):
        answered = cli("import", written(tmp_path / "in.json", [good, bad], lines=lines), *options, "--json")
        assert answered.code == 2
        message = answered.document["error"]["message"]
        assert place in message
        assert reason in message
        assert CANARY not in answered.out
        assert is_empty(clone)


@pytest.mark.parametrize("other", ["next", "previous"])
def test_one_page_of_several_is_refused(cli: Run, clone: Clone, tmp_path: Path, other: str) -> None:
    """Case 26: whoever moves away does not learn years later that only the first hundred came along."""
    page = {"count": 300, "next": None, "previous": None, "results": [MEM0], other: "https://example.com/?page=2"}
    answered = cli("import", written(tmp_path / "in.json", page), *FROM_MEM0, "--json")
    assert (answered.code, is_empty(clone)) == (2, True)
    assert "one page of several" in answered.document["error"]["message"]


def test_what_stands_beside_the_memories_is_named_as_dropped(cli: Run, tmp_path: Path) -> None:
    """Rule 6: the relations of a graph are not taken, and the report says so."""
    relation = {"source": "ana", "relationship": "likes", "target": "tea"}
    file = written(tmp_path / "in.json", {"results": [MEM0], "relations": [relation], "empty": [], "hash": "h"})
    dropped = cli("import", file, *FROM_MEM0, "--json").document["dropped"]
    assert (dropped["relations"], dropped["hash"]) == (1, 2)
    assert "empty" not in dropped


def test_a_repeated_id_is_named_by_the_number_of_its_record(cli: Run, tmp_path: Path) -> None:
    """Records of a document are counted, not its lines."""
    file = written(tmp_path / "in.json", [MEM0, {**MEM0, "memory": "Prefers windows"}])
    message = cli("import", file, *FROM_MEM0, "--json").document["error"]["message"]
    assert "record 2: the event id of record 1 again" in message


def test_a_torn_line_is_named(cli: Run, tmp_path: Path) -> None:
    """Case 82, for the files of others as well."""
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps(MEM0) + "\n" + json.dumps(MEM0)[:40], encoding="utf-8")
    message = cli("import", str(file), *FROM_MEM0, "--json").document["error"]["message"]
    assert "in.jsonl:2: not one whole JSON object" in message


def test_what_a_format_needs_is_asked_for(cli: Run, tmp_path: Path) -> None:
    """The company always, for a store where the person stands; and a namespace that names the person once."""
    file = written(tmp_path / "in.json", [MEM0])
    assert cli("import", file, "--from", "mem0").code == 2
    assert "--tenant" in cli("import", file, "--from", "mem0").err
    assert "--namespace" in cli("import", file, "--from", "langgraph", "--tenant", "acme").err
    wrong = cli("import", file, "--from", "langgraph", "--tenant", "acme", "--namespace", "memories", "--json")
    assert "{subject}" in wrong.document["error"]["message"]


def test_a_policy_without_imported_notes_prints_the_lines_to_add(cli: Run, tmp_path: Path) -> None:
    """No purpose, no memory: the error of the policy, before anything is written."""
    policy = tmp_path / "policy.yaml"
    source = files("olvido") / "default_policy.yaml"
    text = source.read_text(encoding="utf-8").replace("  imported-note:", "  clipping:")
    policy.write_text(text, encoding="utf-8")
    file = written(tmp_path / "in.json", [MEM0])
    answered = cli("import", file, *FROM_MEM0, "--policy", str(policy), "--json")
    assert (answered.code, answered.document["error"]["code"]) == (3, "not_in_policy")
