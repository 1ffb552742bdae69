"""What is in the file of the erasure ledger, and that whatever is wrong with it is noticed."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olvido.adapters.ledger import journal
from olvido.adapters.ledger.lines import Header, encode, entries, header_content
from olvido.domain.ledger import Entry, Request
from olvido.errors import LedgerUnavailable
from tests.adapters.ledger.support import Ledger, begun, filled

TENANTS = st.text(min_size=1, max_size=20).filter(str.strip)
STEPS = st.lists(st.tuples(st.sampled_from(["intend", "applied", "withdrawn"]), st.integers(0, 30)), max_size=40)


def test_there_is_none_until_it_is_begun(place: Path) -> None:
    """Looking for a ledger makes none; beginning makes one, with an id that is never another one's."""
    ledger = Ledger(place)
    assert ledger.state() is None
    assert not place.exists()
    with pytest.raises(LedgerUnavailable):
        ledger.intend("acme", uuid4(), None)
    with pytest.raises(LedgerUnavailable):
        _ = ledger.ledger_id
    state = ledger.begin()
    assert (state.last, state.in_flight, state.replaces) == (0, (), frozenset())
    assert Ledger(place).begin() == state
    assert ledger.ledger_id == state.ledger_id != (begun(place.with_name("other"))).ledger_id


def test_an_entry_says_what_was_asked(place: Path) -> None:
    """Tenant, life, records and version come back as they were given, whatever letters a tenant has."""
    ledger = begun(place)
    tenant, key, records = 'a"applied":9\\"withdrawn":1\n\u2028é', uuid4(), (uuid4(), uuid4())
    ledger.intend(tenant, key, None)
    ledger.intend(tenant, key, records)
    ledger.intend(tenant, key, records[:1], 4)
    ledger.intend(tenant, None, None)
    said = [
        Entry(number=1, tenant=tenant, key=key),
        Entry(number=2, tenant=tenant, key=key, record_ids=records),
        Entry(number=3, tenant=tenant, key=key, record_ids=records[:1], version=4),
        Entry(number=4, tenant=tenant, key=None),
    ]
    assert ledger.entries([1, 2, 3, 4, 5, 0]) == said
    again = Ledger(place)
    assert again.entries([3, 1]) == [said[2], said[0]]
    state = again.state()
    assert state is not None
    assert state.in_flight == (1, 2, 3, 4)


def test_an_entry_says_whose_request_it_is(place: Path) -> None:
    """Id, instant and word of the request come back exactly, and the lives that it took in, also when written back."""
    ledger = begun(place)
    request = Request(
        erasure_id=uuid4(),
        requested_at=datetime(2026, 12, 1, 9, 30, 15, 123456, tzinfo=UTC),
        target="selection",
    )
    entry = Entry(
        number=1,
        tenant="acme",
        key=uuid4(),
        record_ids=(uuid4(),),
        version=2,
        request=request,
        took_in=(uuid4(), uuid4()),
    )
    ledger.intend(entry.tenant, entry.key, entry.record_ids, entry.version, request, took_in=entry.took_in)
    ledger.write_back([entry], above=0)
    again = Ledger(place)
    assert again.entries([1, 2]) == [entry, replace(entry, number=2)]
    assert (found := again.state()) is not None
    assert (found.last, found.in_flight, found.newest) == (2, (1,), (2,))


def test_lines_of_another_release_are_read(place: Path) -> None:
    """An entry without a request, as it was written before there was one, and one with a member that is not known."""
    ledger = begun(place)
    file, key = place / "entries.jsonl", uuid4()
    older = {"entry": 1, "tenant": "acme", "key": str(key), "records": None}
    newer = {**older, "entry": 2, "request": {"id": str(key), "at": "2026-12-01T09:30:00+00:00", "target": "subject"}}
    checksum = int(file.read_bytes().splitlines()[-1][8:16], 16)
    for event in (older, {**newer, "of_a_later_release": {"entries": [1]}}):
        line = encode({"at": "2026-12-01T09:30:00+00:00", "events": [event]}, checksum)
        checksum = int(line[8:16], 16)
        with file.open("ab") as appended:
            appended.write(line)
    first, second = ledger.entries([1, 2])
    assert (first.key, first.request) == (key, None)
    assert second.request == Request(
        erasure_id=key, requested_at=datetime(2026, 12, 1, 9, 30, tzinfo=UTC), target="subject"
    )
    assert (first.took_in, second.took_in) == ((), ())
    ledger.applied(1)
    assert Ledger(place).entries([1]) == [first]


