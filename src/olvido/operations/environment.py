"""What every operation gets: the parts of this Olvido, and who is calling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olvido.domain.ledger import Entry
from olvido.domain.origin import Origin, OriginClass
from olvido.domain.policy import Policy
from olvido.errors import InvalidInput, OriginNotGranted
from olvido.ports import Anchors, Connector, Embedder, LanguageDetector, Ledger, SessionCache, Signer
from olvido.storage.database import Database, Life
from olvido.storage.rewriting import Eraser


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """The parts of one open Olvido.

    signer, anchors: None where no place for keys is known. connectors: by the name under which the register of copies
    knows them. unset: variables of the environment that connectors of the policy need and that are not set, by copy.
    cache: None is to read sessions as they are stored. eraser: None where no login of olvido_eraser is known, and files
    are not rewritten. again: the entry of the ledger that is applied again, whose request goes on under its own id;
    None as a rule. restored: that is because this database is an older copy, which was put back.
    """

    database: Database
    policy: Policy
    embedder: Embedder
    detector: LanguageDetector
    ledger: Ledger
    signer: Signer | None = None
    anchors: Anchors | None = None
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    unset: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cache: SessionCache | None = None
    eraser: Eraser | None = None
    again: Entry | None = None
    restored: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who is calling, as trusted host code says.

    life: the scope, and the life of the subject once it is known.
    asserts: the origin classes that this caller was granted (rule 11).
    acting: the origin of calls that name none.
    """

    life: Life
    asserts: frozenset[OriginClass]
    acting: Origin | None = None

    def origin(self, given: Origin | None, *, fallback: Origin | None = None) -> Origin:
        """The origin of one write. Raises InvalidInput if there is none, OriginNotGranted if it is not granted."""
        origin = given or self.acting or fallback
        if origin is None:
            raise InvalidInput(
                "Say where this comes from: pass origin=Origin.declared(...), or set one with memory.acting(origin)."
            )
        if not isinstance(origin, Origin):
            raise InvalidInput("origin must be an Origin, such as Origin.declared('user-confirmation').")
        if origin.origin_class not in self.asserts:
            granted = ", ".join(sorted(self.asserts)) or "none"
            raise OriginNotGranted(
                f"This caller may not assert the origin class {origin.origin_class}; granted: {granted}. "
                "Grant it in memory.scope(..., asserts=...), in trusted host code."
            )
        return origin
