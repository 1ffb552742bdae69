"""Recall against brute force over the same records, on a real database, as the unprivileged role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

import olvido
from olvido import Kind, NewEpisode, Origin, OriginClass
from olvido.adapters.languages import Languages
from olvido.domain.lineage import folded
from olvido.testing import ManualClock
from tests.conftest import Clone
from tests.operations.brute_force import Asking, Shelf, eligible, expected, shelve
from tests.operations.conftest import OpenWith
from tests.operations.word_embedder import DAY, NOTES, WordEmbedder

ANA = Origin.declared("chat", actor="Ana da Silva")
TOM = Origin.declared("chat", actor="tom")
SEEN = Origin.observed("crm.lookup", ref="call-7")
TOLD = Origin.inferred("mem0")

MORE_NOTES = {
    "la canción que pidió no suena en la aplicación": ANA,
    "a informação sobre o reembolso chegou ontem": TOM,
    "asked twice about the refund of order AKIAN-2231": ANA,
    "write to maria.santos@mail.example about it": SEEN,
    "予約を変更したい、窓側の席": ANA,
    "المقعد بجانب النافذة": TOM,
    "ביקש מושב ליד החלון 🎂": SEEN,
    "ขอเปลี่ยนที่นั่ง": SEEN,
    "the meeting moved to Friday, three days before the flight": TOM,
    "error error error error on the login page, error again": SEEN,
    "50%_off\\x coupon was refused": SEEN,
}
"""What other people said, in more languages."""

FORMS = "cart carts carta cartas"
"""One word to a question that has them all; more of it, by far, than counts."""

REPORTS: tuple[tuple[str, str, str | None, str | None, dict[str, str]], ...] = (
    ("ev1", "at1", "lookup-failed", "Printer", {"title": "printer error", "error_code": "E-77"}),
    ("ev2", "at1", "open", "Printer", {"summary": "asked whether a new toner helps"}),
    ("ev3", "at1", "escalated", None, {"summary": "will be called back"}),
    ("ev4", "at1", "closed", None, {"summary": "it works"}),
    ("ev5", "CASE-9041", "open", "Course", {"title": "course access", "summary": "no puede entrar desde 2025-12-02"}),
    ("ev6", "CASE-9041", "resolved", "Course", {"title": "course access"}),
    ("ev7", "CASE-9042", None, "Course", {"title": "certificado do curso", "reference": "WXM-7"}),
    ("ev7b", "CASE-9043", None, "Course", {"title": "certificado do curso", "reference": "WXM-7"}),
    ("ev8", "50%_off\\x", "cancelled", None, {"title": "a coupon"}),
    ("ev9", "CASE-77", "open", None, {"summary": f"{FORMS} {FORMS} {FORMS} locker"}),
    ("ev10", "CASE-77", "closed", None, {"summary": f"locker {FORMS} {FORMS} {FORMS} {FORMS}"}),
)
"""Event, case, status, product and other fields of reports, a day apart, the first one the oldest. Two say the same."""

LONG = "seats flights meal Lisbon printer office error course login page toner window Friday meeting"

QUESTIONS = (
    "printer error",
    "el curso de matemáticas",
    "o curso não abre",
    "AB-1234",
    "what is the status of akian 2231?",
    "case 9041",
    "When did the flight to Lisbon leave?",
    "¿cuándo falló la página del curso?",
    "what happened on 2025-12-28",
    "printer problems in December 2025",
    "what did Ana da Silva ask about the refund?",
    "did Tom mention a meeting last week?",
    "informacoes sobre a cancion",
    "窓側の席",
    "المقعد",
    "🎂",
    "what is it about?",
    '-refund "box" | (a & !b) :*',
    "50%_off\\x",
    "error error toner printer login course page again office shows call back works",
    f"{LONG} coupon refund order reembolso fatura canción telemóvel matemáticas informação tarde aplicación",
    f"{FORMS} locker",
    "zyzzyva quux",
)

FILTERS: tuple[dict[str, Any], ...] = (
    {"kinds": [Kind.EPISODE]},
    {"kinds": [Kind.PREFERENCE]},
    {"definition": "note"},
    {"definition": "support-case", "status": "open"},
    {"case_id": "at1"},
    {"case_id": "CASE-9041", "product": "Course"},
    {"product": "Printer"},
    {"product": "printer"},
    {"status": "lookup-failed"},
    {"origin_class": OriginClass.OBSERVED},
    {"origin_class": OriginClass.INFERRED},
    {"purpose": "billing"},
)


@dataclass(frozen=True, kw_only=True)
class World:
    """Somebody's records, and the same person through a policy with a floor and through one without."""

    shelf: Shelf
    policies: Mapping[bool, olvido.Policy]
    handles: Mapping[bool, olvido.ScopedMemory]

    def asking(self, query: str, words: WordEmbedder, detector: Languages, clock: ManualClock) -> Asking:
        """One question under the policy without a floor."""
        return Asking(query=query, policy=self.policies[False], now=clock.now(), embedder=words, detector=detector)


def _policies() -> dict[bool, olvido.Policy]:
    """With a floor and without: two purposes, and support cases with a priority."""
    default = olvido.default_policy()
    note, case, imported = (default.episodes[name] for name in ("note", "support-case", "imported-note"))
    policy = replace(
        default,
        purposes={**default.purposes, "billing": default.purposes["support"]},
        episodes={
            "note": replace(note, origins=tuple(OriginClass)),
            "support-case": replace(case, priority=0.5),
            "imported-note": replace(imported, purpose="billing", priority=1),
        },
    )
    return {True: policy, False: replace(policy, ranking=policy.ranking.model_copy(update={"omit_below": 0}))}


