"""Sealing as a duty: in batches, by several at once, through failures, with what it leaves outside the database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

import olvido
from olvido.adapters.anchors import FILE, AnchorFile
from olvido.adapters.keys import PUBLISHED, VARIABLE, KeyDirectory
from olvido.adapters.languages import Languages
from olvido.domain.audit import ROWS_A_SEAL
from olvido.errors import InvalidInput, InvalidScope, KeysUnavailable, UnsafeDatabase
from olvido.operations.diagnose import diagnose
from olvido.storage.queries import statements
from olvido.workers.duties import Did, DutyName, Seal, duties
from tests.adapters.forgery import b64, part
from tests.conftest import Clone
from tests.erasure.audited import World, act, fill, row_ids, tamper
from tests.operations.word_embedder import WordEmbedder
from tests.storage.support import administer, rows

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
SEALS = statements("audit_seals")


@pytest.fixture
async def memory(world: World) -> AsyncIterator[olvido.Memory]:
    """An open memory that knows a place for its keys."""
    async with world.open() as opened:
        yield opened


def anchors(world: World) -> list[bytes]:
    """What each line of the file of anchors says."""
    return [part(line, 1) for line in (world.keys / FILE).read_text().splitlines()]


async def problems(memory: olvido.Memory) -> list[str]:
    """What is wrong anywhere."""
    return [str(one.breach) for chain in (await memory.verify_audit()).chains for one in chain.problems]


async def test_a_large_audit_is_sealed_in_batches(memory: olvido.Memory, world: World) -> None:
    """A seal is over 1,000 rows at most, the oldest ids first; a limit ends it, and the next call goes on."""
    await act(memory, "acme", times=1)
    fill(world.clone, "acme", 2 * ROWS_A_SEAL + 498)
    seen: list[int] = []
    report = await memory.seal_audit(limit=1, progress=seen.append)
    assert (report.seals, report.rows, report.limit_reached, seen) == (1, ROWS_A_SEAL, True, [ROWS_A_SEAL])
    assert max(row_ids(world.clone, "acme", 1)) < min(row_ids(world.clone, "acme", None))
    report = await memory.seal_audit()
    assert (report.seals, report.rows, report.limit_reached) == (2, ROWS_A_SEAL + 500, False)
    verified: list[int] = []
    (chain,) = (await memory.verify_audit(progress=verified.append)).chains
    assert (chain.seals, chain.rows, chain.problems) == (3, 2 * ROWS_A_SEAL + 500, ())
    assert verified[-1] == chain.rows


async def test_several_sealers_make_one_chain(memory: olvido.Memory, world: World) -> None:
    """Eight at once, of two processes: each row is under one seal, the numbers have no gap, and the chain holds."""
    for tenant in ("acme", "zeta"):
        await act(memory, tenant, times=1)
        fill(world.clone, tenant, 4 * ROWS_A_SEAL)
    async with world.open() as other:
        sealing = [one.seal_audit(only_due=due) for one in (memory, other) for due in (True, False, True, False)]
        reports = await asyncio.gather(*sealing)
    with administer(world.clone) as connection:
        counted = rows(connection, "SELECT count(*), count(seal) FROM olvido.audit_log")
        seals = rows(connection, "SELECT tenant_id, array_agg(seal ORDER BY seal) FROM olvido.audit_seals GROUP BY 1")
    assert counted == [(sum(report.rows for report in reports),) * 2]
    assert all(numbers == list(range(1, len(numbers) + 1)) for _, numbers in seals)
    assert await problems(memory) == []


async def test_a_row_that_commits_late_comes_under_a_later_seal(memory: olvido.Memory, world: World) -> None:
    """Its id is older than some that are sealed, because its transaction took longer; nothing is broken by it."""
    await act(memory, "acme")
    async with await psycopg.AsyncConnection.connect(world.clone.superuser) as slow:
        await slow.execute(
            """INSERT INTO olvido.audit_log (tenant_id, audit_id, action, kind, counts, policy_version, at)
               VALUES ('acme', '00000000-0000-7000-8000-000000000001', 'written', 'note', '{}', 'p', now())"""
        )
        assert (await memory.seal_audit()).rows == len(row_ids(world.clone, "acme", 1))
        await slow.commit()
    assert (await memory.seal_audit()).rows == 1
    assert row_ids(world.clone, "acme", 2) < row_ids(world.clone, "acme", 1)
    assert await problems(memory) == []


async def test_a_company_is_looked_at_again_the_later_the_longer_it_is_quiet(
    memory: olvido.Memory, world: World
) -> None:
    """After half a minute where something just happened, after an hour at most; whoever asks for all gets all."""
    duty = Seal(memory)
    await act(memory, "acme", times=1)
    assert (await duty.run_once()).counts == {"seals": 1, "rows": 2, "companies": 1}
    person = memory.scope(tenant="acme", subject="ana")
    await person.remember("prefers windows")
    assert await duty.run_once() == Did()
    world.clock.advance(30 * SECOND)
    assert (await duty.run_once()).counts["rows"] == 1
    for waited, due in ((29, False), (1, True), (7 * 86_400, True), (3_599, False), (1, True)):
        world.clock.advance(waited * SECOND)
        assert (await memory.seal_audit(only_due=True)).companies == int(due), waited
    await person.remember("prefers the front")
    assert await duty.run_once() == Did()
    assert (await memory.seal_audit()).rows == 1


async def test_the_worker_has_the_duty(memory: olvido.Memory) -> None:
    """It is one of the duties that a worker does unless it is told to leave it."""
    assert DutyName.SEAL in [duty.name for duty in duties(memory, DutyName)]


async def test_a_head_whose_sealer_died_is_written_down_by_the_next(
    memory: olvido.Memory, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seal is committed and its anchor is not: the next look writes it down, though nothing is left to seal."""
    await act(memory, "acme")

    async def fail(*_: Any) -> None:  # noqa: ANN401 - whatever it is called with
        raise KeysUnavailable("The disk is full.")

    with monkeypatch.context() as failing:
        failing.setattr(AnchorFile, "append", fail)
        report = await memory.seal_audit()
        assert (report.seals, report.anchored, report.not_anchored) == (1, 0, 1)
        world.clock.advance(3_600 * SECOND)
        assert await Seal(memory).run_once() == Did(incomplete=True)
    assert not (world.keys / FILE).exists()
    async with world.open() as next_one:
        assert (await next_one.seal_audit()).anchored == 1
        assert (await next_one.seal_audit()).anchored == 0
        (chain,) = (await next_one.verify_audit()).chains
    assert (chain.anchored_seal, chain.problems) == (1, ())


