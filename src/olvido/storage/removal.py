"""Remove single records with everything derived from them: what purge, forget and overwriting have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import psycopg

from olvido.errors import UnsafeDatabase
from olvido.storage.data_map import FORGOTTEN
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_DATA_MAP = statements("data_map")
_PREFERENCES = statements("preferences")
_EPISODES = statements("episodes")
_INDEX = statements("index_entries")
_SESSIONS = statements("sessions")
_SUMMARIES = statements("summaries")


async def remove_preferences(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these chains: head, all versions and index entry. Rows removed, by relation.

    The head goes first: a writer of the key holds it, and what that writer stored is then seen and removed as well.
    """
    ids = list(record_ids)
    return Counter(
        preferences=await transaction.run(_PREFERENCES["forget"], record_ids=ids),
        preference_versions=await transaction.run(_PREFERENCES["forget_versions"], record_ids=ids),
        index_entries=await transaction.run(_INDEX["forget"], record_ids=ids),
    )


async def remove_episodes(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these episodes and their index entries, and rebuild the summaries that refer to them from what remains."""
    ids = list(record_ids)
    await transaction.reorganise()
    touched = [row["summary_id"] for row in await transaction.all(_SUMMARIES["referring"], record_ids=ids)]
    removed = Counter(
        summary_sources=await transaction.run(_SUMMARIES["forget_references"], record_ids=ids),
        index_entries=await transaction.run(_INDEX["forget"], record_ids=ids),
        episodes=await transaction.run(_EPISODES["forget"], record_ids=ids),
    )
    if touched:
        removed["summaries"] = await transaction.run(_SUMMARIES["forget_empty"], record_ids=touched)
        await transaction.run(_SUMMARIES["rebuild"], record_ids=touched)
    return removed


async def remove_summaries(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these summaries and their references; their episodes stay."""
    ids = list(record_ids)
    return Counter(
        summary_sources=await transaction.run(_SUMMARIES["forget_sources"], record_ids=ids),
        summaries=await transaction.run(_SUMMARIES["forget"], record_ids=ids),
    )


async def remove_facts(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these facts; their sessions stay, with the messages that the facts refer to."""
    return Counter(session_facts=await transaction.run(_SESSIONS["forget_fact"], record_ids=list(record_ids)))


async def remove_sessions(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these sessions with their items, facts and messages, after whoever is writing to them."""
    ids = list(record_ids)
    await transaction.all(_SESSIONS["lock"], record_ids=ids)
    return Counter(
        messages=await transaction.run(_SESSIONS["forget_messages"], record_ids=ids),
        session_items=await transaction.run(_SESSIONS["forget_items"], record_ids=ids),
        session_facts=await transaction.run(_SESSIONS["forget_facts"], record_ids=ids),
        sessions=await transaction.run(_SESSIONS["forget"], record_ids=ids),
    )


async def remove_life(transaction: Transaction) -> Counter[str]:
    """Delete everything of the life by the data map, its row in `subjects` last. Rows removed, by relation.

    Raises UnsafeDatabase if something that the data map does not name still refers to the life; nothing is removed.
    """
    removed: Counter[str] = Counter()
    try:
        for relation in FORGOTTEN:
            removed[relation] = await transaction.run(_DATA_MAP[f"forget_{relation}"])
    except psycopg.errors.ForeignKeyViolation as error:
        raise UnsafeDatabase(
            f"The relation {error.diag.table_name} still refers to this life and is not in the data map. "
            "Nothing was removed; run `olvido doctor`."
        ) from None
    return removed
