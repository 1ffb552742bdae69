"""The Python face: `Memory` is one open store, `ScopedMemory` one person in it, `SessionMemory` one session."""

from olvido.memory.scoped import ScopedMemory
from olvido.memory.session import SessionMemory
from olvido.memory.store import Memory

__all__ = ["Memory", "ScopedMemory", "SessionMemory"]
