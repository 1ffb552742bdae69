"""Anchors of the audit: one signed line each, in a file beside the keys, which no user of the database can rewrite.

Copy the file to a place of somebody else from time to time; each line proves itself with the published keys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from olvido.adapters.keys import KeyDirectory
from olvido.adapters.signatures import NotSignedError, opened, published_keys, verify
from olvido.domain.audit import Anchor, Anchored
from olvido.domain.canonical import canonical
from olvido.domain.plain import instant

if TYPE_CHECKING:
    from joserfc.jwk import OKPKey

FILE = "audit-anchors.log"
ANCHOR_TYPE = "olvido-audit-anchor+jws"


class AnchorFile:
    """The anchors of every company of a database. Every method raises KeysUnavailable."""

    def __init__(self, keys: KeyDirectory) -> None:
        self._keys = keys
        self._path = keys.files.path / FILE
        # What was read so far, so that a worker does not read the file anew for every company that it looks at.
        self._reading = Lock()
        self._read_to = 0
        self._inode = 0
        self._last: dict[str, int] = {}
        self._furthest: dict[str, Anchor] = {}

    async def last(self, tenant: str) -> int:
        """The number of the seal in the last line of this company; 0 if there is none. Believes what it reads."""
        return await asyncio.to_thread(self._last_seal, tenant)

    async def furthest(self) -> Mapping[str, Anchor]:
        """The anchor of the highest seal of each company, of those that count; believes what it reads."""
        return await asyncio.to_thread(self._furthest_seals)

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
        keys = published_keys(self._keys.verifying())
        found: list[Anchor] = []
        unreadable = 0
        with self._keys.explained():
            lines, _ = self._lines(0)
        for line in lines:
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
            return self._last.get(tenant, 0)

    def _furthest_seals(self) -> dict[str, Anchor]:
        with self._reading, self._keys.explained():
            self._catch_up()
            return dict(self._furthest)

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
            if said is not None:
                self._last[said.tenant] = said.seal
                before = self._furthest.get(said.tenant)
                if before is None or said.accepted or said.seal > before.seal:
                    self._furthest[said.tenant] = said

    def _begin_anew(self, inode: int) -> None:
        self._read_to, self._inode, self._last, self._furthest = 0, inode, {}, {}

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
        return Anchor(
            tenant=str(document["tenant"]),
            seal=int(document["seal"]),
            digest=str(document["digest"]),
            at=datetime.fromisoformat(document["at"]),
            accepted=document["accepted"] is True,
        )
    except (NotSignedError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _holds(line: str, keys: Mapping[str, OKPKey]) -> bool:
    try:
        verify(line, keys, token_type=ANCHOR_TYPE)
    except NotSignedError:
        return False
    return True
