"""The state of sessions in a Valkey or Redis, to read from, and the connector that erases it there (extra `valkey`).

Every entry ends by itself: it is written with its time to live in one command, each time. What a key is made of is the
tenant, the random key of one life and the session, each under a digest with the life's key: no two scopes meet in a
key, none of them can be read from it, and a person who comes back has other keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from olvido.adapters.endpoint_checks import number
from olvido.domain.erasure import Target
from olvido.domain.policy_values import is_well_formed
from olvido.errors import CopyProblem, CopyUnavailable, InvalidInput

if TYPE_CHECKING:
    from valkey.asyncio import Valkey

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
REFUSES = timedelta(days=1)
"""How long what was read before a forget is refused: longer than anybody is between reading and writing."""
SCANNED = 1000
"""Keys that one step of a scan looks at, so that others get their turn."""
ALL = b"all"

_ANSWERS = ("utf-8", "strict", False, None)
"""How answers have to be read: as bytes and from the server, texts of commands as UTF-8."""

_SCHEMES = ("valkey://", "valkeys://", "redis://", "rediss://", "unix://")

_PUT = """
local gate = redis.call('GET', KEYS[3])
if gate and (gate == 'all' or tonumber(ARGV[4]) <= tonumber(gate)) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[3])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return 1
"""
_CLOSE_GATE = """
local gate = redis.call('GET', KEYS[1])
if gate == 'all' or (gate and ARGV[1] ~= 'all' and tonumber(gate) > tonumber(ARGV[1])) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Keys:
    """What the entries of one life are called. The braces keep them in one slot of a cluster.

    index: the set of its entries. gate: what is refused of it.
    """

    values: str
    index: str
    gate: str
    key: UUID

    @classmethod
    def of(cls, tenant: str, key: UUID) -> _Keys:
        life = _digest(tenant, key, b"olvido-life")
        return cls(
            values=f"olvido:session:{{{life}}}:",
            index=f"olvido:sessions:{{{life}}}",
            gate=f"olvido:forgotten:{{{life}}}",
            key=key,
        )

    def member(self, session_id: str) -> str:
        return _digest(session_id, self.key, b"olvido-session")


