"""A policy that changes: what was stored under the old one never answers for what the new one does not keep it for."""

from __future__ import annotations

import pytest

import olvido
from olvido import Origin
from olvido.domain.policy_file import default_policy_text, load_policy
from olvido.errors import InvalidInput
from tests.operations.conftest import OpenWith
from tests.operations.test_sessions import person
from tests.operations.word_embedder import WordEmbedder

SAID = Origin.declared("form")
BILLING = """
  billing:
    description: Sending invoices.
    lawful_basis: contract
"""
HAND_OVER = "  hand_over:\n    episode: support-case\n    fields: {title: goal}\n    status: reported\n"
TEXT = default_policy_text().replace("\npreferences:\n", f"{BILLING}\npreferences:\n", 1)
SESSIONS = "sessions:\n  purpose: support\n  retention: 24h\n"


def kept_for(purpose: str, text: str = TEXT) -> olvido.Policy:
    """The default policy, with everything for one of two purposes."""
    return load_policy(text.replace("purpose: support", f"purpose: {purpose}"), "p.yaml")


@pytest.mark.parametrize("correct", [False, True])
async def test_a_value_that_is_stated_again_moves_to_its_new_purpose(
    open_with: OpenWith, words: WordEmbedder, *, correct: bool
) -> None:
    """Rule 16: the same value under a policy that keeps the key for something else is a new version, for that."""
    async with open_with(words, kept_for("support")) as memory:
        await person(memory).set_preference("language", "pt", origin=SAID)
    async with open_with(words, kept_for("billing")) as memory:
        ines = person(memory)
        assert (await ines.recall("language", purpose="billing")).preferences == ()
        state = ines.correct_preference if correct else ines.set_preference
        written = await state("language", "pt", origin=SAID)
        assert (written.changed, written.record.version, written.record.purpose) == (True, 2, "billing")
        offered = (await ines.recall("language", purpose="billing")).preferences
        assert [item.record.value for item in offered] == ["pt"]
        assert (await ines.recall("language", purpose="support")).preferences == ()
        assert not (await ines.set_preference("language", "pt", origin=SAID)).changed


async def test_an_imported_value_moves_to_its_new_purpose(open_with: OpenWith, words: WordEmbedder) -> None:
    """The same by an export that comes back."""
    async with open_with(words, kept_for("support")) as memory:
        await person(memory).set_preference("language", "pt", origin=SAID)
        document = (await person(memory).export()).document
    async with open_with(words, kept_for("billing")) as memory:
        await person(memory).import_export(document)
        offered = (await person(memory).recall("language", purpose="billing")).preferences
        assert [item.record.version for item in offered] == [2]


async def test_a_session_is_not_handed_over_to_another_purpose(open_with: OpenWith, words: WordEmbedder) -> None:
    """Rule 16: what was said for one purpose becomes no episode of another."""
    text = TEXT.replace(SESSIONS, SESSIONS + HAND_OVER)
    async with open_with(words, kept_for("support", text)) as memory:
        await person(memory).session("s1").open(goal="reach the course")
    async with open_with(words, kept_for("billing", text)) as memory:
        with pytest.raises(InvalidInput, match="another purpose"):
            await person(memory).session("s1").hand_over(origin=Origin.observed("assistant"))
        assert (await person(memory).episodes()).items == ()


async def test_a_value_of_what_is_live_state_now_is_not_recalled(open_with: OpenWith, words: WordEmbedder) -> None:
    """Rule 10: the tool is named instead; the value stays listed, so that it can be found and forgotten."""
    points = "  points:\n    description: What is left.\n    value: {type: text, max_length: 40}\n"
    points += "    purpose: support\n    origins: [declared]\n    retention: 365d\n"
    before = load_policy(TEXT.replace("\npreferences:\n", f"\npreferences:\n{points}", 1), "p.yaml")
    live = "  points:\n    description: What is left.\n    topics:\n      en: [points]\n"
    live += "    consult: loyalty.get_points\n"
    after = load_policy(TEXT.replace("\nlive_state:\n", f"\nlive_state:\n{live}", 1), "p.yaml")
    async with open_with(words, before) as memory:
        stored = await person(memory).set_preference("points", "500 so far", origin=SAID)
        assert len((await person(memory).recall("points")).preferences) == 1
    async with open_with(words, after) as memory:
        recalled = await person(memory).recall("how many points have I?")
        assert (recalled.preferences, [each.tool for each in recalled.consult]) == ((), ["loyalty.get_points"])
        assert "500" not in (await person(memory).context("how many points have I?", max_tokens=600)).text
        assert [each.value for each in await person(memory).preferences()] == ["500 so far"]
        await person(memory).forget(stored.record.record_id)
        assert await person(memory).preferences() == ()
