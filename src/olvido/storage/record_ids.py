"""Identifiers of new records."""

from __future__ import annotations

import os
import time
from uuid import UUID

_48_BITS = (1 << 48) - 1
_VERSION_7 = 0x7 << 76 | 0x2 << 62
"""Version 7, and the variant of the RFC."""
_RANDOM_BITS = (1 << 80) - 1 & ~(0xF << 76 | 0x3 << 62)


def new_record_id() -> UUID:
    """A UUIDv7: 48 bits of Unix milliseconds, then 74 random bits (RFC 9562, section 5.7).

    Its time is the host's and only makes new keys land side by side in the index; no rule reads it.
    """
    milliseconds = time.time_ns() // 1_000_000 & _48_BITS
    random = int.from_bytes(os.urandom(10), "big")
    return UUID(int=milliseconds << 80 | random & _RANDOM_BITS | _VERSION_7)
