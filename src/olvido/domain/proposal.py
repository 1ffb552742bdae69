"""What a request such as "forget my address" may mean: search proposes records, and only their ids forget (case 47).

A proposal is no wall: whoever may forget at all may forget any record by its id. Its token protects from mistakes: of
ids that were never shown, of a record that changed since it was shown, of an answer that comes too late or for somebody
else. It holds ids, a number each and an instant, and no content; nothing is stored for it.

The token is authenticated (HMAC-SHA256) under the random key of the life, which every process that can enter the scope
has, and nobody once the life is over.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from olvido.domain.ranking import Strength
from olvido.domain.records import RecordKind
from olvido.errors import InvalidInput, PlanChanged

LIFETIME = timedelta(minutes=15)
"""How long a proposal can be taken up, by the clock of the database."""
MOST = 200
"""As many records are proposed: a person is to look at each."""

_FORM = 1
_HEAD = struct.Struct(">BqH")
_ENTRY = struct.Struct(">16sq")
_MAC_BYTES = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

NOT_OF_HERE = (
    "This is not the token of a proposal for this person under the policy in force. Pass the whole `token` of what "
    "propose_forget answered."
)
NOT_PROPOSED = (
    "record_ids has an id that was not proposed. Choose among the records of the proposal; nothing was removed."
)
TOO_LATE = "This proposal is too old to be taken up. Propose again, look, and choose; nothing was removed."
CHANGED = "A record that was chosen has changed since it was proposed. Propose again, look, and choose."
GONE = "Nothing is stored for this person any more, so nothing that was proposed is there."


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedRecord:
    """One record that may be meant.

    label: what it is, its origin and date. text: what it says, or the part of it that matches best.
    strength, score: how well it matches; weak ones are shown too, for a person to judge.
    """

    record_id: UUID
    kind: RecordKind
    label: str
    text: str
    strength: Strength
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What may be meant, best match first. Nothing was removed.

    token: pass it to `forget_proposed` with the ids that were chosen, before expires_at (UTC); empty if this person has
    nothing stored. omitted: records that were compared and are not proposed, as too weak or beyond the limit.
    index_complete: whether all were compared by text and by meaning; sessions are compared by their words only.
    """

    records: tuple[ProposedRecord, ...]
    token: str
    expires_at: datetime
    omitted: int
    index_complete: bool


def seal(states: Mapping[UUID, int], tenant: str, life: UUID, policy_version: str, *, expires_at: datetime) -> str:
    """The token of a proposal. states: of each record, the number by which a change of it is seen."""
    payload = _HEAD.pack(_FORM, (expires_at - _EPOCH) // _MICROSECOND, len(states)) + b"".join(
        _ENTRY.pack(record_id.bytes, state) for record_id, state in sorted(states.items())
    )
    mac = _mac(payload, tenant, life, policy_version)
    return base64.urlsafe_b64encode(payload + mac).rstrip(b"=").decode()


def unseal(token: object, tenant: str, life: UUID, policy_version: str, *, now: datetime) -> dict[UUID, int]:
    """The records that were proposed, with their states. Raises InvalidInput, and PlanChanged if it is too late."""
    try:
        raw = _decoded(token)
        form, expiry, count = _HEAD.unpack_from(raw)
        entries = raw[_HEAD.size : -_MAC_BYTES]
        mac = _mac(raw[:-_MAC_BYTES], tenant, life, policy_version)
        genuine = hmac.compare_digest(mac, raw[-_MAC_BYTES:])
    except (ValueError, TypeError, struct.error, binascii.Error):
        raise InvalidInput(NOT_OF_HERE) from None
    if not genuine or form != _FORM or len(entries) != count * _ENTRY.size:
        raise InvalidInput(NOT_OF_HERE)
    if _EPOCH + expiry * _MICROSECOND <= now:
        raise PlanChanged(TOO_LATE)
    return {UUID(bytes=record_id): state for record_id, state in _ENTRY.iter_unpack(entries)}


def require_chosen(proposed: Mapping[UUID, int], chosen: Collection[UUID]) -> None:
    """Raise InvalidInput if an id was not proposed."""
    if not set(chosen) <= proposed.keys():
        raise InvalidInput(NOT_PROPOSED)


def require_unchanged(proposed: Mapping[UUID, int], standing: Mapping[UUID, int]) -> None:
    """Raise PlanChanged if a record that is still there is not as it was proposed. One that is gone is no change."""
    if any(proposed[record_id] != state for record_id, state in standing.items()):
        raise PlanChanged(CHANGED)


def _decoded(token: object) -> bytes:
    if not isinstance(token, str):
        raise TypeError
    text = token.strip().encode("ascii")
    return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _mac(payload: bytes, tenant: str, life: UUID, policy_version: str) -> bytes:
    bound = json.dumps(["olvido forget proposal", tenant, policy_version]).encode()
    return hmac.new(life.bytes, struct.pack(">I", len(bound)) + bound + payload, hashlib.sha256).digest()
