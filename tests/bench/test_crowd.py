"""Records that are copied inside the database are to recall what records written by Olvido are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import olvido
from bench import crowd, reads
from bench.data import recall_of
from bench.store import Store, opened
from tests.places import put_home, server_directory

MODEL = 60


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the database server can be let into."""
    with server_directory() as directory:
        yield directory


@pytest.fixture
async def store(place: Path) -> AsyncIterator[Store]:
    """An empty store."""
    put_home(place / "home")
    async with opened(place / "home") as store:
        yield store


async def test_a_copy_is_recalled_as_what_it_is_a_copy_of(store: Store) -> None:
    """Somebody with all records of the model is answered with the same events, scores and labels."""
    people = [crowd.Person(tenant="acme", subject="all", size=MODEL), crowd.Person(tenant="b", subject="few", size=7)]
    await crowd.fill(store, people, model=MODEL)
    for number in range(3):
        written = await store.person("acme", "model").recall(recall_of(number, among=MODEL))
        copied = await store.person("acme", "all").recall(recall_of(number, among=MODEL))
        assert written.items
        assert [seen(item) for item in copied.items] == [seen(item) for item in written.items]
        # Recency is a little less a moment later.
        scores = [item.score for item in written.items]
        assert [item.score for item in copied.items] == pytest.approx(scores, abs=1e-6)
        assert copied.index_complete
    assert len((await store.person("b", "few").episodes()).items) == 7
    report = await store.person("acme", "all").forget_all()
    assert report.status is olvido.Status.ROWS_ABSENT


async def test_more_records_than_the_model_has_are_other_events_of_other_cases(store: Store) -> None:
    """Copies go on where the model ends: older, under ids of their own, in cases of twenty."""
    await crowd.fill(store, [crowd.Person(tenant="acme", subject="more", size=MODEL + 40)], model=MODEL)
    found = (await store.person("acme", "more").episodes(limit=200)).items
    assert len({one.event_id for one in found}) == len({one.occurred_at for one in found}) == MODEL + 40
    assert {one.case_id for one in found} == {f"case-{number}" for number in range(5)}


async def test_vectors_for_numpy_are_those_of_the_person(store: Store) -> None:
    """One row a record, of unit length."""
    await crowd.fill(store, [crowd.Person(tenant="acme", subject="some", size=9)], model=9)
    vectors = crowd.vectors(store, "acme", "some")
    assert vectors.shape == (9, store.embedder.dimensions)
    assert (vectors**2).sum(axis=1) == pytest.approx([1] * 9, abs=1e-2)


async def test_each_size_is_measured_beside_the_floor_and_numpy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row a size, one with the real embedder, and one of several callers at once."""
    monkeypatch.setattr(reads, "OTHERS", 10)
    monkeypatch.setattr(crowd, "MODEL", MODEL)
    sizes = {5: "person-5", 30: "person-30"}
    await reads.fill(store, 35 + 160, sizes)
    rows = {row.name: row for row in await reads.recall(store, store.memory, sizes, 2)}
    assert set(rows) == {"recall_5", "recall_30", "recall_30_embedding_included", "recall_10_by_8_callers"}
    for name in ("recall_5", "recall_30"):
        document = rows[name].document()
        assert document["floor_median"]
        assert document["numpy_median"]
    assert rows["recall_10_by_8_callers"].unit == "recalls/s"


def seen(item: olvido.RecallItem[olvido.Episode]) -> tuple[str, str]:
    """What of an item does not depend on who has it."""
    return item.record.event_id, item.label
