"""A receipt says what was measured and what is open, proves who said it, and holds nothing of what was forgotten."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

import olvido
from olvido import verify_receipt
from olvido.adapters.keys import KeyDirectory
from olvido.adapters.languages import Languages
from olvido.domain.erasure import Level, StepStatus
from olvido.domain.erasure_status import ErasureStatus
from olvido.domain.receipt import RECEIPT_TYPE
from olvido.errors import InvalidInput, InvalidReceipt, InvalidScope, NotFound, UnsafeDatabase
from tests.adapters.forgery import FORGERIES, Forge, part
from tests.conftest import Clone
from tests.erasure.audited import World
from tests.operations.word_embedder import WordEmbedder
from tests.storage.support import CONFIRMED, administer, rows

SUBJECT = "ana-8731@example.com"
WORDS = "prefers the zebra seat"


@pytest.fixture
async def memory(world: World) -> AsyncIterator[olvido.Memory]:
    """An open memory that knows a place for its keys."""
    async with world.open() as opened:
        yield opened


async def forgotten(memory: olvido.Memory) -> olvido.ForgetReport:
    """Somebody with a note and two versions of a language, forgotten."""
    person = memory.scope(tenant="acme", subject=SUBJECT)
    await person.remember(WORDS)
    await person.set_preference("language", "pt", origin=CONFIRMED)
    await person.correct_preference("language", "es", origin=CONFIRMED)
    return await person.forget_all()


async def receipt_of(memory: olvido.Memory, report: olvido.ForgetReport) -> str:
    """The receipt of a report."""
    assert report.erasure_id is not None
    return await memory.receipt("acme", report.erasure_id)


def published(world: World) -> dict[str, Any]:
    """What whoever verifies was given."""
    return KeyDirectory(world.keys).published()


def read(world: World, token: str) -> olvido.Receipt:
    """What a receipt says, verified."""
    return verify_receipt(token, published(world)).receipt


async def test_a_receipt_says_what_the_report_says(memory: olvido.Memory, world: World) -> None:
    """Counts, plan, instants and every step, those outside with holder and due date; its key is one that is over."""
    report = await forgotten(memory)
    token = await receipt_of(memory, report)
    verified = verify_receipt(f" {token}\n", published(world))
    receipt = verified.receipt
    assert verified.key_id == published(world)["keys"][0]["kid"]
    assert (receipt.tenant, receipt.target, receipt.record_ids) == ("acme", "subject", ())
    assert (receipt.erasure_id, receipt.plan_hash) == (report.erasure_id, report.plan_hash)
    assert {name: count for name, count in receipt.removed.items() if count} == report.removed
    assert receipt.planned == {copy.copy: copy.planned for copy in report.copies}
    assert (receipt.requested_at, receipt.issued_at) == (report.requested_at, world.clock.now())
    assert (receipt.policy_version, receipt.issuer.version) == (memory.policy.version, olvido.__version__)
    assert receipt.status is ErasureStatus.ROWS_ABSENT
    steps = {step.step: step for step in receipt.steps}
    assert [(step.level, step.status) for step in receipt.steps[:3]] == [
        (Level.E1, StepStatus.ROWS_ABSENT),
        (Level.E2, StepStatus.OPEN),
        (Level.E3, StepStatus.OPEN),
    ]
    assert steps["rows"].settled_at == report.verified_at
    assert not any(dict(steps["rows"].evidence["remaining"]).values())  # type: ignore[call-overload]
    for outside in report.outside:
        step = steps[f"copy:{outside.copy}"]
        assert (step.level, step.holder, step.settled_at) == (outside.level, outside.holder, None)
        assert outside.due_at is None or step.deadline == outside.due_at
    with administer(world.clone) as connection:
        assert rows(connection, "SELECT FROM olvido.subjects WHERE subject_key = %s", [receipt.subject_key]) == []
        marks = rows(connection, "SELECT DISTINCT ledger_id FROM olvido.ledger_entries")
    assert marks == [(receipt.issuer.ledger_id,)]


async def test_a_receipt_holds_nothing_of_what_was_forgotten(memory: olvido.Memory) -> None:
    """Rule 24: no id of the person, no value, and no plain hash of either."""
    token = await receipt_of(memory, await forgotten(memory))
    said = token + part(token, 0).decode() + part(token, 1).decode()
    for secret in (SUBJECT, WORDS, "zebra", "8731"):
        assert secret not in said
        for kind in ("md5", "sha1", "sha256", "sha512"):
            digest = hashlib.new(kind, secret.encode()).digest()
            assert digest.hex() not in said.lower()
            assert base64.b64encode(digest).rstrip(b"=").decode() not in said


async def test_a_receipt_of_one_record_spreads_no_key_of_a_life_that_goes_on(
    memory: olvido.Memory, world: World
) -> None:
    """It names the record by its random id, and not the person, who is still remembered."""
    person = memory.scope(tenant="acme", subject=SUBJECT)
    note = (await person.remember(WORDS)).record
    await person.remember("prefers windows")
    token = await receipt_of(memory, await person.forget(note.record_id))
    receipt = read(world, token)
    assert (receipt.target, receipt.subject_key, receipt.record_ids) == ("record", None, (note.record_id,))
    with administer(world.clone) as connection:
        ((key,),) = rows(connection, "SELECT subject_key FROM olvido.subjects")
    assert str(key) not in part(token, 1).decode()


async def test_a_later_receipt_says_how_far_it_has_come(memory: olvido.Memory, world: World) -> None:
    """What is settled, with its evidence and instants; what is in the way; the old receipt stays what it was."""
    report = await forgotten(memory)
    before = await receipt_of(memory, report)
    with administer(world.clone) as connection:
        connection.execute(
            """UPDATE olvido.erasure_steps SET status = 'verified', settled_at = '2026-01-02T00:00:00Z', attempts = 2,
                      evidence = '{"lsn": "0/1A2B", "pages": 12345678901234567890, "share": 0.5}'
                WHERE step IN ('files', 'log')"""
        )
        connection.execute(
            "UPDATE olvido.erasure_steps SET blocker = 'slot backup_1 is behind' WHERE step = 'copy:database-backups'"
        )
    receipt = read(world, await receipt_of(memory, report))
    assert receipt.status is ErasureStatus.LOCAL_VERIFIED_EXTERNAL_OPEN
    files = next(step for step in receipt.steps if step.step == "files")
    assert (files.status, files.attempts) == (StepStatus.VERIFIED, 2)
    # A whole number that readers of JSON disagree on is text.
    assert files.evidence == {"lsn": "0/1A2B", "pages": "12345678901234567890", "share": 0.5}
    assert [step.blocker for step in receipt.steps if step.blocker] == ["slot backup_1 is behind"]
    assert read(world, before).status is ErasureStatus.ROWS_ABSENT


async def test_a_receipt_outlives_the_key_that_signed_it(memory: olvido.Memory, world: World) -> None:
    """After a rotation the old one verifies with the published keys, and a new one is of the new key."""
    report = await forgotten(memory)
    old = await receipt_of(memory, report)
    given_before = published(world)
    KeyDirectory(world.keys).rotate()
    new = await receipt_of(memory, report)
    keys = [verify_receipt(token, published(world)).key_id for token in (old, new)]
    assert len(set(keys)) == 2
    with pytest.raises(InvalidReceipt, match="not among the published keys"):
        verify_receipt(new, given_before)


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, KeyDirectory]:
    """A receipt with its keys, made without any database."""
    keys = KeyDirectory(tmp_path_factory.mktemp("keys") / "keys")
    payload = {
        "receipt_version": 1,
        "issuer": {"name": "olvido", "version": "0.1.0", "ledger_id": str(UUID(int=1)), "ledger_entry": 4},
        "issued_at": "2026-01-01T00:00:00Z",
        "erasure_id": str(UUID(int=2)),
        "tenant": "acme",
        "target": "subject",
        "subject_key": str(UUID(int=3)),
        "record_ids": [],
        "version": None,
        "requested_at": "2026-01-01T00:00:00Z",
        "policy_version": "p",
        "plan_hash": "0" * 64,
        "planned": {"episodes": 1},
        "removed": {"episodes": 1},
        "held": 0,
        "status": "incomplete",
        "steps": [],
    }
    return keys.sign_now(spelt(payload), token_type=RECEIPT_TYPE), keys


def spelt(value: object, *, sort: bool = True, separators: tuple[str, str] = (",", ":")) -> bytes:
    """JSON, by default as the canonical form has it for plain values."""
    return json.dumps(value, sort_keys=sort, separators=separators).encode()


@pytest.mark.parametrize("forge, said", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_receipt_is_refused(genuine: tuple[str, KeyDirectory], forge: Forge, said: str) -> None:
    """Whatever was changed is one typed error, which says why and repeats nothing."""
    token, keys = genuine
    assert verify_receipt(token, keys.published()).receipt.tenant == "acme"
    with pytest.raises(InvalidReceipt, match=said) as caught:
        verify_receipt(forge(token, keys.published()["keys"][0]), keys.published())
    assert (caught.value.code, caught.value.exit_code) == ("invalid_receipt", 2)
    assert "acme" not in str(caught.value)


@pytest.mark.parametrize(
    "before, after", [(b'"held":0', b'"held":9'), (b"incomplete", b"local_veri"), (b"acme", b"zeta")]
)
def test_a_receipt_that_says_something_else_is_refused(
    genuine: tuple[str, KeyDirectory], before: bytes, after: bytes
) -> None:
    """A word or a number in it, under the signature that it had."""
    token, keys = genuine
    head, _, signature = token.split(".")
    payload = base64.urlsafe_b64encode(part(token, 1).replace(before, after)).rstrip(b"=").decode()
    with pytest.raises(InvalidReceipt, match="does not fit"):
        verify_receipt(f"{head}.{payload}.{signature}", keys.published())


OTHER_FORMS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "blanks": lambda payload: spelt(payload, separators=(", ", ": ")),
    "other order": lambda payload: spelt(dict(reversed(payload.items())), sort=False),
    "other escapes": lambda payload: spelt(payload).replace(b"acme", b"\\u0061cme"),
    "other number": lambda payload: spelt(payload).replace(b'"held":0', b'"held":0.0'),
    "other instant": lambda payload: spelt({**payload, "issued_at": "2026-01-01T00:00:00.000Z"}),
    "instant without zone": lambda payload: spelt({**payload, "issued_at": "2026-01-01T00:00:00"}),
    "a field more": lambda payload: spelt({**payload, "note": "complete"}),
    "a field twice": lambda payload: spelt(payload).replace(b'"held":0', b'"held":1,"held":0'),
    "a field less": lambda payload: spelt({name: value for name, value in payload.items() if name != "held"}),
    "another status": lambda payload: spelt({**payload, "status": "complete"}),
    "another version": lambda payload: spelt({**payload, "receipt_version": 2}),
    "a lone surrogate": lambda payload: spelt({**payload, "tenant": "\ud800"}),
    "deeply nested": lambda _: b"[" * 100_000,
    "no object": lambda _: b"1",
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("form", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_a_signed_statement_in_another_form_is_no_receipt(
    genuine: tuple[str, KeyDirectory], form: Callable[[dict[str, Any]], bytes]
) -> None:
    """Genuinely signed and not canonical, or with other fields: it is refused instead of being read in some way."""
    token, keys = genuine
    payload = json.loads(part(token, 1))
    other = keys.sign_now(form(payload), token_type=RECEIPT_TYPE)
    with pytest.raises(InvalidReceipt, match="another form than canonical JSON"):
        verify_receipt(other, keys.published())
    assert verify_receipt(keys.sign_now(spelt(payload), token_type=RECEIPT_TYPE), keys.published()).receipt.held == 0


def test_a_receipt_of_very_many_records_verifies(genuine: tuple[str, KeyDirectory]) -> None:
    """A hundred thousand record ids are no reason to refuse it."""
    token, keys = genuine
    payload = {**json.loads(part(token, 1)), "target": "selection", "subject_key": None}
    payload["record_ids"] = [str(UUID(int=number)) for number in range(100_000)]
    large = keys.sign_now(spelt(payload), token_type=RECEIPT_TYPE)
    assert len(verify_receipt(large, keys.published()).receipt.record_ids) == 100_000


def test_keys_that_are_none_are_refused(genuine: tuple[str, KeyDirectory]) -> None:
    """The set is wrong then, and not the receipt; an empty set knows no key."""
    token, _ = genuine
    with pytest.raises(InvalidInput, match="olvido keys publish"):
        verify_receipt(token, {})
    with pytest.raises(InvalidReceipt, match="not among the published keys"):
        verify_receipt(token, {"keys": []})


async def test_only_a_request_of_this_company_has_a_receipt(
    memory: olvido.Memory, clone: Clone, detector: Languages, world: World
) -> None:
    """A foreign request is a missing one; an id that is none and a login that is no worker's are refused."""
    report = await forgotten(memory)
    assert report.erasure_id is not None
    for tenant, erasure_id in (("zeta", report.erasure_id), ("acme", uuid4())):
        with pytest.raises(NotFound, match="no request to forget"):
            await memory.receipt(tenant, erasure_id)
    for tenant, erasure in (("", str(report.erasure_id)), ("acme", "17"), ("acme", "")):
        with pytest.raises(InvalidScope):
            await memory.receipt(tenant, erasure)
    opening = olvido.open(clone.app, embedder=WordEmbedder(), detector=detector, keys=world.keys)
    async with opening as request:
        with pytest.raises(UnsafeDatabase, match="olvido_worker"):
            await request.receipt("acme", report.erasure_id)


