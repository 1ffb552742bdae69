"""Connectors to pass to `olvido.open(connectors=...)`; the protocol `Connector` is what one of your own has to be.

crm = HttpCopy("https://crm.example/erasure", key=os.environ["CRM_KEY"])
async with olvido.open(policy="my-policy.yaml", connectors={"crm": crm}) as memory: ...

The policy names them: `connector: {type: registered, name: crm}`. `ValkeySessions` also is what to pass as `cache`.
"""

from olvido.adapters.copies.directory import DirectoryFiles
from olvido.adapters.copies.http import HttpCopy, signature
from olvido.adapters.copies.langgraph import LangGraphThreads
from olvido.adapters.copies.valkey import ValkeySessions
from olvido.domain.erasure import Target
from olvido.errors import CopyProblem, CopyUnavailable
from olvido.ports import Connector, SessionCache

__all__ = [
    "Connector",
    "CopyProblem",
    "CopyUnavailable",
    "DirectoryFiles",
    "HttpCopy",
    "LangGraphThreads",
    "SessionCache",
    "Target",
    "ValkeySessions",
    "signature",
]
