"""What is kept beside the ledger so that opening does not read all of it: never trusted more than the file itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.adapters.ledger import checkpoint
from olvido.adapters.ledger.tally import Tally
from olvido.errors import LedgerUnavailable
from tests.adapters.ledger.support import Ledger, begun, filled

NAME = "checkpoint"
WORDS = st.lists(st.sampled_from(["applied", "withdrawn", "left", "skipped"]), max_size=30)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one whenever something was read."""
    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 0)


def lines_read(monkeypatch: pytest.MonkeyPatch, place: Path) -> int:
    """How many lines a new reader of the ledger counts."""
    counted = 0
    take = Tally.take

    def counting(self: Tally, line: bytes) -> bool:
        nonlocal counted
        counted += 1
        return take(self, line)

    with monkeypatch.context() as patch:
        patch.setattr(Tally, "take", counting)
        Ledger(place).state()
    return counted


def test_opening_reads_what_came_since(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """The second reader reads no line that the first one has read; the state is the same."""
    filled(place, entries=20)
    (place / NAME).unlink()
    assert lines_read(monkeypatch, place) == 41
    assert lines_read(monkeypatch, place) == 0
    state = Ledger(place).state()
    (place / NAME).unlink()
    assert Ledger(place).state() == state


def test_most_of_a_ledger_is_not_read_again(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """With the real size, a reader reads about as much as one checkpoint is apart from the next."""
    monkeypatch.setattr(checkpoint, "EVERY_BYTES", 2_000)
    filled(place, entries=60)
    assert 0 <= lines_read(monkeypatch, place) <= 30


@given(words=WORDS)
@settings(max_examples=40, deadline=None)
def test_it_adds_up_to_the_same(words: list[str]) -> None:
    """Whoever begins with a checkpoint at any line knows what one knows who reads all, and can go on from there."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "ledger"
        begun(place)
        for word in words:
            ledger = Ledger(place)
            if word == "skipped":
                state = ledger.state()
                assert state is not None
                ledger.write_back([], above=state.last + 2)
                continue
            number = ledger.intend("acme", uuid4(), None)
            if word == "applied":
                Ledger(place).applied(number)
            elif word == "withdrawn":
                Ledger(place).withdrawn(number)
        quick = Ledger(place)
        state = quick.state()
        (place / NAME).unlink(missing_ok=True)
        assert state == Ledger(place).state()
        assert state is not None
        every = range(1, state.last + 1)
        assert quick.entries(every) == Ledger(place).entries(every)


def test_entries_from_before_it_are_found(place: Path) -> None:
    """What an old entry says is read from the file, by its number, and so is one that is still under way."""
    ledger = begun(place)
    keys = [uuid4() for _ in range(6)]
    for key in keys:
        ledger.intend("acme", key, None)
    for number in (1, 2, 3, 5, 6):
        ledger.applied(number)
    assert [entry.key for entry in Ledger(place).entries([4])] == [keys[3]]
    assert [entry.key for entry in Ledger(place).entries([6, 1])] == [keys[5], keys[0]]
    assert Ledger(place).entries([7]) == []


def test_what_was_taken_back_before_it_can_still_be_applied(place: Path) -> None:
    """A removal that is found in the database counts, whatever its process said before it died."""
    ledger = begun(place)
    ledger.withdrawn(ledger.intend("acme", uuid4(), None))
    ledger.applied(ledger.intend("acme", uuid4(), None))
    Ledger(place).applied(1)
    state = Ledger(place).state()
    assert state is not None
    assert (state.unapplied, state.applied, state.newest) == (frozenset(), 2, (2, 1))
    (place / NAME).unlink()
    assert Ledger(place).state() == state


@pytest.mark.parametrize("damage", ["torn", "changed", "empty", "not json", "no checksum", "other members"])
def test_one_that_is_damaged_is_not_used(monkeypatch: pytest.MonkeyPatch, place: Path, damage: str) -> None:
    """It is a copy of what the file says, so the file is read instead."""
    filled(place, entries=5)
    state = Ledger(place).state()
    kept = (place / NAME).read_bytes()
    broken = {
        "torn": kept[:-5],
        "changed": kept.replace(b'"last":5', b'"last":6'),
        "empty": b"",
        "not json": b"00000000\n",
        "no checksum": kept[9:],
        "other members": b"6e0e3d2c\n{}",
    }[damage]
    assert broken != kept
    (place / NAME).write_bytes(broken)
    assert Ledger(place).state() == state
    (place / NAME).write_bytes(broken)
    assert lines_read(monkeypatch, place) == 11


def test_one_of_another_ledger_is_not_used(place: Path) -> None:
    """Nor one of a newer copy of the same ledger: the line that it ends with has to be in the file."""
    filled(place, entries=5)
    other = place.with_name("other")
    filled(other, entries=9)
    (place / NAME).write_bytes((other / NAME).read_bytes())
    state = Ledger(place).state()
    assert state is not None
    assert state.last == 5
    older = (place / "entries.jsonl").read_bytes()
    ledger = Ledger(place)
    for _ in range(3):
        ledger.applied(ledger.intend("acme", uuid4(), None))
    (place / "entries.jsonl").write_bytes(older)
    assert Ledger(place).state() == state


def test_damage_before_it_is_noticed_by_whoever_reads_all(place: Path) -> None:
    """Opening does not look there; `restore check`, and a line to be cut off, do."""
    file = place / "entries.jsonl"
    filled(place, entries=5)
    Ledger(place).state()
    file.write_bytes(file.read_bytes().replace(b'"acme"', b'"acne"', 1))
    state = Ledger(place).state()
    assert state is not None
    assert state.last == 5
    with pytest.raises(LedgerUnavailable, match="damaged"):
        Ledger(place).entries(range(1, 6))
    with file.open("ab") as end:
        end.write(b'{"sum":"')
    with pytest.raises(LedgerUnavailable, match="damaged"):
        Ledger(place).intend("acme", uuid4(), None)


def test_one_that_cannot_be_kept_is_done_without(place: Path) -> None:
    """A directory in its place, as after a mistake, costs time and nothing else."""
    filled(place, entries=3)
    (place / NAME).unlink()
    (place / NAME).mkdir()
    (place / NAME / "x").touch()
    ledger = Ledger(place)
    ledger.applied(ledger.intend("acme", uuid4(), None))
    state = Ledger(place).state()
    assert state is not None
    assert state.applied == 4
    assert {path.name for path in place.iterdir()} == {NAME, "entries.jsonl", ".gitignore"}