def _told(clock: ManualClock) -> list[NewEpisode]:
    now = clock.now()
    notes = {**dict.fromkeys(NOTES, ANA), **MORE_NOTES, "the printer is said to be old": TOLD}
    return [
        *(
            NewEpisode(definition="note", fields={"text": text}, origin=origin, occurred_at=now - number * 5 * DAY / 2)
            for number, (text, origin) in enumerate(notes.items())
        ),
        *(
            NewEpisode(
                definition="support-case",
                event_id=event_id,
                case_id=case_id,
                status=status,
                fields={**fields, **({} if product is None else {"product": product})},
                origin=SEEN,
                occurred_at=now - (len(REPORTS) - number) * DAY,
            )
            for number, (event_id, case_id, status, product, fields) in enumerate(REPORTS)
        ),
        NewEpisode(definition="note", fields={"text": "printer error, gone"}, origin=ANA, expires_at=now + DAY / 2),
        NewEpisode(definition="imported-note", event_id="i1", fields={"text": "printer invoice"}, origin=TOLD),
        NewEpisode(definition="imported-note", event_id="i2", fields={"text": "o curso foi pago"}, origin=TOLD),
    ]


@pytest.fixture
async def world(clone: Clone, clock: ManualClock, open_with: OpenWith, words: WordEmbedder) -> AsyncIterator[World]:
    """Records of every kind; some have no vector, a foreign one, or words of another lexer, and one has expired."""
    async with AsyncExitStack() as stack:
        policies = _policies()
        memories = {
            floor: await stack.enter_async_context(open_with(words, policy)) for floor, policy in policies.items()
        }
        handles = {floor: memory.scope(tenant="acme", subject="ana") for floor, memory in memories.items()}
        ana = handles[True]
        written = [*await ana.record_episodes(_told(clock))]
        preferences = (
            (await ana.set_preference("language", "pt", origin=ANA)).record,
            (await ana.set_preference("display_name", "Ana Printer", origin=SEEN)).record,
        )
        words.fails = True
        written.append(await ana.remember("the office printer jams", origin=ANA))
        words.fails = False
        await memories[True].scope(tenant="acme", subject="ben").remember("printer error")
        foreign, unread = written[1].record.record_id, written[2].record.record_id
        with psycopg.connect(clone.superuser) as connection:
            for change in (
                "UPDATE olvido.index_entries SET embedder = 'older' WHERE record_id = %(foreign)s",
                "UPDATE olvido.index_entries SET lexer = 'older' WHERE record_id = %(unread)s",
            ):
                connection.execute(change.encode(), {"foreign": foreign, "unread": unread})
        clock.advance(DAY)
        shelf = shelve(clone, words, tuple(each.record for each in written), preferences, unread=frozenset([unread]))
        yield World(shelf=shelf, policies=policies, handles=handles)


async def test_scores_and_order_equal_brute_force(
    world: World, words: WordEmbedder, detector: Languages, clock: ManualClock
) -> None:
    """With a floor and without, each part of each score is that of plain loops over the texts, and so is the order."""
    for query in QUESTIONS:
        for floor, policy in world.policies.items():
            await _assert_equal(world, replace(world.asking(query, words, detector, clock), policy=policy), floor=floor)


async def test_filters_never_widen(world: World, words: WordEmbedder, detector: Languages, clock: ManualClock) -> None:
    """Under every filter the answer is the whole eligible set of brute force, ranked within itself."""
    # Both are instants at which something happened: the first is in, the second is out.
    since, until = clock.now() - 11 * DAY, clock.now() - 7 * DAY / 2
    assert {since, until} <= {each.occurred_at for each in world.shelf.episodes}
    times: tuple[dict[str, Any], ...] = ({"since": since}, {"until": until}, {"since": since, "until": until})
    everything = {each.record_id for each in eligible(world.shelf, world.asking("x", words, detector, clock))}
    for filters in (*FILTERS, *times, {**times[2], "definition": "support-case", "product": "Printer"}):
        for query in ("printer error", "case 9041"):
            asking = replace(world.asking(query, words, detector, clock), filters=filters)
            found = await _assert_equal(world, asking, floor=False)
            assert {item.record_id for item in found.items} == {one.record_id for one in eligible(world.shelf, asking)}
            assert "purpose" in filters or {item.record_id for item in found.items} <= everything


async def _assert_equal(world: World, asking: Asking, *, floor: bool) -> olvido.Recall:
    found = await world.handles[floor].recall(asking.query, limit=50, explain=True, **asking.filters)
    order, scores = await expected(world.shelf, asking)
    assert [item.record_id for item in found.items] == order, asking.query
    assert found.omitted == len(eligible(world.shelf, asking)) - len(order)
    answered: list[olvido.RecallItem[Any]] = [*found.items, *found.preferences]
    for item in answered:
        assert item.parts is not None
        assert item.score == item.parts.score
        for name, value in scores[item.record_id].items():
            assert getattr(item.parts, name) == pytest.approx(value, abs=1e-6), (asking.query, name, item.text)
    return found


async def test_the_records_of_the_comparison_say_different_things(world: World, clock: ManualClock) -> None:
    """No two of them are one item to recall and fifty are enough for all, so that the comparison sees every record."""
    texts = [(each.case_id, each.status, folded(str(each.fields))) for each in world.shelf.episodes]
    assert len(texts) == len(set(texts))
    assert len(texts) < 50
    assert {each.language for each in world.shelf.episodes} == {"en", "es", "pt", "other"}
    assert any(each.expires_at is not None and each.expires_at <= clock.now() for each in world.shelf.episodes)
