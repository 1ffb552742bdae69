"""Forgetting by words: search proposes, ids dispose, and a proposal is good for these ids, this person and a while."""

from __future__ import annotations

import base64
from datetime import timedelta
from importlib.resources import files
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import olvido
from olvido import Memory, Policy, Proposal, RecordKind, Status, load_policy
from olvido.domain.proposal import LIFETIME, seal, unseal
from olvido.errors import InvalidInput, InvalidValue, PlanChanged
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, DAY, START, fill, pages, person, policy_with
from tests.conftest import Clone

ADDRESSES = policy_with(
    "  display_name:\n",
    "  home_address:\n"
    "    description: Where the customer lives.\n"
    "    purpose: support\n"
    "    value: {type: text, max_length: 200}\n"
    "    origins: [declared]\n"
    "    retention: 30d\n"
    "    history_retention: 30d\n\n"
    "  display_name:\n",
)
LANE = "  invoice_address:\n    description: Where invoices go.\n    purpose: invoices\n"


def with_invoices(definition: str) -> Policy:
    """The default policy with a second purpose, and with a preference for it."""
    text = (files("olvido") / "default_policy.yaml").read_text(encoding="utf-8")
    purpose = "  invoices:\n    lawful_basis: legal-obligation\n    description: Write invoices.\n"
    text = text.replace("purposes:\n", f"purposes:\n{purpose}", 1)
    return load_policy(text.replace("preferences:\n", f"preferences:\n{definition}", 1), "changed.yaml")


def ids(proposal: Proposal) -> list[UUID]:
    """The records that are proposed, best match first."""
    return [record.record_id for record in proposal.records]


# case 47
async def test_words_propose_and_only_ids_forget(clone: Clone, clock: ManualClock) -> None:
    """Of "my address", home and delivery address are listed and neither removed; the one that is chosen goes alone."""
    opening = olvido.open(clone.app, worker_url=clone.worker, clock=clock, policy=ADDRESSES)
    async with opening as memory:
        ines, tomas = person(memory), person(memory, "tomas")
        for who in (ines, tomas):
            await who.set_preference("home_address", "4 Harbour Lane", origin=CONFIRMED)
            await who.set_preference("language", "pt", origin=CONFIRMED)
            await who.remember("deliver to the address 9 Mill Road")
            await who.remember("prefers aisle seats")
        neighbour = await tomas.checksums()
        delivery = (await pages(ines))[-1].record_id
        home = await ines.get_preference("home_address")
        assert home is not None
        before = await ines.checksums()
        proposal = await ines.propose_forget("my address")
        assert await ines.checksums() == before
        assert set(ids(proposal)) == {home.record_id, delivery}
        shown = {record.record_id: record for record in proposal.records}
        assert shown[home.record_id].kind is RecordKind.PREFERENCE
        assert "home_address = 4 Harbour Lane" in shown[home.record_id].label
        assert shown[delivery].text == "deliver to the address 9 Mill Road"
        report = await ines.forget_proposed(proposal.token, record_ids=[delivery])
        assert (report.target, report.status, report.removed["episodes"]) == ("selection", Status.ROWS_ABSENT, 1)
        assert await ines.get_preference("home_address") == home
        assert len(await pages(ines)) == 1
        assert await tomas.checksums() == neighbour
        # Again, as after an answer that was lost: what is gone is no error.
        again = await ines.forget_proposed(proposal.token, record_ids=[delivery])
        assert (again.found, again.removed) == (False, {})


async def test_what_was_said_in_sessions_is_proposed_as_well(memory: Memory, clock: ManualClock) -> None:
    """A message proposes its session and a fact itself, by words in any language; an expired session is not shown."""
    ines = person(memory)
    await ines.session("s1").extend([("user", "hello"), ("user", "Moro en la calle Molino"), ("user", "bye")])
    await ines.session("s2").append("user", "nothing of it")
    fact = await ines.session("s2").add_fact("lives in calle Molino 9", origin=CONFIRMED)
    await ines.session("s3").open(goal="calle Molino", expires_at=START + timedelta(minutes=1))
    clock.advance(timedelta(minutes=2))
    session = await ines.session("s1").read()
    proposal = await ines.propose_forget("calle molino")
    assert {record.record_id: (record.kind, record.text) for record in proposal.records} == {
        session.record_id: (RecordKind.SESSION, "Moro en la calle Molino"),
        fact.record_id: (RecordKind.FACT, "lives in calle Molino 9"),
    }
    report = await ines.forget_proposed(proposal.token, record_ids=ids(proposal))
    assert report.removed == {"sessions": 1, "messages": 3, "session_facts": 1}


