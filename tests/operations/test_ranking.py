"""The ranking of recall against an independent computation over the same rows, as the unprivileged role."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg.rows import dict_row

import olvido
from olvido.adapters.languages import Languages
from olvido.domain.eligibility import eligibility
from olvido.domain.ranking import Strength
from olvido.operations.recall import ask, rank_parameters
from olvido.storage.queries import statements
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import DAY, DIMENSIONS, NOTES, WordEmbedder


async def test_scores_equal_brute_force(
    clone: Clone, clock: ManualClock, ana: olvido.ScopedMemory, words: WordEmbedder, detector: Languages
) -> None:
    """Every score equals an independent computation over the same rows, and so does the order."""
    for query in ("printer error", "el curso de matemáticas", "o curso não abre", "AB-1234", "the flight to Lisbon"):
        expected = await brute_force(clone, clock, words, detector, query)
        found = await ana.recall(query, limit=50)
        answered = {item.record_id: item.parts for item in found.items}
        answered |= {item.record_id: item.parts for item in found.preferences}
        kept = {key: value for key, value in expected.items() if value["episode"] and value["base"] >= 0.15}
        assert [item.record_id for item in found.items] == sorted(kept, key=lambda key: -kept[key]["score"])
        assert found.omitted == len(NOTES) - len(kept)
        for key, parts in answered.items():
            assert parts is not None
            for name in ("lex", "sem", "base", "score"):
                assert getattr(parts, name) == pytest.approx(expected[key][name], abs=2e-3), (query, name)


async def brute_force(
    clone: Clone, clock: ManualClock, words: WordEmbedder, detector: Languages, query: str
) -> dict[object, dict[str, float]]:
    """BM25 over own words divided by its bound, cosine around the shrunk mean, recency and reliability, in numpy."""
    async with await psycopg.AsyncConnection.connect(clone.superuser, row_factory=dict_row) as connection:
        rows = await (
            await connection.execute(
                "SELECT record_id, kind, language, occurred_at, origin_class, embedding::real[] AS vector,"
                " (SELECT json_object_agg(lexeme, cardinality(positions)) FROM unnest(terms)) AS terms"
                " FROM olvido.index_entries"
            )
        ).fetchall()
        lexed = {}
        for language in ("en", "es", "pt", "other"):
            cursor = await connection.execute(
                "SELECT array_agg(lexeme)::text[] AS words FROM unnest(olvido.lex(%s, %s))", (language, query)
            )
            lexed[language] = set((await cursor.fetchone() or {})["words"] or ())
    stops = lexed["other"] - lexed[detector.detect(query)]
    spoken = {language: found - stops for language, found in lexed.items()}
    lengths = [sum((row["terms"] or {}).values()) for row in rows]
    df = {
        word: sum(word in (row["terms"] or {}) and word in spoken[row["language"]] for row in rows)
        for word in set().union(*spoken.values())
    }
    idf = {word: math.log(1 + (len(rows) - count + 0.5) / (count + 0.5)) for word, count in df.items()}
    vectors: NDArray[np.float64] = np.array([row["vector"] for row in rows], dtype=float)
    mean = (vectors.sum(axis=0) + 50 * await words.centre()) / (len(rows) + 50)
    asked = await words.embed_query(query) - mean
    scores = {}
    for row, length, vector in zip(rows, lengths, vectors, strict=True):
        said = spoken[row["language"]]
        norm = 0.9 * (0.5 + 0.5 * length / (sum(lengths) / len(rows)))
        gained = sum(idf[w] * tf / (tf + norm) for w, tf in (row["terms"] or {}).items() if w in said)
        lex = gained / sum(idf[word] for word in said) if said else 0.0
        around = vector - mean
        sem = max(0.0, float(around @ asked / np.linalg.norm(around) / np.linalg.norm(asked)))
        base = 0.5 * lex + 0.5 * sem
        age = (clock.now() - row["occurred_at"]) / (90 * DAY)
        score = base + 0.05 * 0.5**age + 0.02 * {"declared": 1.0, "observed": 2 / 3}[row["origin_class"]]
        scores[row["record_id"]] = {
            "lex": lex,
            "sem": sem,
            "base": base,
            "score": score,
            "episode": row["kind"] == "episode",
        }
    return scores


async def test_neighbours_change_nothing(clone: Clone, ana: olvido.ScopedMemory, word_memory: olvido.Memory) -> None:
    """Two thousand records of neighbours, next to the question, move neither the answer nor a single score."""
    before = await ana.recall("printer error", limit=50)
    for tenant, subject in (("acme", "ana "), ("other", "ana")):
        neighbour = word_memory.scope(tenant=tenant, subject=subject)
        await neighbour.remember("printer error")
    async with await psycopg.AsyncConnection.connect(clone.superuser, autocommit=True) as connection:
        await connection.execute(
            "INSERT INTO olvido.index_entries SELECT e.tenant_id, e.subject_key, gen_random_uuid(), e.kind,"
            " e.definition, e.purpose, e.case_id, e.status, e.origin_class, e.occurred_at, e.expires_at, e.language,"
            " e.terms, e.term_count, e.embedder, e.embedding FROM olvido.index_entries e"
            " JOIN olvido.subjects s USING (tenant_id, subject_key), generate_series(1, 1000)"
            " WHERE s.external_id = 'ana ' OR s.tenant_id = 'other'"
        )
    assert await ana.recall("printer error", limit=50) == before


async def test_the_exact_text_comes_first(ana: olvido.ScopedMemory) -> None:
    """Case 86: the text of a record as the question gives that record, as a match."""
    for number, text in enumerate(NOTES):
        best = (await ana.recall(text)).items[0]
        assert (best.record.event_id, best.strength) == (f"e{number}", Strength.MATCH)


async def test_equal_scores_have_one_order(word_memory: olvido.Memory, clock: ManualClock) -> None:
    """Records that score the same come newest first, and then always in the same order."""
    ana = word_memory.scope(tenant="acme", subject="ana")
    for number in range(8):
        await ana.remember("the same words", event_id=f"e{number}", occurred_at=clock.now() - (number // 2) * DAY)
    orders = [[item.record_id for item in (await ana.recall("the same words")).items] for _ in range(5)]
    assert orders == orders[:1] * 5
    assert len(orders[0]) == 8


async def test_a_failing_embedder_leaves_text_recall(ana: olvido.ScopedMemory, words: WordEmbedder) -> None:
    """Cases 88 and 89: without the embedder, words still find what they name, also what was stored meanwhile."""
    words.fails = True
    stored = await ana.remember("the scanner jams", event_id="late")
    assert stored.index_state is olvido.IndexState.TEXT_ONLY
    without = await ana.recall("scanner jams")
    assert (without.items[0].record.event_id, without.text_only, without.index_complete) == ("late", True, False)
    words.fails = False
    again = await ana.recall("scanner jams")
    assert (again.items[0].record.event_id, again.text_only, again.unembedded) == ("late", False, 1)


@pytest.mark.usefixtures("ana")
@pytest.mark.parametrize("dimensions", [DIMENSIONS, 8])
async def test_vectors_of_another_embedder_are_not_compared(open_with: OpenWith, dimensions: int) -> None:
    """Case 87: after a change of embedder old records are compared by words, whatever the size, and recall says so."""
    async with open_with(WordEmbedder("words/2", dimensions), None) as changed:
        recalled = await changed.scope(tenant="acme", subject="ana").recall("printer toner")
    assert recalled.unembedded == len(NOTES) + 1
    assert recalled.items[0].record.event_id == "e9"
    assert all(item.parts is not None and item.parts.sem is None for item in recalled.items)


async def test_ranking_is_not_quadratic(ana: olvido.ScopedMemory) -> None:
    """The plan joins scores to records by hash or merge, also where the planner knows nothing about the rows."""
    environment = ana._environment
    question = await ask(environment, "printer error", eligibility(environment.policy))
    rank = statements("recall")["rank"]
    async with environment.database.read(ana._caller.life) as transaction:
        explained = replace(rank, text=b"EXPLAIN " + rank.text)
        plan = await transaction.all(explained, **rank_parameters(environment, question))
    assert any("Full Join" in row["QUERY PLAN"] for row in plan)
