"""The chain over the audit: what a seal's digest is of, and what is found when a chain is looked at again.

A seal is over a batch of committed rows. Its digest is SHA-256 over its header (company, number, digest of the seal
before, number of rows, instant), as canonical JSON, and over the SHA-256 of each row, as canonical JSON of all its
columns, in the order of their ids. So no row can be changed, exchanged, added or taken away without another digest of
its seal and of all later ones. That the newest seals are all there is shown by anchors, which are kept elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from olvido.domain.canonical import canonical, read_json
from olvido.errors import AuditNotAccepted

FORMAT = "olvido-audit-seal/1"
GENESIS = "0" * 64
"""What stands for the digest before the first seal."""
ROWS_A_SEAL = 1_000

QUIET_SHARE = 10
SOONEST, LATEST = timedelta(seconds=30), timedelta(hours=1)
"""A company is looked at again after a tenth of the time for which nothing happened there, within these bounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SealRow:
    """One seal as the database has it. sealed_at: ISO 8601, as the database prints it in JSON."""

    seal: int
    rows: int
    digest: str
    previous: str
    sealed_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """That the chain of a company had this seal as its last one, written down outside the database.

    accepted: somebody looked at a chain that was not what earlier anchors say, and took it as it is, as after a
    restore: the anchors before this one do not count any more.
    """

    tenant: str
    seal: int
    digest: str
    at: datetime
    accepted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchored:
    """The anchors that were asked for. unreadable: lines in their file that nobody with these keys wrote."""

    anchors: tuple[Anchor, ...]
    unreadable: int


class Breach(StrEnum):
    """What is wrong with a chain.

    row_changed: a sealed row is another than it was, or two were exchanged. rows_missing, rows_added: a seal has fewer
    or more rows than it had. seal_changed: a seal does not follow from the one before. seal_missing: one in the middle
    is gone. unknown_seal: rows name a seal that is not there. older_than_anchor: the chain ends before the last
    anchor: its newest seals were removed, or the database was restored from an older copy. differs_from_anchor: a seal
    is another than the one that was anchored: the chain was written anew, or went on after such a restore.
    """

    ROW_CHANGED = "row_changed"
    ROWS_MISSING = "rows_missing"
    ROWS_ADDED = "rows_added"
    SEAL_CHANGED = "seal_changed"
    SEAL_MISSING = "seal_missing"
    UNKNOWN_SEAL = "unknown_seal"
    OLDER_THAN_ANCHOR = "older_than_anchor"
    DIFFERS_FROM_ANCHOR = "differs_from_anchor"