@pytest.mark.parametrize("change", ["goal", "items", "fact", "message", "closed"])
async def test_a_session_that_changed_in_any_way_is_not_forgotten(memory: Memory, change: str) -> None:
    """Whatever was written into it since was not shown to whoever chose it."""
    session = person(memory).session("s1")
    await session.open(goal="my address is Harbour Lane")
    proposal = await person(memory).propose_forget("my address")
    await {
        "goal": lambda: session.set(goal="ship the contract"),
        "items": lambda: session.set(decisions=["keep the letter"]),
        "fact": lambda: session.add_fact("has a lawyer", origin=CONFIRMED),
        "message": lambda: session.append("user", "hello"),
        "closed": session.close,
    }[change]()
    with pytest.raises(PlanChanged):
        await person(memory).forget_proposed(proposal.token, record_ids=ids(proposal))
    assert (await session.read()).session_id == "s1"


async def test_records_that_say_the_same_are_proposed_one_by_one(memory: Memory) -> None:
    """What recall shows once is several records, and each has to be chosen."""
    ines = person(memory)
    noted = {(await ines.remember("the parking code is on the door")).record.record_id for _ in range(3)}
    proposal = await ines.propose_forget("parking code")
    assert set(ids(proposal)) == noted
    await ines.forget_proposed(proposal.token, record_ids=ids(proposal)[:2])
    assert [episode.record_id for episode in await pages(ines)] == ids(proposal)[2:]


async def test_what_is_kept_for_another_purpose_is_proposed(clone: Clone, clock: ManualClock) -> None:
    """A purpose keeps recall apart; it hides from nobody what is kept of them, nor does one that the policy dropped."""
    definition = f"{LANE}    value: {{type: text, max_length: 80}}\n    origins: [declared]\n    retention: 30d\n"
    policy = with_invoices(f"{definition}    history_retention: 30d\n")
    async with olvido.open(clone.app, worker_url=clone.worker, clock=clock, policy=policy) as memory:
        ines = person(memory)
        stored = await ines.set_preference("invoice_address", "4 Harbour Lane", origin=CONFIRMED)
        assert (await ines.recall("address")).preferences == ()
        assert ids(await ines.propose_forget("my address")) == [stored.record.record_id]
    async with olvido.open(clone.app, worker_url=clone.worker, clock=clock) as later:
        proposal = await person(later).propose_forget("my address")
        assert ids(proposal) == [stored.record.record_id]
        assert (await person(later).forget_proposed(proposal.token, record_ids=ids(proposal))).found


async def test_nothing_that_bears_on_it_is_nothing(memory: Memory) -> None:
    """Nothing is proposed for a person of whom nothing is stored, nor for words that nothing has to do with."""
    empty = await person(memory).propose_forget("my address")
    assert (empty.records, empty.token, empty.omitted) == ((), "", 0)
    ines = person(memory)
    await ines.remember("prefers aisle seats")
    nothing = await ines.propose_forget("quarterly turbine maintenance schedule")
    assert (nothing.records, nothing.omitted) == ((), 1)
    with pytest.raises(InvalidValue):
        await ines.propose_forget(" ")


async def test_only_what_was_proposed_can_be_chosen(memory: Memory) -> None:
    """An id that was not shown is refused with all the others, although the same caller may forget it by its id."""
    ines = person(memory)
    shown = (await ines.remember("the parking code is on the door")).record.record_id
    proposal = await ines.propose_forget("parking code")
    other = (await ines.remember("prefers aisle seats")).record.record_id
    before = await ines.checksums()
    for chosen in ([other], [shown, other], [shown, uuid4()]):
        with pytest.raises(InvalidInput, match="was not proposed"):
            await ines.forget_proposed(proposal.token, record_ids=chosen)
    with pytest.raises(InvalidInput):
        await ines.forget_proposed(proposal.token, record_ids=[])
    assert await ines.checksums() == before


