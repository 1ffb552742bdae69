"""One request of the OpenAI embeddings protocol: what goes out, what may come back, and what each refusal means.

Nothing here raises or keeps what a client or a parser says: it may quote the texts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from olvido.adapters.vectors import directions
from olvido.errors import EmbedderProblem, EmbedderUnavailable
from olvido.ports import Vectors

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

MOST_BYTES = 16 * 2**20
"""An answer may have so many, whatever was asked for: a wrong size is then told as what it is."""
WRITTEN = 40
"""Bytes of one number as text, white space included, at most."""

AGAIN = frozenset({408, 425, 429})
"""Refusals that ask to try again; 500 and above do so as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why there is no answer. is_transient: another try may help. retry_after: seconds that the endpoint asked for."""

    problem: EmbedderProblem
    message: str
    is_transient: bool = False
    retry_after: float | None = None

    def error(self) -> EmbedderUnavailable:
        """The same as an error."""
        return EmbedderUnavailable(self.message, problem=self.problem)


class _Row(BaseModel):
    index: int
    embedding: list[float] | str


class _Answer(BaseModel):
    data: list[_Row]


def most_bytes(count: int, dimensions: int) -> int:
    """How many bytes an answer with `count` vectors may have."""
    return max(MOST_BYTES, WRITTEN * count * dimensions)


async def ask(client: AsyncClient, url: str, body: dict[str, object], *, seconds: float, most: int) -> bytes | Failure:
    """Post `body` to `url` and read the answer, within `seconds` and of at most `most` bytes."""
    try:
        async with asyncio.timeout(seconds), client.stream("POST", url, json=body) as response:
            if response.status_code == 200:  # noqa: PLR2004 - the one status that has vectors
                return await _read(response, most)
            return refusal(response.status_code, response.headers.get("retry-after"), now=datetime.now(UTC))
    except TimeoutError:
        return Failure(
            problem=EmbedderProblem.TIMED_OUT,
            message=f"The embedder did not answer within {seconds:g} seconds. Look whether it is overloaded.",
            is_transient=True,
        )
    except Exception as error:  # noqa: BLE001 - whatever the client raises, there is no answer
        return Failure(
            problem=EmbedderProblem.UNREACHABLE,
            message=f"The embedder could not be reached ({type(error).__name__}). Check base_url and the endpoint.",
            is_transient=True,
        )


def refusal(status: int, retry_after: str | None, *, now: datetime) -> Failure:
    """What an HTTP status other than 200 means."""
    match status:
        case 429:
            problem, advice = EmbedderProblem.BUSY, "It takes no more requests now; lower concurrency if this stays."
        case _ if status >= 500:  # noqa: PLR2004 - as HTTP defines it
            problem, advice = EmbedderProblem.SERVER_ERROR, "It failed inside; look at its log."
        case 401 | 403:
            problem, advice = EmbedderProblem.UNAUTHORIZED, "Check the key: api_key, or OLVIDO_EMBEDDER_API_KEY."
        case _ if 300 <= status < 400:  # noqa: PLR2004 - the same
            # Not followed: texts and the key go to the place that was configured, and to no other.
            problem, advice = EmbedderProblem.REDIRECTED, "Set base_url to where the endpoint is now."
        case _:
            problem = EmbedderProblem.REFUSED
            advice = "Check base_url, model and send_dimensions, and that the texts are not too long or too many."
    return Failure(
        problem=problem,
        message=f"The embedder answered with HTTP status {status}. {advice}",
        is_transient=status in AGAIN or status >= 500,  # noqa: PLR2004 - the same
        retry_after=_seconds(retry_after, now),
    )


def vectors_of(body: bytes, *, count: int, dimensions: int) -> Vectors:
    """The vectors in an answer, in the order of the texts, shape (count, dimensions).

    Rows may come in any order and as numbers or base64, whatever was asked for. Raises EmbedderUnavailable.
    """
    answer = _parsed(body)
    if answer is None:
        raise EmbedderUnavailable(
            "The embedder answered something else than the OpenAI embeddings protocol. Check base_url.",
            problem=EmbedderProblem.NOT_THE_PROTOCOL,
        )
    answer.data.sort(key=lambda row: row.index)
    if [row.index for row in answer.data] != list(range(count)):
        raise EmbedderUnavailable(
            f"The embedder answered {len(answer.data)} vectors for {count} texts, or numbered them wrongly. "
            "Lower texts_per_request, or use another endpoint.",
            problem=EmbedderProblem.WRONG_COUNT,
        )
    return directions(
        [_numbers(row.embedding) for row in answer.data],
        count=count,
        dimensions=dimensions,
        remedy="Set dimensions to what the model gives; send_dimensions asks it for shorter vectors.",
    )


async def _read(response: Response, most: int) -> bytes | Failure:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            return Failure(
                problem=EmbedderProblem.NOT_THE_PROTOCOL,
                message="The embedder answered more than vectors could take. Check base_url.",
            )
    return bytes(body)


def _parsed(body: bytes) -> _Answer | None:
    try:
        return _Answer.model_validate_json(body)
    except ValidationError:
        return None


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if not isinstance(embedding, str):
        return np.array(embedding, dtype=np.float64)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    except (binascii.Error, ValueError):
        return np.empty(0)


def _seconds(retry_after: str | None, now: datetime) -> float | None:
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(retry_after) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    return None if isnan(seconds) else max(0.0, seconds)
