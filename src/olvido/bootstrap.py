"""Put the parts together: a database, a policy, an embedder; and refuse to serve where the contract would not hold."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from types import TracebackType

from olvido.domain.encoding import utf8
from olvido.domain.policy import Policy
from olvido.domain.policy_file import default_policy, load_policy
from olvido.errors import EmbedderUnavailable, InvalidInput, InvalidPolicy
from olvido.memory import Memory
from olvido.operations.diagnose import TriedEmbedder
from olvido.operations.environment import Environment
from olvido.ports import MAX_DIMENSIONS, Clock, Embedder, LanguageDetector
from olvido.storage.connections import open_pool
from olvido.storage.database import Database
from olvido.storage.guard import is_member, refuse_unsafe
from olvido.storage.inspection import look
from olvido.storage.migrations import migrate

DEFAULT_HOME = ".olvido"
EMBEDDED_LEAVES = 8
URL_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What `open` was given. target and worker_url may hold a password and are not shown."""

    target: str | Path | None = field(repr=False)
    worker_url: str | None = field(repr=False)
    policy: Policy | str | Path | None
    embedder: Embedder | None
    detector: LanguageDetector | None
    clock: Clock | None
    pool_size: int
    timeout: float


class Opening:
    """What `open` returns: `async with` it, or await it for a Memory that you close yourself."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory: Memory | None = None

    async def opened(self) -> Memory:
        """The Memory, which the caller closes."""
        return await _open(self._settings)

    def __await__(self) -> Generator[object, None, Memory]:
        return self.opened().__await__()

    async def __aenter__(self) -> Memory:
        self._memory = await _open(self._settings)
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.close()


def open(  # noqa: A001 - `olvido.open()` reads as what it does
    target: str | Path | None = None,
    *,
    worker_url: str | None = None,
    policy: Policy | str | Path | None = None,
    embedder: Embedder | None = None,
    detector: LanguageDetector | None = None,
    clock: Clock | None = None,
    pool_size: int = 10,
    timeout: float = 30.0,
) -> Opening:
    """Open a memory: `async with olvido.open() as memory:`.

    target: None is the data directory in OLVIDO_HOME, or `.olvido`; a path is a data directory; a `postgresql://` URL
    is a prepared database (see `olvido migrate`), whose login is a member of olvido_app.
    worker_url: the login for purge and forget_tenant, a member of olvido_worker; None takes the login of `target`, if
    it is one. For a database URL only.
    policy: a Policy, or the path of a policy file; None is the default policy for a support assistant.
    embedder: one of `olvido.embedders` or your own, which you close yourself; None is the endpoint that
    OLVIDO_EMBEDDER_URL names, or else the local multilingual-e5-small. clock: for tests; None is the database's clock.
    pool_size: connections at most, 1 or more. timeout: seconds to wait for a connection.
    Raises DataDirectoryError, DatabaseUnavailable, UnsafeDatabase, SchemaMismatch, InvalidPolicy, InvalidInput, and
    EmbedderUnavailable if the packages of the default embedder are not installed.
    """
    if pool_size < 1 or timeout <= 0:
        raise InvalidInput("pool_size must be 1 or more, and timeout more than 0 seconds.")
    return Opening(
        Settings(
            target=target,
            worker_url=worker_url,
            policy=policy,
            embedder=embedder,
            detector=detector,
            clock=clock,
            pool_size=pool_size,
            timeout=timeout,
        )
    )


def read_policy(policy: Policy | str | Path | None) -> Policy:
    """The policy that `open` would use. Raises InvalidPolicy."""
    if policy is None:
        return default_policy()
    if isinstance(policy, Policy):
        return policy
    path = Path(policy)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidPolicy(f"The policy file {path.name} cannot be read: {type(error).__name__}.") from None
    try:
        text = utf8(content, path.name).decode()
    except InvalidInput as error:
        raise InvalidPolicy(str(error)) from None
    return load_policy(text, path.name)


def data_directory(target: str | Path | None) -> Path:
    """Where the embedded database of `target` lives."""
    return Path(target or os.environ.get("OLVIDO_HOME") or DEFAULT_HOME)


async def try_default_embedder() -> TriedEmbedder | None:
    """The embedder that `open` would use if none is given, asked for the vector of a fixed text.

    None where it is not installed. Raises InvalidInput if the environment names an embedder that cannot be.
    """
    from olvido.adapters.configured import configured_embedder

    try:
        embedder = await asyncio.to_thread(configured_embedder, os.environ)
    except EmbedderUnavailable:
        return None
    problem = None
    try:
        await embedder.embed_query("Does this embedder answer?")
    except EmbedderUnavailable as error:
        problem = str(error)
    finally:
        await asyncio.to_thread(embedder.close)
    return TriedEmbedder(id=embedder.id, problem=problem)


async def _open(settings: Settings) -> Memory:
    policy = read_policy(settings.policy)
    async with AsyncExitStack() as stack:
        embedder = settings.embedder or await _default_embedder(stack)
        if not 1 <= embedder.dimensions <= MAX_DIMENSIONS:
            raise InvalidInput(f"Vectors may have 1 to {MAX_DIMENSIONS} dimensions. Use an embedder with shorter ones.")
        request_url, worker_url = await _urls(settings, stack)
        is_worker = await _refuse_unsafe(request_url, "olvido_app", settings.timeout)
        requests = await open_pool(request_url, size=settings.pool_size, wait_seconds=settings.timeout, name="requests")
        stack.push_async_callback(requests.close)
        workers = None
        if worker_url is not None:
            await _refuse_unsafe(worker_url, "olvido_worker", settings.timeout)
        elif is_worker:
            worker_url = request_url
        if worker_url is not None:
            # Never the pool of requests: a request that waits for a duty would hold what the duty waits for.
            workers = await open_pool(
                worker_url, size=settings.pool_size, wait_seconds=settings.timeout, name="workers", idle=0
            )
            stack.push_async_callback(workers.close)
        environment = Environment(
            database=Database(requests, workers, clock=settings.clock),
            policy=policy,
            embedder=embedder,
            detector=settings.detector or _default_detector(),
        )
        return Memory(environment, stack.pop_all().aclose)
    raise AssertionError  # the stack suppresses nothing


async def _refuse_unsafe(url: str, role: str, seconds: float) -> bool:
    """Look before a pool connects: a pool tries again until its time is over, and then cannot say what was wrong.

    Returns whether the login may run the duties of a worker.
    """
    async with look(url, seconds=ceil(seconds)) as connection:
        await refuse_unsafe(connection, role=role)
        return await is_member(connection, "olvido_worker")


async def _urls(settings: Settings, stack: AsyncExitStack) -> tuple[str, str | None]:
    target = settings.target
    if isinstance(target, str) and target.startswith(URL_SCHEMES):
        return target, settings.worker_url
    if isinstance(target, str) and "://" in target:
        raise InvalidInput("This URL is not of a PostgreSQL database. Write it as postgresql://login@host/database.")
    if settings.worker_url is not None:
        raise InvalidInput("worker_url goes with a database URL; the embedded database has a worker of its own.")
    from olvido.adapters import embedded

    server = await asyncio.to_thread(embedded.start, data_directory(target))
    stack.push_async_callback(asyncio.to_thread, server.close)
    await asyncio.to_thread(migrate, server.urls.superuser, leaves=EMBEDDED_LEAVES)
    return server.urls.app, server.urls.worker


async def _default_embedder(stack: AsyncExitStack) -> Embedder:
    from olvido.adapters.configured import configured_embedder

    embedder = await asyncio.to_thread(configured_embedder, os.environ)
    stack.push_async_callback(asyncio.to_thread, embedder.close)
    return embedder


def _default_detector() -> LanguageDetector:
    from olvido.adapters.languages import Languages

    return Languages()
