"""Check the contract over the customers of the support data: `make bench-contract`.

Progress goes to stderr. The last line of stdout is one JSON object: per measure how often something was asked and how
often it was served. The exit code is 1 if a measure fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import olvido
from bench.answers import WITH_HISTORY, everything
from bench.customers import (
    CONFIRMED,
    CONSTRAINT,
    DAY,
    NAME,
    SESSION,
    Customer,
    chosen,
    gathered,
    homonyms,
    mark_of,
    twins,
)
from bench.measure import say
from bench.tally import Measure, Tally, Wanted
from olvido import Memory, Message, ScopedMemory, Status
from olvido.surfaces.import_lines import parse, scopes
from olvido.surfaces.importing import load
from olvido.testing import ManualClock

SEED = 7
CUSTOMERS = 120
DAYS = 3
AT_ONCE = 8
START = datetime(2026, 7, 20, 9, tzinfo=UTC)
"""After the last case of the support data."""

TURNS = 60
TIGHT = 200
"""Tokens for a prompt in which the constraints of a session have room and little else has."""
ROOMY = 600
"""Tokens for a prompt as an assistant would ask for it."""

LIVE = {
    "billing.get_payment": (
        "did my payment go through?", "was I charged twice, and is the refund done?",
        "o meu pagamento foi confirmado?", "quando cai o reembolso?",
        "¿se hizo el pago de la cuota?", "¿ya me cobraron la factura?",
    ),
    "accounts.get_balance": (
        "what is my balance?", "how much of my balance is left today?",
        "qual é o meu saldo?", "posso ver o extrato de hoje?",
        "¿cuál es mi saldo?", "¿qué dice mi estado de cuenta?",
    ),
    "orders.get_order": (
        "where is my order?", "has the parcel been delivered?",
        "onde está o meu pedido?", "a encomenda já foi entregue?",
        "¿dónde está mi pedido?", "¿ya enviaron el paquete?",
    ),
}  # fmt: skip
"""Two questions in English, two in Portuguese and two in Spanish for each live state of the default policy."""

WANTED = {
    "current_value": Wanted.ALL,
    "live_report": Wanted.ALL,
    "stale_value": Wanted.NONE,
    "homonym_value": Wanted.NONE,
    "twin_value": Wanted.NONE,
    "stranger_value": Wanted.NONE,
    "expired_value": Wanted.NONE,
    "forgotten_value": Wanted.NONE,
    "constraint_after_compaction": Wanted.ALL,
    "constraint_kept_as_state": Wanted.ALL,
    "live_topic_consulted": Wanted.ALL,
    "rows_left_after_forget": Wanted.NONE,
    "neighbour_checksum_changed": Wanted.NONE,
}


async def _summarise(messages: Sequence[Message]) -> Sequence[tuple[str, Sequence[int]]]:
    """What the talk was about, and every constraint in it, word for word."""
    about = (f"{len(messages)} turns about an address that changed", [messages[0].sequence])
    stated = [message for message in messages if message.content.startswith(CONSTRAINT)]
    return [about, *((message.content, [message.sequence]) for message in stated)]


def _contents(messages: Iterable[Message]) -> set[str]:
    return {message.content for message in messages}


class Check:
    """One run over some customers."""

    def __init__(self, memory: Memory, clock: ManualClock, customers: Sequence[Customer]) -> None:
        self._memory = memory
        self._clock = clock
        self._customers = list(customers)
        self.tally = Tally(measures={name: Measure(wanted=wanted) for name, wanted in WANTED.items()})

    async def run(self, days: int) -> None:
        """All of it. The clock stands still while people write and read, and moves between."""
        everyone = self._customers
        for day in range(days):
            say(f"day {day + 1}: statements, corrections, reports, a conversation, and every read")
            await each(everyone, lambda one: one.live_through(self._enter(one), self._clock.now(), day))  # noqa: B023 - awaited in this turn
            if day == 0:
                await each(everyone, self._converse)
            await each(everyone, self._look)
            self._clock.advance(DAY)
            await each(everyone, self._look)
        say("live topics in three languages")
        await each(everyone, self._ask_live)
        say("forgetting records, then people")
        await each(everyone, self._forget_some)
        await self._forget_people(everyone[::3])
        await self._memory.purge_expired()
        await each(everyone, self._look)

    def _enter(self, customer: Customer) -> ScopedMemory:
        return self._memory.scope(tenant=customer.scope.tenant, subject=customer.scope.subject)

    async def _look(self, customer: Customer) -> None:
        """Ask every read, with a question that names what must not come back, and judge every mark in the answers."""
        now, everyone, tally = self._clock.now(), self._customers, self.tally
        bad = {
            "stale_value": (customer.superseded() | customer.refused) - customer.expired(now),
            "expired_value": customer.expired(now),
            "forgotten_value": customer.forgotten,
            "homonym_value": {mark for one in homonyms(customer, everyone) for mark in one.own},
            "twin_value": {mark for one in twins(customer, everyone) for mark in one.own},
        }
        named = sorted({mark for marks in bad.values() for mark in sorted(marks)[-1:]})
        question = f"what is the name, the language and the ticket of {' '.join(named) or 'this customer'}?"
        found = await everything(self._enter(customer), question, [one.record_id for one in customer.reports])
        for read, marks in found.marks.items():
            where = f"{customer.scope.tenant}/{customer.scope.subject} through {read}"
            for name, unwanted in bad.items():
                if read in WITH_HISTORY and name == "stale_value":
                    unwanted = unwanted - customer.superseded()  # noqa: PLW2901 - the same question, of this read
                tally.count(name, where, asked=len(unwanted), served=len(unwanted & marks))
            known = customer.own.union(*bad.values())
            tally.count("stranger_value", where, asked=1, served=len(marks - known))
        for read in ("episodes", "get_episode", "export"):
            where = f"{customer.scope.tenant}/{customer.scope.subject} through {read}"
            reports = customer.live_reports(now)
            tally.count("live_report", where, asked=len(reports), served=len(reports & found.marks[read]))
        current = customer.current(now)
        for read, values in found.current.items():
            where = f"{customer.scope.tenant}/{customer.scope.subject} through {read}"
            for key, standing in current.items():
                tally.ask("current_value", f"{where}, {key}", served=values.get(key) == standing.value)
                past = customer.past[key]
                tally.count("stale_value", f"{where}, {key}", asked=len(past), served=int(values.get(key) in past))
            for key in customer.standing.keys() - current.keys():
                tally.ask("expired_value", f"{where}, {key}", served=key in values)
            if NAME not in customer.standing and customer.forgotten:
                tally.ask("forgotten_value", f"{where}, {NAME}", served=NAME in values)

    async def _converse(self, customer: Customer) -> None:
        """Constraints of each form are stated early and buried under 60 turns that are folded, then somebody resumes.

        One is state, one a fact that was added, and one only a message, of which the summariser makes a fact.
        """
        state, added, said = (f"{CONSTRAINT} {customer.mark()}" for _ in range(3))
        session = self._enter(customer).session(SESSION)
        opened = await session.open(goal="sort out the request", constraints=[state])
        customer.session_marks |= {mark_of(text) for text in (state, added, said)}
        customer.session_until = opened.expires_at
        await session.extend([("user", "olá"), ("user", said)])
        await session.add_fact(added, origin=CONFIRMED, messages=[0])
        await session.compact(keep_last=0, summarise=_summarise)
        for part in range(3):
            turns = [("user" if turn % 2 else "assistant", f"turn {turn} of part {part}") for turn in range(TURNS // 3)]
            await session.extend(turns)
            await session.compact(keep_last=6, summarise=_summarise)
        await self._resume(customer, state=state, facts={added: 0, said: 1})

    async def _resume(self, customer: Customer, *, state: str, facts: Mapping[str, int]) -> None:
        """Look for every constraint where a prompt is made from. facts: each with the message that it rests on."""
        person = self._enter(customer)
        session = person.session(SESSION)
        resumed, read, view = await session.open(), await session.read(), await session.view()
        tight = await person.context("where do I send it?", max_tokens=TIGHT, session_id=SESSION)
        block = await person.context("where do I send it?", max_tokens=ROOMY, session_id=SESSION)
        who = f"{customer.scope.tenant}/{customer.scope.subject} through"
        for where, found in (("open", resumed), ("read", read), ("view", view.session)):
            self.tally.ask("constraint_kept_as_state", f"{who} session.{where}", served=state in found.constraints)
            for text, number in facts.items():
                told = any(fact.content == text and number in fact.messages for fact in found.facts)
                self.tally.ask("constraint_after_compaction", f"{who} session.{where}", served=told)
        self.tally.ask("constraint_kept_as_state", f"{who} a tight context", served=state in tight.text)
        for text in facts:
            self.tally.ask("constraint_after_compaction", f"{who} context", served=text in block.text)
        originals = await session.messages(first=0, limit=2)
        folded = [message for message in originals if message.sequence < read.folded]
        served = any(message.content in facts for message in folded) and not set(facts) & _contents(view.messages)
        self.tally.ask("constraint_after_compaction", f"{who} the folded original", served=served)

    async def _ask_live(self, customer: Customer) -> None:
        """Every live state in every language: the tool must be named, and no report may pass for the present."""
        person = self._enter(customer)
        for tool, questions in LIVE.items():
            for question in questions[customer.number % 2 :: 2]:
                recalled = await person.recall(question)
                block = await person.context(question, max_tokens=2 * TIGHT)
                told = all("consult" in item.label for item in recalled.items if item.live_topic is not None)
                named = all(tool in {one.tool for one in answer.consult} for answer in (recalled, block))
                where = f"{customer.scope.tenant}/{customer.scope.subject}, {tool}"
                self.tally.ask("live_topic_consulted", where, served=told and named and tool in block.text)

    async def _forget_some(self, customer: Customer) -> None:
        for left in await customer.forget_some(self._enter(customer)):
            where = f"{customer.scope.tenant}/{customer.scope.subject}, one record"
            self.tally.count("rows_left_after_forget", where, asked=1, served=left)

    async def _forget_people(self, leaving: Sequence[Customer]) -> None:
        """Forget some of the customers; the rows of everybody else stay the same to the byte."""
        for start in range(0, len(leaving), AT_ONCE):
            batch = leaving[start : start + AT_ONCE]
            others = [one for one in self._customers if one not in batch]
            before: dict[Customer, dict[str, str]] = {}
            after: dict[Customer, dict[str, str]] = {}
            await each(others, lambda one: self._checksum(one, before))  # noqa: B023 - awaited in this turn
            await each(batch, self._forget_person)
            await each(others, lambda one: self._checksum(one, after))  # noqa: B023 - the same
            for one in others:
                where = f"{one.scope.tenant}/{one.scope.subject}"
                self.tally.ask("neighbour_checksum_changed", where, served=before[one] != after[one])

    async def _checksum(self, customer: Customer, into: dict[Customer, dict[str, str]]) -> None:
        into[customer] = await self._enter(customer).checksums()

    async def _forget_person(self, customer: Customer) -> None:
        report = await self._enter(customer).forget_all()
        stored = await self._enter(customer).stored_rows()
        where = f"{customer.scope.tenant}/{customer.scope.subject}"
        unsure = int(report.status is not Status.ROWS_ABSENT)
        self.tally.count("rows_left_after_forget", where, asked=len(stored), served=sum(stored.values()) + unsure)
        customer.forgotten |= customer.own
        customer.standing.clear()
        customer.reports = [one for one in customer.reports if not one.forgotten]
        for past in customer.past.values():
            past.clear()
        for one in customer.reports:
            one.forgotten = True
        customer.session_marks.clear()
        customer.refused.clear()


async def each(customers: Iterable[Customer], work: Callable[[Customer], Awaitable[object]]) -> None:
    """Do `work` for every customer, several at once."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(customer: Customer) -> None:
        async with gate:
            await work(customer)

    async with asyncio.TaskGroup() as tasks:
        for customer in customers:
            tasks.create_task(one(customer))