async def test_a_proposal_is_of_one_person_and_one_policy(memory: Memory, clone: Clone, clock: ManualClock) -> None:
    """Another person, the same name elsewhere, a later life and another policy do not know the token."""
    ines = person(memory)
    proposals = []
    for who in (ines, person(memory, "tomas"), person(memory, tenant="norbrook")):
        await who.remember("the parking code is on the door")
        proposals.append(await who.propose_forget("parking code"))
    for foreign in proposals[1:]:
        with pytest.raises(InvalidInput, match="not the token"):
            await ines.forget_proposed(foreign.token, record_ids=ids(foreign))
    own = proposals[0]
    async with olvido.open(clone.app, clock=clock, policy=ADDRESSES) as later:
        with pytest.raises(InvalidInput, match="not the token"):
            await person(later).forget_proposed(own.token, record_ids=ids(own))
    await ines.forget_all()
    with pytest.raises(PlanChanged):
        await ines.forget_proposed(own.token, record_ids=ids(own))
    again = person(memory)
    await again.remember("the parking code is on the door")
    with pytest.raises(InvalidInput, match="not the token"):
        await again.forget_proposed(own.token, record_ids=ids(own))
    assert len(await pages(again)) == 1


async def test_a_proposal_ends_after_a_while(memory: Memory, clock: ManualClock) -> None:
    """By the clock of the database: a moment before its end it holds, at its end it does not."""
    ines = person(memory)
    for number in range(2):
        await ines.remember(f"the parking code is on the door {number}")
    proposal = await ines.propose_forget("parking code")
    assert proposal.expires_at == START + LIFETIME
    first, second = ids(proposal)
    clock.advance(LIFETIME - timedelta(microseconds=1))
    assert (await ines.forget_proposed(proposal.token, record_ids=[first])).found
    clock.advance(timedelta(microseconds=1))
    with pytest.raises(PlanChanged, match="too old"):
        await ines.forget_proposed(proposal.token, record_ids=[second])
    assert [episode.record_id for episode in await pages(ines)] == [second]


async def test_a_record_that_changed_since_is_not_forgotten(memory: Memory) -> None:
    """A corrected value and a session that went on are not what was shown; what did not change can still be chosen."""
    ines = person(memory)
    await ines.set_preference("display_name", "Harbour Ines", origin=CONFIRMED)
    await ines.session("s1").append("user", "call me Harbour Ines")
    note = (await ines.remember("goes by Harbour Ines")).record.record_id
    proposal = await ines.propose_forget("harbour ines")
    assert len(ids(proposal)) == 3
    changed = await ines.correct_preference("display_name", "Ines", origin=CONFIRMED)
    await ines.session("s1").append("user", "or Ines")
    session = await ines.session("s1").read()
    before = await ines.checksums()
    for chosen in (changed.record.record_id, session.record_id):
        with pytest.raises(PlanChanged, match="has changed"):
            await ines.forget_proposed(proposal.token, record_ids=[note, chosen])
    assert await ines.checksums() == before
    assert (await ines.forget_proposed(proposal.token, record_ids=[note])).removed["episodes"] == 1


async def test_a_token_holds_no_content(memory: Memory) -> None:
    """Ids, a number each, an instant and a seal: no word of what was proposed, or of who it is of."""
    ines = person(memory)
    await fill(ines, "harbour")
    proposal = await ines.propose_forget("harbour key")
    token = base64.urlsafe_b64decode(proposal.token + "=" * (-len(proposal.token) % 4))
    assert len(token) == 11 + 24 * len(proposal.records) + 32
    for word in (b"harbour", b"ines", b"altavela", b"key"):
        assert word not in token
    assert all(record.record_id.bytes in token for record in proposal.records)


LIFE = uuid4()


@given(
    states=st.dictionaries(st.uuids(), st.integers(0, 2**40), max_size=5),
    at=st.integers(0, 10_000),
    flip=st.integers(0, 10_000),
)
def test_a_token_is_read_whole_or_not_at_all(states: dict[UUID, int], at: int, flip: int) -> None:
    """What was sealed comes back as it was; with any bit changed, or any part cut off, nothing comes back."""
    token = seal(states, "altavela", LIFE, "p", expires_at=START + DAY)
    assert unseal(token, "altavela", LIFE, "p", now=START) == states
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    raw[at % len(raw)] ^= 1 << flip % 8
    for broken in (bytes(raw), bytes(raw)[: flip % len(raw)]):
        with pytest.raises(InvalidInput):
            unseal(base64.urlsafe_b64encode(broken).decode(), "altavela", LIFE, "p", now=START)


@pytest.mark.parametrize("token", ["", "x", "ü", "=", None, 7, "A" * 60, "_-" * 50])
def test_what_is_no_token_is_refused(token: object) -> None:
    """Any other text, or no text, gets the answer of a foreign token."""
    with pytest.raises(InvalidInput, match="not the token"):
        unseal(token, "altavela", uuid4(), "p", now=START)
