"""Take the export of one person into a scope, under the policy in force here, all or nothing (rules 11, 12 and 20)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

from olvido.domain.export import ImportedExport
from olvido.domain.export_document import ExportDocument, read_export
from olvido.errors import InvalidInput, OriginNotGranted, Refused
from olvido.operations.consent import forgotten_records, refuse_ended, revoked_records
from olvido.operations.environment import Caller, Environment
from olvido.operations.import_episodes import EPISODES, AdmittedEpisode, admit_episode, store_episodes
from olvido.operations.import_preferences import HEADS, AdmittedPreference, admit_preference, store_preference
from olvido.operations.import_tally import FORGOTTEN, IN_USE, Tally
from olvido.operations.indexing import Prepared, prepare_many
from olvido.storage.database import Transaction
from olvido.storage.queries import statements

_SQL = statements("records")

AT_ONCE = 1000
"""Texts embedded in one call."""


async def import_export(
    environment: Environment, caller: Caller, document: object, *, new_consent: bool = False
) -> ImportedExport:
    """Store what `document` holds in this scope: `Export.document`, or its file as `json.load` gives it.

    Everything is admitted and screened anew by the policy in force: records, versions and fields that it does not
    allow are left out and named. Origins, event times and record ids stay as they are; record times and policy versions
    are those of this import, and nothing lives longer than the export or this policy says. A value that stands here
    and is newer stays; the history of the export comes along only where no value stands. Summaries and index entries
    are made anew (call `consolidate`). Sessions stay out: they are short-term state of a conversation elsewhere.

    All of it is stored in one transaction, or nothing. A second import of the same export changes nothing.

    What was forgotten is not revived: raises ConsentNeeded if the life that the export is of was forgotten in this
    tenant, or a life here that took an export of it in. Single records are left out that were forgotten in one of
    these, or in whatever life of this tenant had them, since somebody here last took them in. new_consent: the person
    consented again, so nobody asks. Asking takes a worker's login, which may read the audit log.
    Raises InvalidInput and InvalidValue for what is no export, OriginNotGranted if one of its origin classes is not
    granted to this caller, UnsafeDatabase without a worker's login, SubjectForgotten, TenantClosed, Conflict.
    """
    tally = Tally()
    # Off the event loop: a thousand long texts take a while to be looked through for secrets.
    export, preferences, episodes = await asyncio.to_thread(_admit, environment, caller, document, tally)
    await environment.database.pin(caller.life)
    prepared = await _prepared(environment, preferences, episodes)
    life = export.manifest.life
    if life is not None and prepared:
        async with environment.database.write(caller.life) as transaction:
            # First, so that a forget of a record of this life is over before the look at the audit log, or waits.
            await transaction.reorganise()
            names = {one.row.record_id: (one.rule.key, None) for one in preferences} | {
                one.row.record_id: (one.report.rule.definition, one.report.event_id) for one in episodes
            }
            found = await transaction.all(_SQL["standing"], record_ids=list(names))
            standing = {row["record_id"]: (row["name"], row["event_id"]) for row in found}
            leaving = {record_id: IN_USE for record_id, name in standing.items() if name != names[record_id]}
            if not new_consent:
                gone = await _gone(environment, transaction, export, life, ids=names, standing=standing)
                leaving |= dict.fromkeys(gone, FORGOTTEN)
            for one, ready in zip(preferences, prepared, strict=False):
                if one.row.record_id in leaving:
                    tally.leave(HEADS, one.rule.key, one.row.record_id, leaving[one.row.record_id])
                else:
                    await store_preference(environment, transaction, one, ready, tally)
            pairs = list(zip(episodes, prepared[len(preferences) :], strict=True))
            await store_episodes(environment, transaction, pairs, leaving, tally)
            if tally.written:
                # Under the life that the export is of: how a later import finds that it was forgotten here.
                await transaction.audit(
                    "imported",
                    "subject",
                    policy_version=environment.policy.version,
                    record_id=life,
                    counts=tally.written,
                )
    return ImportedExport(
        written=dict(tally.written),
        unchanged=dict(tally.unchanged),
        left_out=tuple(tally.left_out),
        not_imported={"sessions": len(export.records.sessions), "summaries": len(export.records.summaries)},
        dropped=dict(sorted(tally.dropped.items())),
        masked=dict(sorted(tally.masked.items())),
        text_only=tally.text_only,
        policy_from=export.manifest.policy.version,
        policy_version=environment.policy.version,
    )


def _admit(
    environment: Environment, caller: Caller, document: object, tally: Tally
) -> tuple[ExportDocument, list[AdmittedPreference], list[AdmittedEpisode]]:
    """What the rules let through; nothing is read or written. Raises OriginNotGranted."""
    export = read_export(document)
    preferences: list[AdmittedPreference] = []
    episodes: list[AdmittedEpisode] = []
    for row in export.records.preferences:
        try:
            preferences.append(admit_preference(environment, caller, row, tally))
        except OriginNotGranted:
            raise
        except (Refused, InvalidInput) as error:
            tally.leave(HEADS, row.key, row.record_id, error.code)
    for each in export.records.episodes:
        try:
            episodes.append(admit_episode(environment, caller, each))
        except OriginNotGranted:
            raise
        except (Refused, InvalidInput) as error:
            tally.leave(EPISODES, each.definition, each.record_id, error.code)
    return export, preferences, episodes


async def _prepared(
    environment: Environment, preferences: Sequence[AdmittedPreference], episodes: Sequence[AdmittedEpisode]
) -> list[Prepared]:
    """Embedded before the transaction, so that none is held open meanwhile: preferences first, then episodes."""
    texts = [one.text for one in preferences] + [one.report.text for one in episodes]
    languages = ["other"] * len(preferences) + [one.row.language for one in episodes]
    cases = [None] * len(preferences) + [one.report.case_id for one in episodes]
    kinds = [None] * len(preferences) + [one.report.rule.definition for one in episodes]
    prepared: list[Prepared] = []
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        prepared += await prepare_many(environment, texts[part], languages[part], cases[part], kinds[part])
    return prepared


async def _gone(
    environment: Environment,
    transaction: Transaction,
    export: ExportDocument,
    life: UUID,
    *,
    ids: Collection[UUID],
    standing: Collection[UUID],
) -> frozenset[UUID]:
    """Which records were forgotten. Raises ConsentNeeded if all of them were, with their life.

    standing: those that are stored in this scope, which a forget elsewhere does not concern.
    """
    tenant = transaction.tenant
    await refuse_ended(environment, tenant, life)
    lives = [life] if transaction.key is None else [life, transaction.key]
    gone = await forgotten_records(environment, tenant, lives, ids, after=export.manifest.exported_at)
    return gone | (await revoked_records(environment, tenant, ids) - frozenset(standing))
