"""The second half of the story: forget correctly."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from olvido.domain.origin import Origin
from olvido.domain.report import Status
from olvido.domain.scope import Scope
from olvido.errors import SubjectForgotten
from olvido.surfaces.demo.remembering import LOST_CARD
from olvido.surfaces.demo.stage import CUSTOMER, NAMESAKE, Chapter, Claim, Stage, Told

SHORT = timedelta(seconds=2)
AT_ONCE = 8
PURGED = {"preferences": 1, "preference_versions": 1, "index_entries": 1}


async def _expiry(stage: Stage) -> Told:
    customer = stage.enter(CUSTOMER)
    rows = (await customer.stored_rows())["preferences"]
    end = await stage.memory.now() + SHORT
    said = Origin.declared("user-confirmation", ref="turn-12")
    await customer.set_preference("contact_channel", "whatsapp", origin=said, expires_at=end)
    before = await customer.get_preference("contact_channel")
    await stage.wait(end - await stage.memory.now())
    after = await customer.get_preference("contact_channel")
    stored = (await customer.stored_rows())["preferences"] - rows
    report = await stage.memory.purge_expired()
    left = (await customer.stored_rows())["preferences"] - rows
    return Told(
        facts={
            "served_before": before is not None,
            "served_after": after is not None,
            "stored_after": stored,
            "purge": report,
            "stored_after_purge": left,
        },
        claims=(
            Claim(text="It was served before it expired, and not after.", holds=before is not None and after is None),
            Claim(text="It was still stored then: expiry is not removal.", holds=stored == 1),
            Claim(
                text="The purge removed that preference, its one version and its index entry, and nothing else.",
                holds=left == 0 and {name: count for name, count in report.removed.items() if count} == PURGED,
            ),
        ),
    )


async def _forget(stage: Stage) -> Told:
    stage.before.update(await _checksums(stage))
    customer = stage.enter(CUSTOMER)
    plan = await customer.forget_all(dry_run=True)
    report = await customer.forget_all()
    late_refused = False
    try:
        await customer.remember("what a slow worker was still writing")
    except SubjectForgotten:
        late_refused = True
    again = stage.enter(CUSTOMER)
    found = await again.recall(LOST_CARD)
    rows = await again.stored_rows()
    return Told(
        facts={"report": report, "tenant": CUSTOMER.tenant},
        claims=(
            Claim(
                text=f"What was planned was removed: {sum(report.removed.values())} rows.",
                holds=plan.plan_hash == report.plan_hash
                and bool(report.removed)
                and all(copy.planned == copy.removed for copy in report.copies),
            ),
            Claim(
                text="Nothing of this customer is left in this database: read back after the commit, and asked again.",
                holds=report.status is Status.ROWS_ABSENT
                and not any(rows.values())
                and not found.items
                and not found.preferences,
            ),
            Claim(
                text="Copies outside are listed as open, with their holder; nothing about them was verified.",
                holds=bool(report.outside) and all(one.status is Status.OPEN for one in report.outside),
            ),
            Claim(
                text="A slow worker that wrote for the forgotten customer afterwards was refused.", holds=late_refused
            ),
        ),
    )


async def _neighbours(stage: Stage) -> Told:
    after = await _checksums(stage)
    equal = sum(1 for scope, sums in after.items() if sums == stage.before.get(scope))
    kept = await stage.enter(NAMESAKE).get_preference("language")
    others = len(stage.people) - 1
    return Told(
        facts={"compared": len(after), "equal": equal, "relations": len(next(iter(after.values()), {}))},
        claims=(
            Claim(
                text=f"{equal} of {others} other customers have the same checksums as before.",
                holds=equal == others == len(after) == len(stage.before) and others > 0,
            ),
            Claim(
                text=f"{NAMESAKE.subject} of {NAMESAKE.tenant} still has en.",
                holds=kept is not None and kept.value == "en",
            ),
        ),
    )


async def _checksums(stage: Stage) -> dict[Scope, dict[str, str]]:
    """Of everybody but the customer of the story."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def of(scope: Scope) -> tuple[Scope, dict[str, str]]:
        async with gate:
            return scope, await stage.enter(scope).checksums()

    return dict(await asyncio.gather(*(of(scope) for scope in stage.people if scope != CUSTOMER)))


FORGETTING = (
    Chapter(
        key="expiry",
        sentence=f"A preference is given for {SHORT.seconds} seconds of real time. It expires, and then it is purged.",
        code=f"""\
await customer.set_preference("contact_channel", "whatsapp", origin=said,
                              expires_at=now + timedelta(seconds={SHORT.seconds}))
await customer.get_preference("contact_channel")
await customer.stored_rows()
await memory.purge_expired()
""",
        act=_expiry,
    ),
    Chapter(
        key="forget",
        sentence="The customer asks to be forgotten: planned, deleted in one transaction, read back after the commit.",
        code="""\
await customer.forget_all(dry_run=True)
await customer.forget_all()
""",
        act=_forget,
    ),
    Chapter(
        key="neighbours",
        sentence="Everybody else is untouched: checksums over all their rows, before and after.",
        code="""\
before = await neighbour.checksums()
await neighbour.checksums() == before
""",
        act=_neighbours,
    ),
)
