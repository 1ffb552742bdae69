"""Conflicts: what does not agree is shown side by side with its dates, and nothing is voted away."""

from __future__ import annotations

import pytest

from olvido import Memory
from olvido.domain.context import Section
from tests.cases.support import CONFIRMED, DAY, LOOKUP, START, person, record_case


# rule 13, case 61
async def test_reports_of_one_case_that_differ_stand_together(memory: Memory) -> None:
    """Nine old reports of a failed lookup and one newer that it is resolved: both stand, and each names the newest."""
    ines, tomas = person(memory), person(memory, "tomas")
    for number in range(9):
        await record_case(ines, f"ev{number}", occurred_at=START - (20 - number) * DAY)
    newest = (await record_case(ines, "newest", status="resolved", occurred_at=START - DAY)).record
    await record_case(tomas, "ev1", status="open")
    await ines.remember("cannot reach the course by tram")
    block = await ines.context("cannot reach the course", max_tokens=2000)
    failed, resolved = (entry for entry in block.entries if "reports of case at1 differ" in entry.label)
    assert (len(failed.also), resolved.record_id) == (8, newest.record_id)
    assert "told 9 times by 1 source since 2025-12-12" in failed.label
    assert failed.label.endswith("reports of case at1 differ, the last of 10 is of 2025-12-31: resolved")
    assert resolved.label.endswith("reports of case at1 differ, this is the last of 10")
    assert block.text.index("2025-12-20") < block.text.index("this is the last of 10")
    assert "differ" not in (await tomas.context("cannot reach the course", max_tokens=2000)).text


# rule 13
@pytest.mark.parametrize("budget", [0, 60, 90, 120, 160, 200, 300, 600])
async def test_an_old_report_never_stands_for_the_case(memory: Memory, budget: int) -> None:
    """At any budget the newest report comes before the others of its case, and those that are there name it."""
    ines = person(memory)
    for number, status in enumerate(("reported", "open", "lookup-failed", "resolved")):
        await record_case(
            ines,
            f"ev{number}",
            status=status,
            summary=f"cannot reach the course, attempt {number}",
            occurred_at=START - (9 - number) * DAY,
        )
    block = await ines.context("cannot reach the course, attempt 0", max_tokens=budget)
    told = [entry for entry in block.entries if entry.section is Section.HISTORY]
    assert all("reports of case at1 differ" in entry.label for entry in told)
    assert [entry.at for entry in told] == sorted(entry.at for entry in told if entry.at)
    assert not told or "this is the last of 4" in told[-1].label
    assert len(told) + len([one for one in block.omitted if one.section is Section.HISTORY]) == 4


# rule 13
async def test_a_note_against_a_preference_is_shown_beside_it(memory: Memory) -> None:
    """A note is not compared with a preference: the current value stands first, the note is dated history after it."""
    ines = person(memory)
    await ines.set_preference("contact_channel", "email", origin=CONFIRMED)
    await ines.remember("wants to be contacted by phone", origin=LOOKUP)
    block = await ines.context("how does she want to be contacted?", max_tokens=500)
    assert [entry.section for entry in block.entries] == [Section.PREFERENCES, Section.HISTORY]
    assert block.entries[0].label.startswith("preference: contact_channel = email (version 1, declared via ")
    assert block.entries[1].label.startswith("history: note, observed by crm.lookup on 2026-01-01")
    preference = await ines.get_preference("contact_channel")
    assert preference is not None
    assert preference.value == "email"
