"""The support cases of the demo, asked for by their customers: the first request of each case is the question."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import olvido
from bench.asking import progress
from bench.contract import START
from bench.relevance import Ranking, hit_at, mean, reciprocal_rank
from olvido.domain.scope import Scope
from olvido.surfaces.import_lines import parse
from olvido.surfaces.import_shapes import CaseLine
from olvido.surfaces.importing import load
from olvido.testing import ManualClock

CASES = "support-cases.jsonl"


async def measure(home: Path) -> dict[str, object]:
    """Load all cases into a new data directory and ask for each; its customer has three, of which it is one."""
    async with olvido.open(home, clock=ManualClock(START)) as memory:
        lines = (files("olvido.surfaces.demo") / CASES).read_bytes().splitlines()
        await load(memory, parse(lines, memory.policy, name=CASES, now=await memory.now()))
        return await _ask(memory, [CaseLine.model_validate_json(line) for line in lines])


async def _ask(memory: olvido.Memory, cases: Sequence[CaseLine]) -> dict[str, object]:
    owners = {case.case_id: Scope(tenant=case.tenant, subject=case.subject) for case in cases}
    # A few cases hold greetings and names only.
    requests = [(case.case_id, turn.text) for case in cases for turn in [t for t in case.turns if t.asks][:1]]
    rankings: list[Ranking] = []
    foreign = 0
    with progress("asking for support cases", len(requests)) as advance:
        for case_id, request in requests:
            customer = owners[case_id]
            found = await memory.scope(tenant=customer.tenant, subject=customer.subject).recall(request)
            ids = tuple(str(item.record.case_id) for item in found.items)
            foreign += sum(owners[one] != customer for one in ids)
            rankings.append(Ranking(evidence=frozenset({case_id}), found=ids))
            advance(1)
    return {
        "cases": len(cases),
        "requests": len(requests),
        "hit@1": mean([hit_at(one, 1) for one in rankings]),
        "hit@3": mean([hit_at(one, 3) for one in rankings]),
        "mrr": mean([reciprocal_rank(one) for one in rankings]),
        "of_another_customer": foreign,
    }
