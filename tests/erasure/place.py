"""A place of its own for tests that read files: data directory, ledger and keys below one private directory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

import olvido
from olvido import Memory, ScopedMemory
from olvido.adapters.embedded import ServerUrls
from olvido.bootstrap import Opening
from olvido.domain.policy import Policy
from olvido.domain.policy_file import default_policy
from olvido.ports import Connector
from olvido.testing import ManualClock
from tests.cases.support import CONFIRMED, LOOKUP, START
from tests.contract.support import PlainDetector
from tests.erasure.canaries import hits, long_text
from tests.operations.word_embedder import WordEmbedder

PERSONAL = {
    "preferences",
    "preference_versions",
    "episodes",
    "index_entries",
    "sessions",
    "session_items",
    "session_facts",
    "messages",
    "summaries",
    "subjects",
}
"""Where `remember_everything` leaves its word; leaves by the name of their parent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A running server, and the directory of everything that belongs to its database."""

    directory: Path
    urls: ServerUrls

    def opening(
        self,
        clock: ManualClock | None = None,
        policy: Policy | None = None,
        connectors: Mapping[str, Connector] | None = None,
    ) -> Opening:
        """Open the memory of this place, with a small embedder."""
        return olvido.open(
            self.directory / "home",
            ledger=self.directory / "ledger",
            keys=self.directory / "keys",
            clock=clock,
            policy=policy,
            connectors=connectors,
            embedder=WordEmbedder(),
            detector=PlainDetector(),
        )

    def found(self, **needles: Iterable[bytes]) -> dict[str, set[str]]:
        """In which kinds of file one of the needles stands, by the name of their group. What is in memory counts."""
        self.run("CHECKPOINT")
        return {name: set(kinds) for name, kinds in hits(self.directory, **needles).items()}

    def run(self, *statements: str) -> None:
        """Run statements as the administrator, each committed at once."""
        with psycopg.connect(self.urls.superuser, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """All rows of one query, as the administrator."""
        with psycopg.connect(self.urls.superuser) as connection:
            return connection.execute(query.encode(), parameters).fetchall()


def without_copies() -> Policy:
    """The default policy, with no copy outside declared."""
    return replace(default_policy(), copies=())


async def remember_everything(memory: Memory, tenant: str, subject: str, word: str) -> ScopedMemory:
    """Every kind of record of one person, corrected, summarised, recalled and exported, with the word in each of them.

    There are long texts among them, which are stored compressed.
    """
    who = memory.scope(tenant=tenant, subject=subject)
    await who.set_preference("display_name", f"{word} one", origin=CONFIRMED)
    await who.correct_preference("display_name", f"{word} two", origin=CONFIRMED)
    await who.remember(f"prefers the {word} seat")
    await who.remember(long_text(word, 990))
    for number in (1, 2):
        await who.record_episode(
            "support-case",
            event_id=f"event-{word}-{number}",
            case_id=f"case-{word}",
            status="lookup-failed",
            occurred_at=START,
            origin=LOOKUP,
            fields={"title": f"lost the {word} key", "summary": long_text(word, 1990), "reference": word},
        )
    session = who.session(f"session-{word}")
    await session.open(goal=f"find {word}", decisions=[f"decided {word}"], pending=[f"ask {word}"])
    await session.extend([("user", f"hello {word}"), ("assistant", long_text(word, 7900))], group=f"group-{word}")
    await session.add_fact(f"the {word} key is lost", origin=CONFIRMED, messages=[0])
    await session.set(goal=f"find {word} again", pending=[f"ask {word} later"])
    await who.consolidate()
    await who.recall(f"who lost the {word} key")
    await who.context(f"who lost the {word} key", max_tokens=400)
    await who.export()
    return who
