"""Whom the connectors of these tests are asked about."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from olvido.connectors import Target

LIFE = UUID("019f0000-0000-7000-8000-000000000001")
OTHER_LIFE = UUID("019f0000-0000-7000-8000-000000000002")
REQUEST = UUID("019f0000-0000-7000-8000-0000000000ee")
BEFORE = datetime(2026, 1, 1, 12, tzinfo=UTC)


def target(
    subject: str = "ana", tenant: str = "acme", *, key: UUID = LIFE, record_ids: tuple[UUID, ...] | None = None
) -> Target:
    """Everything of one person, or some records."""
    return Target(tenant=tenant, subject=subject, key=key, record_ids=record_ids, erasure_id=REQUEST, before=BEFORE)