async def test_keys_are_not_in_the_database(memory: olvido.Memory, world: World) -> None:
    """A backup of the database holds no key: no relation has a word of the private one."""
    await receipt_of(memory, await forgotten(memory))
    await memory.seal_audit()
    private = json.loads((world.keys / "signing.jwk").read_text())["d"]
    with psycopg.connect(world.clone.superuser) as connection:
        names = connection.execute(
            "SELECT format('SELECT count(*) FROM %%I.%%I t WHERE position(%%L in t::text) > 0',"
            "              nspname, relname, %s::text)"
            "  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'olvido' AND c.relkind = 'r'",
            (private,),
        ).fetchall()
        assert len(names) > 10
        assert {connection.execute(query.encode()).fetchone() for (query,) in names} == {(0,)}


@pytest.mark.parametrize("token", [b"a.b.c", None, 5])
def test_a_receipt_is_text(world: World, token: Any) -> None:  # noqa: ANN401 - what a caller may pass
    """Bytes, as they are read of a file, and anything else get a typed error; so does a set that is none."""
    with pytest.raises(InvalidInput, match="text of one line"):
        verify_receipt(token, published(world))
    others: tuple[Any, ...] = (token, [], "{}")
    for jwks in others:
        with pytest.raises(InvalidInput, match="JSON object with a list"):
            verify_receipt("a.b.c", jwks)
