"""What ranking reads in a question beside its words, and the same on the side of a record."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from olvido.domain.question import analyse, identifiers, speaker
from olvido.domain.words import asked


def hits(question: str, text: str, case_id: str | None = None) -> bool:
    """Whether a part of the question is a part of an identifier of the record."""
    held = identifiers(text, case_id)
    return any(fragment in held for fragment in analyse(question, "en").fragments)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Where is AKIAN-2231?", "akian-2231 akian2231"),
        ("(AKIAN\u20112231), again AKIAN-2231", "akian-2231 akian2231"),
        ("write to A.B@X.example.", "a.b@x.example abxexample"),
        ("case_17 by crm.lookup", "case_17 case17 crm.lookup crmlookup"),
        ("invoice #4411 and 99", "4411"),
        ("flight WXM-AIR", "wxm-air wxmair"),
        ("see https://x.example/a", "https://x.example/a httpsxexamplea"),
        ("注文AKIAN2231です", "akian2231"),
        ("zxn 876, top 2026, May 23, in 17", "zxn876"),
        ("Ordem ÑANDÚ_7", "nandu_7 nandu7"),
        ("in 2026, on 2026-06-02 or 02/06/2026 at 10:30, the 21st, 10 kg, 5000km, 49.99", ""),
        ("a well-known self-esteem and/or e.g. nothing", ""),
        ("wait...what", ""),
        ("", ""),
    ],
    ids=[
        "order", "once", "address", "parts", "number", "capitals", "link", "no spaces", "spaced", "accents",
        "dates and amounts", "hyphens", "dots", "empty",
    ],
)  # fmt: skip
def test_identifiers_of_a_record(text: str, expected: str) -> None:
    """Identifiers are kept folded, each once as written and once without separators; plain words and dates are none."""
    assert identifiers(text, None) == expected


def test_case_is_an_identifier() -> None:
    """The case of a record is one, whatever it looks like, and has no space."""
    assert identifiers("Where is AKIAN-2231?", "Case 17/B") == "akian-2231 akian2231 case17/b case17b"
    assert identifiers("", "7") == "7"
    assert identifiers("AKIAN-2231", "\u00ad") == "akian-2231 akian2231"


@pytest.mark.parametrize(
    "question, text, case_id",
    [
        ("What about AKIAN-2231?", "order AKIAN-2231 came", None),
        ("What about akian2231?", "order AKIAN-2231 came", None),
        ("What about AKIAN 2231?", "order AKIAN-2231 came", None),
        ("What about AKIAN?", "order AKIAN-2231 came", None),
        ("and the one with 2231", "order AKIAN-2231 came", None),
        ("akia", "order AKIAN-2231 came", None),
        ("order wxm 7", "my WXM-7 is late", None),
        ("order wxm-7", "my wxm 7 is late", None),
        ("is wxm-air-9 late", "my WXM/AIR/9 is late", None),
        ("the air-9 thing", "my WXM-AIR-9 is late", None),
        ("mail of b@x.example", "write to a.b@x.example", None),
        ("what did case_17 say", "nothing", "case-17"),
    ],
    ids=[
        "whole", "joined", "spaced", "letters", "digits", "four characters", "two words", "spaced record",
        "separators", "middle", "address", "case",
    ],
)  # fmt: skip
def test_fragments_find_identifiers(question: str, text: str, case_id: str | None) -> None:
    """A part of an identifier from four characters on finds it, however it is separated."""
    assert hits(question, text, case_id)


@pytest.mark.parametrize(
    "question",
    [
        "What happened in 2026?",
        "on 2026-06-02 at 10:30",
        "who said self-esteem matters",
        "WHERE IS MY ORDER",
        "four years ago, May 23",
        "7 of 9",
        "abc",
        "",
    ],
)
def test_questions_without_fragments(question: str) -> None:
    """Dates, short words, plain words and shouted questions name no identifier."""
    assert analyse(question, "en").fragments == ()


FORMS = ("{}{}{}", "{}-{}-{}", "{} {} {}", "{}.{}.{}", "{} {}-{}", "{}\u00a0{}\u00a0{}", "{} \u2013 {} \u2013 {}")
"""Ways to write the same identifier."""


@pytest.mark.parametrize("asked_as", FORMS)
@pytest.mark.parametrize("stored_as", FORMS)
@pytest.mark.parametrize(
    "groups", [("AB", "1234", "5678"), ("ES91", "2100", "0418"), ("TKT", "204", "91"), ("INV", "2024", "001")]
)
def test_groups_are_one_identifier(stored_as: str, asked_as: str, groups: tuple[str, str, str]) -> None:
    """However the groups of an identifier are written, on either side, it is found, and no other that is like it."""
    question = f"what about {asked_as.format(*groups)} please?"
    assert hits(question, f"order {stored_as.format(*groups)} is late")
    for other in (f"{groups[0]}-{groups[1]}-9990", f"XY-{groups[1]}-9990", f"order {groups[1]}"):
        assert not hits(question, f"order {other} is late")


@pytest.mark.parametrize("asked_as", FORMS)
@pytest.mark.parametrize("stored_as", FORMS)
@pytest.mark.parametrize("groups", [("tkt", "204", "913"), ("inv", "2024", "001"), ("ab", "1234", "5678")])
def test_lower_case_groups_are_found(stored_as: str, asked_as: str, groups: tuple[str, str, str]) -> None:
    """In lower case, groups of three digits or more are found however they are written, by capitals as well."""
    stored = f"order {stored_as.format(*groups)} is late"
    assert hits(f"what about {asked_as.format(*groups)} please?", stored)
    assert hits(f"what about {asked_as.format(*groups).upper()} please?", stored)
    assert hits(f"what about {asked_as.format(*groups)} please?", stored.upper())


@pytest.mark.parametrize("groups", [("AB", "12", "34"), ("WXM", "7", "05")])
def test_short_groups_after_capitals_are_found(groups: tuple[str, str, str]) -> None:
    """Two digits make a group after capitals, unless two of them are joined like a date or a time of day."""
    forms = [form for form in FORMS if form != "{} {}-{}"]
    for stored_as in forms:
        for asked_as in forms:
            assert hits(f"what about {asked_as.format(*groups)}?", f"order {stored_as.format(*groups)} is late")


@pytest.mark.parametrize("text", ["order ab 12 34 is late", "order AB 12-34 is late", "order AB 10:30 is late"])
def test_what_a_record_writes_too_loosely_is_not_joined(text: str) -> None:
    """The exceptions that the documentation names: two digits after small letters, and what looks like a date."""
    assert not hits("AB-1234", text)
    assert not hits("AB-1030", text)


@pytest.mark.parametrize(
    "question, text",
    [
        ("AB 1234", "order AB12345678"),
        ("1234 5678", "order AB-12345678"),
        ("5678", "order AB 1234 5678"),
        ("B123", "order AB 1234 5678"),
        ("234-56", "order AB 1234 5678"),
        ("my number is 123 456 789", "number 123456789"),
        ("call 123456789", "please call 123 456 789"),
        ("11 91234 5678", "call +55 11 91234-5678"),
        ("+5511912345678", "call +55 11 91234-5678"),
        ("GB29 NWBK 6016 1331 9268 19", "account GB29NWBK60161331926819"),
        ("60161331", "account GB29 NWBK 6016 1331 9268 19"),
        ("is AB 1234 2026 there", "order AB-1234 came"),
        ("is AB 1234 2026 there", "order AB-12342026 came"),
        ("lots 1234 5678", "lot 1234 came"),
        ("GB 29 NWBK 6016 1331 9268 19", "account GB29NWBK60161331926819"),
        ("CASE AB 1234", "about AB-1234"),
        ("INV 2024 001", "invoice 2024-001"),
        ("order 10 301", "order 10301 came"),
        ("ticket 12 345", "ticket 12345 came"),
        ("123456", "the code is 123 456"),
    ],
)
def test_parts_of_groups(question: str, text: str) -> None:
    """A part is found from four characters on, across the gaps; two numbers that stand together are two as well."""
    assert hits(question, text)


@pytest.mark.parametrize(
    "question, text",
    [
        ("CPF 123 456 789 09", "with 123.456.789-09"),
        ("NIF 123 456 789", "with 123456789"),
        ("REF 1234 5678", "ref: 1234 5678"),
        ("DNI 12 345 678", "with 12345678"),
        ("TEL 11 91234 5678", "call (11) 91234-5678"),
        ("TEL 11 91234 5678", "call 91234-5678"),
        ("WHERE IS CASE 1234 5678", "about 1234 5678"),
        ("WHERE IS CASE 1234 5678", "about case 12345678"),
    ],
)
def test_what_a_number_is_called_is_no_part_of_it(question: str, text: str) -> None:
    """A number is found without the capitals before it, which may only say what it is."""
    assert hits(question, text)


@pytest.mark.parametrize(
    "question, others",
    [
        ("compare AB 1234 CD 5678", ["AB1234", "CD-5678"]),
        ("flights LH 123 BA 456", ["LH123", "BA-456"]),
        ("AB12 and CD 345 EF 678", ["CD345", "EF678"]),
    ],
)
def test_letters_after_digits_begin_another_one(question: str, others: list[str]) -> None:
    """Two identifiers that follow each other are two, on either side."""
    for other in others:
        assert hits(question, f"about {other} again"), other
        assert hits(f"about {other}?", question), other
    assert "".join(question.split()[-4:]).lower() not in identifiers(question, None)


PHONES = {
    "612345678": ("612 34 56 78", "+34 612 34 56 78", "612-34-56-78", "(612) 345678"),
    "0612345678": ("06 12 34 56 78", "+33 6 12 34 56 78", "0612 345678"),
    "11912345678": ("11 91234 5678", "(11) 91234-5678", "+55 (11) 91234-5678", "+55 11 912345678"),
}


@pytest.mark.parametrize("number, forms", PHONES.items(), ids=PHONES)
def test_numbers_of_telephones(number: str, forms: tuple[str, ...]) -> None:
    """A number of a telephone is found in whatever groups it is written, with or without the code of the country."""
    for stored in (number, *forms):
        for asked_as in (number, *forms):
            assert hits(f"whose is {asked_as}", f"call {stored} please"), (asked_as, stored)


@pytest.mark.parametrize(
    "text",
    [
        "weights 100 150 200 kg",
        "weights 12 345 678 kg",
        "rooms 101 102 103",
        "rooms 300 450 720",
        "in room 101 102 103",
        "paid 100 400 700 euros",
        "from 250 300 350 to more",
        "it cost 100 400 700 %",
        "scores 12 15 18 20 22 19",
        "drew 12 04 33 41 17",
    ],
)
def test_lists_of_numbers_are_no_identifiers(text: str) -> None:
    """Amounts, neighbours, what a plural stands before and many short numbers are not one number in a record."""
    digits = "".join(filter(str.isdecimal, text))
    assert not any(digits.startswith(found) or digits in found for found in identifiers(text, None).split())


@pytest.mark.parametrize(
    "question, text",
    [
        ("between 10 30 and 11 45", "order 10301145"),
        ("at 10:30 11:45", "order 10301145"),
        ("from 2025 2026", "order 20252026"),
        ("on 12 05 2026", "order 12052026"),
        ("order 10301145", "between 10 30 and 11 45"),
        ("order 20252026", "in 2025 2026"),
        ("order 1205", "on 12 05 at ten"),
        ("12 34", "AB-1234"),
    ],
)
def test_short_groups_are_none(question: str, text: str) -> None:
    """Years, dates and times that stand together are no identifier, in a question or in a record."""
    assert not hits(question, text)


@given(
    st.text("ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=2, max_size=3).filter(lambda head: identifiers(f"{head} 345", None)),
    st.lists(st.text("0123456789", min_size=3, max_size=5), min_size=2, max_size=4),
    st.sampled_from(["", "-", " ", "."]),
    st.sampled_from(["", "-", " ", "."]),
    st.data(),
)
@settings(deadline=None)
def test_groups_in_any_two_forms(head: str, groups: list[str], stored: str, asked: str, data: st.DataObject) -> None:
    """An identifier of letters and groups of digits is found by itself and by each part, however both are written."""
    whole, record = "".join([head, *groups]), f"order {stored.join([head, *groups])} is late"
    assert hits(f"see {asked.join([head, *groups])}", record)
    start = data.draw(st.integers(0, len(whole) - 4))
    part = whole[start : data.draw(st.integers(start + 4, len(whole)))]
    assume(not re.fullmatch("(?:19|20)..", part))
    assert hits(part, record)


def test_short_queries_are_fragments() -> None:
    """The only word of a query may be a part of an identifier, from four characters on; two plain words are words."""
    assert analyse("akian", "en").fragments == ("akian",)
    assert analyse("case law", "en").fragments == ()
    assert analyse("the box", "en").fragments == ()


@pytest.mark.parametrize(
    "question",
    [
        "When did Melanie paint a sunrise?",
        "So, do you remember when it came?",
        "When Jon has lost his job?",
        "what time is it open",
        "Which year was that?",
        "What was the date of the call?",
        "How long ago did she move?",
        "when",
        "Quando chegou o pedido?",
        "Desde quando?",
        "Em que ano foi?",
        "A que horas abre?",
        "Há quanto tempo espera?",
        "Qual foi a data da compra?",
        "¿Cuándo llegó?",
        "Dime cuándo llegó",
        "¿A qué hora abre?",
        "¿Qué día fue?",
        "¿Desde hace cuánto?",
        "¿Hace cuánto tiempo?",
        "¿Cuánto tiempo hace?",
        "¿En qué fecha fue?",
    ],
)
def test_asks_when(question: str) -> None:
    """A question for a time is known by how it begins."""
    assert analyse(question, "other").when


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What did she do when it rained?",
        "When I call, it fails",
        "How long is it?",
        "Que pena",
        "¿Qué es?",
        "whenever",
    ],
)
def test_does_not_ask_when(question: str) -> None:
    """Other questions, and "when" that only joins, do not ask for a time."""
    assert not analyse(question, "other").when


@pytest.mark.parametrize(
    "actor, question",
    [
        ("Melanie", "When did Melanie's dog eat?"),
        ("Melanie", "when did melanie paint"),
        ("MELANIE", "Did Melanie paint?"),
        ("Ana da Silva", "O que disse Ana da Silva?"),
        ("Jean-Luc O'Neil", "Did Jean-Luc O\u2019Neil agree?"),
        ("José María", "¿Qué dijo Jose Maria?"),
        ("Dr. Ana Sá", "What did Dr Ana Sa say?"),
        ("山田", "山田 wrote what?"),
    ],
    ids=["possessive", "no capitals", "case", "particle", "joined", "accents", "title", "no case"],
)
def test_names_meet_speakers(actor: str, question: str) -> None:
    """Who said a record is one of the names in a question that names them, however it is written."""
    assert speaker(actor) in analyse(question, "en").names


def test_names_are_capitalised() -> None:
    """In a question with capital letters only words that have one are names, in runs of up to three."""
    assert analyse("did Ana Maria Costa Lima call bob?", "en").names == (
        "ana", "ana maria", "ana maria costa", "maria", "maria costa", "maria costa lima",
        "costa", "costa lima", "lima",
    )  # fmt: skip


@pytest.mark.parametrize("actor", [None, "", "  ", "--"], ids=["none", "empty", "blank", "marks"])
def test_nobody_spoke(actor: str | None) -> None:
    """Without a name there is no speaker."""
    assert speaker(actor) is None


@given(st.text(st.characters(codec=None), max_size=300), st.sampled_from(["en", "es", "pt", "other"]))
@settings(deadline=None)
def test_any_text_is_read(text: str, language: str) -> None:
    """Any Unicode text is read, as a question and as a record, within the bounds that are promised."""
    read = analyse(text, language)
    assert read.words == asked(text, language)
    assert len(read.fragments) <= 16
    assert all(len(fragment) >= 4 for fragment in read.fragments)
    assert len(read.names) <= 200
    assert " ".join(identifiers(text, text).split()) == identifiers(text, text)
    speaker(text)
