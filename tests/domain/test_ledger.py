"""How a database and an erasure ledger go together, for every way in which one of them may lack something."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.ledger import Entry, LedgerState, Marks, Standing, explain, judge

OWN, LOST, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)


def ledger(last: int = 5, *, unapplied: tuple[int, ...] = (), in_flight: tuple[int, ...] = ()) -> LedgerState:
    """A ledger that replaces a lost one."""
    return LedgerState(
        ledger_id=OWN,
        replaces=frozenset({LOST}),
        last=last,
        unapplied=frozenset(unapplied),
        in_flight=in_flight,
        newest=(),
    )


def marks(*ledgers: UUID, applied: int = 5, newest: int = 5) -> Marks:
    """What a database has."""
    return Marks(ledgers=frozenset(ledgers), applied=applied, newest=newest)


@pytest.mark.parametrize(
    "state, found, inhabited, standing",
    [
        (ledger(), marks(OWN), None, Standing.FITS),
        (ledger(0), marks(OWN, applied=0, newest=0), None, Standing.FITS),
        (ledger(), marks(OWN, LOST), None, Standing.FITS),
        (ledger(unapplied=(2, 3)), marks(OWN, applied=3), None, Standing.FITS),
        (ledger(in_flight=(5,)), marks(OWN, applied=4, newest=4), None, Standing.FITS),
        # Committed, and the process died before it said so.
        (ledger(in_flight=(5,)), marks(OWN, applied=4), None, Standing.FITS),
        (None, marks(applied=0, newest=0), None, Standing.ADOPT),
        (None, marks(applied=0, newest=0), True, Standing.ADOPT),
        (ledger(0), marks(applied=0, newest=0), True, Standing.ADOPT),
        (ledger(), marks(applied=0, newest=0), False, Standing.ADOPT),
        (ledger(), marks(applied=0, newest=0), True, Standing.UNMARKED),
        (ledger(), marks(applied=0, newest=0), None, Standing.UNMARKED),
        (ledger(), marks(OWN, applied=4, newest=4), None, Standing.RESTORED),
        (ledger(), marks(OWN, applied=4), None, Standing.RESTORED),
        (ledger(), marks(OWN, applied=0, newest=0), False, Standing.RESTORED),
        (ledger(), marks(OWN, newest=6), None, Standing.OLDER_LEDGER),
        (ledger(0), marks(OWN, applied=0, newest=1), None, Standing.OLDER_LEDGER),
        (ledger(), marks(OWN, applied=3, newest=6), None, Standing.OLDER_LEDGER),
        (None, marks(OWN, applied=0, newest=0), False, Standing.NO_LEDGER),
        (ledger(), marks(OTHER), None, Standing.OTHER_LEDGER),
        (ledger(), marks(OWN, OTHER), None, Standing.OTHER_LEDGER),
        (ledger(0), marks(OTHER, applied=0, newest=0), False, Standing.OTHER_LEDGER),
        (ledger(), marks(LOST, applied=0, newest=0), None, Standing.REPLACED_LEDGER),
    ],
)
def test_every_pair_is_judged(
    state: LedgerState | None,
    found: Marks,
    inhabited: bool | None,  # noqa: FBT001 - a table of cases
    standing: Standing,
) -> None:
    """Only what fits is served, and what belongs to nothing yet may be adopted; each says where the ledger is."""
    assert judge(state, found, last=0 if state is None else state.last, inhabited=inhabited) is standing
    assert "/srv/ledger" in explain(standing, state, found, "/srv/ledger")


def test_what_others_forget_meanwhile_is_no_older_ledger() -> None:
    """An entry that the database had when it was read is in the ledger when that is read after it."""
    found = marks(OWN, newest=7)
    assert judge(ledger(), found, last=7, inhabited=None) is Standing.FITS
    assert judge(ledger(), found, last=6, inhabited=None) is Standing.OLDER_LEDGER


def test_both_ids_are_named() -> None:
    """Whoever has the wrong ledger has to find the right one."""
    said = explain(Standing.OTHER_LEDGER, ledger(), marks(OTHER, LOST), "/srv/ledger")
    assert str(OWN) in said
    assert str(OTHER) in said
    assert str(LOST) not in said


@given(
    last=st.integers(0, 30),
    numbers=st.sets(st.integers(1, 30)),
    had=st.sets(st.integers(1, 30)),
    open_=st.sets(st.integers(1, 30)),
)
def test_it_fits_only_if_nothing_applied_is_missing(
    last: int, numbers: set[int], had: set[int], open_: set[int]
) -> None:
    """Counting says the same as comparing number by number."""
    unapplied = {number for number in numbers if number <= last}
    in_flight = {number for number in open_ if number <= last} - unapplied
    state = ledger(last, unapplied=tuple(unapplied), in_flight=tuple(in_flight))
    applied = {number for number in range(1, last + 1) if state.is_applied(number)}
    assert len(applied) == state.applied
    found = Marks(ledgers=frozenset({OWN}), applied=len(had & applied), newest=max(had, default=0))
    right = (
        Standing.OLDER_LEDGER if max(had, default=0) > last else Standing.FITS if applied <= had else Standing.RESTORED
    )
    assert judge(state, found, last=last, inhabited=None) is right


def test_entries_of_one_target_are_told_by_it() -> None:
    """The order of records and the number do not count; everything else does."""
    first, second = UUID(int=8), UUID(int=9)
    entry = Entry(number=1, tenant="acme", key=first, record_ids=(first, second))
    assert Entry(number=2, tenant="acme", key=first, record_ids=(second, first)).target == entry.target
    others = [
        Entry(number=1, tenant="acme", key=first),
        Entry(number=1, tenant="acme", key=None),
        Entry(number=1, tenant="norbrook", key=first, record_ids=(first, second)),
        Entry(number=1, tenant="acme", key=second, record_ids=(first, second)),
        Entry(number=1, tenant="acme", key=first, record_ids=(first,)),
        Entry(number=1, tenant="acme", key=first, record_ids=(first,), version=1),
    ]
    assert len({entry.target, *(other.target for other in others)}) == 7
