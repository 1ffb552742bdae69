"""Identifiers of new records."""

from __future__ import annotations

import os
import time
from uuid import UUID


def new_record_id() -> UUID:
    """A UUIDv7: 48 bits of Unix milliseconds, then 74 random bits (RFC 9562, section 5.7).

    Its time is the host's and only makes new keys land side by side in the index; no rule reads it.
    """
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)
