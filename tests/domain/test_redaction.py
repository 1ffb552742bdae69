"""Secrets are masked by the shape of their value; honest content is left alone (cases 102 and 103)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from olvido.domain import secret_shapes
from olvido.domain.redaction import UNNAMED, is_clean, safe_name, screen
from olvido.domain.secret_shapes import is_card

# Made-up secrets are put together here, so that scanners of this repository do not take them for real ones.
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJpbmVzIn0" + ".c2lnbmF0dXJl"
SECRETS = [  # case 102
    ("api_key", "sk-" + "test-0000000000000000"),
    ("api_key", "sk-" + "proj-Ab3dEf6hIj9lMn0p_Qr-St"),
    ("api_key", "sk-" + "ant-api03-Ab3dEf6hIj9lMn0pQrSt"),
    ("api_key", "sk-" + "Ab3dEf6hIj9lMn0pQrStUv2xYz5a"),
    ("api_key", "sk_" + "live_Ab3dEf6hIj9l"),
    ("api_key", "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"),
    ("api_key", "glpat-" + "Ab3dEf6hIj9lMn0pQrSt"),
    ("aws_access_key", "AKIA" + "0123456789ABCDEF"),
    ("github_token", "ghp_" + "Ab3dEf6hIj9lMn0pQrStUv2xYz5aBc8eFg1h"),
    ("github_token", "github_pat_" + "11AAAAAAA0Ab3dEf6hIj9l_Mn0p"),
    ("slack_token", "xoxb-" + "123456789012-Ab3dEf6hIj9l"),
    ("jwt", JWT),
    ("card_number", "4111111111111111"),
    ("card_number", "4111 1111 1111 1111"),
    ("card_number", "5555-5555-5555-4444"),
    ("card_number", "3782 822463 10005"),
    ("private_key", "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEow==\n-----END " + "RSA PRIVATE KEY-----"),
    ("private_key", "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"),
]
LABELLED = [
    ("password: xyz", "password", "xyz"),
    ("my Password is hunter2, thanks", "password", "hunter2"),
    ("company name km music store and password is 1234", "password", "1234"),
    ("name rai password 5263", "password", "5263"),
    ("i am george and pwd is 4533", "password", "4533"),
    ("DB_PASSWORD=correcthorse", "password", "correcthorse"),
    ('{"password": "two words"}', "password", "two words"),
    ("password for the portal: opensesame", "password", "opensesame"),
    ("Minha senha é abc123.", "password", "abc123"),
    ("senha: segredo", "password", "segredo"),
    ("a senha do wifi é casa2024", "password", "casa2024"),
    ("Mi contraseña es gato77", "password", "gato77"),
    ("contrasen\u0303a: gato", "password", "gato"),
    ("la clave es 9911", "password", "9911"),
    ("PIN: 4821", "password", "4821"),
    ("cvv 123", "card_code", "123"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "api_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
    ("Authorization: Bearer abcdef0123456789abcdef", "api_key", "abcdef0123456789abcdef"),
    ("postgres://u:p@h/db", "url_password", ":p@"),
    ("redis://:s3cret@cache:6379/0", "url_password", "s3cret"),
]
PIECES = [
    *(secret for _, secret in SECRETS),
    *(text for text, _, _ in LABELLED),
    *[
        "password",
        "senha",
        " é ",
        " is ",
        ": ",
        "=",
        '"',
        "'",
        "u://a:",
        "@",
        "[masked:jwt]",
        "1",
        "a1b2",
        " ",
        "\n",
        "/",
        "-",
    ],
]
HONEST = [  # case 103
    "There is no API key in this build",
    "My password is not working, please reset my password.",
    "forgot password: please help",
    "Minha senha expirou e não consigo entrar",
    "Esqueci a senha. Senha: não recebi o e-mail",
    "La contraseña es incorrecta",
    "commit 9fceb02d0ae598e95dc970b74767f19372d6af0e",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "order AKIAN-2231",
    "order AKIA-2231",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "id 41111111-1111-1111-1111-111111111111",
    "IMEI 490154203237518",
    "call +55 11 91234-5678 or 0044 20 7946 0958",
    "invoice 20261201 of 2026-12-01, ref 4111111111111112",
    "we use scikit, sk-SK locale and sk-learn-version-1",
    "https://example.com:8080/path/@user and http://example.com/a:b@c",
    "write to ines@example.com",
    "the boarding pass: ABC123",
    "palabra clave: viajes",
    "password 2026-12-01 was the day I changed it",
    "the task-force-0000000000000000 met",
]


@pytest.mark.parametrize("kind, secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "I wrote {} here", "({}).", "a={}\nb", "«{}»"])
def test_a_secret_is_masked_wherever_it_stands(kind: str, secret: str, around: str) -> None:
    """A value with the shape of a secret is replaced by its kind, and the text around it stays."""
    screened = screen(around.format(secret))

    assert screened.text == around.format(f"[masked:{kind}]")
    assert screened.masked == (kind,)


@pytest.mark.parametrize("text, kind, secret", LABELLED)
def test_a_labelled_value_is_masked_and_its_label_kept(text: str, kind: str, secret: str) -> None:
    """What people call a password in English, Portuguese or Spanish is masked, and nothing else of the sentence."""
    screened = screen(text)

    assert secret not in screened.text
    assert screened.masked == (kind,)
    assert screened.text == text.replace(secret.strip(":@"), f"[masked:{kind}]", 1) or "://" in text


def test_the_password_of_a_url_leaves_the_rest_readable() -> None:
    """Of a URL only the password is masked, so that host and user still tell what it was about."""
    assert screen("postgres://u:p@h/db").text == "postgres://u:[masked:url_password]@h/db"
    assert screen("amqp://u:p@ss@h").text == "amqp://u:[masked:url_password]@h"
    assert "pa/ss" not in screen("postgres://u:pa/ss@h/db").text


@pytest.mark.parametrize("text", HONEST)
def test_honest_content_is_unchanged(text: str) -> None:
    """Talk about secrets, hashes, order numbers and identifiers are stored as they were written."""
    assert screen(text).text == text
    assert screen(text).masked == ()


def test_each_kind_is_reported_once_in_order() -> None:
    """The report names kinds, never values, each once."""
    card = "4111111111111111"
    screened = screen(f"senha: abc {card} {card} password: def")

    assert screened.masked == ("password", "card_number")
    assert "abc" not in screened.text
    assert "def" not in screened.text


@pytest.mark.parametrize(
    "name, shown",
    [
        ("raw_text", "raw_text"),
        ("observação", "observação"),
        ("customerEmail", "customerEmail"),
        ("my password is hunter2", UNNAMED),
        ("ines@example.com", UNNAMED),
        ("x" * 61, UNNAMED),
        ("ghp_" + "Ab3dEf6hIj9lMn0pQrStUv2xYz5aBc8eFg1h", UNNAMED),
        ("", UNNAMED),
        ("a\x00b", UNNAMED),
        (7, UNNAMED),
    ],
)
def test_a_name_is_shown_only_if_it_cannot_be_content(name: object, shown: str) -> None:
    """A name that could carry a value is not repeated in a report."""
    assert safe_name(name) == shown


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join))
@example("password: password: x1234 password is y1234")
@example("u://a:b@c:d@e password:[masked:x] 4111111111111111")
def test_screening_twice_is_screening_once(text: str) -> None:
    """What was masked holds no secret any more."""
    once = screen(text)
    twice = screen(once.text)

    assert twice.text == once.text
    assert twice.masked == ()


def _odd(letters: str, written: str) -> Callable[[str], str]:
    return lambda text: text.lower().translate(str.maketrans(letters, written))


WRITTEN = (
    str,
    str.upper,
    str.lower,
    str.swapcase,
    _odd("si", "\u017f\u0131"),
    _odd("ki", "\u212a\u0130"),
)
"""Ways to write a text whose letters are the same when case is ignored."""


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join), st.sampled_from(WRITTEN))
@example("password: hunter2 pin: 1234 api key: abcdefgh1 basic abcdefghij0123456789", WRITTEN[4])
@example("password: hunter2 pin: 1234 api key: abcdefgh1 basic abcdefghij0123456789", WRITTEN[5])
def test_the_signs_of_a_shape_hide_no_secret(text: str, write: Callable[[str], str]) -> None:
    """An expression that is not tried for want of its signs would have found nothing."""
    written = write(text)
    found = sorted(secret_shapes.spans(written))
    with ExitStack() as every:
        for name in ("_SHAPES", "_LABELLED"):
            shapes = tuple(replace(shape, signs=frozenset([""])) for shape in getattr(secret_shapes, name))
            every.enter_context(patch.object(secret_shapes, name, shapes))
        every.enter_context(patch.object(secret_shapes, "_BY_MARK", {"": ("",)}))
        every.enter_context(patch.object(secret_shapes, "_EIGHT_DIGITS", re.compile("")))
        assert found == sorted(secret_shapes.spans(written))


@given(st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6).map("".join), max_size=4))
@example(["order", "ab\u00a04111\u00a01111\u00a01111\u00a01111"])
@example(["3782 822463 10005"])
def test_what_is_clean_holds_no_secret(texts: list[str]) -> None:
    """Texts that are not looked through one by one, since none of them has a sign, would have been left as they are."""
    if is_clean([None, 7, *texts]):
        assert [screen(text).masked for text in texts] == [()] * len(texts)
    assert is_clean([None, 4111111111111111, "The course does not open since yesterday, T-1234."])


@given(st.integers(min_value=10**14, max_value=10**15 - 1))
def test_one_digit_of_sixteen_completes_a_card_number(stem: int) -> None:
    """Of the ten numbers that differ in their last digit, exactly one has the right checksum."""
    assert sum(is_card(f"4{stem}{digit}"[:1] + f"{stem:014d}"[:14] + str(digit)) for digit in range(10)) == 1


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "4111 ",
        "sk-",
        "sk-proj-",
        "eyJ",
        "eyJaaaaaaaa.",
        "a.",
        "a://",
        "a://b:",
        "a:",
        "password ",
        "password is ",
        "password: ",
        "senha do a a ",
        '"',
        "secret_",
        "api key: ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 20,
        "bearer a",
        " ",
        "-",
        "xoxb-",
    ],
)
def test_long_text_is_screened_in_time_proportional_to_its_length(unit: str) -> None:
    """30,000 characters made to look like the start of a secret take no longer than any others (case 77)."""
    text = (unit * 30_000)[:30_000]
    started = time.perf_counter()
    screen(text)

    assert time.perf_counter() - started < 2
