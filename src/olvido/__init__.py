"""Olvido: a governed memory layer for assistants. It remembers correctly and forgets correctly.

async with olvido.open() as memory:
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.remember("prefers aisle seats")
    print(await ana.recall("which seat?"))
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olvido.adapters.receipts import verify_receipt
    from olvido.bootstrap import open  # noqa: A004 - `olvido.open()` reads as what it does
    from olvido.domain.audit import Anchor, AuditChain, AuditProblem, AuditReport, SealReport
    from olvido.domain.context import ContextBlock
    from olvido.domain.erasure import Level, Step, StepStatus
    from olvido.domain.erasure_report import EraseReport, ErasureReport
    from olvido.domain.erasure_status import ErasureStatus
    from olvido.domain.export import Export, ImportedExport, ImportedRecord, LeftOut
    from olvido.domain.holds import HeldContent, Hold, HoldReleased, KeptRow
    from olvido.domain.instants import KEEP
    from olvido.domain.ledger import ReplayReport, RestoreReport
    from olvido.domain.origin import Origin, OriginClass
    from olvido.domain.policy import Policy
    from olvido.domain.policy_file import default_policy, load_policy
    from olvido.domain.proposal import Proposal, ProposedRecord
    from olvido.domain.ranking import ScoreParts, Strength
    from olvido.domain.recalled import Consult, Recall, RecallItem
    from olvido.domain.receipt import Receipt, VerifiedReceipt
    from olvido.domain.records import (
        Compaction,
        Episode,
        Fact,
        IndexState,
        Kind,
        Message,
        NewEpisode,
        NewPreference,
        Page,
        Preference,
        PreferenceVersion,
        RecordKind,
        Role,
        Session,
        SessionView,
        Summary,
        Written,
    )
    from olvido.domain.report import ForgetReport, HeldRecord, IndexReport, PurgeReport, Status
    from olvido.domain.scope import Scope
    from olvido.errors import OlvidoError
    from olvido.memory import Memory, ScopedMemory, SessionMemory
    from olvido.restoring import restore_check, restore_replay
    from olvido.storage.migrations import migrate
    from olvido.storage.swapping import SwappedLeaf, swap_leaf

    __version__: str

__all__ = [
    "KEEP",
    "Anchor",
    "AuditChain",
    "AuditProblem",
    "AuditReport",
    "Compaction",
    "Consult",
    "ContextBlock",
    "Episode",
    "EraseReport",
    "ErasureReport",
    "ErasureStatus",
    "Export",
    "Fact",
    "ForgetReport",
    "HeldContent",
    "HeldRecord",
    "Hold",
    "HoldReleased",
    "ImportedExport",
    "ImportedRecord",
    "IndexReport",
    "IndexState",
    "KeptRow",
    "Kind",
    "LeftOut",
    "Level",
    "Memory",
    "Message",
    "NewEpisode",
    "NewPreference",
    "OlvidoError",
    "Origin",
    "OriginClass",
    "Page",
    "Policy",
    "Preference",
    "PreferenceVersion",
    "Proposal",
    "ProposedRecord",
    "PurgeReport",
    "Recall",
    "RecallItem",
    "Receipt",
    "RecordKind",
    "ReplayReport",
    "RestoreReport",
    "Role",
    "Scope",
    "ScopedMemory",
    "ScoreParts",
    "SealReport",
    "Session",
    "SessionMemory",
    "SessionView",
    "Status",
    "Step",
    "StepStatus",
    "Strength",
    "Summary",
    "SwappedLeaf",
    "VerifiedReceipt",
    "Written",
    "__version__",
    "default_policy",
    "load_policy",
    "migrate",
    "open",
    "restore_check",
    "restore_replay",
    "swap_leaf",
    "verify_receipt",
]

_HOMES = {
    "olvido.adapters.receipts": ("verify_receipt",),
    "olvido.bootstrap": ("open",),
    "olvido.domain.audit": ("Anchor", "AuditChain", "AuditProblem", "AuditReport", "SealReport"),
    "olvido.domain.context": ("ContextBlock",),
    "olvido.domain.erasure": ("Level", "Step", "StepStatus"),
    "olvido.domain.erasure_report": ("EraseReport", "ErasureReport"),
    "olvido.domain.erasure_status": ("ErasureStatus",),
    "olvido.domain.export": ("Export", "ImportedExport", "ImportedRecord", "LeftOut"),
    "olvido.domain.holds": ("HeldContent", "Hold", "HoldReleased", "KeptRow"),
    "olvido.domain.instants": ("KEEP",),
    "olvido.domain.ledger": ("ReplayReport", "RestoreReport"),
    "olvido.domain.origin": ("Origin", "OriginClass"),
    "olvido.domain.policy": ("Policy",),
    "olvido.domain.policy_file": ("default_policy", "load_policy"),
    "olvido.domain.proposal": ("Proposal", "ProposedRecord"),
    "olvido.domain.ranking": ("ScoreParts", "Strength"),
    "olvido.domain.receipt": ("Receipt", "VerifiedReceipt"),
    "olvido.domain.recalled": ("Consult", "Recall", "RecallItem"),
    "olvido.domain.records": (
        "Compaction",
        "Episode",
        "Fact",
        "IndexState",
        "Kind",
        "Message",
        "NewEpisode",
        "NewPreference",
        "Page",
        "Preference",
        "PreferenceVersion",
        "RecordKind",
        "Role",
        "Session",
        "SessionView",
        "Summary",
        "Written",
    ),
    "olvido.domain.report": ("ForgetReport", "HeldRecord", "IndexReport", "PurgeReport", "Status"),
    "olvido.domain.scope": ("Scope",),
    "olvido.errors": ("OlvidoError",),
    "olvido.memory": ("Memory", "ScopedMemory", "SessionMemory"),
    "olvido.restoring": ("restore_check", "restore_replay"),
    "olvido.storage.migrations": ("migrate",),
    "olvido.storage.swapping": ("SwappedLeaf", "swap_leaf"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used: `olvido --help` must not pay for numpy, psycopg and pydantic."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - the point of this function

        return version("olvido")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'olvido' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the same

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