async def test_without_a_place_for_keys_only_what_needs_them_fails(
    clone: Clone, detector: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealing and verifying go on, and say that no anchors are kept; receipts and accepting say what to name."""
    monkeypatch.delenv(VARIABLE, raising=False)
    opening = olvido.open(clone.app, worker_url=clone.worker, embedder=WordEmbedder(), detector=detector)
    async with opening as memory:
        await act(memory, "acme")
        report = await memory.scope(tenant="acme", subject="ana").forget_all()
        sealed = await memory.seal_audit()
        assert (sealed.seals, sealed.anchored, sealed.not_anchored) == (1, 0, 0)
        (chain,) = (await memory.verify_audit()).chains
        assert (chain.anchors, chain.anchored_seal, chain.problems) == (None, None, ())
        assert report.erasure_id is not None
        for call in (memory.receipt("acme", report.erasure_id), memory.accept_audit("acme")):
            with pytest.raises(KeysUnavailable, match=VARIABLE):
                await call


async def test_a_closed_company_is_sealed_and_verified(memory: olvido.Memory) -> None:
    """What was done in order to forget a company is part of its audit, also one that nobody ever wrote to."""
    await act(memory, "acme")
    for tenant in ("acme", "never-seen"):
        await memory.forget_tenant(tenant)
    await memory.seal_audit()
    found = {chain.tenant: chain for chain in (await memory.verify_audit()).chains}
    assert found.keys() == {"acme", "never-seen"}
    assert all(chain.rows and not chain.problems and not chain.unsealed_rows for chain in found.values())


async def test_anchors_survive_a_rotation_and_a_torn_line(memory: olvido.Memory, world: World) -> None:
    """Lines of the old key count; half a line of a process that died is dropped by the next one that writes."""
    await act(memory, "acme")
    await memory.seal_audit()
    KeyDirectory(world.keys).rotate()
    with (world.keys / FILE).open("a") as file:
        file.write("eyJhbGci")
    assert (await memory.verify_audit()).intact
    await memory.scope(tenant="acme", subject="ana").remember("prefers windows")
    await memory.seal_audit()
    report = await memory.verify_audit()
    assert (report.intact, report.unreadable_anchors, report.chains[0].anchors) == (True, 0, 2)
    assert len(anchors(world)) == 2


async def test_an_anchor_that_was_changed_is_found(memory: olvido.Memory, world: World, tmp_path: Path) -> None:
    """A line with another digest, of another key or of another kind is counted, and believed nowhere."""
    await act(memory, "acme")
    await memory.seal_audit()
    genuine = (world.keys / FILE).read_text()
    head, payload, signature = genuine.strip().split(".")
    assert '"tenant":"acme"' in part(genuine, 1).decode()
    stranger = KeyDirectory(tmp_path / "stranger").sign_now(part(genuine, 1), token_type="olvido-audit-anchor+jws")
    other_kind = KeyDirectory(world.keys).sign_now(part(genuine, 1), token_type="olvido-receipt+jws")
    for line in (f"{head}.{payload[:-4]}AAAA.{signature}", stranger, other_kind, "nonsense", ""):
        (world.keys / FILE).write_text(f"{genuine}{line}\n")
        for tenant in (None, "acme"):
            report = await memory.verify_audit(tenant)
            assert (report.intact, report.unreadable_anchors, report.chains[0].anchors) == (False, 1, 1), line
            assert report.chains[0].problems == ()


async def test_nothing_that_was_remembered_leaves_with_a_seal(memory: olvido.Memory, world: World) -> None:
    """Rule 24: seals and anchors hold numbers, digests of rows without content, and the names of companies."""
    await memory.scope(tenant="acme", subject="ana-8731@example.com").remember("prefers the zebra seat")
    await memory.seal_audit()
    with administer(world.clone) as connection:
        seals = str(rows(connection, "SELECT to_jsonb(s)::text FROM olvido.audit_seals s"))
        audit = str(rows(connection, "SELECT to_jsonb(l)::text FROM olvido.audit_log l"))
    for text in (seals, audit, *map(bytes.decode, anchors(world))):
        assert "8731" not in text
        assert "zebra" not in text


async def test_a_sealed_row_is_never_written_again(memory: olvido.Memory, world: World) -> None:
    """Not by the worker's role, who seals; requests neither read nor write seals."""
    await act(memory, "acme")
    await memory.seal_audit()
    with psycopg.connect(world.clone.worker, autocommit=True) as connection:
        connection.execute("SELECT set_config('olvido.tenant', 'acme', false)")
        assert connection.execute("UPDATE olvido.audit_log SET seal = 7").rowcount == 0
        for query in (
            "UPDATE olvido.audit_log SET action = 'other'",
            "DELETE FROM olvido.audit_log",
            "UPDATE olvido.audit_seals SET digest = 'x'",
            "DELETE FROM olvido.audit_seals",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(query.encode())
    with psycopg.connect(world.clone.app, autocommit=True) as connection:
        connection.execute("SELECT set_config('olvido.tenant', 'acme', false)")
        for query in ("SELECT seal FROM olvido.audit_seals", "SELECT due_at FROM olvido.sealing"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(query.encode())


async def test_calls_that_make_no_sense_are_refused(memory: olvido.Memory, clone: Clone, detector: Languages) -> None:
    """A limit of nothing, a company without a name, a login that is no worker's."""
    for limit in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput):
            await memory.seal_audit(limit=limit)  # type: ignore[arg-type]
    for call in (memory.seal_audit(tenant=" "), memory.verify_audit(""), memory.accept_audit("")):
        with pytest.raises(InvalidScope):
            await call
    async with olvido.open(clone.app, embedder=WordEmbedder(), detector=detector) as request:
        for refused in (request.seal_audit(), request.verify_audit()):
            with pytest.raises(UnsafeDatabase, match="olvido_worker"):
                await refused


async def test_sealing_and_verifying_read_by_index(memory: olvido.Memory, world: World) -> None:
    """As the worker's role, with most rows sealed: no statement of theirs reads an audit from end to end."""
    await act(memory, "acme", times=1)
    fill(world.clone, "acme", 5 * ROWS_A_SEAL)
    await memory.seal_audit()
    await memory.scope(tenant="acme", subject="ana").remember("prefers windows")
    with administer(world.clone) as connection:
        connection.execute("VACUUM ANALYZE olvido.audit_log, olvido.audit_seals, olvido.sealing")
    parameters = {"tenant": "acme", "after": 2, "batch": 1, "now": world.clock.now()}
    with psycopg.connect(world.clone.worker, autocommit=True) as connection:
        connection.execute("SELECT set_config('olvido.tenant', 'acme', false)")
        for name, index in (("unsealed", "audit_log_unsealed"), ("chain", "audit_log_seal")):
            explained = connection.execute(b"EXPLAIN " + SEALS[name].text, parameters).fetchall()
            plan = "\n".join(line for (line,) in explained)
            assert index in plan, plan
            assert "Seq Scan on audit_log" not in plan, plan


FOREIGN_LINES = {
    "a number beyond all": '{"tenant": "acme", "seal": 1e999, "digest": "0", "at": "2026-01-01T00:00:00Z"}',
    "a number in a text": '{"tenant": "acme", "seal": "9", "digest": "0", "at": "2026-01-01T00:00:00Z"}',
    "half a character": '{"tenant": "a\\ud800", "seal": 9, "digest": "0", "at": "2026-01-01T00:00:00Z"}',
    "a NUL": '{"tenant": "a\\u0000b", "seal": 9, "digest": "0", "at": "2026-01-01T00:00:00Z"}',
    "no time zone": '{"tenant": "acme", "seal": 9, "digest": "0", "at": "2026-01-01T00:00:00"}',
}


@pytest.mark.parametrize("says", FOREIGN_LINES.values(), ids=FOREIGN_LINES)
async def test_whatever_a_foreign_line_says_it_is_only_counted(memory: olvido.Memory, world: World, says: str) -> None:
    """Nothing that somebody wrote among the anchors keeps others from being compared, or a head from being anchored."""
    await act(memory, "acme")
    await memory.seal_audit()
    with (world.keys / FILE).open("a") as file:
        file.write(f"{b64(b'{}')}.{b64(says.encode())}.{b64(b'x')}\n")
    report = await memory.verify_audit()
    assert (report.unreadable_anchors, await problems(memory)) == (1, [])
    diagnosis = await diagnose(world.clone.app, world.clone.worker, anchors=AnchorFile(KeyDirectory(world.keys)))
    assert [finding.code for finding in diagnosis.findings if "anchor" in finding.code] == []
    assert (await memory.seal_audit()).anchored == 0


async def test_heads_are_anchored_anew_once_their_key_is_not_published(memory: olvido.Memory, world: World) -> None:
    """Where a stolen key was taken out, the next look at each company writes its head down with the new one."""
    await act(memory, "acme")
    await memory.seal_audit()
    keys = KeyDirectory(world.keys)
    keys.rotate()
    document = keys.published()
    (world.keys / PUBLISHED).write_text(json.dumps({"keys": document["keys"][:1]}))
    assert (await memory.seal_audit()).anchored == 1
    assert (await memory.seal_audit()).anchored == 0
    tamper(world.clone, b"DELETE FROM olvido.audit_log; DELETE FROM olvido.audit_seals")
    assert await problems(memory) == ["older_than_anchor"]


async def test_what_is_accepted_counts_whatever_the_clock_said_before(memory: olvido.Memory, world: World) -> None:
    """Anchors are in the order in which they were written: one of a clock that was ahead is not the later one."""
    await act(memory, "acme")
    await memory.seal_audit()
    world.clock.advance(30 * DAY)
    await act(memory, "acme")
    await memory.seal_audit()
    world.clock.advance(-20 * DAY)
    tamper(world.clone, b"DELETE FROM olvido.audit_log WHERE seal = 2; DELETE FROM olvido.audit_seals WHERE seal = 2")
    assert await problems(memory) == ["older_than_anchor"]
    await memory.accept_audit("acme")
    assert await problems(memory) == []


async def test_a_restore_nobody_told_of_is_found_however_far_the_chain_goes_on(
    memory: olvido.Memory, world: World
) -> None:
    """Somebody who looks at `olvido doctor` only later sees it all the same, until it is accepted."""
    for _ in range(2):
        await act(memory, "acme")
        await memory.seal_audit()
    tamper(world.clone, b"DELETE FROM olvido.audit_log WHERE seal = 2; DELETE FROM olvido.audit_seals WHERE seal = 2")
    told = []
    for _ in range(3):
        await act(memory, "acme")
        await memory.seal_audit()
        told += [await _told_by_doctor(world)]
    assert told == [["audit_differs_from_anchor"]] * 3
    await memory.accept_audit("acme")
    assert await _told_by_doctor(world) == []


async def _told_by_doctor(world: World) -> list[str]:
    found = await diagnose(world.clone.app, world.clone.worker, anchors=AnchorFile(KeyDirectory(world.keys)))
    return [finding.code for finding in found.findings if finding.code.startswith("audit_")]


async def test_a_clock_that_was_ahead_delays_no_seal(memory: olvido.Memory, world: World) -> None:
    """A company that was looked at in the future is due at once when the clock is right again."""
    await act(memory, "acme")
    world.clock.advance(30 * DAY)
    await memory.seal_audit(only_due=True)
    world.clock.advance(-30 * DAY)
    await act(memory, "acme", times=1)
    assert (await memory.seal_audit(only_due=True)).rows > 0


async def test_a_row_of_no_calendar_stops_nothing(memory: olvido.Memory, world: World) -> None:
    """Whatever instant somebody wrote into the audit of a company, all are sealed and verified."""
    for tenant in ("acme", "zeta"):
        await act(memory, tenant)
    await memory.seal_audit()
    for at in ("infinity", "-infinity", "4713-01-01 BC", "294276-01-01"):
        fill(world.clone, "acme", 1, at=at)
    (acme, zeta) = (await memory.verify_audit()).chains
    assert (acme.unsealed_rows, acme.oldest_unsealed_at, zeta.problems) == (4, None, ())
    assert (await memory.seal_audit()).rows == 4
    assert await problems(memory) == []
