"""`olvido import`: the whole file is checked first, a second run changes nothing, and no line is echoed."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import olvido
from olvido.domain.policy_file import default_policy_text
from olvido.errors import InvalidInput
from olvido.surfaces import import_lines
from olvido.surfaces.cli.imports import _unless_stopped
from olvido.surfaces.demo.show import support_cases
from olvido.surfaces.import_lines import parse
from olvido.surfaces.import_sources import parse_lines, parse_mem0
from olvido.surfaces.importing import collecting_rarely
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.surfaces.conftest import SCOPE, Run, is_empty

CANARY = "zq-canary-41"
ANA = {"tenant": "acme", "subject": "ana"}
SAID = {"class": "declared", "source": "crm", "at": "2026-01-01T00:00:00Z"}
PREFERENCE = {"kind": "preference", **ANA, "key": "language", "value": "pt", "origin": SAID}
EPISODE = {
    "kind": "episode", **ANA, "definition": "support-case", "event_id": "ev1", "case_id": "at1",
    "status": "lookup-failed", "occurred_at": "2026-01-02T10:00:00Z", "fields": {"topic": "access", "raw": CANARY},
    "origin": {"class": "observed", "source": "crm.lookup"},
}  # fmt: skip
NOTE = {"kind": "note", **ANA, "event_id": "n1", "text": "prefers aisle seats"}


def written(path: Path, *lines: object) -> str:
    """A file of these lines: values as JSON, texts as they are."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(f"{text}\n", encoding="utf-8")
    return str(path)


def without(line: dict[str, Any], name: str) -> dict[str, Any]:
    """`line` without one of its names."""
    return {key: value for key, value in line.items() if key != name}


def test_records_of_each_kind_are_imported_once(cli: Run, tmp_path: Path) -> None:
    """A second run finds everything there; dropped fields are named and counted."""
    file = written(tmp_path / "all.jsonl", PREFERENCE, "", EPISODE, NOTE)
    first = cli("import", file, "--json").document
    assert (first["records"], first["written"], first["dropped"]) == (3, 3, {"raw": 1})
    again = cli("import", file, "--json").document
    assert (again["written"], again["unchanged"]) == (0, 3)
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"]["origin"]["source"] == "crm"
    told = cli("import", file)
    assert "0 written, 3 already there" in told.out
    assert "raw (1)" in told.out


BAD = [
    pytest.param('{"kind": "note", "tenant": "acme", "subj', "whole JSON object", id="torn"),
    pytest.param("[]", "JSON object", id="list"),
    pytest.param(json.dumps({**NOTE, "text": "half \ud83d pair"}), "not well-formed Unicode", id="surrogate"),
    pytest.param({**NOTE, "text": 7}, "text: must be text", id="type"),
    pytest.param({**PREFERENCE, "value": None}, "value: must be text, a finite number", id="value-type"),
    pytest.param({**EPISODE, "occurred_at": 1767225600}, "occurred_at: is not an instant", id="number"),
    pytest.param({"kind": CANARY}, "kind", id="kind"),
    pytest.param(without(NOTE, "event_id"), "event_id: is missing", id="missing"),
    pytest.param({**NOTE, f"{CANARY} is my name": 1}, "not a name of this kind", id="unknown"),
    pytest.param({**NOTE, "tenant": " "}, "tenant is empty", id="scope"),
    pytest.param({**NOTE, "text": f"{CANARY} " * 500}, "characters", id="long"),
    pytest.param({**NOTE, "event_id": "n" * 300}, "event_id takes 300 bytes", id="event-id"),
    pytest.param({**NOTE, "event_id": f"sk-test-{'0' * 12}1111aaaa"}, "Credentials are never stored", id="secret"),
    pytest.param(
        {**EPISODE, "origin": {"class": "observed", "source": f"sk-test-{'0' * 12}1111aaaa"}},
        "Credentials are never stored",
        id="secret-origin",
    ),
    pytest.param({**PREFERENCE, "value": CANARY}, "must be one of", id="value"),
    pytest.param({**PREFERENCE, "key": "shoe-size"}, "not in policy", id="policy"),
    pytest.param({**PREFERENCE, "origin": {"class": "declared", "source": "crm"}}, "when it was said", id="undated"),
    pytest.param({**PREFERENCE, "origin": {**SAID, "class": "inferred"}}, "only as declared", id="origin"),
    pytest.param({**PREFERENCE, "origin": {**SAID, "class": CANARY}}, "must be one of: declared", id="class"),
    pytest.param({**EPISODE, "status": CANARY}, "status of support-case", id="status"),
    pytest.param({**EPISODE, "occurred_at": "2026-01-02T10:00:00"}, "no time zone", id="naive"),
    pytest.param({**EPISODE, "occurred_at": CANARY}, "not an instant", id="instant"),
    pytest.param({**EPISODE, "occurred_at": "9999-01-01T00:00:00Z"}, "future", id="future"),
    pytest.param({**EPISODE, "event_id": "ev0", "status": "open"}, "event id of line 1", id="repeated"),
    pytest.param(json.dumps(NOTE)[:-1] + ', "tenant": "zeta"}', "company or person twice", id="two-owners"),
    pytest.param(json.dumps(NOTE)[:-1] + ', "ten\\u0061nt": "zeta"}', "company or person twice", id="escaped"),
]


