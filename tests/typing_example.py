"""How Olvido reads in typed code. mypy checks every `assert_type`; a test runs it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

import olvido

JsonScalar = str | int | float | bool | None


async def example(memory: olvido.Memory) -> None:
    """Remember, correct and recall, with the type of everything that comes back."""
    confirmed = olvido.Origin.declared("user-confirmation", ref="turn-17")
    seen = olvido.Origin.observed("crm.lookup", at=datetime(2025, 12, 1, tzinfo=UTC))
    assert_type(confirmed.origin_class, olvido.OriginClass)

    ana = memory.scope(tenant="acme", subject="ana")
    assert_type(ana, olvido.ScopedMemory)
    assert_type(ana.scope, olvido.Scope)

    note = await ana.remember("prefers aisle seats")
    assert_type(note, olvido.Written[olvido.Episode])
    assert_type(note.record.fields, Mapping[str, JsonScalar])
    assert_type(note.index_state, olvido.IndexState)

    stated = await ana.set_preference("language", "pt", origin=confirmed)
    assert_type(stated, olvido.Written[olvido.Preference])
    assert_type(stated.record.value, JsonScalar)
    with ana.acting(confirmed) as acting:
        assert_type(acting, olvido.ScopedMemory)
        corrected = await acting.correct_preference("language", "en", expires_at=olvido.KEEP, expected_version=1)
    assert_type(corrected.record.expires_at, datetime | None)
    assert_type(await ana.get_preference("language"), olvido.Preference | None)
    assert_type(await ana.preferences(), tuple[olvido.Preference, ...])
    assert_type(await ana.history("language"), tuple[olvido.PreferenceVersion, ...])

    case = await ana.record_episode(
        "support-case",
        event_id="ev1",
        case_id="at1",
        status="lookup-failed",
        occurred_at=datetime(2025, 12, 1, tzinfo=UTC),
        fields={"summary": "cannot reach the course"},
        origin=seen,
    )
    assert_type(case.dropped, tuple[str, ...])
    assert_type(await ana.get_episode(case.record.record_id), olvido.Episode)
    page = await ana.episodes(limit=1)
    assert_type(page, olvido.Page[olvido.Episode])
    assert_type(page.next_cursor, str | None)

    session = ana.session("s1")
    assert_type(session, olvido.SessionMemory)
    assert_type(await session.open(goal="find a seat", constraints=["no phone calls"]), olvido.Session)
    assert_type(await session.append(olvido.Role.USER, "hello"), olvido.Message)
    assert_type(await session.append("assistant", "hello Ana"), olvido.Message)
    assert_type(await session.messages(), tuple[olvido.Message, ...])

    summaries = await ana.consolidate()
    assert_type(summaries, tuple[olvido.Summary, ...])
    assert_type(summaries[0].last_reported_status, str | None)

    recalled = await ana.recall("which seat?", kinds=[olvido.Kind.PREFERENCE, olvido.Kind.EPISODE])
    assert_type(recalled, olvido.Recall)
    assert_type(recalled.preferences, tuple[olvido.RecallItem[olvido.Preference], ...])
    assert_type(recalled.items, tuple[olvido.RecallItem[olvido.Episode], ...])
    assert_type(recalled.consult, tuple[olvido.Consult, ...])
    block = await ana.context("which seat?", max_tokens=600, session_id="s1")
    assert_type(block, olvido.ContextBlock)
    assert_type(block.included, tuple[UUID, ...])

    await forgetting(memory, ana, case.record.record_id)


async def forgetting(memory: olvido.Memory, ana: olvido.ScopedMemory, record_id: UUID) -> None:
    """Forget in every way there is, with what the law keeps."""
    hold = await memory.place_hold("acme", subject="ana", basis="file 7", review_at=datetime(2030, 1, 1, tzinfo=UTC))
    assert_type(hold, olvido.Hold)
    assert_type(await ana.forget(record_id), olvido.ForgetReport)
    proposal = await ana.propose_forget("my seat")
    assert_type(proposal.records, tuple[olvido.ProposedRecord, ...])
    chosen = [record.record_id for record in proposal.records]
    assert_type(await ana.forget_proposed(proposal.token, record_ids=chosen), olvido.ForgetReport)
    planned = await ana.forget_where(kind=olvido.RecordKind.SESSION, dry_run=True)
    assert_type(planned.held, tuple[olvido.HeldRecord, ...])
    assert_type(await ana.forget_where(kind="session", plan=planned), olvido.ForgetReport)
    assert_type(await memory.hold_content("acme", hold.hold_id), olvido.HeldContent)
    assert_type(await memory.holds("acme"), tuple[olvido.Hold, ...])
    assert_type(await memory.release_hold("acme", hold.hold_id), olvido.HoldReleased)
    report = await ana.forget_all(dry_run=True)
    assert_type(report.status, olvido.Status)
    assert_type(report.removed, dict[str, int])
    assert_type(await memory.purge_expired(), olvido.PurgeReport)
    assert_type(await memory.forget_tenant("acme"), olvido.ForgetReport)
