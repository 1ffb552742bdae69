"""Remove single records with everything derived from them: what purge, forget and overwriting have in common.

Each function first lets `storage.holds` keep what a legal hold names. Callers hold the records, or the life, against
writers, so that what is kept is what is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import psycopg

from olvido.errors import UnsafeDatabase
from olvido.storage.data_map import FORGOTTEN
from olvido.storage.database import Transaction
from olvido.storage.holds import has_holds, preserve, preserve_versions
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
    await preserve(transaction, ids)
    return Counter(
        preferences=await transaction.run(_PREFERENCES["forget"], record_ids=ids),
        preference_versions=await transaction.run(_PREFERENCES["forget_versions"], record_ids=ids),
        index_entries=await transaction.run(_INDEX["forget"], record_ids=ids),
    )


async def remove_episodes(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these episodes and their index entries, and rebuild the summaries that refer to them from what remains.

    The caller holds the episodes, and was alone with what derives from them (`reorganise`) before it took them: the
    other way round, a consolidation could wait for an episode while this waits for the consolidation.
    """
    ids = list(record_ids)
    await transaction.reorganise()
    await preserve(transaction, ids)
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
    ids = list(record_ids)
    await preserve(transaction, ids)
    return Counter(session_facts=await transaction.run(_SESSIONS["forget_fact"], record_ids=ids))


async def remove_sessions(transaction: Transaction, record_ids: Sequence[UUID]) -> Counter[str]:
    """Delete these sessions with their items, facts and messages, after whoever is writing to them."""
    ids = list(record_ids)
    await transaction.all(_SESSIONS["lock"], record_ids=ids)
    await preserve(transaction, ids)
    return Counter(
        messages=await transaction.run(_SESSIONS["forget_messages"], record_ids=ids),
        session_items=await transaction.run(_SESSIONS["forget_items"], record_ids=ids),
        session_facts=await transaction.run(_SESSIONS["forget_facts"], record_ids=ids),
        sessions=await transaction.run(_SESSIONS["forget"], record_ids=ids),
    )


async def remove_version(transaction: Transaction, record_id: UUID, version: int) -> int:
    """Delete one version of a chain; the others stay. Rows removed."""
    await preserve_versions(transaction, [(record_id, version)])
    return await transaction.run(_PREFERENCES["drop_version"], record_id=record_id, version=version)


async def remove_expired_versions(transaction: Transaction, batch: int) -> int:
    """Delete superseded versions whose own retention is over, at most `batch`. Rows removed."""
    if await has_holds(transaction):
        found = await transaction.all(_PREFERENCES["expired_versions"], batch=batch)
        versions = [(row["record_id"], row["version"]) for row in found]
        await preserve_versions(transaction, versions)
        return await transaction.run(
            _PREFERENCES["drop_versions"],
            record_ids=[record_id for record_id, _ in versions],
            versions=[version for _, version in versions],
        )
    return await transaction.run(_PREFERENCES["purge_versions"], batch=batch)


async def remove_life(transaction: Transaction) -> Counter[str]:
    """Delete everything of the life by the data map, its row in `subjects` last. Rows removed, by relation.

    Raises UnsafeDatabase if something that the data map does not name still refers to the life; nothing is removed.
    """
    removed: Counter[str] = Counter()
    await preserve(transaction, None)
    try:
        for relation in FORGOTTEN:
            removed[relation] = await transaction.run(_DATA_MAP[f"forget_{relation}"])
    except psycopg.errors.ForeignKeyViolation as error:
        raise UnsafeDatabase(
            f"The relation {error.diag.table_name} still refers to this life and is not in the data map. "
            "Nothing was removed; run `olvido doctor`."
        ) from None
    return removed