RESTORED = frozenset({Breach.OLDER_THAN_ANCHOR, Breach.DIFFERS_FROM_ANCHOR})
"""What an older copy of the database that was put back looks like. It never looks like any other breach."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditProblem:
    """One thing that is wrong. seal: where. detail: numbers, for a person."""

    breach: Breach
    seal: int
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditChain:
    """The audit of one company, looked at from the first seal to the last.

    rows, seals: of the chain. last_sealed_at: None if nothing is sealed. unsealed_rows, oldest_unsealed_at: what no
    seal is over yet and could be removed without a trace. anchors: how many were compared; None if none are kept here.
    With none or 0, nobody can tell whether the chain was shortened or written anew as a whole. anchored_seal: the last
    one that an anchor says was there. accepted_at: when a restored chain was last taken as it is.
    """

    tenant: str
    rows: int
    seals: int
    last_sealed_at: datetime | None
    unsealed_rows: int
    oldest_unsealed_at: datetime | None
    anchors: int | None
    anchored_seal: int | None
    accepted_at: datetime | None
    problems: tuple[AuditProblem, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing of this company is here: no row, no seal, and nothing that says that there was one."""
        return not (self.rows or self.seals or self.unsealed_rows or self.anchors or self.problems)

    @property
    def is_as_restored(self) -> bool:
        """Whether all that is wrong is what an older copy that was put back looks like."""
        return bool(self.problems) and all(problem.breach in RESTORED for problem in self.problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """What looking at the audit found. It says nothing about what is not sealed.

    unreadable_anchors: lines in the file of anchors that were changed, or that nobody with these keys wrote.
    """

    chains: tuple[AuditChain, ...]
    unreadable_anchors: int
    verified_at: datetime

    @property
    def intact(self) -> bool:
        """Whether no chain has a problem, and every anchor could be read."""
        return not self.unreadable_anchors and not any(chain.problems for chain in self.chains)


@dataclass(frozen=True, kw_only=True, slots=True)
class SealReport:
    """What sealing did.

    seals, rows: made and sealed; companies: looked at. anchored: heads written down outside the database. not_anchored:
    heads that could not be, which is tried again. longest_unsealed: how long the oldest of these rows had been without
    a seal; None if there were none. limit_reached: whether it ended at its limit, so that more may be due.
    """

    seals: int
    rows: int
    companies: int
    anchored: int
    not_anchored: int
    longest_unsealed: timedelta | None
    limit_reached: bool
    sealed_at: datetime


def check_acceptable(chain: AuditChain) -> None:
    """Raise AuditNotAccepted unless a restore explains all that is wrong with a chain."""
    if not chain.problems:
        raise AuditNotAccepted("The audit of this company is what was anchored: there is nothing to accept.")
    if not chain.is_as_restored:
        found = ", ".join(dict.fromkeys(str(one.breach) for one in chain.problems if one.breach not in RESTORED))
        raise AuditNotAccepted(
            f"This audit was changed where it lies ({found}). No restore does that, and accepting it mends nothing. "
            "Nothing was accepted. Compare it with a backup from before, and find out who could write in the database."
        )


def row_digest(row: str) -> bytes:
    """SHA-256 of one row of the audit. row: all its columns but the seal, as JSON. Raises ValueError for other text."""
    return hashlib.sha256(canonical(read_json(row))).digest()


def row_digests(rows: Iterable[str]) -> list[bytes]:
    """Those of many rows. A thousand take a tenth of a second: not on an event loop."""
    return [row_digest(row) for row in rows]


def seal_digest(tenant: str, seal: int, previous: str, sealed_at: str, rows: Sequence[bytes]) -> str:
    """The digest of one seal, hexadecimal. rows: the digests of its rows, in the order of their ids."""
    header = canonical(
        {
            "format": FORMAT,
            "tenant": tenant,
            "seal": seal,
            "previous": previous,
            "rows": len(rows),
            "sealed_at": sealed_at,
        }
    )
    digest = hashlib.sha256(header)
    for row in rows:
        digest.update(row)
    return digest.hexdigest()


@dataclass(kw_only=True, slots=True)
class ChainCheck:
    """Goes along a chain, seal by seal, and notes what is wrong."""

    tenant: str
    wanted: frozenset[int] = frozenset()
    problems: list[AuditProblem] = field(default_factory=list)
    rows: int = 0
    seals: int = 0
    last: SealRow | None = None
    digests: dict[int, str] = field(default_factory=dict)

    def follow(self, seal: SealRow, rows: Sequence[bytes]) -> None:
        """The next seal, and the digests of the rows that name it."""
        before, head = (0, GENESIS) if self.last is None else (self.last.seal, self.last.digest)
        if seal.seal > before + 1:
            gone = f"{before + 1}" if seal.seal == before + 2 else f"{before + 1} to {seal.seal - 1}"
            self._note(Breach.SEAL_MISSING, before + 1, f"seal {gone} is gone")
        elif seal.previous != head:
            self._note(Breach.SEAL_CHANGED, seal.seal, "it does not follow from the seal before it")
        if len(rows) != seal.rows:
            breach = Breach.ROWS_MISSING if len(rows) < seal.rows else Breach.ROWS_ADDED
            self._note(breach, seal.seal, f"rows that were sealed: {seal.rows}; that are there: {len(rows)}")
        elif seal.digest != seal_digest(self.tenant, seal.seal, seal.previous, seal.sealed_at, rows):
            self._note(Breach.ROW_CHANGED, seal.seal, "its rows, or what it says of itself, are not what was sealed")
        self.rows += len(rows)
        self.seals += 1
        self.last = seal
        if seal.seal in self.wanted:
            self.digests[seal.seal] = seal.digest

    def strays(self, seals: Mapping[int, int]) -> None:
        """Rows that name a seal which is not there, by its number."""
        for seal, rows in sorted(seals.items()):
            self._note(Breach.UNKNOWN_SEAL, seal, f"this seal is not there; rows that name it: {rows}")

    def compare(self, anchors: Iterable[Anchor]) -> None:
        """What was written down elsewhere, against what was followed. anchors: those that count."""
        end = 0 if self.last is None else self.last.seal
        beyond = [anchor for anchor in anchors if anchor.seal > end]
        if beyond:
            last = max(beyond, key=lambda anchor: anchor.seal)
            self._note(
                Breach.OLDER_THAN_ANCHOR, last.seal, f"the chain ends at seal {end}; seal {last.seal} had been written"
            )
        differing = [anchor.seal for anchor in anchors if self.digests.get(anchor.seal, anchor.digest) != anchor.digest]
        if differing:
            self._note(
                Breach.DIFFERS_FROM_ANCHOR, min(differing), f"from seal {min(differing)} on it is not what was anchored"
            )

    def _note(self, breach: Breach, seal: int, detail: str) -> None:
        self.problems.append(AuditProblem(breach=breach, seal=seal, detail=detail))


def counting(anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """The anchors that still count: from the last one on that says that the chain was taken as it is.

    anchors: in the order in which they were written, which a clock that was put right does not change.
    """
    start = max((number for number, anchor in enumerate(anchors) if anchor.accepted), default=0)
    return tuple(anchors[start:])
