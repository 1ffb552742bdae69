"""What the tests of cases share: who says what, everything a person is served, and everything that is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from uuid import UUID

import psycopg
from psycopg import sql

from olvido import Episode, Memory, Origin, Policy, ScopedMemory, Written, load_policy
from olvido.errors import NotFound
from tests.conftest import Clone

CONFIRMED = Origin.declared("user-confirmation")
LOOKUP = Origin.observed("crm.lookup")
GUESS = Origin.inferred("profile-model")

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Where the clock of the fixture `clock` stands at first."""

DAY = timedelta(days=1)


FILLED = {
    "summary_sources": 1,
    "summaries": 1,
    "index_entries": 3,
    "episodes": 2,
    "preference_versions": 2,
    "preferences": 1,
    "messages": 2,
    "session_items": 3,
    "session_facts": 1,
    "sessions": 1,
    "due": 1,
    "lives": 1,
    "subjects": 1,
}
"""What `fill` stores, by relation."""


def person(memory: Memory, subject: str = "ines", tenant: str = "altavela") -> ScopedMemory:
    """A new handle, as each request takes one."""
    return memory.scope(tenant=tenant, subject=subject)


async def record_case(
    who: ScopedMemory,
    event_id: str,
    *,
    case_id: str | None = "at1",
    status: str | None = "lookup-failed",
    summary: str = "cannot reach the course",
    occurred_at: datetime = START,
    origin: Origin = LOOKUP,
    expires_at: datetime | None = None,
) -> Written[Episode]:
    """Record one support case."""
    return await who.record_episode(
        "support-case",
        event_id=event_id,
        case_id=case_id,
        status=status,
        occurred_at=occurred_at,
        origin=origin,
        expires_at=expires_at,
        fields={"summary": summary},
    )


async def fill(who: ScopedMemory, word: str, *, expires_at: datetime | None = None) -> UUID:
    """One record of every kind and some history, with `word` wherever text goes. Returns the episode's id."""
    await who.set_preference("display_name", f"{word} one", origin=CONFIRMED, expires_at=expires_at)
    await who.correct_preference("display_name", f"{word} two", origin=CONFIRMED)
    await who.remember(f"prefers the {word} seat", expires_at=expires_at)
    written = await record_case(who, f"event-{word}", summary=f"lost the {word} key", expires_at=expires_at)
    session = who.session(f"session-{word}")
    await session.open(
        goal=f"find {word}",
        decisions=[f"decided {word}"],
        constraints=[f"never {word}"],
        pending=[f"ask {word}"],
        **({} if expires_at is None else {"expires_at": expires_at}),
    )
    await session.extend([("user", f"hello {word}"), ("assistant", f"yes {word}")])
    await session.add_fact(f"the {word} key is lost", origin=CONFIRMED, messages=[0])
    await who.consolidate()
    return written.record.record_id


async def pages(
    who: ScopedMemory, *, definition: str | None = None, case_id: str | None = None, status: str | None = None
) -> list[Episode]:
    """All live episodes, page by page."""
    found: list[Episode] = []
    cursor: str | None = None
    while True:
        page = await who.episodes(definition=definition, case_id=case_id, status=status, cursor=cursor)
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def served(who: ScopedMemory, query: str, *, sessions: Sequence[str] = ()) -> list[object]:
    """Whatever any read path gives this person; empty when nothing is remembered that bears on `query`."""
    found: list[object] = [*await who.preferences()]
    for key in ("language", "contact_channel", "display_name"):
        found.extend(await who.history(key))
        current = await who.get_preference(key)
        found.extend([] if current is None else [current])
    found.extend(await pages(who))
    found.extend(await who.summaries())
    recalled = await who.recall(query)
    found.extend(recalled.preferences)
    found.extend(recalled.items)
    block = await who.context(query, max_tokens=4000)
    found.extend([block.text] if block.included else [])
    for session_id in sessions:
        try:
            found.append(await who.session(session_id).read())
            found.extend(await who.session(session_id).messages())
        except NotFound:
            continue
    return found


def policy_with(old: str, new: str) -> Policy:
    """The default policy with one passage put in the place of another."""
    text = (files("olvido") / "default_policy.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    return load_policy(text.replace(old, new), "changed.yaml")


def multiply(clone: Clone, who: ScopedMemory, copies: int) -> None:
    """Store the only episode of a person `copies` times more, as the request role; every third is a second older."""
    with psycopg.connect(clone.app) as connection:
        connection.execute("SELECT olvido.enter_scope(%s, %s, NULL, true)", [who.scope.tenant, who.scope.subject])
        connection.execute(
            """
            WITH more AS (
                INSERT INTO olvido.episodes
                SELECT (jsonb_populate_record(e, jsonb_build_object(
                           'record_id', gen_random_uuid(), 'event_id', 'copy' || n,
                           'occurred_at', e.occurred_at - (n / 3) * interval '1 second'))).*
                  FROM olvido.episodes e, generate_series(1, %s) AS n
                RETURNING record_id, occurred_at)
            INSERT INTO olvido.index_entries
            SELECT (jsonb_populate_record(i, jsonb_build_object(
                       'record_id', more.record_id, 'occurred_at', more.occurred_at))).*
              FROM more, olvido.index_entries i
            """,
            [copies],
        )


def dump(superuser: str) -> dict[str, list[str]]:
    """Every row of every table of the schema as text, past all row security, sorted."""
    with psycopg.connect(superuser) as connection:
        names = connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'olvido'::regnamespace"
            " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname"
        ).fetchall()
        return {
            name: sorted(
                row[0]
                for row in connection.execute(
                    sql.SQL("SELECT t::text FROM olvido.{} AS t").format(sql.Identifier(name))
                )
            )
            for (name,) in names
        }


def where(rows: dict[str, list[str]], text: str) -> list[str]:
    """The relations of a dump that hold `text` somewhere."""
    return [name for name, lines in rows.items() if any(text in line for line in lines)]
