"""Put the parts together: a database, a policy, an embedder; and refuse to serve where the contract would not hold."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from olvido.domain.encoding import utf8
from olvido.domain.policy import Policy
from olvido.domain.policy_file import default_policy, load_policy
from olvido.errors import EmbedderUnavailable, InvalidInput, InvalidPolicy, OlvidoError
from olvido.memory import Memory
from olvido.operations import restore
from olvido.operations.apply_again import settle
from olvido.operations.copies import register_copies
from olvido.operations.diagnose import TriedEmbedder
from olvido.operations.environment import Environment
from olvido.operations.ledger_gate import let_in, refuse_restored, refuse_unsettled
from olvido.ports import MAX_DIMENSIONS, Clock, Connector, Embedder, LanguageDetector, SessionCache
from olvido.storage.connections import open_pool
from olvido.storage.database import Database
from olvido.storage.guard import is_member, refuse_unsafe
from olvido.storage.inspection import look
from olvido.storage.migrations import migrate
from olvido.storage.rewriting import Eraser
from olvido.storage.row_policies import ERASER

if TYPE_CHECKING:
    from olvido.adapters.embedded.handle import EmbeddedServer
    from olvido.adapters.keys import KeyDirectory
    from olvido.adapters.ledger import FileLedger

DEFAULT_HOME = ".olvido"
EMBEDDED_LEAVES = 8
QUESTIONS = 4
"""Connections at most for short questions of whoever holds a life. They wait for nobody."""
URL_SCHEMES = ("postgresql://", "postgres://")
LEDGER = "OLVIDO_LEDGER"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What `open` was given. target, worker_url and eraser_url may hold a password and are not shown."""

    target: str | Path | None = field(repr=False)
    worker_url: str | None = field(repr=False)
    eraser_url: str | None = field(repr=False)
    policy: Policy | str | Path | None
    embedder: Embedder | None
    detector: LanguageDetector | None
    clock: Clock | None
    pool_size: int
    timeout: float
    keys: str | Path | None
    ledger: str | Path | None
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    cache: SessionCache | None = None


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
    eraser_url: str | None = None,
    policy: Policy | str | Path | None = None,
    embedder: Embedder | None = None,
    detector: LanguageDetector | None = None,
    clock: Clock | None = None,
    pool_size: int = 10,
    timeout: float = 30.0,
    keys: str | Path | None = None,
    ledger: str | Path | None = None,
    connectors: Mapping[str, Connector] | None = None,
    cache: SessionCache | None = None,
) -> Opening:
    """Open a memory: `async with olvido.open() as memory:`.

    target: None is the data directory in OLVIDO_HOME, or `.olvido`; a path is a data directory; a `postgresql://` URL
    is a prepared database (see `olvido migrate`), whose login is a member of olvido_app.
    worker_url: the login for purge and forget_tenant, a member of olvido_worker; None takes the login of `target`, if
    it is one. eraser_url: the login for erase_pending, a member of olvido_eraser, straight to the server; None leaves
    files and log of the database as they are. Both for a database URL only.
    policy: a Policy, or the path of a policy file; None is the default policy for a support assistant.
    embedder: one of `olvido.embedders` or your own, which you close yourself; None is the endpoint that
    OLVIDO_EMBEDDER_URL names, or else the local multilingual-e5-small. detector: tells the language of a text where the
    caller does not; None is py3langid among pt, es, en and "other". clock: for tests; None is the database's clock.
    pool_size: connections at most, 1 or more, for requests and as many for duties; a few more for short questions that
    a forget or an import asks the audit. timeout: seconds to wait for a connection.
    keys: the directory of the keys that sign receipts, outside the database and its backups; None is the one that
    OLVIDO_KEYS names, or else the data directory with `-keys` after its name. With a URL and none, nothing is signed.
    ledger: the directory of the erasure ledger, one for all hosts of this database and outside its backups; None is the
    one that OLVIDO_LEDGER names, or else the data directory with `-ledger` after its name. A URL needs one of the two.
    connectors: by the names that copies of the policy have for them: what erases these copies; you close them yourself.
    cache: to read the state of sessions from; the policy declares it among its copies. It is closed with the memory.
    See `olvido.connectors` for both.
    Raises DataDirectoryError, DatabaseUnavailable, UnsafeDatabase, SchemaMismatch, InvalidPolicy, InvalidInput,
    StoreLocked if the database lacks what its ledger says was forgotten (see `restore_replay`), LedgerUnavailable, and
    EmbedderUnavailable if the packages of the default embedder are not installed.
    """
    if pool_size < 1 or timeout <= 0:
        raise InvalidInput("pool_size must be 1 or more, and timeout more than 0 seconds.")
    return Opening(
        Settings(
            target=target,
            worker_url=worker_url,
            eraser_url=eraser_url,
            policy=policy,
            embedder=embedder,
            detector=detector,
            clock=clock,
            pool_size=pool_size,
            timeout=timeout,
            keys=keys,
            ledger=ledger,
            connectors=connectors or {},
            cache=cache,
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


def keys_directory(keys: str | Path | None, target: str | Path | None) -> KeyDirectory | None:
    """The keys that `open` would use: nothing is made or read yet. None: a URL, and no directory is named.

    Raises InvalidInput for a directory inside the data directory, whose backup would hold the keys too.
    """
    from olvido.adapters.keys import VARIABLE, KeyDirectory

    named = keys or os.environ.get(VARIABLE) or None
    if isinstance(target, str) and target.startswith(URL_SCHEMES):
        return None if named is None else KeyDirectory(Path(named))
    home = data_directory(target).resolve()
    path = home.with_name(f"{home.name}-keys") if named is None else Path(named).resolve()
    if path.is_relative_to(home):
        raise InvalidInput(
            "The directory of the keys is inside the data directory, so that a backup of the data would hold them. "
            f"Name another one with {VARIABLE} or keys."
        )
    return KeyDirectory(path, like=home)


def ledger_directory(ledger: str | Path | None, target: str | Path | None) -> FileLedger:
    """The erasure ledger that `open` would use: nothing is made or read yet. Whoever asks for it closes it.

    Raises InvalidInput for a URL if none is named, and for a directory inside the data directory: a backup of the data
    would put it back.
    """
    from olvido.adapters.ledger import FileLedger

    named = ledger or os.environ.get(LEDGER) or None
    if isinstance(target, str) and target.startswith(URL_SCHEMES):
        if named is None:
            raise InvalidInput(
                "Name the directory of the erasure ledger, which all hosts of this database share and which is backed "
                f"up apart from it: {LEDGER}=/srv/olvido-ledger, olvido.open(..., ledger=...) or --ledger."
            )
        return FileLedger(Path(named))
    home = data_directory(target).resolve()
    path = home.with_name(f"{home.name}-ledger") if named is None else Path(named).resolve()
    if path.is_relative_to(home):
        raise InvalidInput(
            "The directory of the erasure ledger is inside the data directory, so that a backup put back would put it "
            f"back too. Name another one with {LEDGER} or ledger."
        )
    return FileLedger(path, beside=home)


@contextmanager
def named_ledger(ledger: str | Path | None, target: str | Path | None) -> Iterator[FileLedger | None]:
    """The ledger that `open` would use, for a while; None for a URL if none is named."""
    is_named = ledger or os.environ.get(LEDGER)
    if isinstance(target, str) and target.startswith(URL_SCHEMES) and not is_named:
        yield None
        return
    found = ledger_directory(ledger, target)
    try:
        yield found
    finally:
        found.close()


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
    async with AsyncExitStack() as stack:
        environment = await environment_of(settings, stack)
        await register_copies(environment)
        if environment.database.has_worker:
            await settle(environment)
        else:
            await refuse_unsettled(environment.ledger)
        return Memory(environment, stack.pop_all().aclose)
    raise AssertionError  # the stack suppresses nothing


async def environment_of(settings: Settings, stack: AsyncExitStack, *, locked: bool = False) -> Environment:
    """Everything that is open together. locked: also from a database that does not fit its ledger."""
    from olvido.adapters.anchors import AnchorFile
    from olvido.adapters.copies.configured import connectors_of, require_declared_cache, unset_variables

    policy = read_policy(settings.policy)
    if settings.cache is not None:
        require_declared_cache(policy)
        # Its connections are of the event loop of this memory, which nobody else may be in.
        stack.push_async_callback(settings.cache.aclose)
    keys = keys_directory(settings.keys, settings.target)
    ledger = ledger_directory(settings.ledger, settings.target)
    stack.push_async_callback(asyncio.to_thread, ledger.close)
    embedder = settings.embedder or await _default_embedder(stack)
    if not 1 <= embedder.dimensions <= MAX_DIMENSIONS:
        raise InvalidInput(f"Vectors may have 1 to {MAX_DIMENSIONS} dimensions. Use an embedder with shorter ones.")
    request_url, worker_url, eraser = await _logins(settings, stack)
    is_worker = await _refuse_unsafe(request_url, "olvido_app", settings.timeout)
    if worker_url is not None:
        await _refuse_unsafe(worker_url, "olvido_worker", settings.timeout)
    elif is_worker:
        worker_url = request_url
    check = None
    if not locked:
        await let_in(
            ledger,
            worker_url or request_url,
            worker=worker_url is not None,
            seconds=ceil(settings.timeout),
            take_over=partial(_replay, settings),
        )
        check = partial(refuse_restored, ledger)
    requests = await open_pool(
        request_url, size=settings.pool_size, wait_seconds=settings.timeout, name="requests", check=check
    )
    stack.push_async_callback(requests.close)
    workers = questions = None
    if worker_url is not None:
        # Never the pool of requests: a request that waits for a duty would hold what the duty waits for.
        workers = await open_pool(
            worker_url, size=settings.pool_size, wait_seconds=settings.timeout, name="workers", idle=0, check=check
        )
        stack.push_async_callback(workers.close)
        # Nor that of duties for whoever asks while it holds a life: duties that wait for that life would hold them all.
        questions = await open_pool(
            worker_url, size=QUESTIONS, wait_seconds=settings.timeout, name="questions", idle=0, check=check
        )
        stack.push_async_callback(questions.close)
    if settings.eraser_url is not None:
        await _refuse_unsafe(settings.eraser_url, ERASER, settings.timeout)
    return Environment(
        database=Database(requests, workers, questions=questions, clock=settings.clock),
        policy=policy,
        embedder=embedder,
        detector=settings.detector or _default_detector(),
        ledger=ledger,
        signer=keys,
        anchors=None if keys is None else AnchorFile(keys),
        connectors=connectors_of(policy, settings.connectors, os.environ, stack),
        unset=unset_variables(policy, os.environ),
        cache=settings.cache,
        eraser=eraser,
    )


async def _replay(settings: Settings) -> None:
    """Apply the whole ledger, with connections of its own: those of the memory to be are refused until that is done."""
    async with AsyncExitStack() as stack:
        environment = await environment_of(replace(settings, cache=None), stack, locked=True)
        await register_copies(environment)
        await restore.replay(environment)


async def _refuse_unsafe(url: str, role: str, seconds: float) -> bool:
    """Look before a pool connects: a pool tries again until its time is over, and then cannot say what was wrong.

    Returns whether the login may run the duties of a worker.
    """
    async with look(url, seconds=ceil(seconds)) as connection:
        await refuse_unsafe(connection, role=role)
        return await is_member(connection, "olvido_worker")


async def _logins(settings: Settings, stack: AsyncExitStack) -> tuple[str, str | None, Eraser | None]:
    """The logins for requests, duties and rewriting files."""
    target = settings.target
    if isinstance(target, str) and target.startswith(URL_SCHEMES):
        eraser = None if settings.eraser_url is None else Eraser(settings.eraser_url)
        return target, settings.worker_url, eraser
    if isinstance(target, str) and "://" in target:
        raise InvalidInput("This URL is not of a PostgreSQL database. Write it as postgresql://login@host/database.")
    if settings.worker_url is not None or settings.eraser_url is not None:
        raise InvalidInput(
            "worker_url and eraser_url go with a database URL; the embedded database has logins of its own for these."
        )
    from olvido.adapters import embedded

    # Nothing can take it back while it starts: whoever is cancelled meanwhile closes it once it has started.
    starting = asyncio.get_running_loop().run_in_executor(None, embedded.start, data_directory(target))
    stack.push_async_callback(_leave, starting)
    server = await asyncio.shield(starting)
    await asyncio.to_thread(migrate, server.urls.superuser, leaves=EMBEDDED_LEAVES)
    return server.urls.app, server.urls.worker, Eraser(server.urls.eraser, remove=server.remove_files)


async def _leave(starting: asyncio.Future[EmbeddedServer]) -> None:
    try:
        server = await starting
    except OlvidoError:
        return  # which was raised to whoever waited for it to start
    await asyncio.to_thread(server.close)


async def _default_embedder(stack: AsyncExitStack) -> Embedder:
    from olvido.adapters.configured import configured_embedder

    embedder = await asyncio.to_thread(configured_embedder, os.environ)
    stack.push_async_callback(asyncio.to_thread, embedder.close)
    return embedder


def _default_detector() -> LanguageDetector:
    from olvido.adapters.languages import Languages

    return Languages()
