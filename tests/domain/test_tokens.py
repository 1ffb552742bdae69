"""The estimate of tokens: on the high side, also where a model makes a token of every character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.tokens import estimate_tokens, estimator


# case 110
@pytest.mark.parametrize(
    "text, counted",
    [
        # The most that cl100k_base, o200k_base, and the public tokenizers of Claude 2 and DeepSeek make of each.
        ("The customer could not reach the course after login and asked for a call back on Thursday.", 18),
        ("O cliente não conseguiu entrar no curso depois do login e pediu que ligassem na quinta.", 25),
        ("El cliente no pudo entrar en el curso después de iniciar sesión y pidió que le llamaran.", 27),
        ("客户登录后无法进入课程,要求星期四下午回电。", 22),
        ("お客様はログイン後にコースに入れず、木曜日の午後に折り返し電話を希望しました。", 47),
        ("고객이 로그인 후 강좌에 접속하지 못해 목요일 오후 전화를 요청했습니다.", 48),
        ("ลูกค้าไม่สามารถเข้าถึงหลักสูตรหลังจากเข้าสู่ระบบ", 82),
        ("הלקוח לא הצליח להגיע לקורס לאחר הכניסה.", 39),
        ("🎂👩‍👩‍👧🏳️‍🌈1️⃣😀🤷🏽‍♂️", 43),
        ("0b0ffa4e-6f6d-4f3c-9a4d-0d4c1c6f9d55", 34),
        ("aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ", 26),
        ("xqzjvkw QxZvKp zzqx", 14),
    ],
)
def test_it_is_not_lower_than_real_counts(text: str, counted: int) -> None:
    """Not below what real tokenizers count, nor above one token a byte, for sentences, scripts, emoji and ids."""
    assert counted <= estimate_tokens(text) <= len(text.encode())


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters()))
def test_more_lines_are_more_tokens(first: str, second: str) -> None:
    """It never exceeds the bytes, adds up over lines, and says the same with a memory for lines as without."""
    count = estimator()
    joined = f"{first}\n{second}"
    assert estimate_tokens("") == count("") == 0
    assert estimate_tokens(joined) == count(joined) == count(joined) == count(first) + 1 + count(second)
    assert estimate_tokens(joined) <= len(joined.encode(errors="surrogatepass"))
    assert estimate_tokens(f"{first}x") > 0