@pytest.mark.parametrize(
    "change",
    [
        {"id": None},
        {"id": "17"},
        {"at": "yesterday"},
        {"at": "2026-12-01T09:30:00"},
        {"target": "team"},
        {"target": ["record"]},
    ],
)
def test_a_request_that_is_not_understood_is_none(place: Path, change: dict[str, object]) -> None:
    """As of a later release: what is to be removed is known all the same, and is removed for a request of its own."""
    begun(place)
    file, key = place / "entries.jsonl", uuid4()
    said = {"id": str(key), "at": "2026-12-01T09:30:00+00:00", "target": "subject", **change}
    event = {"entry": 1, "tenant": "acme", "key": str(key), "records": None}
    checksum = int(file.read_bytes()[8:16], 16)
    with file.open("ab") as appended:
        line = encode({"events": [{**event, "request": said}]}, checksum)
        appended.write(line + encode({"events": [{**event, "entry": 2, "request": "later"}]}, int(line[8:16], 16)))
    assert Ledger(place).entries([1, 2]) == [Entry(number=number, tenant="acme", key=key) for number in (1, 2)]


@given(steps=STEPS, tenant=TENANTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_again_is_what_was_written(steps: list[tuple[str, int]], tenant: str) -> None:
    """Any sequence of events adds up to the same when another reader reads the file, and to what a model says."""

    def work(place: Path) -> None:
        ledger = begun(place)
        status: dict[int, str] = {}
        for what, number in steps:
            if what == "intend":
                status[ledger.intend(tenant, uuid4(), None)] = "in flight"
            elif what == "applied":
                ledger.applied(number)
                status.update({number: "applied"} if number in status else {})
            else:
                ledger.withdrawn(number)
                status.update({number: "withdrawn"} if status.get(number) == "in flight" else {})
        state = ledger.state()
        assert state is not None
        assert Ledger(place).state() == state
        assert state.last == len(status)
        assert set(state.in_flight) == {number for number, word in status.items() if word == "in flight"}
        assert set(state.unapplied) == {number for number, word in status.items() if word == "withdrawn"}
        assert [number for number in status if state.is_applied(number)] == sorted(state.newest)
        assert state.applied == len(state.newest)

    with tempfile.TemporaryDirectory() as directory:
        work(Path(directory) / "ledger")


def test_a_torn_last_line_is_no_entry(place: Path, file: Path) -> None:
    """Cut anywhere in its last line, the file is read without that line, and the next entry takes its number."""
    filled(place)
    ledger = Ledger(place)
    before = ledger.state()
    whole = file.read_bytes()
    key = uuid4()
    assert ledger.intend("acme", key, None) == 4
    longer = file.read_bytes()
    for cut in range(len(whole), len(longer)):
        file.write_bytes(longer[:cut])
        assert Ledger(place).state() == before, cut
        other = Ledger(place)
        assert other.intend("norbrook", key, None) == 4
        assert Ledger(place).entries([4]) == [Entry(number=4, tenant="norbrook", key=key)]


def test_zeros_at_the_end_are_a_torn_line(place: Path, file: Path) -> None:
    """After a power failure a file may be longer than what was written into it."""
    filled(place)
    state = Ledger(place).state()
    with file.open("ab") as end:
        end.write(b"\0" * 5000)
    assert Ledger(place).state() == state
    assert Ledger(place).intend("acme", uuid4(), None) == 4


def test_any_damage_before_the_last_line_is_noticed(place: Path, file: Path) -> None:
    """A changed byte, a line that is missing, and two that are exchanged: it is not read, and not written to."""
    filled(place, entries=4)
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    damaged = [b"".join(lines[:3] + lines[4:]), b"".join([*lines[:2], lines[3], lines[2], *lines[4:]])]
    last = len(whole) - len(lines[-1])
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, last, 7)]
    for content in damaged:
        file.write_bytes(content)
        with pytest.raises(LedgerUnavailable, match="damaged"):
            Ledger(place).state()
        with pytest.raises(LedgerUnavailable, match="damaged"):
            Ledger(place).intend("acme", uuid4(), None)
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    "event",
    [
        {"entry": 2, "tenant": "acme"},
        {"entry": 2, "tenant": "acme", "key": "zoe", "records": None},
        {"entry": 2, "tenant": "acme", "key": 5, "records": None},
        {"entry": 2, "tenant": "acme", "key": None, "records": 5},
    ],
)
def test_an_entry_that_says_nothing_is_damage(place: Path, file: Path, event: dict[str, object]) -> None:
    """The checksum of a line is no secret: one that fits may be of a line that nobody here wrote."""
    filled(place, entries=1)
    checksum = int(file.read_bytes().splitlines()[-1][8:16], 16)
    with file.open("ab") as appended:
        appended.write(encode({"at": "2026-12-01T09:30:00+00:00", "events": [event, {"applied": 2}]}, checksum))
    assert len(Ledger(place).entries([1])) == 1
    with pytest.raises(LedgerUnavailable, match="damaged at byte"):
        Ledger(place).entries([1, 2])


