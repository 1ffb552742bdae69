"""A question about live state is recognised by whole words of the policy's terms (rule 10)."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.live_state import match_topics, words
from olvido.domain.policy_file import default_policy, default_policy_text, load_policy

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


def names(query: str) -> tuple[str, ...]:
    """The live states that the default policy finds in `query`."""
    return tuple(topic.name for topic in match_topics(default_policy(), query))


@pytest.mark.parametrize(
    "query, expected",
    [
        ("Has my payment gone through?", ("payment",)),
        ("was I CHARGED twice", ("payment",)),
        ("Meu pagamento já caiu?", ("payment",)),
        ("quando recebo o estorno da cobrança", ("payment",)),
        ("¿Ya pagué la factura?", ("payment",)),
        ("i want to check my account balance", ("balance",)),
        ("¿cuál es mi estado de cuenta?", ("balance",)),
        ("where is my order?", ("order_progress",)),
        ("rastreio da encomenda", ("order_progress",)),
        ("¿Dónde están mis órdenes y envíos?", ("order_progress",)),
        ("refund for my order", ("payment", "order_progress")),
        ("I cannot reach my course", ()),
        ("", ()),
    ],
)
def test_questions_in_three_languages_find_their_live_state(query: str, expected: tuple[str, ...]) -> None:
    """Topics are found in English, Portuguese and Spanish, in the order of the policy."""
    assert names(query) == expected


@pytest.mark.parametrize("query", ["is it repayable", "orderly conduct", "paypal", "disorder", "overbalanced"])
def test_a_term_inside_another_word_is_not_a_match(query: str) -> None:
    """Only whole words count."""
    assert names(query) == ()


@pytest.mark.parametrize("query", ["I called in order to ask", "the lift is out of order", "is it free of charge?"])
def test_a_phrase_in_which_the_term_means_something_else_is_ignored(query: str) -> None:
    """The policy lists phrases in which its terms do not count."""
    assert names(query) == ()


def test_an_ignored_phrase_does_not_hide_another_mention() -> None:
    """Only the words of the phrase itself are left out."""
    assert names("in order to see where my order is") == ("order_progress",)


@pytest.mark.parametrize(
    "term, question",
    [("予約", "予約は取れますか"), ("ว่าง", "มีคิวว่างไหม"), ("空位", "有空位吗"), ("예약", "예약 가능해요?")],
)
def test_terms_of_scripts_without_spaces_are_found_in_sentences(term: str, question: str) -> None:
    """A sentence there is no single word, and a term counts wherever it stands in it."""
    text = default_policy_text().replace("en: [payment,", f"other: [{term}]\n      en: [payment,", 1)
    policy = load_policy(text, "p.yaml")
    assert [topic.name for topic in match_topics(policy, question)] == ["payment"]
    assert match_topics(policy, "お元気ですか 你好 สวัสดี 안녕") == ()


def test_a_topic_tells_what_to_consult() -> None:
    """The answer to a question about live state is the tool that knows."""
    (topic,) = match_topics(default_policy(), "did my payment fail?")

    assert topic.consult == "billing.get_payment"
    assert topic.description


@given(st.sampled_from(["cobrança", "envío", "órdenes", "reembolso"]), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_spelling_of_accents_and_case_do_not_matter(term: str, form: Form) -> None:
    """One word is one word, composed or decomposed, with or without accents, in any case."""
    assert names(unicodedata.normalize(form, term)) == names(term.upper()) == names("".join(words(term))) != ()


def test_words_of_a_long_question_are_found() -> None:
    """A question of 30,000 characters is read to its end (case 77)."""
    assert names("word " * 6_000 + "payment") == ("payment",)
