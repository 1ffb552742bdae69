"""One line of the ledger: a JSON object whose first member is a checksum, over the rest of it and all lines before.

A line is what is written at once and made durable at once, so a crash leaves it whole or unfinished, and an unfinished
one is the last. The running checksum (CRC-32) makes a line that was lost, changed or moved as visible as a torn one.

    {"sum":"8a3f09c1","format":1,"ledger_id":"…","replaces":[]}
    {"sum":"5be1d7f0","at":"…","events":[{"entry":1,"tenant":"acme","key":"…","records":null,"request":{…}},{"applied":1}]}

An entry of one version of a record has `version` as well; one of a whole life that took exports of other lives in has
`took_in`, a list of their keys.

Members may be added: whoever reads passes over what it does not know, and does without what an older line lacks. Only
`entry`, `applied`, `withdrawn` and `skipped` are reserved, at any depth: with a number they count as an event wherever
they stand in a line, also for the releases that are out there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zlib import crc32

from olvido.domain.ledger import TARGETS, Entry, Request
from olvido.errors import LedgerUnavailable

FORMAT = 1
ENTRY, APPLIED, WITHDRAWN, SKIPPED = "entry", "applied", "withdrawn", "skipped"
"""What an event says, by the name of its first member, whose value is a number."""

Content = Mapping[str, Any]
Event = tuple[bytes, int]
"""The word of an event, as bytes, and its number."""

_HEAD = b'{"sum":"'
_DIGITS = 8
_BODY = len(_HEAD) + _DIGITS + len(b'",')
# A quotation mark inside a string is escaped, so no tenant can look like a member. Many times faster than the parser,
# and all that opening a ledger has to know.
_EVENTS = re.compile(rb'"(entry|applied|withdrawn|skipped)":(\d+)')


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The first line: which ledger this is, and which lost ones it replaces."""

    ledger_id: UUID
    replaces: frozenset[UUID]


def encode(content: Content, before: int) -> bytes:
    """The line of some content, with its newline. before: the checksum of the line before; 0 if there is none."""
    body = json.dumps(content, separators=(",", ":")).encode()[1:]
    return _HEAD + b'%08x",' % crc32(body, before) + body + b"\n"


def checked(line: bytes, before: int) -> int | None:
    """The checksum of a line with its newline; None if it is not whole, or does not follow the line before."""
    checksum = crc32(line[_BODY:-1], before)
    whole = line.startswith(_HEAD + b'%08x",' % checksum) and line.endswith(b"\n")
    return checksum if whole else None


def events(line: bytes) -> list[Event]:
    """What a line says of which entries."""
    return [(word, int(number)) for word, number in _EVENTS.findall(line)]


def entries(line: bytes) -> list[Entry]:
    """The entries that a line announces."""
    return [_entry(event) for event in json.loads(line)["events"] if ENTRY in event]


def header_content(header: Header) -> Content:
    """The content of the first line."""
    return {
        "format": FORMAT,
        "ledger_id": str(header.ledger_id),
        "replaces": sorted(str(ledger) for ledger in header.replaces),
    }


def read_header(line: bytes) -> Header:
    """The header from the first line. Raises LedgerUnavailable for another format."""
    content = json.loads(line)
    if content["format"] != FORMAT:
        raise LedgerUnavailable(
            f"The erasure ledger has format {content['format']} and this release knows {FORMAT}. Use the release of "
            "Olvido that made it, or a newer one."
        )
    return Header(ledger_id=UUID(content["ledger_id"]), replaces=frozenset(map(UUID, content["replaces"])))


def announced(entry: Entry) -> Content:
    """The event that announces an entry. `version`, `request` and `took_in` stand there only if the entry has one."""
    event: dict[str, Any] = {
        ENTRY: entry.number,
        "tenant": entry.tenant,
        "key": None if entry.key is None else str(entry.key),
        "records": None if entry.record_ids is None else [str(record_id) for record_id in entry.record_ids],
    }
    if entry.version is not None:
        event["version"] = entry.version
    if entry.request is not None:
        event["request"] = {
            "id": str(entry.request.erasure_id),
            "at": entry.request.requested_at.isoformat(),
            "target": entry.request.target,
        }
    if entry.took_in:
        event["took_in"] = [str(life) for life in entry.took_in]
    return event


def _entry(event: Content) -> Entry:
    records: Sequence[str] | None = event["records"]
    return Entry(
        number=event[ENTRY],
        tenant=event["tenant"],
        key=None if event["key"] is None else UUID(event["key"]),
        record_ids=None if records is None else tuple(map(UUID, records)),
        version=event.get("version"),
        request=_request(event.get("request")),
        took_in=tuple(map(UUID, event.get("took_in", ()))),
    )


def _request(said: Any) -> Request | None:  # noqa: ANN401 - whatever a line has there
    """Whose removal it is; None where a line does not say that, or not as this release does."""
    try:
        found = Request(
            erasure_id=UUID(said["id"]), requested_at=datetime.fromisoformat(said["at"]), target=said["target"]
        )
        understood = found.target in TARGETS and found.requested_at.tzinfo is not None
    except (AttributeError, LookupError, TypeError, ValueError):
        return None
    return found if understood else None