@pytest.mark.parametrize("line, reason", BAD)
def test_one_bad_line_is_named_and_nothing_is_written(
    cli: Run, clone: Clone, tmp_path: Path, line: object, reason: str
) -> None:
    """Case 82: the message has the line and the reason, never the content; the good lines are not written either."""
    file = written(tmp_path / "torn.jsonl", {**EPISODE, "event_id": "ev0"}, NOTE, line)
    answered = cli("import", file, "--json")
    assert answered.code in {2, 3}
    message = answered.document["error"]["message"]
    assert "torn.jsonl:3: " in message
    assert reason in message
    assert "torn.jsonl:1" not in message
    assert CANARY not in answered.out
    assert is_empty(clone)


def test_words_of_the_format_are_values_as_well(cli: Run, tmp_path: Path) -> None:
    """Somebody may be called what a name of the format is."""
    note = {**NOTE, "tenant": "tenant", "subject": "subject", "text": 'said "tenant" and "subject"'}
    assert cli("import", written(tmp_path / "in.jsonl", note), "--json").document["written"] == 1


def test_a_byte_order_mark_is_no_mistake(cli: Run, tmp_path: Path) -> None:
    """What editors on Windows write before UTF-8 is passed over in every file, also between two put together."""
    mark = "\ufeff"
    lines = written(tmp_path / "lines.jsonl", mark + json.dumps(NOTE), mark + json.dumps(EPISODE))
    assert cli("import", lines, "--json").document["written"] == 2
    exported = tmp_path / "ana.json"
    exported.write_text(mark + cli("export", *SCOPE, "--json").out, encoding="utf-8")
    report = cli("import", str(exported), "--from", "export", "--tenant", "acme", "--subject", "bea", "--json")
    assert report.document["written"] == {"episodes": 2}
    memory = {"id": "m1", "memory": "prefers windows", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"}
    mem0 = written(tmp_path / "mem0.json", mark + json.dumps([memory]))
    assert cli("import", mem0, "--from", "mem0", "--tenant", "acme", "--json").document["written"] == 1
    policy = tmp_path / "policy.yaml"
    policy.write_text(mark + default_policy_text(), encoding="utf-8")
    assert cli("policy", "check", str(policy)).code == 0


def test_another_encoding_is_named(cli: Run, tmp_path: Path) -> None:
    """UTF-16 is told from a file that was cut off; of an older encoding the line is named; nothing is echoed."""
    file = tmp_path / "in.jsonl"
    text = json.dumps({**NOTE, "text": f"não {CANARY}"}, ensure_ascii=False)
    file.write_bytes(f"{json.dumps(NOTE)}\n{text}\n".encode("utf-16"))
    for form in (("--from", "lines"), ("--from", "export", *SCOPE), ("--from", "mem0", "--tenant", "acme")):
        answered = cli("import", str(file), *form, "--json")
        assert answered.code == 2
        assert "in.jsonl is UTF-16 or UTF-32" in answered.document["error"]["message"]
    file.write_bytes(f"{json.dumps(NOTE)}\n{text}\n".encode("latin-1"))
    answered = cli("import", str(file), "--json")
    assert answered.document["error"]["message"].startswith("in.jsonl:2: is not UTF-8")
    assert CANARY not in answered.out
    policy = tmp_path / "policy.yaml"
    policy.write_bytes(default_policy_text().encode("utf-16"))
    refused = cli("policy", "check", str(policy), "--json").document["error"]
    assert refused["code"] == "invalid_policy"
    assert "policy.yaml is UTF-16" in refused["message"]


async def test_a_file_is_judged_by_the_clock_of_the_store(memory: olvido.Memory, clock: ManualClock) -> None:
    """Rule 15: what is past, and what has expired, is so for the database, whatever this machine's clock says."""
    now = await memory.now()
    assert now == clock.now()
    later = {**NOTE, "occurred_at": "2026-02-01T00:00:00Z"}
    with pytest.raises(InvalidInput, match="lies in the future"):
        parse([json.dumps(later).encode()], memory.policy, name="f", now=now)
    ends = [json.dumps({**NOTE, "expires_at": end}) for end in ("2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z")]
    read = parse_lines(ends[1].encode(), memory.policy, name="f", now=now)
    assert (len(read.records), read.expired) == (1, 0)
    read = parse_lines(ends[0].encode(), memory.policy, name="f", now=now)
    assert (len(read.records), read.expired) == (0, 1)
    old = {"id": "m1", "memory": "m", "user_id": "ana", "created_at": "2025-01-01T00:00:00Z"}
    kept = [json.dumps({**old, "expiration_date": day}).encode() for day in ("2026-01-01", "2026-01-02")]
    assert [len(parse_mem0(one, memory.policy, name="f", now=now, tenant="t").records) for one in kept] == [0, 1]


async def test_checking_a_file_says_how_far_it_is(memory: olvido.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking takes as long as writing: whoever watches is told of every some hundred records."""
    monkeypatch.setattr(import_lines, "TOLD_AFTER", 2)
    done: list[int] = []
    lines = "\n".join(json.dumps({**NOTE, "event_id": f"n{number}"}) for number in range(5))
    read = parse_lines(lines.encode(), memory.policy, name="f", now=await memory.now(), progress=done.append)
    assert (len(read.records), done) == (5, [2, 2])


async def test_checking_hears_of_a_wish_to_stop() -> None:
    """Ctrl-C cancels the task of the command, which awaits nothing while it checks a file."""
    done: list[int] = []

    async def command() -> None:
        advance = _unless_stopped(done.append)
        advance(500)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        advance(500)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(command())
    assert done == [500]


def test_an_import_leaves_the_collector_as_it_was() -> None:
    """A process that imports and goes on collects as before, also after an import that failed."""
    before = gc.get_threshold(), gc.get_freeze_count()
    with suppress(InvalidInput), collecting_rarely():
        assert gc.get_threshold() > before[0]
        raise InvalidInput("x")
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_many_bad_lines_are_counted(cli: Run, tmp_path: Path) -> None:
    """The first twenty are named."""
    file = written(tmp_path / "bad.jsonl", *["{"] * 25)
    message = cli("import", file, "--json").document["error"]["message"]
    assert message.startswith("25 lines cannot be imported")
    assert "bad.jsonl:20:" in message
    assert message.endswith("and 5 more")


def test_an_older_file_never_beats_a_newer_statement(cli: Run, tmp_path: Path) -> None:
    """Rule 12: what was said later stands, and the import says how many were older."""
    cli("preference", "set", "language", "en", *SCOPE)
    report = cli("import", written(tmp_path / "old.jsonl", PREFERENCE), "--json")
    assert (report.code, report.document["older"], report.document["written"]) == (0, 1, 0)
    assert cli("preference", "get", "language", *SCOPE, "--json").document["preference"]["value"] == "en"


def test_what_the_store_refuses_is_reported_by_line(cli: Run, tmp_path: Path) -> None:
    """An event that is stored with another body is left alone; the exit code says so."""
    cli("import", written(tmp_path / "one.jsonl", EPISODE))
    file = written(tmp_path / "two.jsonl", NOTE, {**EPISODE, "status": "open"})
    answered = cli("import", file, "--json")
    assert answered.code == 5
    assert answered.document["refused"] == [{"line": 2, "code": "event_conflict"}]
    assert "Line 2 was refused: event_conflict." in cli("import", file).out


def test_a_support_case_keeps_the_request_and_not_the_person(cli: Run, tmp_path: Path) -> None:
    """Turns with a name, a card or a password are left out, the transcript is dropped, and no outcome is invented."""
    lines = [json.loads(line) for line in support_cases()]
    person = [line for line in lines if (line["tenant"], line["subject"]) == ("finance", "customer-14")]
    report = cli("import", written(tmp_path / "cases.jsonl", *person), "--json").document
    assert (report["written"], report["dropped"]) == (3, {"transcript": 3})
    page = cli("episode", "list", "--tenant", "finance", "--subject", "customer-14", "--json")
    assert {one["status"] for one in page.document["items"]} == {"reported"}
    assert "missed my card" in page.out
    left_out = {value for line in person for turn in line["turns"] for name, value in turn.get("slots", {}).items()
                if name in {"name", "ssn", "address", "account_number"}}  # fmt: skip
    assert left_out
    assert not [value for value in left_out if value in page.out]


def test_lines_come_from_standard_input_too(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`olvido import -` reads what is piped into it."""

    class Piped:
        buffer = __import__("io").BytesIO(json.dumps(NOTE).encode())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Piped())
    assert cli("import", "-", "--json").document["written"] == 1


def test_what_has_expired_is_left_out_and_no_mistake(cli: Run, tmp_path: Path) -> None:
    """A file that is imported again after some of it has expired still runs: those records are counted, not written."""
    expired = {**NOTE, "event_id": "n0", "expires_at": "2020-01-01T00:00:00Z"}
    report = cli("import", written(tmp_path / "old.jsonl", expired, NOTE), "--resume", "--json").document
    assert (report["written"], report["expired"], report["refused"]) == (1, 1, [])


def test_an_old_value_does_not_come_back_because_its_key_is_in_use(cli: Run, tmp_path: Path) -> None:
    """After a value was forgotten, the file it came from asks for new consent although another value stands now."""
    old = {**PREFERENCE, "key": "display_name", "value": "Old Name", "origin": {**SAID, "at": "2026-02-01T00:00:00Z"}}
    file = written(tmp_path / "old.jsonl", old)
    assert cli("import", file, "--json").document["written"] == 1
    found = cli("preference", "get", "display_name", *SCOPE, "--json").document["preference"]
    cli("forget", found["record_id"], *SCOPE, "--yes", "--json")
    newer = {**old, "value": "New Name", "origin": {"class": "observed", "source": "crm", "at": "2026-01-01T00:00:00Z"}}
    assert cli("import", written(tmp_path / "new.jsonl", newer), "--new-consent", "--json").document["written"] == 1
    again = cli("import", file, "--json")
    assert [line["code"] for line in again.document["refused"]] == ["consent_needed"]
    assert cli("preference", "get", "display_name", *SCOPE, "--json").document["preference"]["value"] == "New Name"


def test_consent_is_of_one_person(cli: Run, tmp_path: Path) -> None:
    """--new-consent-for takes what is of the one who consented again, and of no other; a name has to be in the file."""
    notes = [{**NOTE, "subject": subject, "occurred_at": "2026-01-02T00:00:00Z"} for subject in ("ana", "bea", "eva")]
    file = written(tmp_path / "all.jsonl", *notes)
    assert cli("import", file, "--json").document["written"] == 3
    for note in notes:
        cli("forget", "--tenant", "acme", "--subject", note["subject"], "--all", "--yes")
    told = cli("import", file)
    assert told.code == 5
    assert "--new-consent-for SUBJECT" in told.out
    wrong = cli("import", file, "--new-consent-for", "ana", "--new-consent-for", "zoe", "--json")
    assert (wrong.code, wrong.document["error"]["code"]) == (2, "usage")
    assert "zoe" in wrong.document["error"]["message"]
    report = cli("import", file, "--new-consent-for", "ana", "--new-consent-for", "eva", "--json").document
    assert (report["written"], report["refused"]) == (2, [{"line": 2, "code": "consent_needed"}])
    items = [cli("episode", "list", "--tenant", "acme", "--subject", note["subject"], "--json") for note in notes]
    assert [len(item.document["items"]) for item in items] == [1, 0, 1]


def test_consent_of_a_name_at_two_companies_says_which(cli: Run, tmp_path: Path) -> None:
    """Rule 1: the same name is two people; --tenant says whose consent it is. An export is of one person."""
    notes = [{**NOTE, "tenant": tenant, "occurred_at": "2026-01-02T00:00:00Z"} for tenant in ("acme", "globex")]
    file = written(tmp_path / "all.jsonl", *notes)
    cli("import", file)
    exported = tmp_path / "ana.json"
    exported.write_text(cli("export", *SCOPE, "--json").out, encoding="utf-8")
    for note in notes:
        cli("forget", "--tenant", note["tenant"], "--subject", "ana", "--all", "--yes")
    assert "--tenant" in cli("import", file, "--new-consent-for", "ana").err
    report = cli("import", file, "--new-consent-for", "ana", "--tenant", "globex", "--json").document
    assert (report["written"], report["refused"]) == (1, [{"line": 1, "code": "consent_needed"}])
    form = ("--from", "export", *SCOPE)
    assert cli("import", str(exported), *form).code == 5
    assert cli("import", str(exported), *form, "--new-consent-for", "bea").code == 2
    assert cli("import", str(exported), *form, "--new-consent-for", "ana", "--json").document["written"]


def test_people_are_written_many_records_at_a_time(cli: Run, tmp_path: Path) -> None:
    """Lines of many people, mixed: each is written once, and each refusal has its line."""
    people = [f"customer-{number}" for number in range(12)]
    lines: list[Any] = [
        {**NOTE, "subject": subject, "event_id": f"n{number}", "language": "en"}
        for number in range(20)
        for subject in people
    ]
    lines.insert(100, {**PREFERENCE, "subject": people[0]})
    first = written(tmp_path / "first.jsonl", *lines)
    report = cli("import", first, "--json").document
    assert (report["records"], report["people"], report["written"]) == (241, 12, 241)
    lines[7] = {**lines[7], "text": "another body"}
    lines[200] = {**lines[200], "text": "another body"}
    second = cli("import", written(tmp_path / "second.jsonl", *lines), "--json").document
    assert (second["written"], second["unchanged"]) == (0, 239)
    assert second["refused"] == [{"line": 8, "code": "event_conflict"}, {"line": 201, "code": "event_conflict"}]
