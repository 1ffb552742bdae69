"""The first half of the story: remember correctly."""

from __future__ import annotations

from olvido.domain.origin import Origin
from olvido.domain.records import Kind
from olvido.errors import LiveState, OriginNotAccepted
from olvido.surfaces.demo.stage import CUSTOMER, NAMESAKE, Chapter, Claim, Stage, Told

LOST_CARD = "perdi o meu cartão"
BOTH = "did you block my lost card and remove the extra charge?"
EXTRA_CHARGE = "did you remove the extra charge?"
BUDGET = 310
GOAL = "block the lost card"
CONSTRAINT = "answer in writing only, never by phone"


async def _language(stage: Stage) -> Told:
    customer, namesake = stage.enter(CUSTOMER), stage.enter(NAMESAKE)
    await namesake.set_preference("language", "en", origin=Origin.declared("user-confirmation", ref="turn-1"))
    await customer.set_preference("language", "es", origin=Origin.declared("user-confirmation", ref="turn-3"))
    await customer.correct_preference(
        "language", "pt", expected_version=1, origin=Origin.declared("user-confirmation", ref="turn-9")
    )
    guess_refused = False
    try:
        await customer.set_preference("language", "en", origin=Origin.inferred("language-detector"))
    except OriginNotAccepted:
        guess_refused = True
    history = await customer.history("language")
    other = await namesake.get_preference("language")
    return Told(
        facts={"versions": history, "namesake": other},
        claims=(
            Claim(
                text="Version 2 (pt) is current; version 1 (es) is kept as history; each says where it came from.",
                holds=[(one.version, one.value, one.origin.ref) for one in history]
                == [(1, "es", "turn-3"), (2, "pt", "turn-9")],
            ),
            Claim(
                text="A detector's guess that it is English was refused: the customer never said so.",
                holds=guess_refused,
            ),
            Claim(
                text=f"{NAMESAKE.subject} of {NAMESAKE.tenant} is somebody else, and keeps en, version 1.",
                holds=other is not None and (other.value, other.version) == ("en", 1),
            ),
        ),
    )


async def _recall(stage: Stage) -> Told:
    customer = stage.enter(CUSTOMER)
    found = await customer.recall(LOST_CARD)
    own = {episode.record_id for episode in (await customer.episodes()).items}
    best = found.items[0].record.fields if found.items else {}
    labelled = [
        one.label.startswith(f"history: {one.record.status}, observed by {one.record.origin.source} on ")
        and one.record.occurred_at.date().isoformat() in one.label
        for one in found.items
    ]
    return Told(
        facts={"recall": found},
        claims=(
            Claim(
                text="The best match is the card that this customer reported lost, in English.",
                holds=best.get("topic") == "reportlostcard",
            ),
            Claim(
                text="It is labelled as history, with its status, origin and date: a report, not the present.",
                holds=bool(labelled) and all(labelled),
            ),
            Claim(
                text="All of it is this customer's own.",
                holds={one.record_id for one in found.items} <= own,
            ),
            Claim(
                text="The current language comes with it, whatever the question is.",
                holds=[one.record.value for one in found.preferences] == ["pt"],
            ),
        ),
    )


async def _context(stage: Stage) -> Told:
    customer = stage.enter(CUSTOMER)
    session = await customer.session("chat-1").open(goal=GOAL, constraints=[CONSTRAINT])
    block = await customer.context(BOTH, max_tokens=BUDGET, session_id="chat-1")
    first = block.included[:1]
    return Told(
        facts={"context": block},
        claims=(
            Claim(
                text=f"{block.tokens} of at most {BUDGET} tokens, and no record is cut in half.",
                holds=0 < block.tokens <= BUDGET,
            ),
            Claim(
                text="The constraint of the running session comes first, then preferences, then history.",
                holds=first == (session.record_id,)
                and block.text.index(CONSTRAINT) < block.text.index("language = pt") < block.text.index("history:"),
            ),
            Claim(
                text="What did not fit is named, with the id to fetch it by.",
                holds=bool(block.omitted) and all(one.record_id is not None for one in block.omitted),
            ),
        ),
    )


async def _consult(stage: Stage) -> Told:
    customer = stage.enter(CUSTOMER)
    found = await customer.recall(EXTRA_CHARGE, kinds=[Kind.PREFERENCE])
    refused = False
    try:
        await customer.set_preference("payment", "refunded", origin=Origin.observed("billing.export"))
    except LiveState:
        refused = True
    return Told(
        facts={"consult": found.consult},
        claims=(
            Claim(
                text="The answer is which tool knows, and when history last mentioned the matter.",
                holds=[one.tool for one in found.consult] == ["billing.get_payment"]
                and found.consult[0].last_seen is not None,
            ),
            Claim(text='Storing "payment = refunded" as a fact was refused.', holds=refused),
        ),
    )


REMEMBERING = (
    Chapter(
        key="language",
        sentence="A customer says in which language to answer, and later corrects it.",
        code=f"""\
customer = memory.scope(tenant="{CUSTOMER.tenant}", subject="{CUSTOMER.subject}")
await customer.set_preference("language", "es",
                              origin=Origin.declared("user-confirmation", ref="turn-3"))
await customer.correct_preference("language", "pt", expected_version=1,
                                  origin=Origin.declared("user-confirmation", ref="turn-9"))
await customer.history("language")
""",
        act=_language,
    ),
    Chapter(
        key="recall",
        sentence="A question in Portuguese is answered from the customer's own past cases.",
        code=f"""\
await customer.recall("{LOST_CARD}")
""",
        act=_recall,
    ),
    Chapter(
        key="context",
        sentence="What an assistant should know before it answers, as text for a prompt, within a budget of tokens.",
        code=f"""\
await customer.session("chat-1").open(
    goal="{GOAL}", constraints=["{CONSTRAINT}"])
await customer.context("{BOTH}",
                       session_id="chat-1", max_tokens={BUDGET})
""",
        act=_context,
    ),
    Chapter(
        key="consult",
        sentence="Whether a charge was taken back can change at any time, so it is looked up and never remembered.",
        code=f"""\
found = await customer.recall("{EXTRA_CHARGE}")
found.consult
""",
        act=_consult,
    ),
)
