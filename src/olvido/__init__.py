"""Olvido: a governed memory layer for assistants. It remembers correctly and forgets correctly.

async with olvido.open() as memory:
    ana = memory.scope(tenant="acme", subject="ana")
    await ana.remember("prefers aisle seats")
    print(await ana.recall("which seat?"))
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olvido.bootstrap import open  # noqa: A004 - `olvido.open()` reads as what it does
    from olvido.domain.context import ContextBlock
    from olvido.domain.export import Export, ImportedExport, ImportedRecord, LeftOut
    from olvido.domain.instants import KEEP
    from olvido.domain.origin import Origin, OriginClass
    from olvido.domain.policy import Policy
    from olvido.domain.policy_file import default_policy, load_policy
    from olvido.domain.ranking import ScoreParts, Strength
    from olvido.domain.recalled import Consult, Recall, RecallItem
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
        Role,
        Session,
        SessionView,
        Summary,
        Written,
    )
    from olvido.domain.report import ForgetReport, IndexReport, PurgeReport, Status
    from olvido.domain.scope import Scope
    from olvido.errors import OlvidoError
    from olvido.memory import Memory, ScopedMemory, SessionMemory
    from olvido.storage.migrations import migrate

    __version__: str

__all__ = [
    "KEEP",
    "Compaction",
    "Consult",
    "ContextBlock",
    "Episode",
    "Export",
    "Fact",
    "ForgetReport",
    "ImportedExport",
    "ImportedRecord",
    "IndexReport",
    "IndexState",
    "Kind",
    "LeftOut",
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
    "PurgeReport",
    "Recall",
    "RecallItem",
    "Role",
    "Scope",
    "ScopedMemory",
    "ScoreParts",
    "Session",
    "SessionMemory",
    "SessionView",
    "Status",
    "Strength",
    "Summary",
    "Written",
    "__version__",
    "default_policy",
    "load_policy",
    "migrate",
    "open",
]

_HOMES = {
    "olvido.bootstrap": ("open",),
    "olvido.domain.context": ("ContextBlock",),
    "olvido.domain.export": ("Export", "ImportedExport", "ImportedRecord", "LeftOut"),
    "olvido.domain.instants": ("KEEP",),
    "olvido.domain.origin": ("Origin", "OriginClass"),
    "olvido.domain.policy": ("Policy",),
    "olvido.domain.policy_file": ("default_policy", "load_policy"),
    "olvido.domain.ranking": ("ScoreParts", "Strength"),
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
        "Role",
        "Session",
        "SessionView",
        "Summary",
        "Written",
    ),
    "olvido.domain.report": ("ForgetReport", "IndexReport", "PurgeReport", "Status"),
    "olvido.domain.scope": ("Scope",),
    "olvido.errors": ("OlvidoError",),
    "olvido.memory": ("Memory", "ScopedMemory", "SessionMemory"),
    "olvido.storage.migrations": ("migrate",),
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
