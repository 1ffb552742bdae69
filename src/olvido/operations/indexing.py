"""Make a record findable: its words by language and its vector, written in the record's own transaction."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from olvido.domain.origin import OriginClass
from olvido.domain.records import IndexState, Kind
from olvido.errors import EmbedderUnavailable, InvalidValue
from olvido.operations.environment import Environment
from olvido.ports import Vector
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

log = logging.getLogger("olvido.index")

LANGUAGES = ("en", "es", "pt", "other")

_SQL = statements("index_entries")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A text made ready before the transaction, so that none is held open while an embedder works.

    embedding: None when the embedder failed; the record is stored all the same and text recall finds it.
    """

    text: str
    language: str
    embedder: str | None
    embedding: Vector | None

    @property
    def state(self) -> IndexState:
        """Whether recall will find the record by meaning."""
        return IndexState.TEXT_ONLY if self.embedding is None else IndexState.INDEXED


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What the index keeps of a record beside its text: the facts that decide whether it is eligible."""

    record_id: UUID
    kind: Kind
    definition: str
    purpose: str
    origin_class: OriginClass
    occurred_at: datetime
    expires_at: datetime | None
    case_id: str | None = None
    status: str | None = None


async def prepare(environment: Environment, text: str, *, language: str | None = None) -> Prepared:
    """Detect the language if it is not given, and embed. Raises InvalidValue for an unknown language."""
    if language is None:
        # Off the event loop: the first call loads a model, which takes about a second.
        language = await asyncio.to_thread(environment.detector.detect, text)
    elif language not in LANGUAGES:
        raise InvalidValue(f"language must be one of {', '.join(LANGUAGES)}, or None to have it detected.")
    try:
        vectors = await environment.embedder.embed_passages([text])
    except EmbedderUnavailable:
        log.warning("embedder unavailable", extra={"action": "index_gap", "embedder": environment.embedder.id})
        return Prepared(text=text, language=language, embedder=None, embedding=None)
    return Prepared(text=text, language=language, embedder=environment.embedder.id, embedding=vectors[0])


async def put(transaction: Transaction, entry: Entry, prepared: Prepared) -> None:
    """Write the index entry of a record, in the transaction that writes the record."""
    await transaction.run(
        _SQL["put"],
        record_id=entry.record_id,
        kind=entry.kind,
        definition=entry.definition,
        purpose=entry.purpose,
        case_id=entry.case_id,
        status=entry.status,
        origin_class=entry.origin_class,
        occurred_at=entry.occurred_at,
        expires_at=entry.expires_at,
        language=prepared.language,
        text=prepared.text,
        embedder=prepared.embedder,
        embedding=prepared.embedding,
    )
