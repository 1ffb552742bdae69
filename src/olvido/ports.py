"""What is passed in: clock, embedder, detector, ledger, keys, anchors, copies outside. Nothing else is abstract."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from olvido.domain.audit import Anchor, Anchored
from olvido.domain.erasure import Target
from olvido.domain.ledger import Entry, LedgerState, Request

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), one unit-length row a text."""

Vector = NDArray[np.float32]
"""Shape (dimensions,), unit length."""


MAX_DIMENSIONS = 3_584
"""The longest vector that is stored: it stands in its row, and a row of PostgreSQL is at most 8 kB."""


class Clock(Protocol):
    """Time for tests. In production there is no clock here: the database's `clock_timestamp()` counts."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""


class Embedder(Protocol):
    """Turns text into unit vectors whose inner product is a similarity.

    `id` names model and version: vectors with different ids are never ranked together. It may be used from several
    event loops. Whoever made an embedder closes it.
    """

    @property
    def id(self) -> str:
        """Model and version, such as "multilingual-e5-small-q4/0.3.0"."""

    @property
    def dimensions(self) -> int:
        """Length of each vector, 1 to 3,584."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of records, shape (len(texts), dimensions). Raises EmbedderUnavailable."""

    async def embed_query(self, text: str) -> Vector:
        """Vector of a question, shape (dimensions,). Raises EmbedderUnavailable."""

    async def centre(self) -> Vector:
        """Mean vector of ordinary text, shape (dimensions,), not unit length: what all vectors have in common."""


class LanguageDetector(Protocol):
    """Tells the language of a text, as a property of the text, never of the person."""

    def detect(self, text: str) -> str:
        """One of "en", "es", "pt" or "other"."""


class Ledger(Protocol):
    """The erasure ledger: append-only, outside the database and its backups, one for all hosts of a database.

    An entry that is written down will be applied, here or when a restored database is opened: random keys only.
    Each method raises LedgerUnavailable when the ledger cannot be read or written.
    """

    @property
    def place(self) -> str:
        """Where it is, for messages."""

    @property
    def ledger_id(self) -> UUID:
        """Which ledger this is, once it was read."""

    async def state(self) -> LedgerState | None:
        """How far it is now; None if there is no ledger yet."""

    async def begin(self, replaces: Collection[UUID] = ()) -> LedgerState:
        """Make the ledger, unless there is one. replaces: lost ledgers that it stands for."""

    async def entries(self, numbers: Sequence[int]) -> list[Entry]:
        """What these entries say, in their order; numbers that stand for none are passed over."""

    async def intend(
        self,
        tenant: str,
        key: UUID | None,
        record_ids: Sequence[UUID] | None,
        version: int | None = None,
        request: Request | None = None,
        *,
        took_in: Sequence[UUID] = (),
    ) -> int:
        """Write down durably what is about to be removed, and return the number of the entry, 1 or more.

        key: None is the whole company, which stays closed. record_ids: None is the whole life. version: of the one
        record, only this version of it, after which the one before is current again. request: whose removal it is.
        took_in: of a whole life, the lives whose exports it took in. Raises LedgerUnavailable; nothing may be removed
        then.
        """

    async def applied(self, entry: int) -> None:
        """Write down that the removal of this entry is committed."""

    async def withdrawn(self, entry: int) -> None:
        """Write down that nothing was removed for this entry, and that nothing is to be."""

    async def write_back(self, removals: Sequence[Entry], *, above: int) -> list[int]:
        """Write down removals that a database knows of and the ledger does not, as applied, and return their numbers.

        above: the numbers are higher than this one. Those of `removals` do not count.
        """


class Signer(Protocol):
    """Signs with the key of this installation, which never leaves it."""

    async def prepare(self) -> None:
        """Make the first key if there is none yet. Raises KeysUnavailable."""

    async def sign(self, payload: bytes, *, token_type: str) -> str:
        """`payload` and a signature over it, as a compact JWS of this type. Raises KeysUnavailable."""


class Anchors(Protocol):
    """Where it is written down how far the audit was sealed, outside the database and its backups.

    Each method raises KeysUnavailable when that place cannot be read or written.
    """

    async def last(self, tenant: str) -> int:
        """The number of the seal that was written down last for a company; 0 if nothing proves that one was."""

    async def heads(self) -> Mapping[str, Sequence[Anchor]]:
        """Where the numbers of each company ended before they went back, and where they end now, of those that count.

        They go back where a chain went on from an older copy of the database. Believes what it reads.
        """

    async def append(self, anchor: Anchor) -> None:
        """Write an anchor down, durably."""

    async def read(self, tenant: str | None) -> Anchored:
        """The anchors of a company, or of all, in the order in which they were written."""


class Connector(Protocol):
    """A copy outside that Olvido can ask to erase a person, and then look at. It holds no rule.

    Each method raises CopyUnavailable when the copy does not answer, or not in a way that can be understood. A call may
    come again after a crash, from another process, and while an earlier one still runs.
    """

    @property
    def by_record(self) -> bool:
        """Whether it can erase single records by their ids; if not, it is only asked to erase everything of a life."""

    async def find(self, target: Target) -> int:
        """How many things the copy holds of this target now, by its own count."""

    async def erase(self, target: Target) -> None:
        """Ask the copy to erase the target. To return is to have been accepted, which proves nothing."""

    async def verify(self, target: Target) -> int | None:
        """Look again, in another way than by believing `erase`: how many things are left. None: not known yet."""


class SessionCache(Protocol):
    """A copy of the state of sessions, to read from. It may lose anything at any time, and is asked about nothing.

    key: that of the life of the subject. Each method raises CopyUnavailable; whoever reads goes on without it then.
    """

    async def get(self, tenant: str, key: UUID, session_id: str) -> bytes | None:
        """What was put last; None if nothing is there."""

    async def put(
        self, tenant: str, key: UUID, session_id: str, state: bytes, *, seconds: float, read_at: datetime
    ) -> None:
        """Keep `state` for `seconds` at most, unless `forget` was called for the time at which it was read."""

    async def forget(self, tenant: str, key: UUID, *, until: datetime | None) -> None:
        """Drop every session of the life, and refuse from now on what was read up to `until`; None: whatever comes."""

    async def aclose(self) -> None:
        """Close the connections of this event loop; it opens others when it is used again."""
