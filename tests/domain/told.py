"""Episodes, items and entries to test with, made without a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from olvido.domain.origin import Origin
from olvido.domain.ranking import Strength
from olvido.domain.recalled import Recall, RecallItem, episode_label
from olvido.domain.records import Episode, JsonScalar
from olvido.domain.scope import Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SAID = Origin.declared("user-request")
SEEN = Origin.observed("crm.lookup")
GUESSED = Origin.inferred("mem0")


def episode(
    number: int,
    *,
    definition: str = "note",
    case_id: str | None = None,
    status: str | None = None,
    origin: Origin = SAID,
    day: int = 0,
    event_id: str | None = None,
    fields: dict[str, JsonScalar] | None = None,
    text: str | None = None,
) -> Episode:
    """One that happened `day` days after START, with the record id `number`."""
    return Episode(
        record_id=UUID(int=number),
        definition=definition,
        event_id=event_id or f"e{number}",
        case_id=case_id,
        status=status,
        fields=fields if fields is not None else {} if text is None else {"text": text},
        language="other",
        purpose="support",
        origin=origin,
        occurred_at=START + day * DAY,
        recorded_at=START + day * DAY,
        expires_at=None,
        policy_version="sha256:0",
        untrusted=definition.endswith("note"),
    )


def item(record: Episode, *, score: float = 0.5, strength: Strength = Strength.MATCH) -> RecallItem[Episode]:
    """What recall would make of it."""
    return RecallItem(
        record=record, label=episode_label(record, strength=strength), strength=strength, score=score, parts=None
    )


def text_of(record: Episode) -> str:
    """All fields, one a line."""
    return "\n".join(str(value) for value in record.fields.values())


def recall(items: Sequence[RecallItem[Episode]]) -> Recall:
    """An answer with these episodes."""
    return Recall(
        scope=Scope(tenant="altavela", subject="ines"),
        purpose="support",
        policy_version="sha256:0",
        now=START,
        preferences=(),
        items=tuple(items),
        consult=(),
        omitted=0,
        text_only=False,
        unindexed=0,
    )
