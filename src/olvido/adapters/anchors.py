"""Anchors of the audit: one signed line each, in a file beside the keys, which no user of the database can rewrite.

Copy the file to a place of somebody else from time to time; each line proves itself with the published keys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from olvido.adapters.keys import KeyDirectory
from olvido.adapters.signatures import NotSignedError, opened, published_keys, verify
from olvido.domain.audit import Anchor, Anchored
from olvido.domain.canonical import canonical
from olvido.domain.identifiers import required_identifier
from olvido.domain.instants import require_utc
from olvido.domain.plain import instant
from olvido.errors import InvalidInput, KeysUnavailable

if TYPE_CHECKING:
    from joserfc.jwk import OKPKey

FILE = "audit-anchors.log"
ANCHOR_TYPE = "olvido-audit-anchor+jws"
MOST_SEALS = 2**63 - 1
"""The highest number that a seal may have in the database."""


class AnchorFile:
    """The anchors of every company of a database. Every method raises KeysUnavailable."""

    def __init__(self, keys: KeyDirectory) -> None:
        self._keys = keys
        self._path = keys.files.path / FILE
        # What was read so far, so that a worker does not read the file anew for every company that it looks at.
        self._reading = Lock()
        self._read_to = 0
        self._inode = 0
        self._last: dict[str, str] = {}
        self._heads: dict[str, list[Anchor]] = {}
        self._accepted: set[str] = set()

    async def last(self, tenant: str) -> int:
        """The number of the seal in the last line of this company; 0 if there is none, or its signature does not hold.

        So that a head is written down anew when the key that signed it is not published any more.
        """
        return await asyncio.to_thread(self._last_seal, tenant)

    async def heads(self) -> Mapping[str, Sequence[Anchor]]:
        """Where the numbers of each company ended before they went back, and where they end now, of those that count.

        They go back where a chain went on from an older copy of the database. Believes what it reads.
        """
        return await asyncio.to_thread(self._all_heads)

    async def append(self, anchor: Anchor) -> None:
        """Write an anchor down, durably."""
        await asyncio.to_thread(self._append, anchor)

    async def read(self, tenant: str | None) -> Anchored:
        """The anchors of a company, or of all, each one's signature verified."""
        return await asyncio.to_thread(self._read, tenant)

    def _append(self, anchor: Anchor) -> None:
        line = self._keys.sign_now(canonical(_document(anchor)), token_type=ANCHOR_TYPE)
        with self._keys.explained(), self._keys.files.alone():
            self._keys.files.append_line(FILE, line)

    def _read(self, tenant: str | None) -> Anchored:
        keys = self._published()
        found: list[Anchor] = []
        unreadable = 0
        with self._keys.explained():
            lines, _ = self._lines(0)
        # A signature is the same each time: a line that is copied to the end stays what it was.
        for line in dict.fromkeys(lines):
            about = _said(line)
            if tenant is not None and about is not None and about.tenant != tenant:
                continue
            if about is None or not _holds(line, keys):
                unreadable += 1
            else:
                found.append(about)
        return Anchored(anchors=tuple(found), unreadable=unreadable)

    def _last_seal(self, tenant: str) -> int:
        with self._reading, self._keys.explained():
            self._catch_up()
            line = self._last.get(tenant)
        said = None if line is None else _said(line)
        return said.seal if line is not None and said is not None and _holds(line, self._published()) else 0

    def _published(self) -> dict[str, OKPKey]:
        try:
            return published_keys(self._keys.verifying())
        except InvalidInput as error:
            raise KeysUnavailable(f"{self._keys.published_in} cannot be used. {error}") from None

    def _all_heads(self) -> dict[str, tuple[Anchor, ...]]:
        with self._reading, self._keys.explained():
            self._catch_up()
            return {tenant: tuple(heads) for tenant, heads in self._heads.items()}

    def _catch_up(self) -> None:
        """Read the lines that were added since, or all of them if the file is another one."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._begin_anew(0)
            return
        if status.st_ino != self._inode or status.st_size < self._read_to:
            self._begin_anew(status.st_ino)
        lines, self._read_to = self._lines(self._read_to)
        for line in lines:
            said = _said(line)
            if said is None or line in self._accepted:
                continue
            self._last[said.tenant] = line
            heads = self._heads.setdefault(said.tenant, [])
            if said.accepted:
                self._accepted.add(line)
                heads.clear()
            elif heads and _follows(said, heads[-1]):
                heads.pop()
            heads.append(said)

    def _begin_anew(self, inode: int) -> None:
        self._read_to, self._inode, self._last, self._heads, self._accepted = 0, inode, {}, {}, set()

    def _lines(self, start: int) -> tuple[list[str], int]:
        """The lines that end after `start`, and where the last of them ends: one without an end is not there yet."""
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                content = file.read()
        except FileNotFoundError:
            return [], 0
        end = content.rfind(b"\n") + 1
        return content[:end].decode(errors="replace").split("\n")[:-1], start + end


def _document(anchor: Anchor) -> dict[str, Any]:
    return {
        "tenant": anchor.tenant,
        "seal": anchor.seal,
        "digest": anchor.digest,
        "at": instant(anchor.at),
        "accepted": anchor.accepted,
    }


def _said(line: str) -> Anchor | None:
    """What a line says, whoever wrote it; None if it is no anchor."""
    try:
        document = json.loads(opened(line)[1])
        seal, digest = document["seal"], document["digest"]
        if type(seal) is not int or not 0 <= seal <= MOST_SEALS or not isinstance(digest, str):
            return None
        return Anchor(
            tenant=required_identifier(document["tenant"], "tenant"),
            seal=seal,
            digest=digest,
            at=require_utc(datetime.fromisoformat(document["at"]), "at"),
            accepted=document["accepted"] is True,
        )
    except (NotSignedError, InvalidInput, ValueError, KeyError, TypeError, RecursionError):
        return None


def _follows(said: Anchor, before: Anchor) -> bool:
    """Whether a chain that had `before` may have come to this one, or it says the same again."""
    return said.seal > before.seal or (said.seal, said.digest) == (before.seal, before.digest)


def _holds(line: str, keys: Mapping[str, OKPKey]) -> bool:
    try:
        verify(line, keys, token_type=ANCHOR_TYPE)
    except NotSignedError:
        return False
    return True
