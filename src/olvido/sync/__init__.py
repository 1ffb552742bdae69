"""Olvido without async: the same calls with the same signatures, for scripts, threads and notebooks.

with olvido.sync.open() as memory:
    ana = memory.scope(tenant="acme", subject="ana")
    ana.remember("prefers aisle seats")
    print(ana.recall("which seat?"))
"""

from olvido.sync.memory import Memory, ScopedMemory, SessionMemory
from olvido.sync.opening import open  # noqa: A004 - `olvido.sync.open()` reads as what it does

__all__ = ["Memory", "ScopedMemory", "SessionMemory", "open"]
