"""A policy file is refused with every line to mend."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olvido.domain.policy_file import default_policy_text, load_policy, policy_problems, policy_schema
from olvido.errors import InvalidPolicy

DEFAULT = default_policy_text()
NOTE_TEXT = "text: {type: text, max_length: 1000, multiline: true}"


def mend(old: str, new: str, text: str = DEFAULT) -> list[str]:
    """What is refused once `old` is replaced, as `line-text | message`."""
    assert old in text
    text = text.replace(old, new, 1)
    lines = text.splitlines()
    return [f"{lines[problem.line - 1].strip()} | {problem.message}" for problem in policy_problems(text)]


def hand_over(line: str) -> tuple[str, str]:
    """Adds a rule to hand sessions over, with `line` in place of its line of that name."""
    rule = ["episode: support-case", "fields: {summary: goal}", "status: reported"]
    lines = [line if line[:5] == each[:5] else each for each in rule]
    return "  retention: 24h\n", "\n    ".join(["  retention: 24h\n  hand_over:", *lines]) + "\n"


@pytest.mark.parametrize(
    "old, new, line, message",
    [
        ("retention: 24h", "retention: 24", "retention: 24", "90d, 24h, 30m or 45s"),
        ("retention: 24h", "retention: 0h", "retention: 0h", "zero"),
        ("retention: 24h", "retention: -1d", "retention: -1d", "90d, 24h"),
        ("retention: 24h", "retention: 1.5d", "retention: 1.5d", "90d, 24h"),
        ("retention: 24h", "retention: 36501d", "retention: 36501d", "at most 36500d"),
        ("retention: 24h", "retention: 999999999999d", "retention: 999999999999d", "at most 36500d"),
        ("retention: 24h", "retention: unlimited", "retention: unlimited", "90d, 24h"),
        ("retention: 730d", "retention: forever", "retention: forever", "unlimited"),
        ("retention: 24h", "retentoin: 24h", "retentoin: 24h", "did you mean `retention`"),
        ("max_length: 80}", "max_lenght: 80}", "value: {type: text, max_lenght: 80}", "did you mean `max_length`"),
        ("sessions:\n", "session:\n", "session:", "did you mean `sessions`"),
        ("holder: platform team", "owner: platform team", "owner: platform team", "`owner` is not a key here"),
        ("version: 1 #", "version: 2 #", "version: 2 # of this file format", "should be 1"),
        ("{type: choice, choices: [pt", "{type: choise, choices: [pt", "value: {type: choise", "choice, text"),
        ("choices: [pt, en, es]", "choices: []", "value: {type: choice, choices: []}", "at least 1 item"),
        ("choices: [pt, en, es]", "choices: [pt, en, pt]", "value: {type: choice", "`pt` is listed twice"),
        ("choices: [pt, en, es]", "choices: [pt, 1]", "value: {type: choice", "in quotes"),
        ("origins: [declared]", "origins: [guessed]", "origins: [guessed]", "'declared', 'observed' or 'inferred'"),
        ("origins: [declared]", "origins: [declared, declared]", "origins: [declared, declared]", "listed twice"),
        ("origins: [declared]", "origins: []", "origins: []", "at least 1 item"),
        ("origins: [declared]", "origins: declared", "origins: declared", "should be a list"),
        ("  language:", "  Language:", "Language:", "lower-case"),
        ("  display_name:", "  language:", "language:", "`language` is given twice"),
        ("lawful_basis: contract", "lawful_basis: because", "lawful_basis: because", "'consent', 'contract'"),
        ("weak_below: 0.22", "weak_below: 1.2", "weak_below: 1.2", "less than or equal to 1"),
        ("weak_below: 0.22", "weak_below: .nan", "weak_below: .nan", "number"),
        # Contradictions between parts.
        ("default_purpose: support", "default_purpose: sales", "default_purpose: sales", "`sales` is not declared"),
        ("purpose: support\n    value", "purpose: sales\n    value", "purpose: sales", "declared: support"),
        ("sessions:\n  purpose: support", "sessions:\n  purpose: sales", "purpose: sales", "not declared"),
        ("history_retention: 365d", "history_retention: 731d", "history_retention: 731d", "at most its retention"),
        ("history_retention: 365d", "history_retention: unlimited", "history_retention: unlimited", "at most"),
        ("{type: text, max_length: 80}", "{type: integer, minimum: 2, maximum: 1}", "value: {type: integer", "above"),
        ("searchable: [title,", "searchable: [titel,", "searchable: [titel,", "not among the fields"),
        ("searchable: [text]", "searchable: [text, status]", "searchable: [text, status]", "no statuses"),
        ("searchable: [text]", "searchable: []", "searchable: []", "must be searchable"),
        ("title: {type: text, max_length: 200}", "title: {type: boolean}", "searchable: [title", "neither text nor"),
        ("channel: {type", "tenant: {type", "tenant: {type", "choose another name"),
        ("  note:\n", "  remark:\n", "episodes:", "`note` is missing"),
        (f"{NOTE_TEXT}\n    searchable: [text]", "words: {type: boolean}", "fields:", "needs the field `text`"),
        (f"{NOTE_TEXT}\n    searchable: [text]", "text: {type: boolean}", "text: {", "must have type text"),
        ("untrusted: true", "untrusted: false", "untrusted: false", "set untrusted to true"),
        (
            *hand_over("episode: suport-case"),
            "episode: suport-case",
            "not among the episodes: support-case, note, imported-note",
        ),
        (*hand_over("episod: support-case"), "episod: support-case", "did you mean `episode`"),
        (*hand_over("fields: {sumary: goal}"), "fields: {sumary: goal}", "not among the fields of `support-case`"),
        (
            *hand_over("fields: {summary: messages}"),
            "fields: {summary",
            "'goal', 'decisions', 'constraints', 'pending'",
        ),
        (*hand_over("fields: {}"), "fields: {}", "at least 1 item"),
        (*hand_over("fields: {channel: goal}"), "fields: {channel: goal}", "must have type text"),
        (*hand_over("fields: {title: pending}"), "fields: {title: pending}", "must be multiline"),
        (*hand_over("fields: {summary: facts}"), "fields: {summary: facts}", "does not accept"),
        (*hand_over("status: finished"), "status: finished", "not among its statuses"),
        ("  display_name:", "  payment:", "payment:", "also live state"),
        ("  balance:", "  note:", "note:", "also live state"),
        ("en: [balance, balances]", "en: [balance, Payment]", "en: [balance, Payment]", "also a term of live state"),
        ("pt: [saldo, saldos", "pt: [saldo, SALDÓ", "pt: [saldo, SALDÓ", "listed already"),
        ("en: [balance, balances]", "en: [balance, '?']", "en: [balance, '?']", "a letter or a digit"),
        ("name: application-logs", "name: database-backups", "- name: database-backups", "another copy named"),
        ("weak_below: 0.22", "weak_below: 0.1", "weak_below: 0.1", "under omit_below"),
        ("page_size: 50", "page_size: 500", "page_size: 500", "above page_size_max"),
        ("recall_items: 10", "recall_items: 60", "recall_items: 60", "above recall_items_max"),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, line: str, message: str) -> None:
    """One mistake gives one problem, at the line to mend."""
    (problem,) = mend(old, new)

    at, _, said = problem.partition(" | ")
    assert at.startswith(line)
    assert message in said


def test_all_problems_are_listed_at_once_in_the_order_of_the_file() -> None:
    """Malformed parts, contradictions between the others, and repeated keys come in one answer."""
    text = (
        DEFAULT.replace("default_purpose: support", "default_purpose: sales")
        .replace("origins: [declared]", "origins: [guessed]", 1)
        .replace("  display_name:", "  contact_channel:")
        .replace("weak_below: 0.22", "weak_below: 0.1")
        .replace("retention: 24h", "retention: 24")
    )

    with pytest.raises(InvalidPolicy) as refusal:
        load_policy(text, "acme.yaml")

    first, *listed = str(refusal.value).splitlines()
    assert first == "5 problems in the policy. Mend:"
    lines = [int(problem.split(":")[1]) for problem in listed]
    assert all(problem.startswith("acme.yaml:") for problem in listed)
    assert lines == sorted(lines)
    assert [text.splitlines()[line - 1].split()[0] for line in lines] == [
        "default_purpose:",
        "origins:",
        "contact_channel:",
        "retention:",
        "weak_below:",
    ]


def test_a_mistake_in_an_episode_is_not_told_again_by_what_names_it() -> None:
    """A rule to hand over to a malformed episode is compared once the episode is mended, and then holds."""
    text = DEFAULT.replace(*hand_over("status: reported"))
    assert policy_problems(text) == ()
    broken = text.replace("title: {type: text, max_length: 200}", "title: {type: words}")
    assert [problem.path for problem in policy_problems(broken)] == ["episodes.support-case.fields.title"]


def test_a_rule_stays_within_one_purpose() -> None:
    """What a conversation was kept for is what its episode is kept for."""
    other = "\n  research:\n    lawful_basis: consent\n    description: Learn from requests.\n\npreferences:"
    text = DEFAULT.replace(*hand_over("status: reported")).replace("\npreferences:", other, 1)
    (problem,) = mend("sessions:\n  purpose: support", "sessions:\n  purpose: research", text)
    assert problem.startswith(
        "episode: support-case | `support-case` is kept for `support` and sessions for `research`"
    )


def test_a_missing_section_does_not_hide_contradictions_elsewhere() -> None:
    """A misspelt required section is one problem, and the other sections are still compared."""
    text = DEFAULT.replace("sessions:", "session:").replace("weak_below: 0.22", "weak_below: 0.1")

    assert [problem.path for problem in policy_problems(text)] == ["session", "ranking.weak_below"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        ("# only a comment", "empty"),
        ("just a sentence", "mapping"),
        ("- a list", "mapping"),
        ("a: [1", "expected"),
        ("a: 1\n b: 2", "not allowed"),
        ("a: !!python/object/apply:os.system [x]", "constructor"),
        ("a: !!binary aGk=", "constructor"),
        ("a: *nowhere", "undefined alias"),
        ("a: &a [*a]", "once its anchors are expanded"),
        ("a: 1\n---\nb: 2", "document"),
        ("a: \x07", "character"),
        ("a: " + "[" * 5000, "nested too deeply"),
        ("[a]: 1", "unhashable"),
        ('"\\ud83d": 1', "surrogate"),
        ("x" * 500_001, "longer than"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{n}: &{n} [{f'*{p},' * 10}]\n" for p, n in zip("abcde", "bcdef", strict=True)),
            "expanded",
        ),
    ],
)
def test_what_is_no_policy_at_all_is_refused(text: str, message: str) -> None:
    """Broken, foreign, hostile or empty YAML is refused as a policy, with a line, never with another error."""
    with pytest.raises(InvalidPolicy, match=r"p\.yaml:\d+: ") as refusal:
        load_policy(text, "p.yaml")

    assert message in str(refusal.value)


def test_plain_words_stay_words() -> None:
    """The language code `no` is text, and so are `yes`, `on` and a date, which other YAML readers convert."""
    policy = load_policy(DEFAULT.replace("[pt, en, es]", "[pt, no, on, 2026-12-01, 0010]", 1), "p.yaml")

    assert [policy.preference("language").check(word) for word in ("no", "on", "2026-12-01", "0010")]


def test_anchors_and_merge_keys_may_save_typing() -> None:
    """A definition may be built on another; a mistake in the shared part is named where it is written."""
    shared = "preferences:\n  theme: &base\n    description: Theme.\n    purpose: support\n    value: {type: boolean}\n"
    shared += "    origins: [declared]\n    retention: 90d\n  font:\n    <<: *base\n    retention: 30d\n"
    policy = load_policy(DEFAULT.replace("preferences:\n", shared, 1), "p.yaml")
    assert policy.preference("font").retention != policy.preference("theme").retention

    (problem,) = mend("retention: 30d", "retention: 30", DEFAULT.replace("preferences:\n", shared, 1))
    assert problem.startswith("retention: 30 | ")


@settings(deadline=None)  # reading a whole file is slow on a busy machine
@given(
    st.integers(min_value=0, max_value=len(DEFAULT) - 1), st.integers(min_value=1, max_value=40), st.text(max_size=3)
)
def test_any_damage_is_either_a_policy_or_refused_as_one(start: int, length: int, put: str) -> None:
    """Whatever is cut out of a file or typed into it, the reader answers with a policy or with lines to mend."""
    text = DEFAULT[:start] + put + DEFAULT[start + length :]
    problems = policy_problems(text)

    if problems:
        with pytest.raises(InvalidPolicy):
            load_policy(text, "p.yaml")
        assert all(1 <= problem.line <= text.count("\n") + 2 for problem in problems)
    else:
        assert load_policy(text, "p.yaml").version.startswith("sha256:")


def test_the_schema_describes_every_section() -> None:
    """Editors can complete a policy file: each section and value type is in the JSON Schema."""
    schema = policy_schema()

    assert {"purposes", "preferences", "episodes", "sessions", "live_state", "copies"} <= set(schema["properties"])
    assert {"ChoiceValue", "TextValue", "IntegerValue", "NumberValue", "BooleanValue"} <= set(schema["$defs"])
