"""Tell the time by which records are judged (rule 15)."""

from __future__ import annotations

from datetime import datetime

from olvido.operations.environment import Environment


async def read_clock(environment: Environment) -> datetime:
    """The instant of the database (UTC), or that of the clock which a test gave. Raises DatabaseUnavailable."""
    async with environment.database.remains("", None) as transaction:
        return transaction.now
