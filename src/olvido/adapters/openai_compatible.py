"""Embeddings from any endpoint that speaks the OpenAI protocol, hosted or your own (extra `openai`)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from olvido.adapters.batches import batches, pieces
from olvido.adapters.embeddings_api import Failure, ask, most_bytes, vectors_of
from olvido.adapters.endpoint_checks import checked_key, checked_url, name, number, whole, words
from olvido.adapters.own_loop import OwnLoop
from olvido.adapters.shared_jobs import SharedVectors, own_outcome
from olvido.adapters.vectors import ORDINARY, directions, mean_of, readable
from olvido.errors import EmbedderProblem, EmbedderUnavailable, InvalidInput
from olvido.ports import MAX_DIMENSIONS, Vector, Vectors

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from tenacity import RetryCallState

API_KEY = "OLVIDO_EMBEDDER_API_KEY"
REST_SECONDS = 5.0
"""After an endpoint was not reached, it is left alone for so long: a hanging one would hold up every single call."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0
"""Seconds. A try waits a random part of 0.25 · 2^n, at most 4: "full jitter" of exponential backoff."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Side:
    """What is put before a text, and said beside it, on one side of the comparison."""

    prefix: str
    input_type: str | None

    @classmethod
    def checked(cls, side: str, prefix: str, input_type: str | None) -> Self:
        return cls(
            prefix=words(prefix, f"{side}_prefix"),
            input_type=None if input_type is None else name(input_type, f"{side}_input_type"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Connection:
    client: AsyncClient
    slots: asyncio.Semaphore


class OpenAICompatible:
    """An embedder behind `POST {base_url}/embeddings`. Close it yourself, or use it in a `with` block.

    Requests are made in a thread of its own, so one instance serves any event loop, any thread and the sync face.
    Vectors of recent queries are kept in memory, at most 256, under digests with a key that dies with the process.
    Texts are sent to the endpoint, and nowhere else: redirects are not followed. Neither texts nor the key are logged.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        version: str | None = None,
        api_key: str | None = None,
        send_dimensions: bool = False,
        query_prefix: str = "",
        passage_prefix: str = "",
        query_input_type: str | None = None,
        passage_input_type: str | None = None,
        encoding_format: Literal["float", "base64"] = "float",
        texts_per_request: int = 32,
        characters_per_request: int = 32_000,
        characters_per_text: int = 8_000,
        concurrency: int = 4,
        timeout: float = 15.0,
        patience: float = 30.0,
        retries: int = 2,
    ) -> None:
        """Nothing is sent until the first text.

        base_url: such as "https://api.openai.com/v1", without user, query or `/embeddings`. model: as the endpoint
        names it. dimensions: length of its vectors, 1 to 3,584; send_dimensions: also ask for that length, which only
        some models take. version: change it when another model is served under the same name, so that old vectors are
        not compared with new ones; letters, digits, dots, hyphens and underscores.
        api_key: None takes the environment variable OLVIDO_EMBEDDER_API_KEY; if that is not set, no key is sent.
        query_prefix, passage_prefix: put before each text, as models like e5 need ("query: ", "passage: ").
        query_input_type, passage_input_type: the same as a field `input_type`, where an endpoint takes one.
        texts_per_request, characters_per_request: limits of one request. characters_per_text: a longer text is embedded
        in pieces, whose mean counts. concurrency: requests at once.
        timeout: seconds for one request. patience: seconds for a request with its retries and waits. retries: further
        tries, 0 to 10, after a timeout, a lost connection, HTTP 408, 425, 429 and 5xx; Retry-After is respected.
        Raises InvalidInput, and EmbedderUnavailable if the extra is not installed.
        """
        try:
            import httpx2  # noqa: F401
            import tenacity  # noqa: F401
        except ImportError:
            raise EmbedderUnavailable(
                "The package httpx2 or tenacity is not installed. Install them with: pip install 'olvido[openai]'."
            ) from None
        self._url = checked_url(base_url)
        self._model = name(model, "model")
        self._dimensions = whole(dimensions, "dimensions", least=1, most=MAX_DIMENSIONS)
        self._key = checked_key(os.environ.get(API_KEY) if api_key is None else api_key)
        if encoding_format not in {"float", "base64"}:
            raise InvalidInput('encoding_format must be "float" or "base64".')
        self._query = _Side.checked("query", query_prefix, query_input_type)
        self._passage = _Side.checked("passage", passage_prefix, passage_input_type)
        self._fields: dict[str, object] = {"model": self._model, "encoding_format": encoding_format}
        if send_dimensions:
            self._fields["dimensions"] = self._dimensions
        self._texts = whole(texts_per_request, "texts_per_request", least=1)
        self._characters = whole(characters_per_request, "characters_per_request", least=1)
        self._longest = whole(characters_per_text, "characters_per_text", least=1)
        self._concurrency = whole(concurrency, "concurrency", least=1)
        self._retries = whole(retries, "retries", least=0, most=10)
        self._timeout = number(timeout, "timeout")
        self._patience = number(patience, "patience")
        self._id = _id(self._model, version, self._dimensions, self._passage)
        self._shared = SharedVectors()
        self._loop = OwnLoop(name="olvido-embedder", make=self._connect, dispose=_disconnect)
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._now = time.monotonic
        self._rests_until = 0.0

    def __repr__(self) -> str:
        return f"OpenAICompatible(base_url={self._url!r}, id={self._id!r})"

    @property
    def id(self) -> str:
        """Model, version and length of the vectors, such as "bge-m3@2026-05/1024".

        A passage prefix or input type adds a digest of it, since it changes the vectors.
        """
        return self._id

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        return self._dimensions

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of records, shape (len(texts), dimensions). Raises EmbedderUnavailable."""
        return await own_outcome(self._loop.submit(lambda connection: self._embed(connection, texts, self._passage)))

    async def embed_query(self, text: str) -> Vector:
        """Vector of a question, shape (dimensions,). Raises EmbedderUnavailable."""

        async def ask_one(connection: _Connection) -> Vector:
            vector: Vector = (await self._embed(connection, [text], self._query))[0]
            return vector

        return await self._shared.query(text, lambda: self._loop.submit(ask_one))

    async def centre(self) -> Vector:
        """Mean vector of everyday sentences, shape (dimensions,), asked for once. Raises EmbedderUnavailable."""

        async def ask_mean(connection: _Connection) -> Vector:
            return mean_of(await self._embed(connection, ORDINARY, self._passage))

        return await self._shared.centre(lambda: self._loop.submit(ask_mean))

    def close(self) -> None:
        """Give up requests that run, close the connections and end the thread. Later calls raise."""
        self._loop.close()
        self._shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _embed(self, connection: _Connection, texts: Sequence[str], side: _Side) -> Vectors:
        cut = [pieces(readable(text) or " ", self._longest) for text in texts]
        flat = [side.prefix + piece for parts in cut for piece in parts]
        rows = np.empty((len(flat), self._dimensions), dtype=np.float32)
        ranges = batches(flat, most=self._texts, characters=self._characters)

        async def work() -> None:
            for places in ranges:
                rows[places.start : places.stop] = await self._request(
                    connection, flat[places.start : places.stop], side
                )

        # As many as there are slots, not all at once: a query that comes meanwhile is next in line.
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, len(flat))):
                    group.create_task(work())
        except ExceptionGroup as failed:
            first = failed.exceptions[0]
        else:
            return self._joined(rows, cut)
        raise first

    def _joined(self, rows: Vectors, cut: list[list[str]]) -> Vectors:
        """One row a text: that of its only piece, or the mean of its pieces by their lengths."""
        means = np.empty((len(cut), self._dimensions))
        first = 0
        for place, parts in enumerate(cut):
            own = rows[first : first + len(parts)]
            means[place] = np.average(own, axis=0, weights=[len(part) for part in parts])
            first += len(parts)
        return directions(means, count=len(cut), dimensions=self._dimensions, remedy="Use another model.")

    async def _request(self, connection: _Connection, texts: list[str], side: _Side) -> Vectors:
        if self._now() < self._rests_until:
            raise EmbedderUnavailable(
                "The embedder was not reached a moment ago and is tried again in a few seconds.",
                problem=EmbedderProblem.RESTING,
            )
        body = {**self._fields, "input": texts}
        if side.input_type is not None:
            body["input_type"] = side.input_type
        answered = await self._answer(connection, body, most_bytes(len(texts), self._dimensions))
        if isinstance(answered, Failure):
            if answered.problem in {EmbedderProblem.UNREACHABLE, EmbedderProblem.TIMED_OUT}:
                self._rests_until = self._now() + REST_SECONDS
            raise answered.error()
        self._rests_until = 0.0
        return vectors_of(answered, count=len(texts), dimensions=self._dimensions)

    async def _answer(self, connection: _Connection, body: dict[str, object], most: int) -> bytes | Failure:
        from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt, stop_before_delay

        async def attempt() -> bytes | Failure:
            async with connection.slots:
                return await ask(connection.client, f"{self._url}/embeddings", body, seconds=self._timeout, most=most)

        tries = AsyncRetrying(
            stop=stop_after_attempt(1 + self._retries) | stop_before_delay(self._patience),
            wait=_wait,
            retry=retry_if_result(lambda answered: isinstance(answered, Failure) and answered.is_transient),
            retry_error_callback=_last,
            sleep=self._sleep,
        )
        try:
            async with asyncio.timeout(self._patience):
                return await tries(attempt)
        except TimeoutError:
            return Failure(
                problem=EmbedderProblem.TIMED_OUT,
                message=f"The embedder did not answer within {self._patience:g} seconds, retries included. "
                "Look whether it is overloaded.",
            )

    def _connect(self) -> _Connection:
        from httpx2 import AsyncClient

        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key.get_secret_value()}"}
        # Time is limited around each request: limits of single reads would let an answer drip for ever. A proxy that
        # the environment names would read texts and key.
        return _Connection(
            client=AsyncClient(headers=headers, timeout=None, follow_redirects=False, trust_env=False),
            slots=asyncio.Semaphore(self._concurrency),
        )


async def _disconnect(connection: _Connection) -> None:
    await connection.client.aclose()


def _id(model: str, version: str | None, dimensions: int, passage: _Side) -> str:
    # The "@" keeps a model that has one in its name apart from another model with that version.
    versioned = f"{model}@{name(version, 'version', is_word=True)}" if version is not None else model
    if version is None and "@" in model:
        versioned = f"{model}@"
    changes = (passage.prefix, passage.input_type or "")
    if not any(changes):
        return f"{versioned}/{dimensions}"
    digest = hashlib.blake2b("\0".join(changes).encode(), digest_size=4).hexdigest()
    return f"{versioned}/{dimensions}+{digest}"


def _wait(state: RetryCallState) -> float:
    """Seconds before the next try: what the endpoint asked for, and a random part that keeps callers apart."""
    from tenacity import wait_random_exponential

    answered = _last(state)
    asked = answered.retry_after if isinstance(answered, Failure) else None
    return (asked or 0.0) + wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)(state)


def _last(state: RetryCallState) -> bytes | Failure:
    if state.outcome is None:
        raise AssertionError
    answered: bytes | Failure = state.outcome.result()
    return answered