class ValkeySessions:
    """A cache of sessions: `olvido.open(cache=...)`, which closes it. Otherwise use it in an `async with` block.

    It is a connector as well, for the copy that the policy has to declare; another instance reaches the same place.
    Use one instance in one event loop at a time.
    """

    by_record = True

    def __init__(self, url: str, *, timeout: float = 1.0) -> None:
        """Nothing is sent until the first session is read.

        url: such as "valkey://user:password@cache.example:6379/0"; redis, rediss, valkeys and unix work as well.
        timeout: seconds for one command. Raises InvalidInput, also if the extra is not installed.
        """
        try:
            from valkey.asyncio import Valkey
        except ImportError:
            raise InvalidInput("The package valkey is not installed: pip install 'olvido[valkey]'.") from None
        if not str(url).startswith(_SCHEMES) or not is_well_formed(url):
            raise InvalidInput('url must be the URL of a Valkey or Redis, such as "valkey://cache.example:6379/0".')
        seconds = number(timeout, "timeout")
        try:
            self._client: Valkey = Valkey.from_url(
                url, socket_timeout=seconds, socket_connect_timeout=seconds, decode_responses=False
            )
            # Nothing is sent: the client looks at the settings of a URL only when it makes a connection.
            connection = self._client.connection_pool.make_connection()
        except Exception:  # noqa: BLE001 - the client raises what its parts do, which may quote the URL
            raise InvalidInput("url is not one that the client of Valkey understands.") from None
        encoder = connection.encoder
        answers = (encoder.encoding, encoder.encoding_errors, encoder.decode_responses, connection.client_cache)
        if answers != _ANSWERS:
            raise InvalidInput(
                "url has settings that change how answers are read, such as decode_responses, encoding or "
                "cache_enabled. Leave them out."
            )
        self._timeout = seconds

    def __repr__(self) -> str:
        return "ValkeySessions()"

    async def get(self, tenant: str, key: UUID, session_id: str) -> bytes | None:
        """What was put last; None if nothing is there. Raises CopyUnavailable."""
        keys = _Keys.of(tenant, key)
        found: bytes | None = await self._command("GET", keys.values + keys.member(session_id))
        return found

    async def put(
        self, tenant: str, key: UUID, session_id: str, state: bytes, *, seconds: float, read_at: datetime
    ) -> None:
        """Keep `state` for `seconds` at most, unless `forget` was called for the time at which it was read."""
        milliseconds = int(seconds * 1000)
        if milliseconds < 1:
            return
        keys = _Keys.of(tenant, key)
        member = keys.member(session_id)
        names = (keys.values + member, keys.index, keys.gate)
        await self._command("EVAL", _PUT, len(names), *names, state, milliseconds, member, _microseconds(read_at))

    async def forget(self, tenant: str, key: UUID, *, until: datetime | None) -> None:
        """Drop every session of the life, and refuse for a day what was read up to `until`; None: whatever comes."""
        keys = _Keys.of(tenant, key)
        gate = ALL if until is None else _microseconds(until)
        # What comes late is refused from here on, so that nothing slips in behind the list.
        await self._command("EVAL", _CLOSE_GATE, 1, keys.gate, gate, REFUSES // timedelta(milliseconds=1))
        members = await self._command("SMEMBERS", keys.index)
        if members:
            await self._command("DEL", *(keys.values + one.decode() for one in members))
            await self._command("SREM", keys.index, *members)

    async def find(self, target: Target) -> int:
        """How many sessions of the life are cached that hold something of the target."""
        return len(await self._entries(target))

    async def erase(self, target: Target) -> None:
        """Drop the life's sessions: a cache may lose more than it has to.

        Of single records, what was read until now is refused from here on: whoever read between the request and its
        commit has the record still.
        """
        until = None if target.record_ids is None else max(target.before, target.asked_at or target.before)
        await self.forget(target.tenant, target.key, until=until)
        left = await self._entries(target)
        if left:
            await self._command("DEL", *left)

    async def verify(self, target: Target) -> int | None:
        """Look through all keys of the database for entries of the life, whatever its index says."""
        return len(await self._entries(target))

    async def aclose(self) -> None:
        """Close the connections of this event loop; it opens others when it is used again."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _entries(self, target: Target) -> list[bytes]:
        keys = _Keys.of(target.tenant, target.key)
        names = await self._scan(f"{keys.values}*")
        if target.record_ids is None:
            return names
        # A session is kept with the ids of itself and of its facts, written as they are compared here.
        wanted = [str(record_id).encode() for record_id in target.record_ids]
        states = await self._command("MGET", *names) if names else []
        pairs = zip(names, states, strict=True)
        return [name for name, state in pairs if state is not None and any(one in state for one in wanted)]

    async def _scan(self, pattern: str) -> list[bytes]:
        found: dict[bytes, None] = {}  # a scan may name a key twice
        cursor: int | bytes = 0
        while True:
            cursor, names = await self._command("SCAN", cursor, "MATCH", pattern, "COUNT", SCANNED)
            found |= dict.fromkeys(names)
            if int(cursor) == 0:
                return list(found)

    async def _command(self, *arguments: bytes | str | int) -> Any:  # noqa: ANN401 - as many types as commands
        async with _understood():
            return await self._client.execute_command(*arguments)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def _understood() -> AsyncIterator[None]:
    """Tell what went wrong in our words: those of the client may quote keys and values."""
    from valkey import exceptions

    try:
        yield
    except (exceptions.AuthenticationError, exceptions.NoPermissionError):
        raise _unavailable(CopyProblem.UNAUTHORIZED) from None
    except (exceptions.TimeoutError, TimeoutError):
        raise _unavailable(CopyProblem.TIMED_OUT) from None
    except (exceptions.BusyLoadingError, exceptions.ConnectionError, OSError):
        raise _unavailable(CopyProblem.UNREACHABLE) from None
    except Exception:  # noqa: BLE001 - with settings of a URL that it does not know, the client raises anything
        raise _unavailable(CopyProblem.FAILED) from None


def _unavailable(problem: CopyProblem) -> CopyUnavailable:
    return CopyUnavailable(f"The cache of sessions did not answer ({problem}). Check its URL.", problem=problem)


def _microseconds(instant: datetime) -> int:
    """Since 1970, exactly: what a script of the server compares as a number."""
    return (instant - EPOCH) // MICROSECOND


def _digest(text: str, key: UUID, purpose: bytes) -> str:
    return hashlib.blake2b(text.encode(), key=key.bytes, person=purpose, digest_size=16).hexdigest()
