"""What a policy admits: preferences, episodes, expiries; and how it refuses the rest (rules 6, 10, 11, 26)."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest

from olvido.domain.instants import KEEP
from olvido.domain.origin import OriginClass
from olvido.domain.policy import Policy, expiry
from olvido.domain.policy_file import default_policy, default_policy_text, load_policy
from olvido.errors import InvalidTime, InvalidValue, LiveState, NotInPolicy

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def changed(old: str, new: str) -> Policy:
    """The default policy with one change."""
    text = default_policy_text()
    assert old in text
    return load_policy(text.replace(old, new, 1), "changed.yaml")


def test_the_default_policy_covers_a_support_assistant() -> None:
    """Language, channel and name; cases and two kinds of note; payments, balances and orders as live state; copies."""
    policy = default_policy()

    assert list(policy.preferences) == ["language", "contact_channel", "display_name"]
    assert list(policy.episodes) == ["support-case", "note", "imported-note"]
    assert list(policy.live_state) == ["payment", "balance", "order_progress"]
    assert {copy.kind for copy in policy.copies} == {"backup", "log", "service"}
    assert policy.sessions.retention == timedelta(hours=24)
    assert policy.default_purpose in policy.purposes
    assert policy.episode("note").untrusted
    assert not policy.episode("support-case").untrusted


def test_a_preference_says_who_may_set_it_and_for_how_long() -> None:
    """Origins and retentions come from the definition; an inferred language is not accepted."""
    rule = default_policy().preference("language")

    assert rule.accepts(OriginClass.DECLARED)
    assert not rule.accepts(OriginClass.INFERRED)
    assert rule.retention == timedelta(days=730)
    assert rule.history_retention == timedelta(days=365)
    assert rule.purpose == "support"


def test_history_is_kept_as_long_as_its_preference_by_default() -> None:
    """A definition without a history retention keeps superseded versions as long as the current one."""
    rule = changed("    history_retention: 365d # superseded versions; at most the retention above\n", "").preference(
        "language"
    )

    assert rule.history_retention == rule.retention == timedelta(days=730)


def test_composed_and_decomposed_spellings_of_a_key_are_one_preference() -> None:
    """Keys are compared in NFC (case 75)."""
    composed, decomposed = "café", unicodedata.normalize("NFD", "café")
    policy = changed("  display_name:", f"  {decomposed}:")

    assert policy.preference(composed) is policy.preference(decomposed)
    assert policy.preference(decomposed).key == composed


def test_what_is_not_in_the_policy_is_refused_with_the_lines_to_add() -> None:
    """The lines printed for a preference and for an episode make the policy accept them (rule 26)."""
    with pytest.raises(NotInPolicy) as preference:
        default_policy().preference("seat")
    with pytest.raises(NotInPolicy) as episode:
        default_policy().episode("visit")

    added = str(preference.value).partition("add under preferences:\n")[2]
    assert changed("preferences:\n", f"preferences:\n{added}").preference("seat").check("aisle") == "aisle"
    added = str(episode.value).partition("add under episodes:\n")[2]
    assert changed("episodes:\n", f"episodes:\n{added}").episode("visit").statuses == ("open", "closed")


@pytest.mark.parametrize(
    "key", ["ines@example.com", "my secret sentence", "x" * 500, "", "sk-" + "proj-Ab3dEf6hIj9l", "a.b"]
)
def test_a_key_that_could_be_content_is_not_repeated(key: str) -> None:
    """The lines to add name a placeholder instead of it, and are still right."""
    with pytest.raises(NotInPolicy) as refusal:
        default_policy().preference(key)

    assert not key or key == "a.b" or key not in str(refusal.value)
    assert "my-key:" in str(refusal.value)


def test_a_misspelt_key_is_answered_with_the_right_one() -> None:
    """A close name is suggested."""
    with pytest.raises(NotInPolicy, match="Did you mean language"):
        default_policy().preference("Langauge")


@pytest.mark.parametrize("name", ["payment", "balance", "order_progress"])
def test_live_state_is_refused_with_the_source_to_consult(name: str) -> None:
    """What must be looked up is never remembered, neither as preference nor as episode (rule 10)."""
    with pytest.raises(LiveState, match=r"Consult \w+\.get_\w+ instead"):
        default_policy().preference(name)
    with pytest.raises(LiveState):
        default_policy().episode(name)


def test_fields_outside_the_allowlist_are_dropped_by_name() -> None:
    """Only names of dropped fields come back, and none that could itself be content (rule 6)."""
    admitted = (
        default_policy()
        .episode("support-case")
        .admit(
            {
                "topic": "enrolment",
                "raw_text": "my password is hunter2",
                "nested": {"password": "hunter2"},
                "ines@example.com": 1,
                "summary": "Cannot see\nmy course.",
                "product": None,
            },
            "lookup-failed",
        )
    )

    assert admitted.fields == {"topic": "enrolment", "summary": "Cannot see\nmy course."}
    assert admitted.dropped == ("<unnamed>", "nested", "raw_text")


@pytest.mark.parametrize("fields", [{"topic": 7}, {"topic": "x" * 81}, {"summary": {"text": "x"}}, {"channel": "fax"}])
def test_a_field_of_another_shape_is_refused(fields: dict[str, object]) -> None:
    """A field on the list with a wrong value refuses the whole episode instead of losing a part of it."""
    with pytest.raises(InvalidValue, match="of support-case"):
        default_policy().episode("support-case").admit(fields, None)


def test_a_status_outside_the_list_is_refused_with_the_list() -> None:
    """The message names the allowed statuses and not the one given."""
    with pytest.raises(InvalidValue, match="reported, open") as refusal:
        default_policy().episode("support-case").admit({}, "granted-by-magic")
    assert "magic" not in str(refusal.value)

    with pytest.raises(InvalidValue, match="leave it out"):
        default_policy().episode("note").admit({"text": "prefers aisle seats"}, "open")


def test_the_index_text_holds_the_searchable_fields_and_the_status() -> None:
    """Other fields are kept and not indexed; a status is indexed as words."""
    rule = default_policy().episode("support-case")
    fields = {"summary": "Cannot see my course.", "topic": "enrolment", "channel": "chat"}

    assert rule.text(fields, "lookup-failed") == "enrolment\nCannot see my course.\nlookup failed"
    assert rule.text({}, None) == ""


def test_an_expiry_is_the_retention_unless_an_earlier_one_is_given() -> None:
    """Not given: the whole retention, or none where it is unlimited; given: that instant, in UTC."""
    day = timedelta(days=1)

    assert expiry(day, NOW, KEEP) == expiry(day, NOW, None) == NOW + day
    assert expiry(None, NOW, KEEP) is None
    assert expiry(day, NOW, NOW + day) == NOW + day
    assert expiry(None, NOW, NOW + 9999 * day) == NOW + 9999 * day
    tokyo = datetime.fromisoformat("2026-12-01T18:30:00+09:00")  # case 67
    assert expiry(day, NOW, tokyo) == NOW + timedelta(minutes=30)


@pytest.mark.parametrize(
    "requested, message",
    [
        (NOW, "already past"),
        (NOW - timedelta(seconds=1), "already past"),
        (NOW + timedelta(days=1, microseconds=1), "2026-12-02T09:00:00"),
        (datetime(2026, 12, 1, 10, 0), "time zone"),  # noqa: DTZ001 - the naive datetime is the point
    ],
)
def test_an_expiry_outside_the_policy_is_refused(requested: datetime, message: str) -> None:
    """An expiry must be aware, in the future, and within the retention."""
    with pytest.raises(InvalidTime, match=message):
        expiry(timedelta(days=1), NOW, requested)


def test_the_version_follows_the_meaning_of_the_file() -> None:
    """Comments and layout do not change it; a retention does."""
    version = default_policy().version

    assert version.startswith("sha256:")
    assert len(version) == len("sha256:") + 16
    assert changed("# What a support", "# Another comment about what a support").version == version
    assert changed("retention: 24h", "retention: 1d").version == version
    assert changed("retention: 24h", "retention: 12h").version != version