async def check(memory: Memory, clock: ManualClock, *, customers: int, days: int = DAYS, seed: int = SEED) -> Tally:
    """Load the support cases of some customers into an empty memory and measure. The clock is moved."""
    clock.set(START)
    name = "support-cases.jsonl"
    lines = (files("olvido.surfaces.demo") / name).read_bytes().splitlines()
    records = parse(lines, memory.policy, name=name, now=await memory.now())
    people = chosen(scopes(records), customers)
    wanted = set(people)
    await load(memory, [record for record in records if record.scope in wanted])
    run = Check(memory, clock, gathered(people, seed))
    await run.run(days)
    return run.tally


async def _measure(options: argparse.Namespace, home: Path) -> Tally:
    clock = ManualClock()
    async with olvido.open(home, clock=clock) as memory:
        return await check(memory, clock, customers=options.customers, days=options.days, seed=options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a measure fails."""
    parser = argparse.ArgumentParser(prog="bench.contract", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--customers", type=int, default=CUSTOMERS, help="how many of the 120; at least 4")
    parser.add_argument("--days", type=int, default=DAYS, help="days of corrections and expiries")
    parser.add_argument("--seed", type=int, default=SEED, help="what decides who says what")
    options = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp(prefix="olvido-contract-")).resolve()
    try:
        tally = asyncio.run(_measure(options, place / "home"))
    finally:
        shutil.rmtree(place)
    facts = {"customers": options.customers, "days": options.days, "seed": options.seed}
    print(json.dumps({**facts, "measures": tally.document(), "passed": tally.passed}))
    return 0 if tally.passed else 1


if __name__ == "__main__":
    sys.exit(main())
