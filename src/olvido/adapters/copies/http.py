"""A service that erases by request: each request is signed, and what it answers is looked at again (docs/copies.md)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, Field, SecretStr, ValidationError

from olvido.adapters.endpoint_checks import number
from olvido.domain.erasure import Target
from olvido.domain.policy_values import is_well_formed
from olvido.errors import CopyProblem, CopyUnavailable, InvalidInput

TIMESTAMP, SIGNATURE, IDEMPOTENCY = "Olvido-Timestamp", "Olvido-Signature", "Idempotency-Key"
LEAST_KEY = 16
"""Bytes of a key that is not worth guessing."""
MOST_BYTES = 64 * 1024
"""An answer is a word and a number."""

_UNAUTHORIZED = frozenset({401, 403})
_BUSY = frozenset({408, 425, 429, 503})
_ACCEPTED = frozenset({200, 202, 204})
_NOT_FOUND = 404
_OK = 200


class _State(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class _Count(BaseModel):
    count: Annotated[int, Field(ge=0, strict=True)]


class _Progress(BaseModel):
    state: _State


Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Response:
    status: int
    body: bytes


def signature(key: str, method: str, path: str, timestamp: str, body: bytes) -> str:
    """What the header `Olvido-Signature` has: HMAC-SHA256 over method, path, timestamp and body, as `v1=` and hex.

    path: as it is sent, without host and query. timestamp: of the header `Olvido-Timestamp`, seconds since 1970. Who
    receives a request computes it too, compares with `hmac.compare_digest`, and refuses timestamps of another time.
    """
    message = f"v1\n{method}\n{path}\n{timestamp}\n".encode() + body
    return f"v1={hmac.new(key.encode(), message, hashlib.sha256).hexdigest()}"


class HttpCopy:
    """A connector for a service that holds copies and has these three resources below one URL.

    `POST /find` answers how many things it holds, `POST /erase` accepts an erasure, now (200, 204) or for later (202),
    and `GET /erasures/{id}` tells how far that is. Redirects are not followed. Neither ids nor the key are logged.
    """

    by_record = True

    def __init__(self, url: str, *, key: str, timeout: float = 10.0, now: Callable[[], float] = time.time) -> None:
        """url: https, or http on this machine; without user, query and fragment. key: 16 bytes or more that both know.

        timeout: seconds for one request. now: seconds since 1970, which a signature is of. Raises InvalidInput.
        """
        try:
            from httpx2 import URL, InvalidURL
        except ImportError:
            raise InvalidInput("The package httpx2 is not installed: pip install 'olvido[http]'.") from None
        self._url = _checked(url)
        try:
            URL(self._url)
        except InvalidURL:
            raise InvalidInput("url has a host that cannot be, or is too long.") from None
        if type(key) is not str or not is_well_formed(key) or len(key.encode()) < LEAST_KEY:
            raise InvalidInput(f"key must be well-formed text of at least {LEAST_KEY} bytes, made at random.")
        self._key = SecretStr(key)
        self._timeout = number(timeout, "timeout")
        self._now = now

    def __repr__(self) -> str:
        return f"HttpCopy(url={self._url!r})"

    async def find(self, target: Target) -> int:
        """How many things the service says it holds. Raises CopyUnavailable."""
        return await self._count(target)

    async def erase(self, target: Target) -> None:
        """Ask for the erasure; the same request, by its id, when it is asked again."""
        answered = await self._send("POST", "/erase", target)
        if answered.status not in _ACCEPTED:
            raise _refused(answered.status)

    async def verify(self, target: Target) -> int | None:
        """None while the service is at it; then count anew what it holds, whatever it says of the request itself."""
        answered = await self._send("GET", f"/erasures/{target.erasure_id}", None)
        if answered.status != _NOT_FOUND:
            if answered.status != _OK:
                raise _refused(answered.status)
            if _parsed(answered.body, _Progress).state is _State.RUNNING:
                return None
        return await self._count(target)

    async def _count(self, target: Target) -> int:
        answered = await self._send("POST", "/find", target)
        if answered.status != _OK:
            raise _refused(answered.status)
        return _parsed(answered.body, _Count).count

    async def _send(self, method: Literal["GET", "POST"], resource: str, target: Target | None) -> _Response:
        from httpx2 import URL, AsyncClient

        # The ids of the person go into the body: addresses end up in logs.
        body = b"" if target is None else _body(target)
        timestamp = str(int(self._now()))
        address = URL(self._url + resource)
        # As it is sent: without dots, and with letters beyond ASCII in percent signs.
        path = address.raw_path.decode("ascii")
        headers = {
            TIMESTAMP: timestamp,
            SIGNATURE: signature(self._key.get_secret_value(), method, path, timestamp, body),
        }
        if target is not None:
            headers |= {"Content-Type": "application/json", IDEMPOTENCY: str(target.erasure_id)}
        try:
            async with (
                asyncio.timeout(self._timeout),
                AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as client,
                client.stream(method, address, content=body, headers=headers) as response,
            ):
                return _Response(status=response.status_code, body=await _read(response.aiter_bytes()))
        except CopyUnavailable:
            raise
        except TimeoutError:
            raise CopyUnavailable("The service did not answer in time.", problem=CopyProblem.TIMED_OUT) from None
        except Exception:  # noqa: BLE001 - whatever the client raises, there is no answer, and it may quote what was sent
            raise CopyUnavailable("The service was not reached.", problem=CopyProblem.UNREACHABLE) from None


async def _read(chunks: AsyncIterator[bytes]) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MOST_BYTES:
            raise CopyUnavailable("The service answered too much.", problem=CopyProblem.NOT_UNDERSTOOD)
    return bytes(body)


def _body(target: Target) -> bytes:
    return json.dumps(
        {
            "erasure_id": str(target.erasure_id),
            "tenant": target.tenant,
            "subject": target.subject,
            "record_ids": None if target.record_ids is None else [str(one) for one in target.record_ids],
            "before": target.before.isoformat(),
        },
        separators=(",", ":"),
    ).encode()


def _parsed(body: bytes, shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate_json(body)
    except ValidationError:
        raise CopyUnavailable(
            "The service answered something else than the protocol says.", problem=CopyProblem.NOT_UNDERSTOOD
        ) from None


def _refused(status: int) -> CopyUnavailable:
    if status in _UNAUTHORIZED:
        problem = CopyProblem.UNAUTHORIZED
    elif status in _BUSY:
        problem = CopyProblem.BUSY
    elif status >= 500:  # noqa: PLR2004 - as HTTP defines it
        problem = CopyProblem.FAILED
    else:
        problem = CopyProblem.REFUSED
    return CopyUnavailable(f"The service answered with HTTP status {status}.", problem=problem)


def _checked(url: object) -> str:
    """`url` without a slash at its end. Raises InvalidInput."""
    parts = _split(url)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput('url must be an https URL, such as "https://crm.example/erasure".')
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidInput("url must have no user, password, query or fragment; the key goes into `key`.")
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise InvalidInput("url must be https: the ids of persons are sent there. Only this machine may do without.")
    return parts.geturl().rstrip("/")


def _split(url: object) -> SplitResult | None:
    if not isinstance(url, str) or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        return None
    return parts


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