def test_a_line_is_read_once_for_all_its_entries(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that was written back is one line, whose entries are asked for together, in any order."""
    begun(place)
    key = uuid4()
    removals = [Entry(number=0, tenant="acme", key=key, record_ids=(uuid4(),)) for _ in range(50)]
    numbers = Ledger(place).write_back(removals, above=0)
    read: list[bytes] = []

    def counted(line: bytes) -> list[Entry]:
        read.append(line)
        return entries(line)

    monkeypatch.setattr(journal, "entries", counted)
    asked = [*reversed(numbers), 999, numbers[3]]
    found = Ledger(place).entries(asked)
    assert [entry.number for entry in found] == [*reversed(numbers), numbers[3]]
    assert len(read) == 1


def test_an_unfinished_first_line_is_no_ledger(place: Path, file: Path) -> None:
    """Whoever died while making it has left nothing; the next one makes it."""
    begun(place)
    whole = file.read_bytes()
    for cut in (0, 1, len(whole) - 1):
        file.write_bytes(whole[:cut])
        assert Ledger(place).state() is None
    assert (Ledger(place).begin()).last == 0


def test_a_format_of_another_release(place: Path, file: Path) -> None:
    """What a newer release has written is not guessed at."""
    begun(place)
    newer = {**header_content(Header(ledger_id=uuid4(), replaces=frozenset())), "format": 2}
    file.write_bytes(encode(newer, 0))
    with pytest.raises(LedgerUnavailable, match="format 2"):
        Ledger(place).state()


def test_one_that_is_exchanged_in_use_is_noticed(place: Path, file: Path) -> None:
    """Moved away, put back from a copy, or cut short: whoever had it open writes nothing more, and serves nothing."""
    ledger = filled(place)
    copy = file.read_bytes()
    file.rename(file.with_name("away"))
    with pytest.raises(LedgerUnavailable, match="gone"):
        ledger.state()
    file.write_bytes(copy)
    with pytest.raises(LedgerUnavailable, match="exchanged"):
        ledger.intend("acme", uuid4(), None)
    file.unlink()
    file.with_name("away").rename(file)
    assert ledger.intend("acme", uuid4(), None) == 4
    os.truncate(file, len(copy) - 5)
    with pytest.raises(LedgerUnavailable, match="cut short"):
        ledger.state()


def test_another_file_with_a_longer_content_is_not_cut(place: Path, file: Path) -> None:
    """Overwritten in place, the file does not fit what was read before, and an append leaves it alone."""
    ledger = filled(place, entries=1)
    other = begun(place.with_name("other"))
    other.intend("x" * 5000, uuid4(), None)
    content = b"".join((place.with_name("other") / file.name).read_bytes().splitlines(keepends=True)[:1])
    content += b"x" * 5000
    file.write_bytes(content)
    with pytest.raises(LedgerUnavailable, match="damaged"):
        ledger.intend("acme", uuid4(), None)
    assert file.read_bytes() == content


def test_removals_are_written_back_under_numbers_of_their_own(place: Path) -> None:
    """They are applied from the start, come after every number that a database has seen, and say what they are of."""
    ledger = filled(place)
    removals = [Entry(number=2, tenant="acme", key=uuid4(), record_ids=(uuid4(),)) for _ in range(300)]
    numbers = ledger.write_back(removals, above=9)
    assert numbers == list(range(10, 310))
    again = Ledger(place)
    state = again.state()
    assert state is not None
    assert (state.last, state.applied, state.unapplied, state.in_flight) == (309, 303, frozenset(range(4, 10)), ())
    assert [entry.target for entry in again.entries(numbers)] == [entry.target for entry in removals]
    assert again.entries([4, 9]) == []
    assert again.write_back([], above=309) == []
    assert again.intend("acme", uuid4(), None) == 310


def test_a_ledger_that_stands_for_lost_ones(place: Path) -> None:
    """It says which, so that a database which belongs to them is known."""
    lost = {UUID(int=1), UUID(int=2)}
    ledger = Ledger(place)
    ledger.begin(lost)
    assert (Ledger(place).begin()).replaces == lost
